package main

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/adapters/mcp"
	openaidoor "github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/command"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/gateway"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/demo"
	"github.com/everthread/everthread/core/llm/fallback"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/llm/transcribe"
	"github.com/everthread/everthread/core/long"
	"github.com/everthread/everthread/core/media"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlstore"
	"github.com/everthread/everthread/core/summary"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// store is a store of either engine.
type store interface {
	core.Store
	Migrate(ctx context.Context) error
	Schema(ctx context.Context) (sqlstore.Schema, error)
	Listen(ctx context.Context) error
	Analyze(a core.Analyzer)
	Remains(ctx context.Context, user core.UserID) ([]string, error)
	Beside() (db *sql.DB, dialect string, err error)
	Reseal(ctx context.Context, f func(core.Sealed) (string, error)) (changed int, err error)
}

// openStore opens the configured store without migrating it.
func openStore(ctx context.Context, c configs.Config) (store, error) {
	analyzer, err := newAnalyzer(c)
	if err != nil {
		return nil, err
	}
	st, err := openEngine(ctx, c)
	if err != nil {
		return nil, err
	}
	st.Analyze(analyzer)
	return st, nil
}

func openEngine(ctx context.Context, c configs.Config) (store, error) {
	if c.DatabaseURL == "" {
		return sqlite.Open(c.DataDir)
	}
	return postgres.Open(ctx, postgres.Options{URL: string(c.DatabaseURL), Trace: tracing()})
}

// app is everything that a process of the gateway is made of.
type app struct {
	*holder
	tokens   core.Tokenizer
	calendar day.Calendar
	ledger   *trust.Ledger
	people   *people.People
	commands *command.Commands
	jobs     *job.Worker
	summary  *summary.Summarizer
	compress *long.Worker
	files    *media.Files
	engine   *engine.Engine
	gateway  *gateway.Gateway
	channels []core.Channel
	meter    *meter
	guard    *client.Guard
	began    time.Time
	// metricsAt is where the metrics alone are served; nil: they have no address of
	// their own.
	metricsAt net.Listener
	hub       *live.Hub
	// mcpServer serves MCP clients over HTTP; nil: it is turned off.
	mcpServer *mcp.Server
	// nextBackup is when a backup that failed is tried again.
	nextBackup time.Time
	features
}

// build wires a process that serves channels.
func build(h *holder, channels []core.Channel) (*app, error) {
	a := &app{holder: h, tokens: tokens.New(), channels: channels, began: h.now(), meter: newMeter(h.cfg.LLM, channelNames(channels)),
		hub: live.New(h.store, h.worker, h.now, h.log.Named("live"))}
	c := h.cfg
	var err error
	if a.calendar, err = engine.NewCalendar(c); err != nil {
		return nil, err
	}
	a.jobs = &job.Worker{Store: h.store, Name: h.worker, Lease: c.Turn.Lease, Busy: a.busy, Now: h.now, Rand: rand.Float64, Log: h.log.Named("jobs")}
	a.people = a.newPeople()
	a.newLedger()
	chat, err := a.models(c.LLM)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	if err := a.newFeatures(); err != nil {
		return nil, err
	}
	if err := a.newSummary(chat); err != nil {
		return nil, err
	}
	a.commands = a.newCommands()
	a.files = a.newFiles()
	if a.engine, err = a.newEngine(chat); err != nil {
		return nil, err
	}
	doors, err := a.doors()
	if err != nil {
		return nil, err
	}
	a.channels = append(a.channels[:len(a.channels):len(a.channels)], doors...)
	a.newGateway()
	return a, nil
}

// channelNames are the names under which messages come: of channels, of those that
// they carry, and of the doors.
func channelNames(all []core.Channel) []string {
	names := []string{web.Name, openaidoor.Name, api.Name}
	for _, ch := range all {
		names = append(names, ch.Name())
		if c, ok := ch.(core.Carrier); ok {
			for _, other := range c.Carries() {
				names = append(names, other.Name())
			}
		}
	}
	return names
}

func (a *app) newPeople() *people.People {
	return &people.People{Store: a.store, Log: a.log, Now: a.now, Rand: crand.Reader, Channels: a, Crash: crash,
		Settings: people.Settings{Policy: people.Policy(a.cfg.Access.Policy), Allow: a.cfg.Access.Allow, CodeLife: a.cfg.Access.CodeLife,
			MaxCodes: a.cfg.Access.MaxCodes, MaxOrigin: a.cfg.Access.MaxCodesOrigin, Language: a.cfg.DefaultLanguage}}
}

