package agent

import (
	"context"
	"errors"

	"github.com/everthread/everthread/core"
)

// reconsider gives the model one more chance with tools if Guard objects to the answer. The
// first answer stays if the model fails. Errors are those of the context and the journal.
func (r *run) reconsider(ctx context.Context, first answer) (answer, error) {
	if r.Guard == nil || first.text == "" {
		return first, nil
	}
	nudge := r.Guard(first.text, r.used)
	if nudge == "" {
		return first, nil
	}
	if ok, err := r.affordable(ctx, r.specs); err != nil || !ok {
		return first, err
	}
	r.note(core.RoleAssistant, first.text)
	r.note(core.RoleUser, nudge)
	second, err := r.converse(ctx, max(1, r.MaxSteps-(r.step-r.firstStep)))
	if err == nil {
		return second, nil
	}
	if r.OnText != nil {
		r.OnText(first.text)
	}
	var m *core.ModelError
	if ctx.Err() == nil && (errors.As(err, &m) || errors.Is(err, ErrEmpty)) {
		err = nil
	}
	return first, err
}
