package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/media"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/standing"
	"github.com/everthread/everthread/core/trust"
)

// TurnStore is the part of a store that turns use.
type TurnStore interface {
	SnapshotStore
	agent.Journal
	Window(ctx context.Context, t *core.Turn, q core.WindowQuery) (core.Window, error)
	Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (core.Approval, error)
	ReserveMore(ctx context.Context, t *core.Turn, b core.Budget) (bool, error)
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, u core.Usage) error
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
	Memory   *memory.Memory
	Standing *standing.Standing
	Servers  *mcp.Client // of tools
	// Tools are those of the features; time_now and delegate come with the engine.
	Tools []core.Tool
	Now   func() time.Time
}

// Turns builds the prompts of turns and answers them. It is safe for concurrent use.
type Turns struct {
	TurnOptions
	tools   *toolbox
	budgets prompt.Budgets // but ToolSchemaTokens
	// static begins every prompt; forgetful those of users who switched memory off.
	static, forgetful []prompt.Static
}

// NewTurns returns an error if two tools have the same name.
func NewTurns(o TurnOptions) (*Turns, error) {
	ts := &Turns{TurnOptions: o, budgets: budgets(o.Config)}
	c := o.Config.Agent
	delegate := &agent.Delegate{Model: o.Model, Outfit: ts, Journal: o.Store,
		MaxSteps: c.MaxSteps, ToolTokens: c.ToolTokens, ResultTokens: c.ResultTokens, ToolTimeout: c.ToolTimeout,
		MaxOutputTokens: o.Config.LLM.MaxOutputTokens, Window: o.Config.LLM.Usable(),
		Patience: c.DelegateTimeout, Tokenizer: o.Tokens, Now: o.Now}
	base, err := agent.NewRegistry(append([]core.Tool{agent.TimeNow{}, delegate}, o.Tools...)...)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	ts.tools = &toolbox{base: base, outside: o.Servers.Tools, tokenizer: o.Tokens, room: o.Config.Room()}
	ts.static = ts.head(base)
	ts.forgetful = ts.head(base.Only(func(name string) bool { return !memory.IsTool(name) }))
	return ts, nil
}

// head returns the first parts of a prompt whose model is offered tools.
func (ts *Turns) head(tools *agent.Registry) []prompt.Static {
	var names []string
	for _, s := range tools.Specs() {
		names = append(names, s.Name)
	}
	return []prompt.Static{{Name: "instructions", Text: cmp.Or(ts.Config.Agent.Instructions, defaultInstructions)},
		{Name: "policy", Text: prompt.Policy(names)}}
}

// first returns the first parts of a user's prompts.
func (ts *Turns) first(u core.User) []prompt.Static {
	chosen := ts.tools.of(u, core.ModeContinuous)
	switch {
	case !chosen.Whole():
		return ts.head(chosen.Tools())
	case u.Settings.MemoryOff:
		return slices.Clone(ts.forgetful)
	}
	return slices.Clone(ts.static)
}

// Tracing reports whether the environment requests traces.
func Tracing() bool { return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" }

// StartTracing sends spans to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT, if there is one,
// until stop is called, which sends the last ones.
func StartTracing(ctx context.Context, version string) (stop func(context.Context) error, err error) {
	if !Tracing() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(
		resource.NewSchemaless(semconv.ServiceName("everthread"), semconv.ServiceVersion(version))))
	otel.SetTracerProvider(provider)
	return provider.Shutdown, nil
}

// span begins a span of a turn; end ends it. Without tracing it does nothing.
func span(ctx context.Context, name string, t *core.Turn) (inner context.Context, end func()) {
	inner, s := otel.Tracer("everthread").Start(ctx, name, trace.WithAttributes(attribute.Int64("user", int64(t.User)),
		attribute.Int64("thread", int64(t.Thread)), attribute.Int64("turn", int64(t.ID))))
	return inner, func() { s.End() }
}
