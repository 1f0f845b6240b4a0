package setup

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust/egress"
)

const tryTimeout = 20 * time.Second

// Said returns an error of a trial as a person reads it.
func Said(err error, language string) string { return wordsOf(language).said(err) + "." }

// Trier tries answers.
type Trier struct {
	Given configs.Config // what the environment says
	// Ping opens the database of a configuration, and has it answer.
	Ping func(ctx context.Context, c configs.Config) error
}

func (m Model) server() llm.Server {
	return llm.Server{Provider: m.Provider, BaseURL: baseOf(m), Key: m.Key, Client: (*egress.Gate)(nil).Client}
}

// baseOf returns the address of a model's provider.
func baseOf(m Model) string {
	return cmp.Or(m.BaseURL, map[string]string{"openai": openai.DefaultBaseURL,
		"anthropic": anthropic.DefaultBaseURL + "/v1"}[m.Provider])
}

// Models lists what a server offers; nil: it does not say.
func (Trier) Models(ctx context.Context, m Model) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	where := channel.HostOf(baseOf(m))
	names, err := m.server().Models(ctx)
	var failed *core.ModelError
	switch {
	case errors.Is(err, llm.ErrAddress):
		return nil, &Fault{Wrong: WrongAddress, Err: &core.ModelError{Kind: core.ModelDown,
			Err: errors.New("the address is wrong")}}
	case errors.As(err, &failed) && failed.Kind == core.ModelAuth:
		return nil, &Fault{Wrong: WrongKey, Where: where, Detail: failed.Err.Error(), Err: failed}
	case errors.As(err, &failed):
		return nil, unreached(where, &core.ModelError{Kind: core.ModelDown, Err: server.Cause(failed.Err)})
	}
	return names, err
}

// Window returns how many tokens a model reads at a time; 0: its server does not say.
func (Trier) Window(ctx context.Context, m Model) int {
	if m.Provider != "openai" || m.BaseURL == "" {
		return 0
	}
	return m.server().Window(ctx, m.Name)
}

// unreached returns the fault of a service that does not answer.
func unreached(where string, err error) *Fault {
	f := &Fault{Wrong: WrongUnreached, Where: where, Reason: reason(err), Detail: err.Error(), Err: err}
	if m, ok := errors.AsType[*core.ModelError](err); ok {
		f.Detail = m.Err.Error()
	}
	return f
}

// Model asks a model for a word, and returns what its server does not take.
func (t Trier) Model(ctx context.Context, m Model) ([]core.Reduction, error) {
	c := t.Given.LLM
	c.Provider, c.BaseURL, c.APIKey, c.Model = m.Provider, m.BaseURL, configs.Secret(m.Key), m.Name
	reduced, err := engine.TryModel(ctx, c)
	switch {
	case errors.Is(err, engine.ErrCutOff):
		return nil, &Fault{Wrong: WrongModelCutOff, Where: channel.HostOf(baseOf(m))}
	case err != nil:
		return nil, modelFault(channel.HostOf(baseOf(m)), err)
	}
	return reduced, nil
}

// ofServer finds the words of a model server in an error of llm.
var ofServer = regexp.MustCompile(`\((HTTP [0-9]+)\)(: .*)?$`)

// modelFault returns the fault of a model that did not answer.
func modelFault(where string, err error) error {
	var m *core.ModelError
	if !errors.As(err, &m) {
		if errors.Is(err, context.DeadlineExceeded) {
			return unreached(where, err)
		}
		return err
	}
	if m.Kind == core.ModelDown && (reason(err) != "" || errors.Is(err, llm.ErrStalled)) {
		return unreached(where, err)
	}
	f := &Fault{Where: where, Err: m, Wrong: map[core.ModelErrorKind]Wrong{core.ModelDown: WrongModelDown,
		core.ModelBusy: WrongModelBusy, core.ModelAuth: WrongKey, core.ModelConfig: WrongModel,
		core.ModelTooLong: WrongModelWindow, core.ModelRejected: WrongModelRefuses}[m.Kind]}
	if said := ofServer.FindStringSubmatch(m.Err.Error()); said != nil {
		f.Detail = said[1] + said[2]
	}
	return f
}

// Database connects to a database.
func (t Trier) Database(ctx context.Context, address string) error {
	c := t.Given
	c.DatabaseURL = configs.Secret(address)
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return &Fault{Wrong: WrongDatabaseURL}
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if err := t.Ping(ctx, c); err != nil {
		return &Fault{Wrong: WrongDatabase, Reason: reason(err), Detail: err.Error(), Err: err}
	}
	return nil
}

