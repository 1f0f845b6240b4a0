package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// Answer runs the model and its tools for one turn; see gateway.Agent.
func (ts *Turns) Answer(ctx context.Context, t *core.Turn, u core.User, p store.Prompt,
	on core.Progress) (core.Answer, error) {
	ts = ts.chosen(t, u)
	if ts.Config.LLM.Sees() {
		if err := ts.addImages(ctx, t, &p); err != nil {
			return core.Answer{}, fmt.Errorf("load images: %w", err)
		}
	}
	c := ts.Config.Agent
	ts.reachServers(ctx)
	tools, guard := ts.offered(u, t.Mode, p), agent.Promise
	asked := core.Request{}
	if p.Request != nil {
		asked = *p.Request
	}
	model, reserved := ts.Model, ts.reserved(t, u, ts.output(asked))
	call := core.ToolUse{User: t.User, Thread: t.Thread, Turn: t.ID, By: through(t), Inputs: t.Inputs,
		Segment: t.Segment, Seen: p.Snapshot.Messages.Union(core.NewIDSet(p.Sources...)), Task: t.Task,
		Location: u.Settings.Location(ts.Calendar.Zone), Language: u.Settings.Language}
	var more func(context.Context, core.ModelRequest) (bool, error)
	if reserved != nil {
		model, call.Reserve, more = reserved.Model(ts.Model), reserved.Take, reserved.Affords
		if ok, err := ts.several(ctx, t, u, reserved); err != nil {
			return core.Answer{}, err
		} else if !ok { // the day's budget allows one more call
			tools, guard, asked.Tools = &agent.Registry{}, nil, nil
		}
	}
	decided, err := ts.decided(ctx, t.User, p.Decides)
	if err != nil {
		return core.Answer{}, err
	}
	req := agent.Request{Model: model, ModelName: nameOf(ts.Config.LLM), Messages: p.Messages, CachePrefix: p.CachePrefix, Tools: tools, Call: call,
		Journal: ts.Store, MaxSteps: c.MaxSteps, ToolTokens: ts.results(p, ts.output(asked)),
		Window: ts.Config.LLM.Usable(), PromptTokens: promptTokens(p), ResultTokens: c.ResultTokens,
		ToolTimeout: c.ToolTimeout, MaxImages: c.MaxImages, Client: asked.Tools, Choice: asked.Choice, Permit: ts.permits(u),
		Tainted: p.Tainted, Foreign: p.Foreign, Own: ownWords(p), Decided: decided, MaxOutputTokens: ts.maxOutput(asked),
		Output: ts.output(asked), Tokenizer: ts.Tokens, Now: ts.Now,
		Keep: ts.Files.KeepFile, OnText: on.Text, OnAct: on.Acts, Guard: guard, More: more}
	out, err := agent.Run(ctx, req)
	return core.Answer{Messages: out.Messages, Spent: out.Spent, Effects: out.Effects, FirstToken: out.FirstToken,
		Model: out.Model, Instead: out.Instead, Finish: out.Finish, Steps: out.Steps, Reduced: out.Reduced, Question: out.Question,
		Tainted: out.Tainted, Searched: out.Searched}, err
}

// ownWords returns the messages of a prompt that the person wrote, with nothing else in them.
func ownWords(p store.Prompt) []string {
	var out []string
	if len(p.Foreign) != len(p.Messages) { // it is not known
		return nil
	}
	for i, m := range p.Messages {
		if m.Role == core.RoleUser && p.Sources[i] != 0 && !p.Foreign[i] {
			out = append(out, m.Content)
		}
	}
	return out
}

// through returns the actor of a turn: the key of a program, or an identity.
func through(t *core.Turn) core.Actor {
	if key, ok := client.KeyOf(t.Address); ok {
		return core.Actor{Via: core.ViaKey, ID: key}
	}
	if t.Identity == 0 {
		return core.Actor{}
	}
	return core.Actor{Via: core.ViaIdentity, ID: int64(t.Identity)}
}

// permits returns what decides about calls of outside tools for a user: permit, and what the user allowed for a while.
func (ts *Turns) permits(u core.User) func(core.Tool, bool) agent.Verdict {
	return func(tool core.Tool, tainted bool) agent.Verdict {
		if !tainted && u.Settings.Allows(tool.Spec().Name, ts.Now()) {
			return agent.Allow
		}
		if v := permit(tool, tainted); v != agent.Ask || !u.Group() {
			return v
		}
		return agent.Refuse
	}
}

// permit decides about calls of outside tools. Tools that the operator allowed run, in a
// tainted turn only if they read what is closed; all others ask the person.
func permit(tool core.Tool, tainted bool) agent.Verdict {
	g, ok := tool.(core.GuardedTool)
	if !ok || tainted && agent.ReadsClosed(tool) {
		return agent.Allow
	}
	if allowed, readOnly := g.Standing(); (allowed || readOnly) && !tainted {
		return agent.Allow
	}
	return agent.Ask
}

