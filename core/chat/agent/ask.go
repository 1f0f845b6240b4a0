package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
)

// maxCalls bounds the tool calls of one answer; further ones are dropped.
const maxCalls = 16

// answer is one completion of the model.
type answer struct {
	text    string
	calls   []core.ToolCall
	finish  core.Finish
	thought bool // it has thoughts, or ended at a limit that they count for
}

func (a *answer) empty() bool { return a.text == "" && len(a.calls) == 0 }

// ask calls the model, and once more after an answer that is empty, or that broke off before its first word. After one
// of thoughts alone the second has no limit.
func (r *run) ask(ctx context.Context, tools []core.ToolSpec) (answer, error) {
	r.shrink()
	r.fit(tools)
	a, err := r.complete(ctx, tools, r.MaxOutputTokens)
	if err != nil || a.text != "" || !a.empty() && a.finish != core.FinishCut {
		return a, err
	}
	if ok, err := r.affordable(ctx, tools); err != nil || !ok {
		return a, cmp.Or(err, a.unusable())
	}
	limit := r.MaxOutputTokens
	if a.thought {
		limit = 0
	}
	if a, err = r.complete(ctx, tools, limit); err == nil {
		err = a.unusable()
	}
	return a, err
}

// unusable returns why there is no answer; nil: there is one.
func (a *answer) unusable() error {
	if !a.empty() {
		return nil
	}
	why := core.ErrEmpty
	if a.thought {
		why = core.ErrThoughtOnly
	}
	return &core.ModelError{Kind: core.ModelRejected, Err: why}
}

// complete reads one completion to its end. With an error the answer is incomplete.
func (r *run) complete(ctx context.Context, tools []core.ToolSpec, limit int) (answer, error) {
	req := r.request(tools)
	req.MaxTokens = limit
	text, last, usage, err := r.stream(ctx, req, r.show)
	if err == nil || usage != nil || text != "" || ctx.Err() != nil { // otherwise the answer had not begun
		r.settle(usage, text, cmp.Or(last.Asked, last.Model))
	}
	if err != nil {
		return answer{text: strings.TrimSpace(text)}, cmp.Or(ctx.Err(), err)
	}
	r.out.Model, r.out.Instead = cmp.Or(last.Model, r.out.Model), last.Instead
	for _, one := range last.Reduced {
		if !slices.Contains(r.out.Reduced, one) {
			r.out.Reduced = append(r.out.Reduced, one)
		}
	}
	if last.Pictured {
		note := i18n.PictureSent(r.Call.Language)
		text = strings.TrimSpace(text) + "\n\n" + note
		r.show(core.Delta{Text: note}, text)
	}
	return r.judge(ctx, strings.TrimSpace(text), last, len(tools) > 0)
}

// stream reads a completion to its end, or to an error. see gets each delta, with the text so far.
func (r *run) stream(ctx context.Context, req core.ModelRequest,
	see func(d core.Delta, soFar string)) (text string, last core.Delta, usage *core.Usage, err error) {
	var b strings.Builder
	tokens := 0
	r.out.Steps++
	for d, err := range r.Model.Stream(ctx, req) {
		if err != nil {
			return b.String(), last, usage, err
		}
		if d.Usage != nil {
			usage = d.Usage
		}
		d.AppendTo(&b)
		see(d, b.String())
		if last = d; d.Finish == "" {
			if tokens += r.Tokenizer.Count(d.Text); tokens > r.Window { // no model writes more than it can read
				return b.String(), core.Delta{Finish: core.FinishLength}, usage, nil
			}
		}
	}
	return b.String(), last, usage, nil
}

func (r *run) request(tools []core.ToolSpec) core.ModelRequest {
	return core.ModelRequest{Messages: r.prompt[:len(r.prompt):len(r.prompt)], Tools: tools, User: r.Call.User,
		MaxTokens: r.MaxOutputTokens, CachePrefix: r.CachePrefix, Choice: r.choice(tools)}
}

// choice returns the Choice of the next request: the client's holds for the first one only.
func (r *run) choice(tools []core.ToolSpec) string {
	if len(tools) == 0 || r.step > r.firstStep {
		return ""
	}
	return r.Choice
}

// show records when the model began to answer, and passes on the text.
func (r *run) show(d core.Delta, soFar string) {
	if r.out.FirstToken == 0 && (d.Text != "" || len(d.ToolCalls) > 0) {
		r.out.FirstToken = r.Now().Sub(r.started)
	}
	if soFar = strings.TrimSpace(soFar); r.OnText != nil && (d.Text != "" && soFar != "" || d.Restart) {
		r.OnText(soFar)
	}
}

// judge returns the answer of a stream that has ended, or why it is not one.
func (r *run) judge(ctx context.Context, text string, last core.Delta, tools bool) (answer, error) {
	a := answer{text: text, finish: last.Finish, thought: last.Thought || last.Finish == core.FinishLength}
	switch {
	case last.Finish == "" && ctx.Err() != nil:
		return a, ctx.Err()
	case last.Finish == "":
		return a, &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off")}
	case last.Finish == core.FinishRefused && text == "":
		return a, &core.ModelError{Kind: core.ModelRejected, Err: errors.New("the model or its provider refused to answer")}
	}
	if tools && last.Finish != core.FinishRefused && last.Finish != core.FinishCut {
		a.calls = r.accept(last.ToolCalls)
	}
	return a, nil
}

// accept returns calls in a form that every provider accepts in a prompt: with unique ids and non-empty arguments.
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

// settle adds what a completion of a model took, counted here if the model did not report it.
func (r *run) settle(usage *core.Usage, text, model string) {
	if usage != nil {
		r.spend(model, *usage)
		return
	}
	r.out.Estimated = true
	estimate := core.Usage{Completion: r.Tokenizer.Count(text), Prompt: r.Tools.Tokens(r.Tokenizer)}
	for _, m := range r.prompt {
		estimate.Prompt += r.Tokenizer.Count(m.Content) + messageTokens
	}
	r.spend(model, estimate)
}

// spend adds what a call of a model took to the bill of the turn.
func (r *run) spend(model string, u core.Usage) {
	purpose := core.ForAnswer
	if r.Call.Task != 0 {
		purpose = core.ForTask
	}
	r.out.Spent = r.out.Spent.And(core.SpentOn(purpose, cmp.Or(model, r.ModelName), u))
}

// messageTokens is the overhead of a message.
const messageTokens = 4

// wellFormed returns an error unless arguments are a JSON object.
func wellFormed(arguments string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(arguments), &object)
	if err == nil && object == nil {
		err = errors.New("null is not an object")
	}
	return err
}
