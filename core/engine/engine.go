// Package engine is the core engine. It constructs the features of a process, plugs them into turns, from the window of
// messages through the prompt to the model and its tools, and runs background work: the index, the leases of channels,
// scheduled tasks. It is the only package of core that knows the features; stores, channels and doors are passed in.
package engine

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/ahead"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/chat/summary"
	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/files/media"
	"github.com/everthread/everthread/core/files/speech"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/embed"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/loops"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/ops/metrics"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/web"
)

// Options are the dependencies of an engine, beside its process.
type Options struct {
	Channels []core.Channel
	Version  string // of the program
	Ticks    Ticks
	Backup   *backup.Maker     // of scheduled backups; nil: none is made
	Crash    func(step string) // ends the process at a step, in tests
	// ReadDocument is the command of a process that calls document.Serve; nil: documents are not read.
	ReadDocument []string
}

// Ticks are the intervals of the scheduler, as cron expressions.
type Ticks struct{ Usual, Reminders, Embeddings string }

// Engine holds the features of a process and runs them. Its exported fields are for doors.
type Engine struct {
	*Process
	Channels  gateway.Channels
	Tokens    core.Tokenizer
	Calendar  day.Calendar
	Meter     *metrics.Meter
	Ledger    *trust.Ledger
	People    *people.People
	Embedders *Embedders
	Search    *recall.Searcher
	Memory    *items.Memory
	Standing  *standing.Standing
	Plans     *plan.Plans
	Ahead     *ahead.Ahead
	Services  *service.Services
	Files     *media.Files
	Hub       *live.Hub
	Turns     *Turns
	Gateway   *gateway.Gateway
	Push      *push.Worker
	Deleter   *people.Deleter

	options   Options
	began     time.Time
	slots     job.Slots
	jobs      *job.Worker
	firer     *plan.Firer
	summary   *summary.Summarizer
	loops     *loops.Loops
	summaries *job.Runner // takes jobs of summary
	compress  *compress.Worker
	embedding *embed.Worker
	documents *document.Worker
	web       *web.Web       // nil: it is off
	speech    *speech.Worker // nil: answers are not spoken
	merger    *people.Merger
	servers   *mcp.Client
	members   *job.Members // nil: there is only this process
	backups   backups
	apps      apps
}

// New returns the engine of a process. It can receive immediately; work waits for Run.
func New(p *Process, o Options) (*Engine, error) {
	c := p.Config
	calendar, err := NewCalendar(c)
	if err != nil {
		return nil, err
	}
	e := &Engine{Process: p, options: o, began: p.Now(), Calendar: calendar, Tokens: tokens.New(),
		Channels: gateway.NewChannels(o.Channels...), Hub: live.New(p.Store, p.Name, p.Now, p.Log.Named("live")),
		slots: make(job.Slots, c.Turn.Workers), Deleter: NewDeleter(c, p.Store, o.Crash)}
	e.Meter = metrics.New(metrics.Prices{Prompt: c.LLM.Prices.Prompt, Cached: c.LLM.Prices.Cached,
		Completion: c.LLM.Prices.Completion, Currency: c.LLM.Currency}, e.channelNames())
	e.Ledger = e.newLedger()
	e.jobs = &job.Worker{Store: p.Store, Name: p.Name, Lease: c.Turn.Lease, Busy: e.busy, Now: p.Now, Rand: rand.Float64,
		Log: p.Log.Named("jobs")}
	if p.Clock != nil {
		e.members = &job.Members{Store: p.Store, Worker: p.Name, Now: p.Clock.Wall, Known: p.Clock.Known,
			Log: p.Log.Named("members")}
	}
	e.People = e.newPeople()
	e.Files = e.newFiles()
	e.speech = e.newSpeech()
	if err := e.newRecall(); err != nil {
		return nil, err
	}
	e.web = e.newWeb()
	e.Standing = e.newStanding()
	e.Push = e.newPush()
	planner := gateway.Planner{People: e.People, Channels: e.Channels, Now: p.Now}
	e.Services = NewServices(c, p.Store, p.Way, p.Log, p.Now)
	e.Services.Planner, e.Services.Channels, e.Services.Connected = planner, e.Channels, e.connected
	if err := e.newPlans(); err != nil {
		return nil, err
	}
	if e.Ahead, err = NewAhead(c, p.Way, p.Store, e.People); err != nil {
		return nil, err
	}
	chat, err := e.models(c.LLM)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	if err := e.newSummaries(chat, planner); err != nil {
		return nil, err
	}
	if e.Turns, err = e.newTurns(chat); err != nil {
		return nil, err
	}
	e.firer = e.newFirer(planner)
	e.Gateway = e.newGateway()
	e.merger = e.newMerger()
	e.backups = backups{Process: p, maker: o.Backup, meter: e.Meter, tell: e.unsentTeller(planner)}
	if e.backups.elsewhere, err = NewElsewhere(c, p.Way, p.Now, o.Crash); err != nil {
		return nil, err
	}
	return e, nil
}

// busy reports whether background work must yield: replies are being written, or the day has no tokens left.
func (e *Engine) busy() bool {
	return e.slots.Busy() || !e.Ledger.Closed(context.Background(), step(e.Config, core.Settings{})).IsZero()
}

