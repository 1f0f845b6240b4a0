// Package doctor checks everything that a gateway needs, and says what to do: the configuration, the data folder, the
// store, models, channels, addresses, backups and the clock. The command line and the owner's page show its findings.
// It stands above the engine, and changes nothing, except that it makes a missing data folder.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

// checkTimeout bounds a check.
const checkTimeout = 20 * time.Second

// Doctor examines a valid configuration.
type Doctor struct {
	Config   configs.Config
	Language string // of the findings
	Version  string
	Now      func() time.Time
	Opener   Opener
	Lent     Store  // open already, and left open; nil: Opener opens one
	Hint     string // how an app is set up by hand
}

// Opener opens the store of a configuration.
type Opener interface {
	// Open opens it without migrating it. An embedded one exists.
	Open(ctx context.Context, c configs.Config) (Store, error)
}

// Store is a store whose schema may differ from this program's.
type Store interface {
	engine.Store
	Schema(ctx context.Context) (store.Schema, error)
}

// examination is a Doctor at work.
type examination struct {
	*Doctor
	*texts
	store  Store  // nil: there is none, or it cannot be used
	schema bool   // it has the schema of this program
	only   string // the channel that is examined; empty: all
	out    []core.Finding
}

// Examine makes every check.
func (d *Doctor) Examine(ctx context.Context) []core.Finding {
	e := &examination{Doctor: d, texts: say(d.Language)}
	e.fine("configuration", e.Configuration)
	e.data()
	e.open(ctx)
	defer e.close()
	for _, check := range []func(context.Context){e.backups, bounded(e.elsewhere), bounded(e.tokens), e.listening, bounded(e.public), e.models,
		bounded(e.embeddings), bounded(e.vectors), bounded(e.transcription), bounded(e.speech), bounded(e.push), bounded(e.groups), bounded(e.web),
		e.servers, e.services, bounded(e.ahead), e.channels, e.clock} {
		check(ctx)
	}
	return e.found()
}

// bounded returns a check that takes at most checkTimeout. The others have bounds of their own.
func bounded(check func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		check(ctx)
	}
}

// ExamineChannel has a channel check everything it needs; core.ErrNotFound: it is off.
func (d *Doctor) ExamineChannel(ctx context.Context, key string) ([]core.Finding, error) {
	is := func(c channel.Config) bool { return c.Key() == key }
	if !slices.ContainsFunc(channel.On(d.Config.Channels.Sections), is) {
		return nil, core.ErrNotFound
	}
	e := &examination{Doctor: d, texts: say(d.Language), only: key}
	e.open(ctx)
	e.out = nil
	defer e.close()
	e.channels(ctx)
	return e.found(), nil
}

// ExaminePart checks what a part of the configuration names: model, summaries, choices, embeddings, transcription, speech,
// web, tools, calendars or mail. item is the name of the only element that counts; empty: all do.
func (d *Doctor) ExaminePart(ctx context.Context, part, item string) []core.Finding {
	e, c := &examination{Doctor: d, texts: say(d.Language)}, d.Config
	check := map[string]func(context.Context){
		"model":     func(ctx context.Context) { e.model(ctx, "llm", c.LLM) },
		"summaries": func(ctx context.Context) { e.summaries(ctx) },
		"choices":   func(ctx context.Context) { e.model(ctx, "llm choice "+item, c.LLM.Choices[item].LLM) },
		"web":       e.web, "embeddings": e.embeddings, "transcription": e.transcription, "speech": e.speech,
		"tools": e.servers, "calendars": e.ahead, "mail": e.ahead,
	}[part]
	if check != nil {
		bounded(check)(ctx)
	}
	return slices.DeleteFunc(e.found(), func(f core.Finding) bool { return item != "" && !strings.HasSuffix(f.Check, " "+item) })
}

// ExamineKept checks the data folder, the store and its backups.
func (d *Doctor) ExamineKept(ctx context.Context) []core.Finding {
	e := &examination{Doctor: d, texts: say(d.Language)}
	e.data()
	e.open(ctx)
	defer e.close()
	e.backups(ctx)
	e.knownElsewhere(ctx)
	bounded(e.push)(ctx)
	return e.found()
}

// close closes the store, if it was opened here.
func (e *examination) close() {
	if e.store != nil {
		e.release(e.store)
	}
}

