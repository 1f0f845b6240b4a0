package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/memory"
)

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

// toolsOf returns the tools that a user has at the moment; none if
// the user is gone.
func (ts *Turns) toolsOf(ctx context.Context, user core.UserID) *agent.Registry {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return nil
	}
	return ts.tools.of(u)
}

// reachServers waits, for a while after the start, until every MCP server has been
// tried: a turn that goes on after a crash wants the tools that it had.
func (ts *Turns) reachServers(ctx context.Context) {
	untried := func(s mcp.Status) bool { return !s.Up && s.Error == "" }
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	for ctx.Err() == nil && slices.ContainsFunc(ts.Servers.Status(), untried) {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const reachFor = 5 * time.Second
