package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/files/media"
	"github.com/everthread/everthread/core/files/speech"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/catalog"
	"github.com/everthread/everthread/core/llm/demo"
	"github.com/everthread/everthread/core/llm/fallback"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/llm/speak"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/llm/transcribe"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// Models returns the configured model with its fallbacks. Its calls are not counted; see trust.Ledger.
func Models(c configs.LLM, t core.Tokenizer, way *egress.Gate) (core.Model, error) {
	first, err := Model(c, t, way)
	if err != nil {
		return nil, err
	}
	var rest []core.Model
	for i, f := range c.Fallbacks {
		m, err := Model(f, t, way)
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

// Model returns one configured model.
func Model(c configs.LLM, t core.Tokenizer, way *egress.Gate) (core.Model, error) {
	switch c.Provider {
	case "demo":
		return demo.New(t), nil
	case "openai":
		return asked(c, openai.New(openai.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model,
			Effort: c.ReasoningEffort, Timeout: c.Timeout, Way: way})), nil
	case "anthropic":
		return asked(c, anthropic.New(anthropic.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model,
			Effort: c.ReasoningEffort, Timeout: c.Timeout, Way: way})), nil
	}
	return nil, fmt.Errorf("provider %q is not known; use openai, anthropic or demo", c.Provider)
}

// asked returns a model that gets pictures only if it is to see them, and that says by which name it was asked: servers
// answer with a name of their own, which has no price.
func asked(c configs.LLM, m core.Model) core.Model {
	if !c.SeesItself() {
		m = blind{m}
	}
	return named{m, c.Model}
}

type named struct {
	core.Model
	name string
}

// Stream asks the model.
func (n named) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		for d, err := range n.Model.Stream(ctx, req) {
			if d.Finish != "" || d.Usage != nil {
				d.Asked = n.name
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// blind is a model that is told of pictures, and does not see them.
type blind struct{ core.Model }

// Stream asks the model.
func (b blind) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	req.Messages, _ = llm.Blind(req.Messages, llm.Unseen)
	return b.Model.Stream(ctx, req)
}

// ErrCutOff means that a model's answer ended without a finish reason.
var ErrCutOff = errors.New("the answer was cut off")

// TryModel checks that a configured model answers a request as turns make them: with instructions, notes beside the
// person's message, and a tool. It returns what its server does not take, or the model is known not to use.
func TryModel(ctx context.Context, c configs.LLM) ([]core.Reduction, error) {
	m, err := Model(c, tokens.New(), nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(20*time.Second, min(c.Timeout, time.Minute)))
	defer cancel()
	finish := core.FinishCut
	var reduced []core.Reduction
	for d, failed := range m.Stream(ctx, core.ModelRequest{Messages: []core.ModelMessage{
		{Role: core.RoleSystem, Content: "You are being tried out."},
		{Role: core.RoleUser, Content: "[no notes]"},
		{Role: core.RoleUser, Content: "Answer with the word ok."},
	}, Tools: []core.ToolSpec{agent.TimeNow{}.Spec()}}) {
		if failed != nil {
			return nil, failed
		}
		if d.Finish != "" {
			finish, reduced = d.Finish, d.Reduced
		}
	}
	if finish == core.FinishCut {
		return nil, ErrCutOff
	}
	if e, known := catalog.Lookup(c.Model); known && !e.Tools && !slices.Contains(reduced, core.ReducedTools) {
		reduced = append(slices.Clip(reduced), core.ReducedTools)
	}
	return reduced, nil
}

// DatabaseName returns the name of the configured database for people.
func DatabaseName(c configs.Config) string {
	if c.DatabaseURL == "" {
		return "sqlite in " + c.DataDir
	}
	return "postgres"
}

// Transcriber returns the configured service that transcribes voice notes, or nil.
func Transcriber(t configs.Transcription, way *egress.Gate) media.Transcriber {
	if t.Model == "" {
		return nil
	}
	return transcribe.New(transcribe.Options{BaseURL: t.BaseURL, APIKey: string(t.APIKey), Model: t.Model,
		Timeout: t.Timeout, Way: way})
}

// Speaker returns the configured service that speaks answers, or nil.
func Speaker(s configs.Speech, way *egress.Gate) speech.Speaker {
	if s.Model == "" {
		return nil
	}
	return speak.New(speak.Options{BaseURL: s.BaseURL, APIKey: string(s.APIKey), Model: s.Model, Voice: s.Voice,
		Timeout: s.Timeout, MaxBytes: int64(s.MaxBytes), Way: way})
}

// ledgerLease is how long a process keeps the tokens of a day that it was granted.
const ledgerLease = 10 * time.Minute

// newLedger returns the ledger that counts all calls of providers.
func (e *Engine) newLedger() *trust.Ledger {
	c := e.Config
	return &trust.Ledger{Store: e.Store, PerDay: AllTokensPerDay(c), PerUser: c.Limits.Daily(),
		Worker: e.Name, Lease: ledgerLease, Tokens: e.Tokens, MaxOutput: c.LLM.Output(),
		Log: e.Log.Named("ledger"), Now: e.Now, Day: today(e.Calendar, e.Store, e.Now)}
}

// today returns a function that returns a user and their current day.
func today(c day.Calendar, users core.Users,
	now func() time.Time) func(context.Context, core.UserID) (core.User, core.Day, error) {
	return func(ctx context.Context, user core.UserID) (core.User, core.Day, error) {
		u, err := users.User(ctx, user)
		return u, c.Day(u.Settings, now()), err
	}
}

// AllTokensPerDay bounds the tokens that all users may use a day; 0: no limit.
func AllTokensPerDay(c configs.Config) int {
	switch n := c.Limits.AllTokensPerDay; {
	case n < 0:
		return 0
	case n == 0 && c.Access.Policy == "open":
		return configs.OpenTokensPerDay
	default:
		return n
	}
}

// models returns a configured model with its fallbacks, counted by the ledger.
func (e *Engine) models(c configs.LLM) (core.Model, error) {
	m, err := Models(c, e.Tokens, e.Way)
	if err != nil {
		return nil, err
	}
	return e.Ledger.Model(m), nil
}

// transcriber returns the configured one, counted by the ledger; nil: there is none.
func (e *Engine) transcriber() media.Transcriber {
	t := Transcriber(e.Config.Transcription, e.Way)
	return e.Ledger.Transcriber(t, e.Config.Transcription.Model)
}

// speaker returns the configured one, counted by the ledger; nil: there is none.
func (e *Engine) speaker() speech.Speaker {
	s := Speaker(e.Config.Speech, e.Way)
	return e.Ledger.Speaker(s, e.Config.Speech.Model)
}

// Servers returns the configured MCP servers.
func Servers(list []configs.MCPServer) []mcp.Server {
	plain := func(m map[string]configs.Secret) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = string(v)
		}
		return out
	}
	var out []mcp.Server
	for _, s := range list {
		server := mcp.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: plain(s.Env), URL: s.URL,
			Headers: plain(s.Headers), OAuth: s.Auth == "oauth", Allow: s.Allow, TrustHints: s.TrustHints}
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
