package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// Journal stores the results of outside tools, so that a re-run of a turn does not call them again.
type Journal interface {
	// Lookup returns the recorded text of a call.
	Lookup(ctx context.Context, user core.UserID, turn core.TurnID, step, index int) (text string, ok bool, err error)
	// Earlier returns the calls that may have changed something and that other turns made for the same messages.
	Earlier(ctx context.Context, user core.UserID, turn core.TurnID, messages []core.MessageID) ([]store.CallRecord, error)
	// Record stores a call, and replaces its earlier record.
	Record(ctx context.Context, user core.UserID, r store.CallRecord) error
}

// Registry is a set of tools, ordered by name. The zero value is the empty one.
type Registry struct {
	tools map[string]core.Tool
	specs []core.ToolSpec // that a model is offered
	rest  []core.ToolSpec // that it gets by MoreTools
	// tokens is the size of specs if a Selection has counted it, else 0.
	tokens int
}

var toolName = text.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// NewRegistry returns the set of tools. Two tools with the same name, an invalid name and a
// schema that is not a JSON object are errors.
func NewRegistry(tools ...core.Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]core.Tool, len(tools))}
	for _, tool := range tools {
		spec := tool.Spec()
		if err := r.check(spec); err != nil {
			return nil, fmt.Errorf("register tool %q: %w", spec.Name, err)
		}
		r.add(tool, spec)
	}
	r.sort()
	return r, nil
}

// With returns the set with more tools, without those that NewRegistry would refuse.
func (r *Registry) With(more ...core.Tool) *Registry {
	if len(more) == 0 {
		return r
	}
	out := &Registry{tools: map[string]core.Tool{}}
	for _, spec := range r.Specs() {
		out.add(r.tools[spec.Name], spec)
	}
	for _, tool := range more {
		if spec := tool.Spec(); out.check(spec) == nil {
			out.add(tool, spec)
		}
	}
	out.sort()
	return out
}

// Only returns the set of the tools whose name keep accepts.
func (r *Registry) Only(keep func(name string) bool) *Registry {
	out := &Registry{tools: map[string]core.Tool{}}
	for _, spec := range r.Specs() {
		if keep(spec.Name) && spec.Name != MoreTools {
			out.add(r.tools[spec.Name], spec)
		}
	}
	return out
}

// threadTool is an optional interface of a tool that is another one of the same name in plain threads.
type threadTool interface{ InThread() core.Tool }

// InThread returns the set as it is in plain threads.
func (r *Registry) InThread() *Registry {
	out := &Registry{tools: map[string]core.Tool{}}
	for _, spec := range r.Specs() {
		tool := r.tools[spec.Name]
		if t, ok := tool.(threadTool); ok {
			tool = t.InThread()
			spec = tool.Spec()
		}
		out.add(tool, spec)
	}
	return out
}

func (r *Registry) add(tool core.Tool, spec core.ToolSpec) {
	r.tools[spec.Name] = tool
	r.specs = append(r.specs, spec)
}

func (r *Registry) sort() {
	slices.SortFunc(r.specs, func(a, b core.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
}

func (r *Registry) check(spec core.ToolSpec) error {
	if !toolName().MatchString(spec.Name) {
		return fmt.Errorf("a name has 1 to 64 of a-z, A-Z, 0-9, _ and -")
	}
	if r.tools[spec.Name] != nil {
		return core.ErrExists
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// Specs returns the descriptions, ordered by name. The caller must not change them.
func (r *Registry) Specs() []core.ToolSpec { return r.specs }

// Tokens estimates the tokens of the descriptions in a prompt, which reserves 3,000.
func (r *Registry) Tokens(t core.Tokenizer) int { return specsTokens(r.Specs(), t) }

func specsTokens(specs []core.ToolSpec, t core.Tokenizer) int {
	total := 0
	for _, spec := range specs {
		total += t.Count(spec.Name) + t.Count(spec.Description) + t.Count(string(spec.Schema)) + specTokens
	}
	return total
}

// specTokens is the overhead of a description.
const specTokens = 12

func (r *Registry) tool(name string) (core.Tool, bool) {
	tool, ok := r.tools[name]
	return tool, ok
}

// has reports whether a model may call the tool name.
func (r *Registry) has(name string) bool {
	_, ok := r.tool(name)
	return ok || name == MoreTools && len(r.rest) > 0
}

// names lists the tools, for a model that called an unknown one.
func (r *Registry) names() string {
	var names []string
	for _, spec := range r.Specs() {
		names = append(names, spec.Name)
	}
	return strings.Join(names, ", ")
}

var _ core.Tool = TimeNow{}

// TimeNow is the tool time_now: the date and time where the user is.
type TimeNow struct{}

// Spec describes time_now. It has no arguments.
func (TimeNow) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "time_now",
		Description: "The current date, time and time zone of the user. Use it whenever the answer depends on what day or time it is now.",
		Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
	}
}

// Use returns the time of the call in the user's zone, in JSON.
func (TimeNow) Use(_ context.Context, call core.ToolUse) (core.ToolResult, error) {
	location := cmp.Or(call.Location, time.UTC)
	now := call.Now.In(location)
	return core.ResultOf(struct {
		Date      string `json:"date"`
		Time      string `json:"time"`
		Weekday   string `json:"weekday"`
		Zone      string `json:"zone"`
		UTCOffset string `json:"utc_offset"`
	}{now.Format(time.DateOnly), now.Format("15:04"), now.Weekday().String(), location.String(), now.Format("-07:00")})
}
