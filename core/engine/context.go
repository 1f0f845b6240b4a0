package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/prompt"
)

// Prompt builds the prompt of a turn.
func (e *Engine) Prompt(ctx context.Context, t *core.Turn, u core.User, now time.Time) (core.Prompt, error) {
	ctx, end := span(ctx, "build context", t)
	defer end()
	if e.Config.Transcription.Model != "" || e.Config.LLM.Vision { // what is heard stands in the prompt, what is seen goes with it
		if err := e.Files.Loaded(ctx, t.User, t.Inputs); err != nil {
			return core.Prompt{}, fmt.Errorf("wait for attachments: %w", err)
		}
	}
	budgets := e.budgets
	budgets.ToolSchemaTokens = e.tools.schema(u)
	static := e.forgetful
	if !u.Settings.MemoryOff {
		static = append(e.static[:len(e.static):len(e.static)], prompt.Static{Name: "memory", Text: memory.Guidance}, e.hints(ctx, t.User))
	}
	in := prompt.Input{Turn: *t, Strategy: e.strategy(u.Settings), Budgets: budgets, Static: static, Now: now,
		Zone: u.Settings.Location(e.Calendar.Zone), Tokens: e.Tokens, Nonce: nonce}
	p, err := e.buildAs(ctx, in)
	if r := p.Request; err == nil && r != nil && r.Strategy != "" && r.Strategy != in.Strategy {
		in.Strategy = r.Strategy
		p, err = e.buildAs(ctx, in)
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
func (e *Engine) buildAs(ctx context.Context, in prompt.Input) (prompt.Prompt, error) {
	q := prompt.Query(in)
	p, err := e.build(ctx, in, q)
	if errors.Is(err, prompt.ErrStale) {
		p, err = e.build(ctx, in, prompt.Fresh(q))
	}
	return p, err
}

func (e *Engine) build(ctx context.Context, in prompt.Input, q core.WindowQuery) (prompt.Prompt, error) {
	var err error
	if in.Window, err = e.Store.Window(ctx, &in.Turn, q); err != nil {
		return prompt.Prompt{}, err
	}
	return prompt.Build(in)
}

// hints is the part of a prompt that tells how to use memory, and what it is about.
func (e *Engine) hints(ctx context.Context, user core.UserID) prompt.Static {
	var themes []core.Theme
	return prompt.Static{Name: "themes", Load: func() (text string, err error) {
		themes, err = e.Memory.Themes(ctx, user, hintedThemes)
		return memory.Hints(themes, err), err
	}, Tainted: func() bool { return memory.Foreign(themes) }}
}

// hintedThemes is one more theme than hints show, so that they can say that
// there are more.
const hintedThemes = 11
