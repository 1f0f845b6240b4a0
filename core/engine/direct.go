package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/trust"
)

// Afford takes tokens of a user's day before a call.
func (e *Engine) Afford(ctx context.Context, user core.UserID, tokens int) (func(core.Usage) error, error) {
	u, err := e.Users.User(ctx, user)
	if err != nil {
		return nil, err
	}
	today := e.Calendar.Day(u.Settings, e.Now())
	if until := e.Ledger.Closed(ctx, tokens); !until.IsZero() {
		return nil, &live.OverBudget{Until: until}
	}
	ok, err := e.Store.ReserveCall(ctx, user, today.Label, tokens, e.Config.Limits.TokensPerDay)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &live.OverBudget{Until: today.End}
	}
	if e.Config.Limits.TokensPerDay == 0 {
		tokens = 0 // nothing was reserved
	}
	return func(took core.Usage) error {
		return e.Store.SettleCall(context.WithoutCancel(ctx), user, today.Label, tokens, took)
	}, nil
}

// Direct asks once. What it may take is reserved before, and what it takes is
// charged, whatever comes of it.
func (e *Engine) Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error) {
	most := cmp.Or(req.MaxTokens, e.Config.LLM.MaxOutputTokens)
	settle, err := e.Afford(ctx, user, e.promptTokens(req)+most)
	if err != nil {
		return core.Delta{}, err
	}
	var out core.Delta
	for delta, streamErr := range e.Model.Stream(ctx, req) {
		if err = streamErr; err != nil {
			break
		}
		delta.Text = out.Text + delta.Text
		out = delta
	}
	var over *trust.OverCap
	if errors.As(err, &over) {
		err = &live.OverBudget{Until: over.Until}
	}
	if err == nil && out.Finish == "" {
		err = &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off")}
	}
	return out, cmp.Or(err, settle(e.took(req, out)))
}

// promptTokens counts what a request shows the model.
func (e *Engine) promptTokens(req core.ModelRequest) (n int) {
	for _, m := range req.Messages {
		n += e.Tokens.Count(m.Content)
	}
	return n
}

// took is what a call took, counted here if the model did not say.
func (e *Engine) took(req core.ModelRequest, out core.Delta) core.Usage {
	switch {
	case out.Usage != nil:
		return *out.Usage
	case out.Text == "" && out.Finish == "":
		return core.Usage{}
	}
	return core.Usage{Completion: e.Tokens.Count(out.Text), Prompt: e.promptTokens(req)}
}
