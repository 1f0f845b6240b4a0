package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/web"
)

// toolbox holds the tools that are available now. It caches the selection of each user,
// whose tokens are expensive to count, until the number of outside tools changes.
type toolbox struct {
	base      *agent.Registry // the engine's own
	outside   func() []core.Tool
	tokenizer core.Tokenizer
	room      configs.Room

	mu   sync.Mutex
	more int
	sets map[string]*agent.Selection // by the outside tools in it
}

// usefulness orders tools for models whose window has no room for all. The empty name marks
// the tools of MCP servers; tools without an entry come last.
var usefulness = []string{"conversation_search", "reminder_set", "memory_search", "memory_add", "time_now", "web_search",
	"web_read", "file_read", "conversation_get", "calendar_list",
	"mail_list", "service_list", "", "task_set", "instruction_propose", "loops_open", "loops_close", "reminder_list",
	"reminder_cancel", "memory_archive", "task_list", "task_cancel", "memory_get", "memory_list_themes", "delegate"}

// groupTools are the tools in a group chat: none has anything of a person, and none asks for a yes, which nobody could
// give for all. Tools of MCP servers are not among them.
var groupTools = []string{"conversation_search", "conversation_get", "file_read", "time_now", "web_search", "web_read",
	"reminder_set", "reminder_list", "reminder_cancel", "task_list", "task_cancel", "loops_open", "loops_close"}

// rank is lower for more useful tools.
func rank(tool core.Tool) int {
	if n := slices.Index(usefulness, tool.Spec().Name); n >= 0 {
		return n
	}
	if x, ok := tool.(core.OutsideTool); ok && x.Outside() {
		return slices.Index(usefulness, "")
	}
	return len(usefulness)
}

// of returns the tools that a user has now in a thread of a mode.
func (b *toolbox) of(u core.User, mode core.Mode) *agent.Selection {
	all := b.outside()
	var mine []core.Tool
	var names strings.Builder
	base := b.base
	if u.Group() {
		base = b.base.Only(func(name string) bool { return slices.Contains(groupTools, name) })
		names.WriteString("in a group ")
	}
	if u.Settings.MemoryOff {
		base = base.Only(func(name string) bool { return !items.IsTool(name) })
		names.WriteString("no memory ")
	}
	if mode == core.ModeThread {
		base = base.InThread()
		names.WriteString("in a thread ")
	}
	for _, t := range all {
		if u.Group() {
			break
		}
		if g, ok := t.(core.GuardedTool); !ok || g.May(u) {
			mine = append(mine, t)
			names.WriteString(t.Spec().Name + " ")
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets == nil || len(all) != b.more {
		b.sets, b.more = map[string]*agent.Selection{}, len(all)
	}
	s := b.sets[names.String()]
	if s == nil {
		s = b.chosen(base.With(mine...), 0)
		b.sets[names.String()] = s
	}
	return s
}

// chosen returns the selection of a set that a model is offered. In a small window a
// client's tools reduce it by their tokens.
func (b *toolbox) chosen(all *agent.Registry, client int) *agent.Selection {
	budget := b.room.Schemas
	if b.room.Tight() {
		budget = max(budget-client, 1)
	}
	return agent.Select(all, budget, rank, b.tokenizer)
}

// offered returns the tools that the model is offered in a turn. They include those whose calls are in the prompt.
func (ts *Turns) offered(u core.User, mode core.Mode, p store.Prompt) *agent.Registry {
	ts.Servers.Meet(u)
	chosen := ts.tools.of(u, mode)
	if p.Request != nil && len(p.Request.Tools) > 0 {
		chosen = ts.tools.chosen(chosen.Set(), prompt.ToolTokens(p.Request.Tools, ts.Tokens))
	}
	var called []string
	for _, m := range p.Messages {
		for _, call := range m.ToolCalls {
			called = append(called, call.Name)
		}
	}
	return chosen.Tools(called...)
}

// Offered returns how many tools the model is offered, and how many there are, for a user who may use all of outside.
func Offered(c configs.Config, outside []core.Tool, t core.Tokenizer) (offered, all int, err error) {
	e := &Engine{Process: &Process{}, Search: &recall.Searcher{}, Memory: &items.Memory{}, Standing: &standing.Standing{},
		Plans: &plan.Plans{}}
	if p, _ := SearchProvider(c.Web); p != nil {
		e.web = &web.Web{}
	}
	own, err := agent.NewRegistry(append([]core.Tool{agent.TimeNow{}, &agent.Delegate{}}, e.ownTools()...)...)
	if err != nil {
		return 0, 0, fmt.Errorf("tools: %w", err)
	}
	set := own.With(outside...)
	chosen := agent.Select(set, c.Room().Schemas, rank, t)
	offered = len(chosen.Tools().Specs())
	if !chosen.Whole() {
		offered-- // agent.MoreTools
	}
	return offered, len(set.Specs()), nil
}

// ToolsOf returns the tools that a user has now; none if the user cannot be read.
func (ts *Turns) ToolsOf(ctx context.Context, user core.UserID) *agent.Registry {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return &agent.Registry{}
	}
	return ts.tools.of(u, core.ModeContinuous).Tools()
}

// reachServers waits at most reachFor until every MCP server has been tried: a turn that
// continues after a crash needs the tools that it had.
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