// decided returns the call that a person decided about; nil: none.
func (ts *Turns) decided(ctx context.Context, user core.UserID, d *core.Decision) (*agent.Decided, error) {
	if d == nil {
		return nil, nil
	}
	a, err := ts.Store.Approval(ctx, user, d.Approval)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s effect.CallSubject
	if err := json.Unmarshal([]byte(a.Subject), &s); err != nil || s.Call.Name == "" {
		return nil, err // its subject was redacted
	}
	used := a.State == effect.ApprovalUsed
	return &agent.Decided{Approval: a.ID, Call: s.Call, Yes: used || a.State == effect.ApprovalYes, Used: used,
		Result: s.Result}, nil
}

// maxOutput bounds the tokens of an answer: a client may request fewer than configured.
func (ts *Turns) maxOutput(r core.Request) int {
	c := ts.Config.LLM.MaxOutputTokens
	if r.MaxTokens > 0 && (c == 0 || r.MaxTokens < c) {
		return r.MaxTokens
	}
	return c
}

// output returns the tokens that are kept free for an answer.
func (ts *Turns) output(r core.Request) int { return cmp.Or(ts.maxOutput(r), ts.Config.LLM.Output()) }

// reserved returns the reservation of a turn; nil: the user's day has no limit.
func (ts *Turns) reserved(t *core.Turn, u core.User, output int) *trust.Reservation {
	limit, tasks := ts.Config.Limits.Daily().Of(u), 0
	if t.Task != 0 {
		tasks = ts.Config.Limits.TaskTokensPerDay
	}
	if limit == 0 && tasks == 0 {
		return nil
	}
	return &trust.Reservation{Reserved: t.Reserved, Taken: t.Used.Total().Tokens(), Output: output,
		Results: ts.Config.Agent.ToolTokens, Tokens: ts.Tokens, Until: ts.Calendar.Day(u.Settings, ts.Now()).End,
		More: func(ctx context.Context, n int) (bool, error) {
			return ts.Store.ReserveMore(ctx, t, store.Budget{TokensPerDay: limit, TaskTokensPerDay: tasks, Reserve: n})
		}}
}

// several reports whether a turn has tokens for more than one call. It first reserves again
// what earlier attempts used. The error wraps a trust.OverCap if not even one call is left.
func (ts *Turns) several(ctx context.Context, t *core.Turn, u core.User, r *trust.Reservation) (bool, error) {
	full, least := ts.Reserve(u.Settings)
	if t.Lease.Attempt <= 1 && len(t.Used) == 0 {
		return t.Reserved >= full, nil
	}
	ok, err := r.Has(ctx, full)
	if ok || err != nil {
		return ok, err
	}
	if ok, err = r.Has(ctx, least); err == nil && !ok {
		err = &core.ModelError{Kind: core.ModelBusy, Err: &trust.OverCap{Until: r.Until, One: true}}
	}
	return false, err
}

// promptTokens returns the size of a prompt in tokens, with its pictures and tool calls.
func promptTokens(p store.Prompt) int {
	n := p.Snapshot.Total + p.Snapshot.ClientTokens
	for _, m := range p.Messages {
		n += len(m.Images)*agent.ImageTokens + len(m.ToolCalls)*agent.CallTokens
	}
	return n
}

// tooLarge replaces pictures that do not fit into the window.
const tooLarge = "[The pictures have no room in what you can read at once, so you cannot see them. Say so.]"

// addImages puts the pictures of the turn's inputs, and of the messages that they reply to, into the prompt.
func (ts *Turns) addImages(ctx context.Context, t *core.Turn, p *store.Prompt) error {
	inputs, err := ts.Store.Messages(ctx, t.User, t.Inputs)
	if err != nil {
		return err
	}
	shown := map[core.MessageID][]core.MessageID{} // whose pictures stand with an input
	for _, m := range inputs {
		shown[m.ID] = []core.MessageID{m.ID}
		if m.Quote != nil && m.Quote.Message != 0 && !slices.Contains(t.Inputs, m.Quote.Message) {
			shown[m.ID] = []core.MessageID{m.Quote.Message, m.ID}
		}
	}
	images, err := ts.Files.Images(ctx, t.User, slices.Concat(slices.Collect(maps.Values(shown))...))
	if err != nil || len(images) == 0 {
		return err
	}
	for i, id := range p.Sources {
		for _, of := range shown[id] {
			p.Messages[i].Images = append(p.Messages[i].Images, images[of]...)
		}
	}
	output := ts.output(core.Request{})
	for i := range p.Messages { // the oldest pictures go first
		if over := promptTokens(*p) + p.Snapshot.ToolTokens + output + leastResults - ts.Config.LLM.Usable(); over > 0 {
			hidden, _ := llm.Blind(p.Messages[i:i+1], tooLarge)
			p.Messages[i] = hidden[0]
		}
	}
	return nil
}