func (e *examination) release(st Store) {
	if e.Lent == nil {
		_ = st.Close() // nothing was written
	}
}

// found returns the findings without secrets.
func (e *examination) found() []core.Finding {
	for i, f := range e.out { // the words of a service may repeat a key from a wrong place
		e.out[i].Detail = configs.Redact(f.Detail)
	}
	return e.out
}

// Wrong returns the finding of an invalid configuration.
func Wrong(err error) []core.Finding {
	return []core.Finding{{Check: "configuration", Detail: configs.Redact(err.Error())}}
}

func (e *examination) fine(check, detail string, args ...any) { e.add(check, true, detail, args) }

// none adds a finding of what is not set up, which is no problem.
func (e *examination) none(check, detail string, args ...any) {
	e.fine(check, detail, args...)
	e.out[len(e.out)-1].None = true
}

func (e *examination) problem(check, detail string, args ...any) { e.add(check, false, detail, args) }

func (e *examination) add(check string, ok bool, detail string, args []any) {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	e.out = append(e.out, core.Finding{Check: check, OK: ok, Detail: detail})
}

// verdict adds a problem if err is not nil, else a finding that all is fine.
func (e *examination) verdict(check string, err error, detail string, args ...any) {
	if err != nil {
		e.problem(check, "%s", err.Error())
		return
	}
	e.fine(check, detail, args...)
}

func (e *examination) data() {
	dir := e.Config.DataDir
	if err := datadir.Make(dir); err != nil {
		e.problem("data folder", e.DataUnwritable, dir, disk.Cause(err))
		return
	}
	e.fine("data folder", e.DataWritable, dir)
}

func (e *examination) absent() bool {
	return e.Config.DatabaseURL == "" && !datadir.HasDatabase(e.Config.DataDir)
}

