package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/agent"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/trust"
)

// Capabilities are those of a channel by its name; of one that is not there, none.
func (a *app) Capabilities(channel string) core.Capabilities {
	for _, ch := range a.everyChannel() {
		if d, ok := ch.(core.Describer); ok && ch.Name() == channel {
			return d.Capabilities()
		}
	}
	return core.Capabilities{}
}

// newCalendar is the calendar of the configured hours.
func newCalendar(c configs.Config) (day.Calendar, error) {
	var cal day.Calendar
	var errs [4]error
	cal.Zone, errs[0] = time.LoadLocation(c.DefaultTimezone)
	cal.Starts, errs[1] = day.Clock(c.Day.StartsAt)
	cal.Finalize, errs[2] = day.Clock(c.Summaries.FinalizeAt)
	cal.Post, errs[3] = day.Clock(c.Summaries.PostAt)
	return cal, errors.Join(errs[:]...)
}

// contexts builds the prompts of turns: it reads the window and hands it to core/prompt.
type contexts struct {
	*app
	budgets prompt.Budgets // but ToolSchemaTokens
	// static is what stands first in every prompt; forgetful is that of people who
	// switched memory off.
	static, forgetful []prompt.Static
}

func newContexts(a *app) *contexts {
	c := a.cfg
	var names, others []string
	for _, s := range a.tools.base.Specs() {
		names = append(names, s.Name)
		if !memory.IsTool(s.Name) {
			others = append(others, s.Name)
		}
	}
	instructions := c.Agent.Instructions
	if instructions == "" {
		instructions = defaultInstructions
	}
	head := func(tools []string) []prompt.Static {
		return []prompt.Static{{Name: "instructions", Text: instructions}, {Name: "policy", Text: prompt.Policy(tools)}}
	}
	return &contexts{app: a, budgets: budgets(c), static: head(names), forgetful: head(others)}
}

// budgets bounds prompts as it is configured.
func budgets(c configs.Config) prompt.Budgets {
	return prompt.Budgets{Raw: c.Context.TodayRawTokens, TodaySummary: c.Context.TodaySummaryTokens, Last: c.Context.LastConversationTokens,
		Loops: c.Context.OpenLoopsTokens, News: c.Context.NewsTokens, Target: c.Context.TargetTokens, Cap: c.Context.TotalTokens,
		MaxHistoryMessages: c.Context.MaxHistoryMessages, MaxContextTokens: c.Context.MaxContextTokens,
		ContextWindow: smallestWindow(c.LLM), MaxOutput: c.LLM.MaxOutputTokens,
		LongBudget: longBudget(c), LongThreshold: c.Context.Long.CompressThreshold, LongRaw: longRaw(c),
		MinTurns: c.Context.MinTurns, Silence: c.Context.Silence, Pressure: c.Summaries.Pressure}
}

const defaultInstructions = `You are a personal assistant in one conversation that never ends. The person writes to you from several messaging apps; it is always the same conversation. Answer in their language, plainly and to the point, in Markdown. What you know of earlier days stands in the summaries below. If you do not know something, say so.`

// smallestWindow is the context window of whichever model may answer.
func smallestWindow(c configs.LLM) int {
	w := c.ContextWindow
	if w == 0 {
		w = configs.Default().LLM.ContextWindow
	}
	for _, f := range c.Fallbacks {
		if f.ContextWindow > 0 {
			w = min(w, f.ContextWindow)
		}
	}
	return w
}

// Prompt builds the prompt of a turn.
func (c *contexts) Prompt(ctx context.Context, t *core.Turn, u core.User, now time.Time) (core.Prompt, error) {
	ctx, end := span(ctx, "build context", t)
	defer end()
	if c.cfg.Transcription.Model != "" || c.cfg.LLM.Vision { // what is heard stands in the prompt, what is seen goes with it
		if err := c.files.Loaded(ctx, t.User, t.Inputs); err != nil {
			return core.Prompt{}, fmt.Errorf("wait for attachments: %w", err)
		}
	}
	budgets := c.budgets
	budgets.ToolSchemaTokens = c.tools.schema(u)
	static := c.forgetful
	if !u.Settings.MemoryOff {
		static = append(c.static[:len(c.static):len(c.static)], prompt.Static{Name: "memory", Text: memory.Guidance}, c.hints(ctx, t.User))
	}
	in := prompt.Input{Turn: *t, Strategy: c.strategy(u.Settings), Budgets: budgets, Static: static, Now: now,
		Zone: u.Settings.Location(c.calendar.Zone), Tokens: c.tokens, Nonce: nonce}
	p, err := c.buildAs(ctx, in)
	if r := p.Request; err == nil && r != nil && r.Strategy != "" && r.Strategy != in.Strategy {
		in.Strategy = r.Strategy
		p, err = c.buildAs(ctx, in)
	}
	switch {
	case errors.Is(err, prompt.ErrNoInput):
		err = fmt.Errorf("%w: %w", core.ErrNotFound, err)
	case errors.Is(err, prompt.ErrNoRoom):
		err = &core.ModelError{Kind: core.ModelConfig, Err: err}
	}
	return core.Prompt(p), err
}