// ChannelTrier tries channels with answers that are in no configuration yet.
type ChannelTrier struct {
	Way  *egress.Gate // addresses in answers, not in the configuration, have to pass it
	Now  func() time.Time
	Rand io.Reader
}

// ErrNoGuide means that a channel cannot be set up by answers.
var ErrNoGuide = errors.New("this channel has no guide")

// Rejected is a sentence for the person: answers are wrong, or do not work.
type Rejected string

// Error returns the reason.
func (r Rejected) Error() string { return string(r) }

// Try tries the channel of a section with answers to its guide, by the ids of the fields. A missing answer is taken
// from the section, which is not changed. A secret of the section goes only where the section sends it: if another field
// is answered with a new value, the secret has to be answered too. Its errors are ErrNoGuide and Rejected.
func (t ChannelTrier) Try(ctx context.Context, s section.Section, language string,
	answers map[string]string) (channel.Tried, error) {
	guide, err := t.answered(s, language, answers)
	if err != nil {
		return channel.Tried{}, err
	}
	return t.tried(ctx, guide, language)
}

func (ChannelTrier) tried(ctx context.Context, g channel.Guide, language string) (channel.Tried, error) {
	tried, err := g.Try(ctx)
	if err != nil {
		return channel.Tried{}, rejected(language, err)
	}
	return tried, nil
}

func rejected(language string, err error) error { return Rejected(wordsOf(language).said(err) + ".") }

// Scan makes a code that answers a field of the channel of a section, with answers to the others. done waits until it was
// scanned, and then tries the channel. The errors are those of Try.
func (t ChannelTrier) Scan(ctx context.Context, s section.Section, language string, answers map[string]string) (
	scan channel.Scan, done func(ctx context.Context) (channel.Tried, error), err error) {
	all := map[string]string{}
	maps.Copy(all, answers)
	if guided, ok := s.(channel.Guided); ok {
		for _, f := range guided.Guide(language, channel.Host{}).Fields {
			if f.Scan {
				all[f.ID] = channel.ScanAnswer
			}
		}
	}
	guide, err := t.answered(s, language, all)
	if err == nil && guide.Scan == nil {
		err = ErrNoGuide
	}
	if err != nil {
		return scan, nil, err
	}
	if scan, err = guide.Scan(ctx); err != nil {
		return scan, nil, rejected(language, err)
	}
	return scan, func(ctx context.Context) (channel.Tried, error) {
		if err := scan.Done(ctx); err != nil {
			return channel.Tried{}, rejected(language, err)
		}
		return t.tried(ctx, guide, language)
	}, nil
}

// answered returns the guide over a copy of a section, with answers.
func (t ChannelTrier) answered(s section.Section, language string, answers map[string]string) (channel.Guide, error) {
	trial := reflect.New(reflect.TypeOf(s).Elem()) // the answers go into a copy
	trial.Elem().Set(reflect.ValueOf(s).Elem())
	guided, ok := trial.Interface().(channel.Guided)
	if !ok {
		return channel.Guide{}, ErrNoGuide
	}
	typed := map[string]string{}
	for _, f := range guided.Guide(language, channel.Host{}).Fields {
		if answers[f.ID] != *f.Into {
			typed[f.ID] = answers[f.ID]
		}
	}
	guide := guided.Guide(language, channel.Host{Client: t.client(typed), Now: t.Now, Rand: t.Rand})
	changed := slices.ContainsFunc(guide.Fields, func(f channel.Field) bool { return !f.Secret && typed[f.ID] != "" })
	for _, f := range guide.Fields {
		if f.Secret && changed {
			*f.Into = ""
		}
		*f.Into = cmp.Or(answers[f.ID], *f.Into)
		switch {
		case *f.Into == "":
			return guide, Rejected(fmt.Sprintf(wordsOf(language).LeftOut, f.Title))
		case f.Form != nil && !f.Form.MatchString(*f.Into):
			return guide, Rejected(f.Malformed)
		}
	}
	return guide, nil
}

// client makes clients that reach the addresses of the configuration; those typed into a page are bound by the policy.
func (t ChannelTrier) client(answers map[string]string) func(addresses ...string) *http.Client {
	typed := map[string]bool{}
	for _, a := range answers {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			typed[u.Host] = true
		}
	}
	return func(addresses ...string) *http.Client {
		return t.Way.Client(slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
			u, err := url.Parse(a)
			return err != nil || typed[u.Host]
		})...)
	}
}

