package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/embed"
	"github.com/everthread/everthread/core/job"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/loops"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
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
	tools     *toolbox
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
func (a *app) newFeatures(chat core.Model) error {
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
	if err := a.newReminders(); err != nil {
		return err
	}
	return a.newTools(chat)
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

// newTools puts the tools together: our own at once, those of MCP servers when
// these have been reached.
func (a *app) newTools(chat core.Model) error {
	c := a.cfg.Agent
	a.mcp = mcp.New(mcp.Options{Servers: servers(c.MCPServers), Version: version, Tokenizer: a.tokens, Way: a.way, Log: a.log.Named("mcp"), Now: a.now, Rand: rand.Float64})
	box := &toolbox{outside: a.mcp.Tools, tokenizer: a.tokens}
	delegate := &agent.Delegate{Model: chat, Tools: a.toolsOf, Journal: a.store, MaxSteps: c.MaxSteps, ToolTokens: c.ToolTokens,
		ResultTokens: c.ResultTokens, ToolTimeout: c.ToolTimeout, MaxOutputTokens: a.cfg.LLM.MaxOutputTokens, Patience: c.DelegateTimeout,
		Tokenizer: a.tokens, Now: a.now}
	base, err := agent.NewRegistry(a.ownTools(delegate)...)
	box.base = base
	a.tools = box
	return err
}

// ownTools are all tools that are not of MCP servers.
func (a *app) ownTools(delegate *agent.Delegate) []core.Tool {
	tools := []core.Tool{agent.TimeNow{}, delegate}
	tools = append(tools, recall.Tools(a.search, a.names)...)
	tools = append(tools, a.memory.Tools()...)
	tools = append(tools, (&loops.Loops{Store: a.store}).Tools()...)
	return append(tools, a.reminders.Tools()...)
}

// names says who is meant by a name in a query.
func (a *app) names(ctx context.Context, user core.UserID) map[string]core.Role {
	u, err := a.people.User(ctx, user)
	if err != nil {
		return nil
	}
	return namesOf(u)
}

func namesOf(u core.User) map[string]core.Role {
	out := map[string]core.Role{}
	if u.Name != "" {
		out[u.Name] = core.RoleUser
		out[strings.Fields(u.Name)[0]] = core.RoleUser
	}
	return out
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

// toolbox is the set of tools of the moment. What a user may use of it is counted
// again when it grows: the vocabulary is large.
type toolbox struct {
	base      *agent.Registry // without those of memory for people who want none
	outside   func() []core.Tool
	tokenizer core.Tokenizer

	mu   sync.Mutex
	more int
	sets map[string]*toolset // by the outside tools in it
}

// toolset is what some users may use.
type toolset struct {
	tools  *agent.Registry
	tokens int // of the descriptions; 0: not counted yet
}

// of returns the tools that a user has at the moment.
func (b *toolbox) of(u core.User) *agent.Registry { return b.set(u).tools }

// schema returns how many tokens their descriptions take.
func (b *toolbox) schema(u core.User) int {
	s := b.set(u)
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.tokens == 0 {
		s.tokens = s.tools.Tokens(b.tokenizer)
	}
	return s.tokens
}

func (b *toolbox) set(u core.User) *toolset {
	all := b.outside()
	var mine []core.Tool
	var names strings.Builder
	base := b.base
	if u.Settings.MemoryOff {
		base = b.base.Only(func(name string) bool { return !memory.IsTool(name) })
		names.WriteString("no memory ")
	}
	for _, t := range all {
		if g, ok := t.(core.GuardedTool); !ok || g.May(u) {
			mine = append(mine, t)
			names.WriteString(t.Spec().Name + " ")
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets == nil || len(all) != b.more {
		b.sets, b.more = map[string]*toolset{}, len(all)
	}
	s := b.sets[names.String()]
	if s == nil {
		s = &toolset{tools: base.With(mine...)}
		b.sets[names.String()] = s
	}
	return s
}

// toolsOf returns the tools that a user has at the moment; of somebody who is gone
// none.
func (a *app) toolsOf(ctx context.Context, user core.UserID) *agent.Registry {
	u, err := a.people.User(ctx, user)
	if err != nil {
		return nil
	}
	return a.tools.of(u)
}

// reachServers waits, for a while after the start, until every MCP server has been
// tried: a turn that goes on after a crash wants the tools that it had.
func (a *app) reachServers(ctx context.Context) {
	untried := func(s mcp.Status) bool { return !s.Up && s.Error == "" }
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	for ctx.Err() == nil && slices.ContainsFunc(a.mcp.Status(), untried) {
		pause(ctx, 20*time.Millisecond)
	}
}

const reachFor = 5 * time.Second

// hints is the part of a prompt that tells how to use memory, and what it is about.
func (a *app) hints(ctx context.Context, user core.UserID) prompt.Static {
	var themes []core.Theme
	return prompt.Static{Name: "themes", Load: func() (text string, err error) {
		themes, err = a.memory.Themes(ctx, user, hintedThemes)
		return memory.Hints(themes, err), err
	}, Tainted: func() bool { return memory.Foreign(themes) }}
}

// hintedThemes is one more theme than hints show, so that they can say that
// there are more.
const hintedThemes = 11

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