// nonce is what the fences of an epoch are named by: 50 bits that nobody can guess.
func nonce() string { return strings.ToLower(rand.Text()[:10]) }

// buildAs builds a prompt by a strategy.
func (c *contexts) buildAs(ctx context.Context, in prompt.Input) (prompt.Prompt, error) {
	q := prompt.Query(in)
	p, err := c.build(ctx, in, q)
	if errors.Is(err, prompt.ErrStale) {
		p, err = c.build(ctx, in, prompt.Fresh(q))
	}
	return p, err
}

func (c *contexts) build(ctx context.Context, in prompt.Input, q core.WindowQuery) (prompt.Prompt, error) {
	var err error
	if in.Window, err = c.store.Window(ctx, &in.Turn, q); err != nil {
		return prompt.Prompt{}, err
	}
	return prompt.Build(in)
}

func (a *app) strategy(s core.Settings) string { return cmp.Or(s.Strategy, a.cfg.Context.Strategy) }

// agents runs the model and its tools for the gateway.
type agents struct {
	*app
	model core.Model
}

// Answer runs the loop of one turn.
func (g *agents) Answer(ctx context.Context, t *core.Turn, u core.User, p core.Prompt, onText func(string)) (core.Answer, error) {
	ctx, end := span(ctx, "answer", t)
	defer end()
	if g.cfg.LLM.Vision {
		if err := g.addImages(ctx, t, &p); err != nil {
			return core.Answer{}, fmt.Errorf("load images: %w", err)
		}
	}
	c := g.cfg.Agent
	g.reachServers(ctx)
	tools, guard := g.tools.of(u), agent.Promise
	asked := core.Request{}
	if p.Request != nil {
		asked = *p.Request
	}
	model, reserved := g.model, g.reserved(t, u, g.maxOutput(asked))
	call := core.ToolUse{User: t.User, Thread: t.Thread, Turn: t.ID, By: through(t), Inputs: t.Inputs, Location: u.Settings.Location(g.calendar.Zone), Language: u.Settings.Language}
	var more func(context.Context, core.ModelRequest) (bool, error)
	if reserved != nil {
		model, call.Reserve, more = reserved.Model(g.model), reserved.Take, reserved.Affords
		if ok, err := g.several(ctx, t, u, reserved); err != nil {
			return core.Answer{}, err
		} else if !ok { // the day's budget has one call left
			tools, guard, asked.Tools = nil, nil, nil
		}
	}
	decided, err := g.decided(ctx, t.User, p.Decides)
	if err != nil {
		return core.Answer{}, err
	}
	out, err := agent.Run(ctx, agent.Request{Model: model, Messages: p.Messages, CachePrefix: p.CachePrefix, Tools: tools,
		Call: call, Journal: g.store, MaxSteps: c.MaxSteps, ToolTokens: c.ToolTokens, ResultTokens: c.ResultTokens, ToolTimeout: c.ToolTimeout,
		Client: asked.Tools, Choice: asked.Choice, Permit: permit, Tainted: p.Tainted, Foreign: p.Foreign, Decided: decided,
		MaxOutputTokens: g.maxOutput(asked), Tokenizer: g.tokens, Now: g.now, Keep: g.files.KeepFile, OnText: onText, Guard: guard, More: more})
	return core.Answer{Messages: out.Messages, Usage: out.Usage, Effects: out.Effects, FirstToken: out.FirstToken, Model: out.Model,
		Finish: out.Finish, Steps: out.Steps, Question: out.Question, Tainted: out.Tainted}, err
}

// through is through whom a turn came: the key of a program, or an identity.
func through(t *core.Turn) core.Actor {
	if key, ok := client.KeyOf(t.Address); ok {
		return core.Actor{Via: core.ViaKey, ID: key}
	}
	if t.Identity == 0 {
		return core.Actor{}
	}
	return core.Actor{Via: core.ViaIdentity, ID: int64(t.Identity)}
}