// open opens the store and reports its state.
func (e *examination) open(ctx context.Context) {
	if e.absent() {
		e.none("database", e.DatabaseNone)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := e.Lent, error(nil)
	if st == nil {
		st, err = e.Opener.Open(ctx, e.Config)
	}
	if err != nil {
		e.problem("database", "%s", e.unusable(err))
		return
	}
	s, err := store.Schema{}, st.Ping(ctx)
	if err == nil {
		s, err = st.Schema(ctx)
	}
	if err == nil && s.Current > s.Target {
		err = core.ErrNewerSchema
	}
	switch {
	case err != nil:
		e.release(st)
		e.problem("database", "%s", e.unusable(err))
		return
	case s.Current < s.Target:
		e.problem("database", e.DatabaseOld, s.Current, s.Target)
	default:
		e.schema = true
		e.fine("database", e.DatabaseGood, engine.DatabaseName(e.Config), s.Current)
		if db, ok := st.(shared); ok {
			e.shared(ctx, db)
		}
	}
	e.store = st
}

// unusable says what to do about a store that cannot be used.
func (e *examination) unusable(err error) string {
	switch {
	case errors.Is(err, core.ErrNewerSchema):
		return e.DatabaseNewer
	case errors.Is(err, core.ErrUnfinished):
		return core.ErrUnfinished.Error()
	case errors.Is(err, core.ErrPooler):
		return e.ProcessesDeaf
	case e.Config.DatabaseURL != "":
		return fmt.Sprintf(e.DatabaseAway, err)
	}
	return fmt.Sprintf(e.DatabaseUnusable, e.Config.DataDir, err)
}

// tokens reports how much all users have used of the day's tokens, if those are limited.
func (e *examination) tokens(ctx context.Context) {
	limit := engine.AllTokensPerDay(e.Config)
	if limit == 0 || e.store == nil {
		return
	}
	now := e.Now()
	used, _, err := e.store.SpentAll(ctx, now.UTC().Format(time.DateOnly), now)
	switch {
	case err != nil: // reported with the schema
	case used*10 >= limit*9:
		e.problem("tokens of the day", e.TokensNear, used, limit)
	default:
		e.fine("tokens of the day", e.TokensUsed, used, limit)
	}
}

// vectors reports texts that could not be embedded.
func (e *examination) vectors(ctx context.Context) {
	if e.absent() {
		e.fine("vectors", e.VectorsGood)
		return
	}
	var faults []store.EmbeddingFault
	err := errors.ErrUnsupported
	if e.store != nil {
		faults, err = e.store.EmbeddingFaults(ctx, 0)
	}
	switch {
	case err != nil:
		e.fine("vectors", e.VectorsUnseen)
	case len(faults) > 0:
		e.problem("vectors", "%s", e.VectorsMissing.Of(faults[0].Count, faults[0].Reason))
	default:
		e.fine("vectors", e.VectorsGood)
	}
}

// Named returns the findings with the names of their checks in a language.
func Named(language string, found []core.Finding) []core.Finding {
	out := slices.Clone(found)
	for i, f := range out {
		if name := say(language).Checks[strings.ReplaceAll(f.Check, " ", "_")]; name != "" {
			out[i].Check = name
		}
	}
	return out
}

// Lines formats findings for a person, a line each.
func Lines(language string, found []core.Finding) []string {
	t := say(language)
	var out []string
	for _, f := range Named(language, found) {
		mark := t.OK
		if !f.OK {
			mark = t.Problem
		}
		out = append(out, fmt.Sprintf("%-*s  %-14s %s", max(len(t.OK), len(t.Problem)), mark, f.Check, f.Detail))
	}
	return out
}

// Healthy reports whether no finding is a problem.
func Healthy(found []core.Finding) bool {
	return !slices.ContainsFunc(found, func(f core.Finding) bool { return !f.OK })
}

// texts are the words of findings in one language.
type texts struct {
	OK, Problem string
	Checks      map[string]string // names of checks that are no key, by the check with underscores

	Configuration, DatabaseNone, DatabaseNewer, ProcessesHear, ProcessesDeaf, ConnectionsMany, DatabaseClockGood,
	DistributedGood, VectorsGood, VectorsUnseen string
	DataWritable, DataUnwritable string       // folder; why
	DatabaseAway                 string       // why
	DatabaseUnusable             string       // folder, why
	DatabaseOld                  string       // its schema, ours
	DatabaseGood                 string       // which, schema
	ConnectionsGood              string       // processes, connections of each, of all, of the server
	DatabaseClockOff             string       // how far
	DatabaseClockWild            string       // how far readings are apart
	DistributedHalf              string       // tables
	TokensUsed, TokensNear       string       // used, limit
	VectorsMissing               i18n.Counted // why

	ListenMetrics, ListenFree, ListenForeign string
	ListenOther                              string // folder, address
	ListenRuns, ListenProgram, ListenDenied  string // address
	ListenStop                               string // what, key
	ListenSuch                               string // an address that is free
	ListenFails                              string // address, why
	NameUnknown, NameIs                      string // name, why; name, addresses

	BackupHow, BackupBeside                   string
	BackupUnreadable                          string // why, folder
	BackupByHand, BackupOld                   string // when, how
	BackupServer                              string // folder, how
	BackupNone, BackupNever                   string // how; folder, how
	BackupDue                                 string // what, since when, folder
	BackupNoneMade, BackupFirst, BackupNewest string // when
	ElsewhereNone                             string // place
	ElsewhereGood                             string // place, when
	ElsewhereWaits                            string // place, when, when the missing one was made
	ElsewhereFails                            string // since when, place, why
	ElsewhereSealed                           string
	ElsewherePlain, ElsewherePlainFolder      string // place
	ModelCutOff, ModelDemo, ModelGood         string // provider, model, milliseconds
	WindowGood                                string // it, prompt, results, answer; tools offered, of all
	WindowOver                                string // key, its value, window, what fits
	WindowTiny                                string // it, what is left
	EmbeddingsNone, EmbeddingsGood            string // which, dimensions
	TranscriptionNone, SpeechNone, Answers    string // model
	SpeechSample                              string // what is spoken to try it
	PushGood                                  string // devices
	PushFails                                 string // failing, devices
	GroupsShut                                string // name of a group, why
	WebOff                                    string
	WebGood                                   i18n.Counted // results; provider
	WebKeyless                                string       // why
	ServerDown, ServerGood                    string       // why; tools
	ServiceDown, ServiceByHand, ServiceGood   string       // why; our address; who signs people in
	ServiceNoPage                             string
	CalendarGood, MailGood                    i18n.Counted
	SourceDown                                string // why, key
	SourceBad                                 string // entries
	ChannelLater, ChannelsNone                string // hint
	ClockUnknown, ClockOff, ClockGood         string // how far, whose; whose
}

var say = i18n.In[texts]("doctor")
