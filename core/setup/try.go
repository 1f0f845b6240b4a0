package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/trust/egress"
)

const tryTimeout = 20 * time.Second

// Trier tries answers.
type Trier struct {
	Given configs.Config // what the environment says
	// Ping opens the database of a configuration, and has it answer.
	Ping func(ctx context.Context, c configs.Config) error
}

// server returns the server of a model.
func (m Model) server() llm.Server {
	return llm.Server{Provider: m.Provider, BaseURL: baseOf(m), Key: m.Key, Client: (*egress.Gate)(nil).Client}
}

// baseOf returns the address of a model's provider.
func baseOf(m Model) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	return map[string]string{"openai": openai.DefaultBaseURL, "anthropic": anthropic.DefaultBaseURL + "/v1"}[m.Provider]
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

// Model asks a model for a word.
func (t Trier) Model(ctx context.Context, m Model) error {
	c := t.Given.LLM
	c.Provider, c.BaseURL, c.APIKey, c.Model = m.Provider, m.BaseURL, configs.Secret(m.Key), m.Name
	err := engine.TryModel(ctx, c)
	switch {
	case errors.Is(err, engine.ErrCutOff):
		return &Fault{Wrong: WrongModelCutOff, Where: channel.HostOf(baseOf(m))}
	case err != nil:
		return modelFault(channel.HostOf(baseOf(m)), err)
	}
	return nil
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
	f := &Fault{Where: where, Err: m, Wrong: map[core.ModelErrorKind]Wrong{
		core.ModelDown: WrongModelDown, core.ModelBusy: WrongModelBusy, core.ModelAuth: WrongKey,
		core.ModelConfig: WrongModel, core.ModelTooLong: WrongModelWindow,
		core.ModelRejected: WrongModelRefuses}[m.Kind]}
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

// Try tries the channel of a section with answers to its guide, by the ids of the fields.
// A missing answer is taken from the section, which is not changed. said reports the result
// to the person, and lines are the part of the configuration that the answers make, with …
// for each secret. A secret of the section goes only where the section sends it: if another
// field is answered with a new value, the secret has to be answered too. Its errors are
// ErrNoGuide and Rejected.
func (t ChannelTrier) Try(ctx context.Context, s section.Section, language string,
	answers map[string]string) (said, lines string, err error) {
	trial := reflect.New(reflect.TypeOf(s).Elem()) // the answers go into a copy
	trial.Elem().Set(reflect.ValueOf(s).Elem())
	guided, ok := trial.Interface().(channel.Guided)
	if !ok {
		return "", "", ErrNoGuide
	}
	guide := guided.Guide(language, channel.Host{Client: t.client(answers), Now: t.Now, Rand: t.Rand})
	changed := slices.ContainsFunc(guide.Fields, func(f channel.Field) bool {
		return !f.Secret && answers[f.ID] != "" && answers[f.ID] != *f.Into
	})
	var secret []string
	for _, f := range guide.Fields {
		if f.Secret && changed {
			*f.Into = ""
		}
		*f.Into = cmp.Or(answers[f.ID], *f.Into)
		switch {
		case *f.Into == "":
			return "", "", Rejected(fmt.Sprintf(wordsOf(language).LeftOut, f.Title))
		case f.Form != nil && !f.Form.MatchString(*f.Into):
			return "", "", Rejected(f.Malformed)
		case f.Secret:
			secret = append(secret, *f.Into)
		}
	}
	tried, err := guide.Try(ctx)
	if err != nil {
		return "", "", Rejected(wordsOf(language).said(err) + ".")
	}
	for i := 1; i < len(tried.Keys); i += 2 {
		if slices.Contains(secret, tried.Keys[i]) {
			tried.Keys[i] = "…"
		}
	}
	a := Answers{Language: language, Channels: []Channel{{s.Key(), tried}}}
	return tried.Said, a.channelsYAML(), nil
}

// client makes clients that reach the addresses of the configuration; those typed into a
// page are bound by the policy.
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
