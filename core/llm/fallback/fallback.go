// Package fallback combines several chat models into one (llm.fallbacks).
package fallback

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/everthread/everthread/core"
)

// model is a core.Model.
type model struct{ models []core.Model }

// New returns a model that asks primary, and then each of rest in order if the one before is down, busy or
// misconfigured and has not begun an answer. Other errors are the request's fault and are returned. If all fail, the
// error is the first that a retry may resolve, else the primary's. The Model of the last Delta says which one answered, and Instead
// that it was one of rest.
func New(primary core.Model, rest ...core.Model) core.Model {
	if len(rest) == 0 {
		return primary
	}
	return &model{models: append([]core.Model{primary}, rest...)}
}

// Stream asks the models until one answers.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		var failed error
		for i, next := range m.models {
			began, err := pass(next.Stream(ctx, req), i > 0, yield)
			if err == nil {
				return
			}
			theirs := []core.ModelErrorKind{core.ModelDown, core.ModelBusy, core.ModelAuth, core.ModelConfig}
			if began || !slices.Contains(theirs, kind(err)) || ctx.Err() != nil {
				yield(core.Delta{}, err)
				return
			}
			failed = worth(failed, err)
		}
		yield(core.Delta{}, failed)
	}
}

// pass yields a model's deltas. It returns whether any had content, and what ended them.
func pass(deltas iter.Seq2[core.Delta, error], instead bool, yield func(core.Delta, error) bool) (began bool, err error) {
	for d, err := range deltas {
		if err != nil {
			return began, err
		}
		d.Instead = d.Instead || instead && d.Finish != ""
		began = began || d.Text != "" || d.Finish != "" || len(d.ToolCalls) > 0
		if !yield(d, nil) {
			return began, nil
		}
	}
	return began, nil
}

// worth returns the more useful error: a temporary one, else the earlier.
func worth(before, err error) error {
	if before == nil || !passes(before) && passes(err) {
		return err
	}
	return before
}

func passes(err error) bool { return kind(err) == core.ModelDown || kind(err) == core.ModelBusy }

func kind(err error) core.ModelErrorKind {
	if modelErr, ok := errors.AsType[*core.ModelError](err); ok {
		return modelErr.Kind
	}
	return ""
}
