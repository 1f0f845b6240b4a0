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
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/recall"
	"github.com/everthread/everthread/core/remind"
	"github.com/everthread/everthread/core/standing"
	"github.com/everthread/everthread/core/task"
)

// toolbox is the set of tools of the moment. What a user may use of it is counted
// again when it grows: the vocabulary is large.
type toolbox struct {
	base      *agent.Registry // without those of memory for people who want none
	outside   func() []core.Tool
	tokenizer core.Tokenizer
	room      configs.Room

	mu   sync.Mutex
	more int
	sets map[string]*agent.Selection // by the outside tools in it
}

// usefulness orders tools for models that cannot be told of all. The tools of MCP servers
// stand after the first of them, other ones last.
var usefulness = []string{"conversation_search", "reminder_set", "memory_search", "memory_add", "time_now", "file_read",
	"conversation_get", "", "task_set", "instruction_propose", "loops_open", "loops_close", "reminder_list",
	"reminder_cancel", "memory_archive", "task_list", "task_cancel", "memory_get", "memory_list_themes", "delegate"}

// rank is lower for more useful tools.
func rank(tool core.Tool) int {
	name := tool.Spec().Name
	if x, ok := tool.(core.OutsideTool); ok && x.Outside() {
		name = ""
	}
	if n := slices.Index(usefulness, name); n >= 0 {
		return n
	}
	return len(usefulness)
}

// of returns the tools that a user has at the moment.
func (b *toolbox) of(u core.User) *agent.Selection {
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
		b.sets, b.more = map[string]*agent.Selection{}, len(all)
	}
	s := b.sets[names.String()]
	if s == nil {
		s = b.chosen(base.With(mine...), 0)
		b.sets[names.String()] = s
	}
	return s
}

// chosen is what a model is told of a set. In a small window a client's tools take their
// part of the room.
func (b *toolbox) chosen(all *agent.Registry, client int) *agent.Selection {
	budget := b.room.Schemas
	if b.room.Tight() {
		budget = max(budget-client, 1)
	}
	return agent.Select(all, budget, rank, b.tokenizer)
}

// told are the tools that the model is told of in a turn: those that the prompt shows calls
// of stay.
func (ts *Turns) told(u core.User, p core.Prompt) *agent.Registry {
	chosen := ts.tools.of(u)
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

// Told is how many tools the model is told of, and how many somebody has who may use all of
// outside.
func Told(c configs.Config, outside []core.Tool, t core.Tokenizer) (told, all int, err error) {
	e := &Engine{Process: &Process{}, Search: &recall.Searcher{}, Memory: &memory.Memory{}, Standing: &standing.Standing{},
		Reminders: &remind.Reminders{}, Tasks: &task.Tasks{}}
	own, err := agent.NewRegistry(append([]core.Tool{agent.TimeNow{}, &agent.Delegate{}}, e.ownTools()...)...)
	if err != nil {
		return 0, 0, fmt.Errorf("tools: %w", err)
	}
	set := own.With(outside...)
	chosen := agent.Select(set, c.Room().Schemas, rank, t)
	told = len(chosen.Tools().Specs())
	if !chosen.Whole() {
		told-- // agent.MoreTools
	}
	return told, len(set.Specs()), nil
}

// ToolsOf returns the tools that a user has at the moment; none if
// the user is gone.
func (ts *Turns) ToolsOf(ctx context.Context, user core.UserID) *agent.Registry {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return nil
	}
	return ts.tools.of(u).Tools()
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
