package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/embed"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/loops"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/recall"
	"github.com/everthread/everthread/core/remind"
	"github.com/everthread/everthread/core/trust/egress"
)

// features are what the model and the person find and keep things with.
type features struct {
	search    *recall.Searcher
	memory    *memory.Memory
	reminders *remind.Reminders
	firer     *remind.Firer
	embedders *embedders
	embedding *embed.Worker
	mcp       *mcp.Client
}

// newAnalyzer is the analyzer of the full-text index.
func newAnalyzer(c configs.Config) (*recall.Analyzer, error) {
	a, err := recall.NewAnalyzer(c.Recall.Languages)
	if err != nil {
		return nil, fmt.Errorf("recall.languages: %w", err)
	}
	return a, nil
}

// newFeatures wires recall, memory, loops and reminders.
func (a *app) newFeatures() error {
	c := a.cfg
	analyzer, err := newAnalyzer(c)
	if err != nil {
		return err
	}
	if a.embedders, err = a.newEmbedders(); err != nil {
		return err
	}
	a.embedders.counted = a.ledger.Embedder
	a.search = newSearcher(c, a.store, analyzer, a.embedders.of, a.tokens, a.log.Named("recall"))
	a.newEmbedding()
	a.memory = &memory.Memory{Store: a.store, Signals: a.search, Embed: a.embedders.name,
		Settings: memory.Settings{SemanticWeight: c.Recall.SemanticWeight, LexicalWeight: c.Recall.LexicalWeight, Candidates: c.Recall.Candidates}}
	return a.newReminders()
}

// newEmbedder returns the configured embedder, or nil.
func newEmbedder(c configs.Config, way *egress.Gate) (core.Embedder, string, error) {
	e := c.Embeddings
	if e.Provider == "none" || e.Provider == "" {
		return nil, "", nil
	}
	out, err := llmembed.New(llmembed.Options{Provider: e.Provider, BaseURL: e.BaseURL, APIKey: string(e.APIKey), Model: e.Model,
		Dimensions: e.Dimensions, Timeout: e.Timeout, Written: true, Way: way})
	if err != nil {
		return nil, "", fmt.Errorf("embeddings: %w", err)
	}
	return out, llmembed.Config(e.Provider, e.Model, e.Dimensions), nil
}

func newSearcher(c configs.Config, st store, analyzer *recall.Analyzer, e core.EmbedderOf, t core.Tokenizer, log *zap.Logger) *recall.Searcher {
	s := recall.Default()
	s.Semantic, s.Lexical, s.Covered, s.Candidates = c.Recall.SemanticWeight, c.Recall.LexicalWeight, c.Recall.CoveredPenalty, c.Recall.Candidates
	return &recall.Searcher{Store: st, Days: st, Embedders: e, Analyzer: analyzer, Tokens: t, Settings: s, Log: log}
}

func (a *app) newEmbedding() {
	a.embedding = &embed.Worker{Store: a.store, Jobs: a.jobs, Embedders: a.embedders.of, Cut: recall.Cut, Text: recall.WindowText, Passages: recall.Passages,
		Count: a.meter.Count, Log: a.log.Named("embeddings"), Now: a.now}
}

func (a *app) newReminders() error {
	c := a.cfg
	hour, err := day.Clock(c.Reminders.DefaultHour)
	if err != nil {
		return fmt.Errorf("reminders.default_hour: %w", err)
	}
	s := remind.Settings{DefaultHour: hour, MinEvery: c.Reminders.MinEvery, MaxActive: c.Reminders.MaxActive, Language: c.DefaultLanguage}
	a.reminders = &remind.Reminders{Store: a.store, Settings: s}
	a.firer = &remind.Firer{Store: a.store, Users: a.people, Planner: lazyPlanner{a}, Tokens: a.tokens, Settings: s,
		Channels: a, Count: a.meter.Count, Log: a.log.Named("reminders")}
	return nil
}

// newEngine makes the engine of the features.
func (a *app) newEngine(chat core.Model) (*engine.Engine, error) {
	a.mcp = mcp.New(mcp.Options{Servers: servers(a.cfg.Agent.MCPServers), Version: version, Tokenizer: a.tokens, Way: a.way,
		Log: a.log.Named("mcp"), Now: a.now, Rand: rand.Float64})
	return engine.New(engine.Options{Config: a.cfg, Store: a.store, Users: a.people, Model: chat, Ledger: a.ledger, Tokens: a.tokens,
		Calendar: a.calendar, Files: a.files, Memory: a.memory, Servers: a.mcp, Tools: a.ownTools(), Now: a.now})
}

// ownTools are the tools of the features.
func (a *app) ownTools() []core.Tool {
	tools := recall.Tools(a.search, recall.UserNames(a.people))
	tools = append(tools, a.memory.Tools()...)
	tools = append(tools, (&loops.Loops{Store: a.store}).Tools()...)
	return append(tools, a.reminders.Tools()...)
}

func servers(list []configs.MCPServer) []mcp.Server {
	plain := func(m map[string]configs.Secret) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = string(v)
		}
		return out
	}
	var out []mcp.Server
	for _, s := range list {
		server := mcp.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: plain(s.Env), URL: s.URL, Headers: plain(s.Headers),
			Allow: s.Allow, TrustHints: s.TrustHints}
		for _, role := range s.Roles {
			server.Roles = append(server.Roles, core.UserRole(role))
		}
		for _, id := range s.Users {
			server.Users = append(server.Users, core.UserID(id))
		}
		out = append(out, server)
	}
	return out
}

// remind tells people what they wanted to be reminded of.
func (a *app) remind(ctx context.Context) error { return a.firer.Run(ctx, a.now()) }

// indexUsers is how many users' new messages are indexed in one round.
const (
	indexUsers = 256
	indexEvery = 2 * time.Second
)

// index keeps the full-text index up to date until ctx ends.
func (a *app) index(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := a.store.Index(ctx, indexUsers)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("index", zap.Error(err))
		}
		if n == 0 || err != nil || a.gateway.Busy() {
			pause(ctx, indexEvery)
		}
	}
	return nil
}

// embeds returns what runs the jobs of the embedding queue.
func (a *app) embeds() *job.Runner {
	return &job.Runner{Jobs: a.store, Queues: []string{core.QueueEmbed}, Workers: embedWorkers, Take: a.embedding.Take, Poll: pollEvery, Now: a.now, Log: a.log}
}

// embedWorkers is how many users' texts are embedded at once.
const embedWorkers = 2

// wantEmbeddings enqueues the work of users who have something to be embedded.
func (a *app) wantEmbeddings(ctx context.Context) error {
	const page = 500
	for after := core.UserID(0); ; {
		users, err := a.store.EmbeddingDue(ctx, after, a.embedders.system == nil, a.embedders.tried, page)
		if err != nil {
			return err
		}
		for _, u := range users {
			after = u
			if config, err := a.embedders.name(ctx, u); err != nil || config == "" {
				continue // the job would only say why, again and again
			}
			err := a.store.Enqueue(ctx, core.NewJob{User: u, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: a.now(), Unique: true})
			if err != nil {
				return err
			}
		}
		if len(users) < page {
			return nil
		}
	}
}
