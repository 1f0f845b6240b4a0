package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/ahead"
	"github.com/everthread/everthread/core/ahead/calendar"
	"github.com/everthread/everthread/core/ahead/mail"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/chat/summary"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/files/speech"
	"github.com/everthread/everthread/core/memory/embed"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/loops"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust/egress"
)

// channelNames returns the names of the channels, sorted.
func (e *Engine) channelNames() []string { return slices.Sorted(maps.Keys(e.Channels)) }

// NewAnalyzer returns the analyzer of the full-text index.
func NewAnalyzer(c configs.Config) (*recall.Analyzer, error) {
	a, err := recall.NewAnalyzer(c.Recall.Languages)
	if err != nil {
		return nil, fmt.Errorf("recall.languages: %w", err)
	}
	return a, nil
}

// NewSearcher returns the searcher of a store; embedders may be nil.
func NewSearcher(c configs.Config, st store.Store, embedders core.EmbedderOf, t core.Tokenizer,
	log *zap.Logger) (*recall.Searcher, error) {
	analyzer, err := NewAnalyzer(c)
	if err != nil {
		return nil, err
	}
	s := recall.Default()
	s.Semantic, s.Lexical, s.Covered, s.Candidates = c.Recall.SemanticWeight, c.Recall.LexicalWeight,
		c.Recall.CoveredPenalty, c.Recall.Candidates
	s.EmbedTimeout = c.Recall.EmbedTimeout
	return &recall.Searcher{Store: st, Days: st, Plain: st, Files: st, Embedders: embedders, Analyzer: analyzer, Tokens: t,
		Settings: s, Log: log}, nil
}

// NewMemory returns the memory in a store.
func NewMemory(c configs.Config, st store.Store, search *recall.Searcher, embedders *Embedders) *items.Memory {
	return &items.Memory{Store: st, Signals: search, Embed: embedders,
		Settings: items.Settings{SemanticWeight: c.Recall.SemanticWeight, LexicalWeight: c.Recall.LexicalWeight,
			Candidates: c.Recall.Candidates}}
}

// NewDeleter returns the deleter of accounts in a store.
func NewDeleter(c configs.Config, st Store, crash func(step string)) *people.Deleter {
	return &people.Deleter{Store: st, Media: mediaDir(c), Crash: crash}
}

// newRecall sets search, embeddings, memory and documents.
func (e *Engine) newRecall() (err error) {
	if e.Embedders, err = NewEmbedders(e.Process, e.Ledger); err != nil {
		return err
	}
	if e.Search, err = NewSearcher(e.Config, e.Store, e.Embedders.Of, e.Tokens, e.Log.Named("recall")); err != nil {
		return err
	}
	e.embedding = &embed.Worker{Store: e.Store, Jobs: e.jobs, Embedders: e.Embedders.Of, Windows: recall.Windows{},
		Meter: e.Meter, Log: e.Log.Named("embeddings"), Now: e.Now}
	e.Memory = NewMemory(e.Config, e.Store, e.Search, e.Embedders)
	e.documents = e.newDocuments()
	return nil
}

func (e *Engine) newDocuments() *document.Worker {
	c := e.Config.Documents
	return &document.Worker{Store: e.Store, Jobs: e.jobs, Files: e.Files, Tokens: e.Tokens, Embed: e.Embedders,
		Reader: &document.Reader{Command: e.options.ReadDocument, Cache: filepath.Join(e.Config.DataDir, "cache", "pdfium"),
			Limits: document.Limits{Pages: c.MaxPages, Time: time.Duration(c.MaxSeconds) * time.Second,
				Memory: int64(c.MaxMemory)}}, Preview: c.PreviewTokens, Meter: e.Meter, Log: e.Log.Named("documents"), Now: e.Now}
}

// newSpeech returns the worker that speaks answers; nil: none is configured.
func (e *Engine) newSpeech() *speech.Worker {
	s := e.speaker()
	if s == nil {
		return nil
	}
	return &speech.Worker{Store: e.Store, Users: e.People, Jobs: e.jobs, Files: e.Files, Speaker: s,
		MaxCharacters: e.Config.Speech.MaxCharacters, Language: e.Config.DefaultLanguage, Meter: e.Meter,
		Crash: e.options.Crash, Log: e.Log.Named("speech"), Now: e.Now}
}

