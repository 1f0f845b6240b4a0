package engine

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
)

// tool is a tool, of ours or of a server.
type tool struct{ name string }

func (t tool) Spec() core.ToolSpec {
	return core.ToolSpec{Name: t.name, Schema: json.RawMessage(`{"type":"object"}`)}
}
func (tool) Use(context.Context, core.ToolUse) (core.ToolResult, error) {
	return core.ToolResult{}, nil
}

// guarded is a tool of a server that only owners may use.
type guarded struct {
	tool
	allowed, readOnly, closed bool
}

func (g guarded) May(u core.User) bool               { return u.Role == core.RoleOwner }
func (guarded) Server() string                       { return "wiki" }
func (g guarded) Closed() bool                       { return g.closed }
func (g guarded) Standing() (allowed, readOnly bool) { return g.allowed, g.readOnly }

func TestTools_onlyThoseAUserMayUse(t *testing.T) {
	t.Parallel()
	base, err := agent.NewRegistry(tool{"time_now"}, tool{"memory_add"})
	if err != nil {
		t.Fatal(err)
	}
	var outside []core.Tool
	b := &toolbox{base: base, outside: func() []core.Tool { return outside }, tokenizer: tokens.New(),
		room: configs.Default().Room()}
	owner, member := core.User{Role: core.RoleOwner}, core.User{Role: core.RoleMember}
	forgetful := core.User{Role: core.RoleMember, Settings: core.Settings{MemoryOff: true}}
	group := core.User{Role: core.RoleGroup, Settings: core.Settings{MemoryOff: true}}
	for round, want := range [][4]int{{2, 2, 1, 1}, {3, 2, 1, 1}, {4, 3, 2, 1}} {
		for n, u := range []core.User{owner, member, forgetful, group} {
			if got := len(b.of(u, core.ModeContinuous).Tools().Specs()); got != want[n] {
				t.Errorf("round %d: user %d has %d tools, want %d", round, n, got, want[n])
			}
			one, again := b.of(u, core.ModeContinuous).Tokens(), b.of(u, core.ModeContinuous).Tokens()
			if one == 0 || one != again {
				t.Errorf("round %d: user %d: %d and %d tokens", round, n, one, again)
			}
		}
		if b.of(forgetful, core.ModeContinuous).Tokens() >= b.of(owner, core.ModeContinuous).Tokens() {
			t.Errorf("round %d: fewer tools do not take fewer tokens", round)
		}
		outside = append(outside, []core.Tool{guarded{tool: tool{"mail"}}, tool{"weather"}}[min(round, 1)])
	}
}

func TestPermit_outsideToolsAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool    core.Tool
		tainted bool
		want    agent.Verdict
	}{
		{tool{"memory_add"}, true, agent.Allow},
		{guarded{}, false, agent.Ask},
		{guarded{readOnly: true}, false, agent.Allow},
		{guarded{readOnly: true}, true, agent.Ask}, // an address holds what it is made of
		{guarded{readOnly: true, closed: true}, true, agent.Allow},
		{guarded{closed: true}, true, agent.Ask},
		{guarded{allowed: true, closed: true}, true, agent.Ask},
		{guarded{allowed: true}, false, agent.Allow},
		{guarded{allowed: true}, true, agent.Ask}, // another person's words may have caused it
	} {
		if got := permit(c.tool, c.tainted); got != c.want {
			t.Errorf("%+v, tainted %v: %v, want %v", c.tool, c.tainted, got, c.want)
		}
	}
}

// books is a store with the budget of one user.
type books struct {
	TurnStore
	used int
}

func (b *books) UsageOf(context.Context, core.UserID, string) (used, reserved int, err error) {
	return b.used, 0, nil
}

func (b *books) User(context.Context, core.UserID) (core.User, error) { return core.User{ID: 1}, nil }

func TestOver_whenNoStepFits(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	b := &books{}
	e := &Turns{TurnOptions: TurnOptions{Config: c, Store: b, Users: b, Calendar: day.Calendar{Zone: time.UTC},
		Ledger: &trust.Ledger{Now: time.Now}, Now: func() time.Time { return now }}}
	full, least := e.Reserve(core.Settings{})
	if least != c.Context.TotalTokens+c.LLM.Output()+maxSchema || full != 2*least+c.Agent.ToolTokens {
		t.Errorf("reserves %d, or %d at least", full, least)
	}
	midnight := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, d := range []struct {
		limit, used int
		want        time.Time
	}{
		{0, 1 << 40, time.Time{}},   // no limit
		{least - 1, 0, time.Time{}}, // the first step of a day is always allowed
		{2 * least, least, time.Time{}},
		{2 * least, least + 1, midnight},
	} {
		e.Config.Limits.TokensPerDay, b.used = d.limit, d.used
		if got, err := e.Over(t.Context(), 1); err != nil || !got.Equal(d.want) {
			t.Errorf("%d of %d used: over until %s, %v", d.used, d.limit, got, err)
		}
	}
}
