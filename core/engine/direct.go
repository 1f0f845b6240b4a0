package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/trust"
)

// Afford reserves tokens of a user's day for a call. The caller settles it with what the call took.
// The error is a live.OverBudget if the day has too few.
func (ts *Turns) Afford(ctx context.Context, user core.UserID, tokens int) (func(core.Bill) error, error) {
	u, err := ts.Users.User(ctx, user)
	if err != nil {
		return nil, err
	}
	today := ts.Calendar.Day(u.Settings, ts.Now())
	if until := ts.Ledger.Closed(ctx, tokens); !until.IsZero() {
		return nil, &live.OverBudget{Until: until}
	}
	limit := ts.Config.Limits.Daily().Of(u)
	ok, err := ts.Store.ReserveCall(ctx, user, today.Label, tokens, limit)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &live.OverBudget{Until: today.End}
	}
	if limit == 0 {
		tokens = 0 // nothing was reserved
	}
	return func(took core.Bill) error {
		return ts.Store.SettleCall(context.WithoutCancel(ctx), user, today.Label, tokens, took)
	}, nil
}

// Direct calls the model once, outside a turn. It reserves the tokens before, and charges
// those that were used, also after an error.
func (ts *Turns) Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error) {
	var err error
	if req.Messages, err = ts.withStanding(ctx, user, req.Messages); err != nil {
		return core.Delta{}, err
	}
	usable := ts.Config.LLM.Usable()
	most := min(cmp.Or(req.MaxTokens, ts.Config.LLM.Output()), usable/2)
	req.MaxTokens = min(req.MaxTokens, most)
	req.Messages = ts.within(req.Messages, usable-most)
	settle, err := ts.Afford(ctx, user, ts.promptTokens(req)+most)
	if err != nil {
		return core.Delta{}, err
	}
	var out core.Delta
	for delta, streamErr := range ts.Model.Stream(ctx, req) {
		if err = streamErr; err != nil {
			break
		}
		if !delta.Restart {
			delta.Text = out.Text + delta.Text
		}
		out = delta
	}
	if over, ok := errors.AsType[*trust.OverCap](err); ok {
		err = &live.OverBudget{Until: over.Until}
	}
	if err == nil && out.Finish == "" {
		err = &core.ModelError{Kind: core.ModelDown, Err: ErrCutOff}
	}
	return out, cmp.Or(err, settle(ts.took(req, out)))
}

// within shortens messages in the middle, the longest first, until all have at most most
// tokens. Of very many it drops the oldest.
func (ts *Turns) within(ms []core.ModelMessage, most int) []core.ModelMessage {
	const form, least = 8, 24 // of a message
	size := func(m core.ModelMessage) int { return ts.Tokens.Count(m.Content) + form }
	total := 0
	for _, m := range ms {
		total += size(m)
	}
	if total <= most {
		return ms
	}
	ms, total = slices.Clone(ms), 0
	if many := len(ms) - most/(2*(form+least)); many > 0 {
		ms = ms[many:]
	}
	sizes := make([]int, len(ms))
	for i, m := range ms {
		sizes[i] = size(m)
		total += sizes[i]
	}
	for total > most {
		longest := slices.Index(sizes, slices.Max(sizes))
		keep := max(sizes[longest]-form-(total-most), least)
		ms[longest].Content = prompt.Middle(ms[longest].Content, keep, ts.Tokens)
		now := ts.Tokens.Count(ms[longest].Content) + form
		if now >= sizes[longest] {
			break // it cannot be shortened further
		}
		total, sizes[longest] = total-sizes[longest]+now, now
	}
	return ms
}

// promptTokens counts the tokens of a request's messages.
func (ts *Turns) promptTokens(req core.ModelRequest) (n int) {
	for _, m := range req.Messages {
		n += ts.Tokens.Count(m.Content)
	}
	return n
}

// took returns what a call took, counted here if the model did not report it.
func (ts *Turns) took(req core.ModelRequest, out core.Delta) core.Bill {
	used := core.Usage{Completion: ts.Tokens.Count(out.Text), Prompt: ts.promptTokens(req)}
	switch {
	case out.Usage != nil:
		used = *out.Usage
	case out.Text == "" && out.Finish == "":
		return nil
	}
	return core.SpentOn(core.ForProgram, cmp.Or(out.Model, nameOf(ts.Config.LLM)), used)
}