// newPush returns the worker that notifies browsers. Its client follows no redirects: a push service makes none.
func (e *Engine) newPush() *push.Worker {
	client := e.Way.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &push.Worker{Store: e.Store, Users: e.People, Jobs: e.jobs, Client: client, Sealer: e.Sealer, Open: e.Hub.Open,
		Keys: &push.Keys{Keeper: e.Keeper(push.Account), While: e.While}, Contact: push.Contact(e.Config.HTTP.PublicURL),
		Plain: e.Config.AllowPrivateURLs, Language: e.Config.DefaultLanguage, Meter: e.Meter, Log: e.Log.Named("push"),
		Now: e.Now}
}

func (e *Engine) newPlans() error {
	c := e.Config
	hour, err := day.Clock(c.Reminders.DefaultHour)
	if err != nil {
		return fmt.Errorf("reminders.default_hour: %w", err)
	}
	e.Plans = &plan.Plans{Store: e.Store, Settings: plan.Settings{DefaultHour: hour, MinEvery: c.Reminders.MinEvery,
		MaxReminders: c.Reminders.MaxActive, MaxTasks: c.Tasks.MaxActive, Expires: c.Tasks.Expires,
		Language: c.DefaultLanguage}}
	return nil
}

// NewAhead returns the day ahead of the configured calendars and mailboxes, which are reached through way. st and users
// may be nil for those who only check the sources.
func NewAhead(c configs.Config, way *egress.Gate, st ahead.Store, users ahead.People) (*ahead.Ahead, error) {
	days, err := NewCalendar(c)
	if err != nil {
		return nil, err
	}
	out := &ahead.Ahead{Store: st, People: users, Days: days, Language: c.DefaultLanguage}
	for _, s := range c.DayAhead.Calendars {
		address, _ := calendar.URL(string(s.URL))
		out.Calendars = append(out.Calendars, ahead.Calendar{Name: s.Name, User: core.UserID(s.User),
			Events: calendar.New(string(s.URL), way.Client(address)).Events})
	}
	for _, s := range c.DayAhead.Mail {
		port := cmp.Or(s.Port, mail.Port)
		account := &mail.Account{Host: s.Host, Port: port, Username: s.Username, Password: string(s.Password),
			Token: string(s.AccessToken), Folders: s.Folders, From: s.From,
			Dial: way.Dial(net.JoinHostPort(s.Host, strconv.Itoa(port)))}
		out.Mail = append(out.Mail, ahead.Mailbox{Name: s.Name, User: core.UserID(s.User), List: account.List})
	}
	return out, nil
}

func (e *Engine) newFirer(planner gateway.Planner) *plan.Firer {
	return &plan.Firer{Plans: e.Plans, Due: e.Store, Users: e.People, Planner: planner, Calendar: e.Calendar,
		Tokens: e.Tokens, Channels: e.Channels, Budgets: e.Turns, Meter: e.Meter, Log: e.Log.Named("plans")}
}