// Wrong names what is wrong with an answer.
type Wrong string

// Kinds of faults, with the meaning of Where and Detail.
const (
	WrongAddress      Wrong = "address"       // no web address
	WrongUnreached    Wrong = "unreached"     // host; why
	WrongKey          Wrong = "key"           // host; what it said
	WrongModelDown    Wrong = "model down"    // host; what it said
	WrongModelBusy    Wrong = "model busy"    // host; what it said
	WrongModel        Wrong = "model"         // host; what it said
	WrongModelWindow  Wrong = "model window"  // host; what it said
	WrongModelRefuses Wrong = "model refuses" // host; what it said
	WrongModelCutOff  Wrong = "model cut off" // host
	WrongDatabase     Wrong = "database"      // why
	WrongDatabaseURL  Wrong = "database url"  // nothing
)

// Reason says why something is not reached; empty: unknown.
type Reason string

const (
	ReasonRefused     Reason = "refused"
	ReasonNoHost      Reason = "no host"
	ReasonTime        Reason = "time"
	ReasonCertificate Reason = "certificate"
	ReasonPassword    Reason = "password"    // of a database
	ReasonNoDatabase  Reason = "no database" // with this name
)

// reason returns why a service or a database does not answer.
func reason(err error) Reason {
	var (
		pg      *pgconn.PgError
		name    *net.DNSError
		timeout net.Error
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &pg) && (pg.Code == "28P01" || pg.Code == "28000"):
		return ReasonPassword
	case errors.As(err, &pg) && pg.Code == "3D000":
		return ReasonNoDatabase
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused
	case errors.As(err, &name) && name.IsNotFound:
		return ReasonNoHost
	case errors.As(err, &cert):
		return ReasonCertificate
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ReasonTime
	}
	return ""
}

// Fault is what a trial found wrong, for a person in their own language.
type Fault struct {
	Wrong  Wrong
	Where  string
	Reason Reason // replaces Detail if it is known
	Detail string // the words of the other side
	Err    error  // may be nil
}

// Error returns the fault in English.
func (f *Fault) Error() string { return wordsOf(i18n.English).fault(f) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// fault returns a fault in one sentence without its full stop.
func (w *texts) fault(f *Fault) string {
	return channel.Fill(w.Faults[f.Wrong], f.Where, cmp.Or(w.Reasons[f.Reason], f.Detail))
}

// said returns an error as a person reads it.
func (w *texts) said(err error) string {
	var f *Fault
	var away *channel.Unreached
	switch {
	case errors.As(err, &f):
		return w.fault(f)
	case errors.As(err, &away):
		return w.fault(&Fault{Wrong: WrongUnreached, Where: away.Where, Reason: reason(away.Err), Detail: away.Err.Error()})
	}
	return strings.TrimSuffix(strings.TrimSpace(err.Error()), ".")
}

// texts are the words of the wizard in one language.
type texts struct {
	Wrong, NoOption, NoAnswer, MoreOptions, NotShown, ProviderTitle, ProviderHelp, ProviderWrong, DemoChosen,
	URLTitle, URLHelp, URLWrong, KeyTitle, KeyFound, ModelTitle, ModelHelp, ModelUnlisted, ModelTrying, ModelAnswers,
	ModelReduced, ZoneTitle, ZoneHelp, ZoneUnknown, Back, MoreTitle, MoreNo, MoreDatabase, DatabaseTitle, DatabaseHelp,
	DatabaseGood string
	LeftOut               string // title of a field
	Services, KeyHelp     map[string]string
	WindowIs, WindowShort string // number
	WindowSmall           string // number, number

	Faults  map[Wrong]string
	Reasons map[Reason]string

	Texts
}

// Texts are the words around the questions.
type Texts struct {
	Hello, Overwrite, OverwriteHelp, Yes, No, Kept, Written, Stopped, Pair, PairCode, Scan, Waiting, Came, Answered,
	NobodyCame, Own, Served, WebLink, Doctor, Service, ServiceHere, ServiceUser, ServiceSystem, ServiceCompose, ServiceNo,
	ServiceWritten, StartUser, StartSystem, StartSystemCopy, StartCompose, BuildImage, StartSelf, Here, Temporary,
	NoCompose, EnvKept, StartKeys string
	File fileTexts
}

var wordsOf = i18n.In[texts]("setup")

// TextsOf returns the words around the questions in a language.
func TextsOf(language string) Texts { return wordsOf(language).Texts }