// newFiles keeps the attachments of all channels.
func (a *app) newFiles() *media.Files {
	c, fetchers := a.cfg, map[string]core.Fetcher{}
	for _, ch := range a.everyChannel() {
		if f, ok := ch.(core.Fetcher); ok {
			fetchers[ch.Name()] = f
		}
	}
	return &media.Files{Store: a.store, Users: a.people, Jobs: a.jobs, Fetchers: fetchers, Transcriber: a.transcriber(), Tokens: a.tokens,
		Dir: filepath.Join(c.DataDir, "media"), Max: int64(c.Media.MaxBytes), PerUser: int64(c.Media.BytesPerUser), Wait: c.Media.Wait,
		Log: a.log.Named("media"), Now: a.now}
}

// everyChannel are the channels with those that they carry.
func (a *app) everyChannel() []core.Channel {
	var out []core.Channel
	for _, ch := range a.channels {
		out = append(out, ch)
		if c, ok := ch.(core.Carrier); ok {
			out = append(out, c.Carries()...)
		}
	}
	return out
}

// Capabilities are those of a channel by its name; of one that is not there, none.
func (a *app) Capabilities(channel string) core.Capabilities {
	for _, ch := range a.everyChannel() {
		if d, ok := ch.(core.Describer); ok && ch.Name() == channel {
			return d.Capabilities()
		}
	}
	return core.Capabilities{}
}

func (a *app) newGateway() {
	c := a.cfg
	a.gateway = gateway.New(gateway.Options{
		Store: a.store, Wakes: a.store, Jobs: a.jobs, Files: a.files, People: a.people, Commands: a.commands, Prompts: a.engine, Agent: a.engine,
		Calendar: a.calendar, Limiter: a.limiter(), Tokens: a.tokens, Channels: a.channels,
		Settings: gateway.Settings{Debounce: c.Turn.Debounce, Workers: c.Turn.Workers, GiveUpAfter: c.Turn.GiveUpAfter,
			Poll: pollEvery, TokensPerDay: c.Limits.TokensPerDay, TurnsPerMinute: c.Limits.TurnsPerMinute,
			Reserve: a.engine.Reserve, Closed: a.engine.Closed, SummarizeAfter: c.Summaries.AfterMessages, Language: c.DefaultLanguage},
		Preview: a.hub.Preview, Meter: a.meter, Log: a.log, Now: a.now, Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), Crash: crash,
	})
}

// pollEvery is how often work is looked for when nothing wakes.
const pollEvery = time.Second

// limiter is the process's own with the embedded store, else shared by all.
func (a *app) limiter() gateway.Limiter {
	if a.cfg.DatabaseURL == "" {
		return gateway.NewMemoryLimiter()
	}
	return a.store
}

// models returns the configured model with its fallbacks.
func models(c configs.LLM, t core.Tokenizer, way *egress.Gate) (core.Model, error) {
	first, err := model(c, t, way)
	if err != nil {
		return nil, err
	}
	var rest []core.Model
	for i, f := range c.Fallbacks {
		m, err := model(f, t, way)
		if err != nil {
			return nil, fmt.Errorf("fallbacks[%d]: %w", i, err)
		}
		rest = append(rest, m)
	}
	if len(rest) == 0 {
		return first, nil
	}
	return fallback.New(first, rest...), nil
}

func model(c configs.LLM, t core.Tokenizer, way *egress.Gate) (core.Model, error) {
	switch c.Provider {
	case "demo":
		return demo.New(t), nil
	case "openai":
		return openai.New(openai.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model, Timeout: c.Timeout, Way: way}), nil
	case "anthropic":
		return anthropic.New(anthropic.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model, MaxTokens: c.MaxOutputTokens, Timeout: c.Timeout, Way: way}), nil
	}
	return nil, fmt.Errorf("provider %q is not known; use openai, anthropic or demo", c.Provider)
}

// transcriber is the configured service that writes down voice notes, or nil.
func transcriber(t configs.Transcription, way *egress.Gate) media.Transcriber {
	if t.Model == "" {
		return nil
	}
	return transcribe.New(transcribe.Options{BaseURL: t.BaseURL, APIKey: string(t.APIKey), Model: t.Model, Timeout: t.Timeout, Way: way})
}

// workerName tells processes apart in leases.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%x", host, os.Getpid(), rand.Uint32())
}
