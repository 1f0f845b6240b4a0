// Package llmtest is a scripted chat model for unit tests.
package llmtest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// Reply is the model's reply to one request.
type Reply struct {
	Text      string
	ToolCalls []core.ToolCall
	Finish    core.Finish // empty: tools if there are ToolCalls, else stop
	Usage     *core.Usage // nil: none is reported
	Model     string      // empty: "scripted"
	Thought   bool
	Pictured  bool
	Reduced   []core.Reduction

	Pieces int           // number of deltas for Text; 0: one
	Delay  time.Duration // before the first delta and between deltas
	Err    error         // ends the sequence after Text, in place of the Finish
	Cut    bool          // the sequence ends after Text without a Finish
	Stall  bool          // after Text nothing follows until the context ends
}

// Say replies with a text.
func Say(text string) Reply { return Reply{Text: text} }

// Fail replies with an error.
func Fail(err error) Reply { return Reply{Err: err} }

// Call replies with tool calls.
func Call(calls ...core.ToolCall) Reply { return Reply{ToolCalls: calls} }

var _ core.Model = (*Model)(nil)

// Model answers from a script and records the requests. The zero value
// says "ok". It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	script   func(core.ModelRequest) Reply
	requests []core.ModelRequest
}

// Replies returns a model that gives the replies one after another, and the
// last one from then on.
func Replies(replies ...Reply) *Model {
	m := &Model{}
	next := 0
	return m.Script(func(core.ModelRequest) Reply {
		reply := replies[min(next, len(replies)-1)]
		next++
		return reply
	})
}

// Script sets the script from now on, and returns the model. Calls of script are
// serialised.
func (m *Model) Script(script func(req core.ModelRequest) Reply) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
	return m
}

// Requests returns all requests so far, in order.
func (m *Model) Requests() []core.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Stream plays the script's reply to req.
func (m *Model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		play(ctx, m.take(req), yield)
	}
}

func (m *Model) take(req core.ModelRequest) Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if m.script == nil {
		return Say("ok")
	}
	return m.script(req)
}

func play(ctx context.Context, r Reply, yield func(core.Delta, error) bool) {
	for _, piece := range pieces(r.Text, max(r.Pieces, 1)) {
		if err := wait(ctx, r.Delay); err != nil {
			yield(core.Delta{}, err)
			return
		}
		if !yield(core.Delta{Text: piece}, nil) {
			return
		}
	}
	if r.Stall {
		<-ctx.Done()
	}
	if err := wait(ctx, r.Delay); err != nil {
		yield(core.Delta{}, err)
		return
	}
	if r.Err != nil {
		yield(core.Delta{}, r.Err)
		return
	}
	if !r.Cut {
		yield(last(r), nil)
	}
}

func last(r Reply) core.Delta {
	finish := core.FinishStop
	if len(r.ToolCalls) > 0 {
		finish = core.FinishTools
	}
	return core.Delta{ToolCalls: r.ToolCalls, Finish: cmp.Or(r.Finish, finish), Usage: r.Usage,
		Thought: r.Thought, Pictured: r.Pictured, Reduced: r.Reduced, Model: cmp.Or(r.Model, "scripted")}
}

// pieces cuts text at rune boundaries into at most n pieces; none if it is empty.
func pieces(text string, n int) []string {
	size := max(1, (len(text)+n-1)/n)
	var out []string
	for len(text) > 0 {
		end := min(size, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d == 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
