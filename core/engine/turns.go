package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/files/media"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
)

// TurnStore is the part of a store that turns use.
type TurnStore interface {
	SnapshotStore
	agent.Journal
	Window(ctx context.Context, t *core.Turn, q store.WindowQuery) (store.Window, error)
	Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (effect.Approval, error)
	ReserveMore(ctx context.Context, t *core.Turn, b store.Budget) (bool, error)
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, spent core.Bill) error
	UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error)
}

// TurnOptions are the dependencies of Turns. All are required.
type TurnOptions struct {
	Config   configs.Config
	Store    TurnStore
	Users    core.Users
	Model    core.Model // whose calls Ledger counts
	Ledger   *trust.Ledger
	Tokens   core.Tokenizer
	Calendar day.Calendar
	Files    *media.Files
	Memory   *items.Memory
	Standing *standing.Standing
	Servers  *mcp.Client // of tools
	// Tools are those of the features; time_now and delegate come with the engine.
	Tools []core.Tool
	// Some are tools that only some users have.
	Some []core.Tool
	Now  func() time.Time
}

// Turns builds the prompts of turns and answers them. It is safe for concurrent use.
type Turns struct {
	TurnOptions
	tools   *toolbox
	budgets prompt.Budgets // but ToolSchemaTokens
	choices map[string]*Turns
}

// some returns the tools that only some users have, those of servers last.
func (o TurnOptions) some() []core.Tool { return append(slices.Clip(o.Some), o.Servers.Tools()...) }

// NewTurns returns an error if two tools have the same name.
func NewTurns(o TurnOptions) (*Turns, error) {
	ts := &Turns{TurnOptions: o, budgets: budgets(o.Config)}
	c := o.Config.Agent
	delegate := &agent.Delegate{Model: o.Model, ModelName: nameOf(o.Config.LLM), Outfit: ts, Journal: o.Store,
		MaxSteps: c.MaxSteps, ToolTokens: c.ToolTokens, ResultTokens: c.ResultTokens, ToolTimeout: c.ToolTimeout,
		MaxOutputTokens: o.Config.LLM.MaxOutputTokens, Output: o.Config.LLM.Output(), Window: o.Config.LLM.Usable(),
		Patience: c.DelegateTimeout, Tokenizer: o.Tokens, Now: o.Now}
	base, err := agent.NewRegistry(append([]core.Tool{agent.TimeNow{}, delegate}, o.Tools...)...)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	ts.tools = &toolbox{base: base, outside: o.some, tokenizer: o.Tokens, room: o.Config.Room()}
	return ts, nil
}
