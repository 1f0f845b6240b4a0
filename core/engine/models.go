package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/demo"
	"github.com/everthread/everthread/core/llm/fallback"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/llm/speak"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/llm/transcribe"
	"github.com/everthread/everthread/core/media"
	"github.com/everthread/everthread/core/speech"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// Models returns the configured model with its fallbacks. Its calls are not counted:
// see trust.Ledger.
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
		return openai.New(openai.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model,
			Timeout: c.Timeout, Way: way}), nil
	case "anthropic":
		return anthropic.New(anthropic.Options{BaseURL: c.BaseURL, APIKey: string(c.APIKey), Model: c.Model,
			MaxTokens: c.MaxOutputTokens, Timeout: c.Timeout, Way: way}), nil
	}
	return nil, fmt.Errorf("provider %q is not known; use openai, anthropic or demo", c.Provider)
}

// ErrCutOff means that the answer of a model had no end.
var ErrCutOff = errors.New("the answer was cut off")

// TryModel has a configured model say a word.
func TryModel(ctx context.Context, c configs.LLM) error {
	m, err := Model(c, tokens.New(), nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(20*time.Second, min(c.Timeout, time.Minute)))
	defer cancel()
	err = ErrCutOff
	req := core.ModelRequest{Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "Answer with the word ok."}},
		MaxTokens: 16}
	for d, failed := range m.Stream(ctx, req) {
		if failed != nil {
			return failed
		}
		if d.Finish != "" {
			err = nil
		}
	}
	return err
}

// DatabaseName is how the configured database is called.
func DatabaseName(c configs.Config) string {
	if c.DatabaseURL == "" {
		return "sqlite in " + c.DataDir
	}
	return "postgres"
}

// Transcriber is the configured service that writes down voice notes, or nil.
func Transcriber(t configs.Transcription, way *egress.Gate) media.Transcriber {
	if t.Model == "" {
		return nil
	}
	return transcribe.New(transcribe.Options{BaseURL: t.BaseURL, APIKey: string(t.APIKey), Model: t.Model,
		Timeout: t.Timeout, Way: way})
}

// Speaker is the configured service that speaks answers, or nil.
func Speaker(s configs.Speech, way *egress.Gate) speech.Speaker {
	if s.Model == "" {
		return nil
	}
	return speak.New(speak.Options{BaseURL: s.BaseURL, APIKey: string(s.APIKey), Model: s.Model, Voice: s.Voice,
		Timeout: s.Timeout, MaxBytes: int64(s.MaxBytes), Way: way})
}

// ledgerLease is how long what a process was granted of a day is kept for it.
const ledgerLease = 10 * time.Minute

// newLedger makes the ledger through which all providers are asked.
func (e *Engine) newLedger() *trust.Ledger {
	c := e.Config
	return &trust.Ledger{Store: e.Store, PerDay: AllTokensPerDay(c), PerUser: c.Limits.TokensPerDay,
		Worker: e.Name, Lease: ledgerLease, Tokens: e.Tokens, MaxOutput: c.LLM.MaxOutputTokens,
		Log: e.Log.Named("ledger"), Now: e.Now, Day: today(e.Calendar, e.Store, e.Now)}
}

// today tells a user's day of the moment.
func today(c day.Calendar, users core.Users,
	now func() time.Time) func(context.Context, core.UserID) (core.Day, error) {
	return func(ctx context.Context, user core.UserID) (core.Day, error) {
		u, err := users.User(ctx, user)
		return c.Day(u.Settings, now()), err
	}
}

// AllTokensPerDay is how many tokens all users may use a day; 0: there is no limit.
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

// models is a configured model with its fallbacks, as the ledger counts it.
func (e *Engine) models(c configs.LLM) (core.Model, error) {
	m, err := Models(c, e.Tokens, e.Way)
	if err != nil {
		return nil, err
	}
	return e.Ledger.Model(m), nil
}

// transcriber is the configured one, as the ledger counts it; nil: there is none.
func (e *Engine) transcriber() media.Transcriber {
	t := Transcriber(e.Config.Transcription, e.Way)
	if t == nil {
		return nil
	}
	return e.Ledger.Transcriber(t)
}

// speaker is the configured one, as the ledger counts it; nil: there is none.
func (e *Engine) speaker() speech.Speaker {
	s := Speaker(e.Config.Speech, e.Way)
	if s == nil {
		return nil
	}
	return e.Ledger.Speaker(s)
}

// Servers are the configured MCP servers.
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
			Headers: plain(s.Headers), Allow: s.Allow, TrustHints: s.TrustHints}
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
