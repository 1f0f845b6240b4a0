package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// maxCalls is how many tools one answer may ask for; further ones are dropped
// as if they had not been asked for.
const maxCalls = 16

// answer is one completion of the model.
type answer struct {
	text   string
	calls  []core.ToolCall
	finish core.Finish
}

// ask asks the model, and once more if it says nothing.
func (r *run) ask(ctx context.Context, tools []core.ToolSpec) (answer, error) {
	r.shrink()
	r.fit(tools)
	a, err := r.complete(ctx, tools)
	if err != nil || a.text != "" || len(a.calls) > 0 {
		return a, err
	}
	if ok, err := r.affordable(ctx, tools); err != nil || !ok {
		return answer{}, cmp.Or(err, ErrEmpty)
	}
	a, err = r.complete(ctx, tools)
	if err == nil && a.text == "" && len(a.calls) == 0 {
		err = ErrEmpty
	}
	return a, err
}

// complete takes one completion to its end. With an error the answer is what
// there is of it.
func (r *run) complete(ctx context.Context, tools []core.ToolSpec) (answer, error) {
	var text strings.Builder
	var last core.Delta
	var usage *core.Usage
	r.out.Steps++
	for d, err := range r.Model.Stream(ctx, r.request(tools)) {
		if err != nil {
			if usage != nil || text.Len() > 0 { // else nothing was begun
				r.settle(usage, text.String())
			}
			return answer{text: strings.TrimSpace(text.String())}, stopped(ctx, err)
		}
		r.first(d)
		if d.Usage != nil {
			usage = d.Usage
		}
		r.show(&text, d.Text)
		last = d
	}
	r.settle(usage, text.String())
	r.out.Model = last.Model
	return r.judge(ctx, strings.TrimSpace(text.String()), last, len(tools) > 0)
}

func (r *run) request(tools []core.ToolSpec) core.ModelRequest {
	return core.ModelRequest{
		Messages:    r.prompt[:len(r.prompt):len(r.prompt)],
		Tools:       tools,
		MaxTokens:   r.MaxOutputTokens,
		User:        r.Call.User,
		CachePrefix: r.CachePrefix,
		Choice:      r.choice(tools),
	}
}

// choice is what the model may choose: only what comes first is the client's wish.
func (r *run) choice(tools []core.ToolSpec) string {
	if len(tools) == 0 || r.step > r.firstStep {
		return ""
	}
	return r.Choice
}

// first notes when the model began to answer.
func (r *run) first(d core.Delta) {
	if r.out.FirstToken == 0 && (d.Text != "" || len(d.ToolCalls) > 0) {
		r.out.FirstToken = r.Now().Sub(r.started)
	}
}

// show adds a piece to text and passes on all of it.
func (r *run) show(text *strings.Builder, piece string) {
	if piece == "" {
		return
	}
	text.WriteString(piece)
	if r.OnText == nil {
		return
	}
	if soFar := strings.TrimSpace(text.String()); soFar != "" {
		r.OnText(soFar)
	}
}

// judge tells what the end of a stream means.
func (r *run) judge(ctx context.Context, text string, last core.Delta, tools bool) (answer, error) {
	a := answer{text: text, finish: last.Finish}
	switch {
	case last.Finish == "" && ctx.Err() != nil:
		return a, ctx.Err()
	case last.Finish == "":
		return a, &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off")}
	case last.Finish == core.FinishRefused:
		return a, &core.ModelError{Kind: core.ModelRejected, Err: errors.New("the model or its provider refused to answer")}
	}
	if tools {
		a.calls = r.accept(last.ToolCalls)
	}
	return a, nil
}

// accept returns the calls in a form that every provider takes back: with an id
// that nothing else in the prompt has.
func (r *run) accept(calls []core.ToolCall) []core.ToolCall {
	var out []core.ToolCall
	for i, call := range calls[:min(len(calls), maxCalls)] {
		if call.ID == "" || r.ids[call.ID] {
			call.ID = fmt.Sprintf("call_%d_%d_%d", r.base, r.step, i)
		}
		r.ids[call.ID] = true
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		out = append(out, call)
	}
	return out
}

// settle adds what a completion took, counted here if the model did not say.
func (r *run) settle(usage *core.Usage, text string) {
	if usage != nil {
		r.out.Usage = r.out.Usage.Add(*usage)
		return
	}
	r.out.Estimated = true
	estimate := core.Usage{Completion: r.Tokenizer.Count(text), Prompt: r.Tools.Tokens(r.Tokenizer)}
	for _, m := range r.prompt {
		estimate.Prompt += r.Tokenizer.Count(m.Content) + messageTokens
	}
	r.out.Usage = r.out.Usage.Add(estimate)
}

// messageTokens is what the form around a message takes.
const messageTokens = 4

// stopped returns the context's error in place of err, which may only follow from it.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// wellFormed reports whether arguments are a JSON object.
func wellFormed(arguments string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("null is not an object")
	}
	return nil
}
