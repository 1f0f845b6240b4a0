// Package engine is the core engine: it plugs the features into one turn, from the
// window of messages through the prompt to the model and its tools, and holds the
// budgets of a turn. It is the one package of core that knows the features.
package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/media"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/trust"
)

// Store is what a turn reads and reserves.
type Store interface {
	SnapshotStore
	agent.Journal
	Window(ctx context.Context, t *core.Turn, q core.WindowQuery) (core.Window, error)
	Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (core.Approval, error)
	ReserveMore(ctx context.Context, t *core.Turn, b core.Budget) (bool, error)
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, u core.Usage) error
	UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error)
}

// Users tells who a user is.
type Users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
}

// Options are what an engine is made of. All are required.
type Options struct {
	Config   configs.Config
	Store    Store
	Users    Users
	Model    core.Model // whose calls Ledger counts
	Ledger   *trust.Ledger
	Tokens   core.Tokenizer
	Calendar day.Calendar
	Files    *media.Files
	Memory   *memory.Memory
	Servers  *mcp.Client // of tools
	// Tools are those of the features; time_now and delegate come with the engine.
	Tools []core.Tool
	Now   func() time.Time
}

// Engine builds the prompts of turns and answers them. It is safe for concurrent use.
type Engine struct {
	Options
	tools   *toolbox
	budgets prompt.Budgets // but ToolSchemaTokens
	// static is what stands first in every prompt; forgetful is that of people who
	// switched memory off.
	static, forgetful []prompt.Static
}

// New returns an engine. It fails if two tools have one name.
func New(o Options) (*Engine, error) {
	e := &Engine{Options: o, budgets: budgets(o.Config)}
	c := o.Config.Agent
	delegate := &agent.Delegate{Model: o.Model, Tools: e.toolsOf, Journal: o.Store, MaxSteps: c.MaxSteps, ToolTokens: c.ToolTokens,
		ResultTokens: c.ResultTokens, ToolTimeout: c.ToolTimeout, MaxOutputTokens: o.Config.LLM.MaxOutputTokens,
		Patience: c.DelegateTimeout, Tokenizer: o.Tokens, Now: o.Now}
	base, err := agent.NewRegistry(append([]core.Tool{agent.TimeNow{}, delegate}, o.Tools...)...)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	e.tools = &toolbox{base: base, outside: o.Servers.Tools, tokenizer: o.Tokens}
	var names, others []string
	for _, s := range base.Specs() {
		names = append(names, s.Name)
		if !memory.IsTool(s.Name) {
			others = append(others, s.Name)
		}
	}
	instructions := c.Instructions
	if instructions == "" {
		instructions = defaultInstructions
	}
	head := func(tools []string) []prompt.Static {
		return []prompt.Static{{Name: "instructions", Text: instructions}, {Name: "policy", Text: prompt.Policy(tools)}}
	}
	e.static, e.forgetful = head(names), head(others)
	return e, nil
}