// permit decides about calls of outside tools: what the operator allowed runs, but
// in a tainted turn only what reads; all else asks the person.
func permit(tool core.Tool, tainted bool) agent.Verdict {
	g, ok := tool.(core.GuardedTool)
	if !ok {
		return agent.Allow
	}
	if allowed, readOnly := g.Standing(); readOnly || allowed && !tainted {
		return agent.Allow
	}
	return agent.Ask
}

// decided is the call that a turn goes on with; nil: none.
func (g *agents) decided(ctx context.Context, user core.UserID, d *core.Decision) (*agent.Decided, error) {
	if d == nil {
		return nil, nil
	}
	a, err := g.store.Approval(ctx, user, d.Approval)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s core.CallSubject
	if err := json.Unmarshal([]byte(a.Subject), &s); err != nil || s.Call.Name == "" {
		return nil, err // it was forgotten meanwhile
	}
	return &agent.Decided{Call: s.Call, Yes: a.State == core.ApprovalYes}, nil
}

// maxOutput bounds an answer: a client may ask for less than is configured.
func (g *agents) maxOutput(r core.Request) int {
	c := g.cfg.LLM.MaxOutputTokens
	if r.MaxTokens > 0 && (c == 0 || r.MaxTokens < c) {
		return r.MaxTokens
	}
	return c
}

// reserved is what is reserved of a person's day for their turn; nil: it has no bound.
func (g *agents) reserved(t *core.Turn, u core.User, output int) *trust.Reservation {
	limit := g.cfg.Limits.TokensPerDay
	if limit == 0 {
		return nil
	}
	return &trust.Reservation{Reserved: t.Reserved, Taken: t.Used.Prompt + t.Used.Completion, Output: output, Results: g.cfg.Agent.ToolTokens,
		Tokens: g.tokens, Until: g.calendar.Day(u.Settings, g.now()).End,
		More: func(ctx context.Context, n int) (bool, error) {
			return g.store.ReserveMore(ctx, t, core.Budget{TokensPerDay: limit, Reserve: n})
		}}
}

// several reports whether a turn has tokens for more than one call. What attempts of
// it took before is reserved anew first; the error is an OverCap where not even one
// call is left.
func (g *agents) several(ctx context.Context, t *core.Turn, u core.User, r *trust.Reservation) (bool, error) {
	full, least := g.reserve(u.Settings)
	if t.Lease.Attempt <= 1 && t.Used == (core.Usage{}) {
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

// step is how many tokens one call of the model may take: prompt and answer.
func (a *app) step(s core.Settings) int {
	most := a.cfg.Context.TotalTokens
	if a.strategy(s) == prompt.Long {
		most = longBudget(a.cfg)
	}
	return most + a.cfg.LLM.MaxOutputTokens + maxSchema
}

// reserve is what a turn reserves of the day's budget before its first call: that
// call, and a last one with the results of its tools; or at least the one.
func (a *app) reserve(s core.Settings) (full, least int) {
	return 2*a.step(s) + a.cfg.Agent.ToolTokens, a.step(s)
}

// maxSchema bounds the descriptions of tools, in tokens (SPEC 5).
const maxSchema = 3000

// addImages puts the pictures of the turn's inputs into the prompt.
func (g *agents) addImages(ctx context.Context, t *core.Turn, p *core.Prompt) error {
	images, err := g.files.Images(ctx, t.User, t.Inputs)
	if err != nil || len(images) == 0 {
		return err
	}
	for i, id := range p.Sources {
		if id != 0 {
			p.Messages[i].Images = images[id]
		}
	}
	return nil
}

// rebuild returns the prompt that a snapshot describes.
func (a *app) rebuild(ctx context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error) {
	return rebuild(ctx, a.store, a.cfg, a.tokens, user, s)
}

func rebuild(ctx context.Context, st store, c configs.Config, t core.Tokenizer, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error) {
	e, err := st.Epoch(ctx, user, s.Epoch)
	if err != nil {
		return nil, fmt.Errorf("read the epoch of the prompt: %w", err)
	}
	var wanted []core.MessageID
	for _, r := range s.Messages.Ranges() {
		for id := r[0]; id <= r[1]; id++ {
			wanted = append(wanted, id)
		}
	}
	ms, err := st.Messages(ctx, user, wanted)
	if err != nil {
		return nil, fmt.Errorf("read the messages of the prompt: %w", err)
	}
	var refs []core.PageRef
	for _, h := range e.Head {
		refs = append(refs, h.Pages...)
	}
	pages, err := st.PageTexts(ctx, user, refs)
	if err != nil {
		return nil, fmt.Errorf("read the history of the prompt: %w", err)
	}
	return prompt.Rebuild(*e, *s, ms, pages, budgets(c), t), nil
}