// newSummaries sets the workers that summarise days, with the model of summary_llm if one is configured, and compress
// old messages.
func (e *Engine) newSummaries(chat core.Model, planner gateway.Planner) (err error) {
	c, m, llm := e.Config, chat, e.Config.LLM
	if c.SummaryLLM.Provider != "" {
		llm = c.SummaryLLM
		if m, err = e.models(llm); err != nil {
			return fmt.Errorf("summary_llm: %w", err)
		}
	}
	analyzer, err := recall.NewAnalyzer(append(recall.Stemmed(i18n.Languages()), c.Recall.Languages...))
	if err != nil {
		return fmt.Errorf("recall.languages: %w", err)
	}
	e.loops = &loops.Loops{Store: e.Store, Analyzer: analyzer, Calendar: e.Calendar}
	e.summary = &summary.Summarizer{
		Store: e.Store, Jobs: e.jobs, Users: e.People, Planner: planner, Model: m, Tokens: e.Tokens,
		Settings: summary.Settings{Window: llm.Usable(), MaxOutput: llm.Output(), Model: nameOf(llm), Limit: llm.MaxOutputTokens,
			TokensPerDay: c.Limits.Daily(), Config: fingerprint(llm), PostForward: c.Summaries.PostForward,
			PostMin: c.Summaries.PostMinMessages, PostExpires: c.Summaries.PostExpires, Language: c.DefaultLanguage},
		Calendar: e.Calendar, Channels: e.Channels, Grounds: e.Search, Ahead: e.Ahead,
		SameLoop: func(text string, open []core.Loop) (core.LoopID, bool) {
			return loops.Match(e.loops.Analyzer, text, open)
		},
		Due: func(s core.Settings, said time.Time, text, language string) time.Time {
			return loops.Due(e.Calendar, s, said, text, language)
		},
		Meter: e.Meter, Log: e.Log.Named("summary"), Now: e.Now,
	}
	e.summaries = e.runner([]string{core.QueueSummarize}, summaryWorkers, e.summary.Take)
	e.summaries.Do = e.summary.Run
	x := c.Context.Long
	e.compress = &compress.Worker{
		Store: e.Store, Jobs: e.jobs, Users: e.People, Compressor: compress.New(e.Tokens),
		Settings: compress.Settings{Budget: LongBudget(c), Threshold: x.CompressThreshold, Raw: LongRaw(c)},
		Calendar: e.Calendar, Meter: e.Meter, Now: e.Now,
	}
	return nil
}

func (e *Engine) newMerger() *people.Merger {
	return &people.Merger{Store: e.Store, Channels: e.Channels, Language: e.Config.DefaultLanguage,
		Poll: mergePoll, Leases: e.Process, Log: e.Log.Named("people"), Now: e.Now,
		Standing: e.Standing, Crash: e.options.Crash}
}

// ownTools returns the tools of the features.
func (e *Engine) ownTools() []core.Tool {
	tools := append(e.ReadingTools(), e.loops.Tools()...)
	if e.web != nil {
		tools = append(tools, e.web.Tools()...)
	}
	return slices.Concat(tools, document.Tools(e.Store, e.Tokens), e.Standing.Tools(), e.Plans.Tools())
}

// ReadingTools returns the tools of recall and memory.
func (e *Engine) ReadingTools() []core.Tool { return ReadingTools(e.Search, e.Memory, e.People) }

// ReadingTools returns the tools of a searcher and a memory.
func ReadingTools(s *recall.Searcher, m *items.Memory, users core.Users) []core.Tool {
	return append(recall.Tools(s, recall.UserNames(users)), m.Tools()...)
}

// webLink returns WebLink, or nil without a web page.
func (e *Engine) webLink() func(core.UserID) (string, effect.Code, error) {
	if !e.Config.Channels.Web.Enabled {
		return nil
	}
	return e.WebLink
}

// WebLink returns a link that signs a user in to the web page, and its code to store.
func (e *Engine) WebLink(user core.UserID) (string, effect.Code, error) {
	code, stored, err := e.People.NewWebCode(user, e.Config.Channels.Web.LinkLife)
	return SignIn(e.Config, code), stored, err
}

// SignIn returns the URL at which a code signs its user in to the web page.
func SignIn(c configs.Config, code string) string {
	return strings.TrimRight(c.HTTP.PublicURL, "/") + "/signin?code=" + code
}

// fingerprint identifies the configuration of a model, with its key and its fallbacks.
func fingerprint(llm configs.LLM) string {
	h := sha256.New()
	for _, m := range append([]configs.LLM{llm}, llm.Fallbacks...) {
		fmt.Fprintf(h, "%q %q %q %q %d %d %s\n", m.Provider, m.BaseURL, string(m.APIKey), m.Model, m.ContextWindow,
			m.MaxOutputTokens, m.Timeout)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// NewCalendar returns the calendar of the configured hours.
func NewCalendar(c configs.Config) (day.Calendar, error) {
	var cal day.Calendar
	var errs [4]error
	cal.Zone, errs[0] = time.LoadLocation(c.DefaultTimezone)
	cal.Starts, errs[1] = day.Clock(c.Day.StartsAt)
	cal.Finalize, errs[2] = day.Clock(c.Summaries.FinalizeAt)
	cal.Post, errs[3] = day.Clock(c.Summaries.PostAt)
	return cal, errors.Join(errs[:]...)
}