func (e *Engine) newPeople() *people.People {
	a := e.Config.Access
	return &people.People{Store: e.Store, Log: e.Log, Now: e.Now, Rand: crand.Reader, Channels: e.Channels,
		Crash: e.options.Crash, Settings: people.Settings{Policy: people.Policy(a.Policy), Allow: a.Allow,
			Listed:   e.Config.Channels.Sections.Listed,
			CodeLife: a.CodeLife, MaxCodes: a.MaxCodes, MaxOrigin: a.MaxCodesOrigin, Language: e.Config.DefaultLanguage,
			SetupCode: string(e.Config.SetupCode)}}
}

// newFiles returns the attachments of all channels.
func (e *Engine) newFiles() *media.Files {
	c, fetchers := e.Config, map[string]core.Fetcher{}
	var doors []string
	for name, ch := range e.Channels {
		if _, own := ch.(live.Door); own {
			doors = append(doors, name)
		}
		if f, ok := ch.(core.Fetcher); ok {
			fetchers[name] = f
		}
	}
	files := &media.Files{Store: e.Store, Users: e.People, Jobs: e.jobs, Fetchers: fetchers, Doors: doors,
		Transcriber: e.transcriber(), Longest: c.Transcription.MaxDuration, Tokens: e.Tokens,
		Dir: mediaDir(c), Max: int64(c.Media.MaxBytes),
		PerUser: int64(c.Media.BytesPerUser), Wait: c.Media.Wait, Crash: e.options.Crash,
		Log: e.Log.Named("media"), Now: e.Now}
	if e.options.ReadDocument != nil {
		files.Kind = document.Kind
	}
	return files
}

// newTurns returns the turns, with the tools of the features and of MCP servers.
func (e *Engine) newTurns(chat core.Model) (*Turns, error) {
	e.servers = mcp.New(mcp.Options{Servers: Servers(e.Config.Agent.MCPServers), Version: e.options.Version,
		Tokenizer: e.Tokens, Grants: e.Services, Way: e.Way, Log: e.Log.Named("mcp"), Now: e.Now, Rand: rand.Float64})
	o := TurnOptions{Config: e.Config, Store: e.Store, Users: e.People, Model: chat,
		Ledger: e.Ledger, Tokens: e.Tokens, Calendar: e.Calendar, Files: e.Files, Memory: e.Memory, Standing: e.Standing,
		Servers: e.servers, Tools: e.ownTools(), Some: append(e.Ahead.Tools(), e.Services.Tools()...), Now: e.Now}
	turns, err := NewTurns(o)
	if err != nil {
		return nil, err
	}
	turns.choices = map[string]*Turns{}
	for name := range e.Config.LLM.Choices {
		o.Config, _ = e.Config.Chosen(name)
		if o.Model, err = e.models(o.Config.LLM); err != nil {
			return nil, fmt.Errorf("llm.choices.%s: %w", name, err)
		}
		if turns.choices[name], err = NewTurns(o); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

func (e *Engine) newGateway() *gateway.Gateway {
	c := e.Config
	return gateway.New(gateway.Options{
		Store: e.Store, Wakes: e.Store, Jobs: e.jobs, Share: e.share, Files: e.Files,
		People: e.People, Commands: e.newCommands(),
		Prompts: e.Turns, Agent: e.Turns, Tasks: e.Plans, Calendar: e.Calendar, Limiter: e.limiter(), Tokens: e.Tokens,
		Channels: e.Channels, Slots: e.slots, Settings: gateway.Settings{Debounce: c.Turn.Debounce, Join: c.Turn.Join,
			GiveUpAfter: c.Turn.GiveUpAfter, Poll: pollEvery, TokensPerDay: c.Limits.Daily(),
			TurnsPerMinute: c.Limits.TurnsPerMinute, SummarizeAfter: c.Summaries.AfterMessages, Language: c.DefaultLanguage,
			Speaks: e.speech != nil, LongestVoice: c.Transcription.MaxDuration,
			Groups: gateway.Groups{Enabled: c.Groups.Enabled, AnswerAll: c.Groups.Answer == "all",
				Mentions: c.Groups.Listen == "mentions"}},
		Budgets: e.Turns, Previews: e.Hub, Summaries: e.summaries, Meter: e.Meter, Log: e.Log, Now: e.Now,
		Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), Crash: e.options.Crash,
	})
}

// limiter returns one for this process with the embedded store, else the shared one.
func (e *Engine) limiter() gateway.Limiter {
	if e.Config.DatabaseURL == "" {
		return gateway.NewMemoryLimiter()
	}
	return e.Store
}

func (e *Engine) newCommands() *command.Commands {
	c := e.Config
	return command.New(command.Options{
		Store: e.Store, Calendar: e.Calendar, NewCode: e.People.NewLinkCode, Channels: e.Channels,
		NewWebLink: e.webLink(), Services: e.Services, ConnectLink: e.connectLink(), Search: e.Search, Memory: e.Memory, Standing: e.Standing, Plans: e.Plans, Ahead: e.Ahead,
		Defaults: command.Defaults{Language: c.DefaultLanguage, TokensPerDay: c.Limits.Daily(),
			AllTokensPerDay: AllTokensPerDay(c), PostForward: c.Summaries.PostForward, Strategy: c.Context.Strategy,
			Voice: c.Speech.Model != ""},
		Models: e.Turns.Choices, Prices: Prices(c), Administers: e.administers,
	})
}
