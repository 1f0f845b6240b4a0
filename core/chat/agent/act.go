package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// done is the outcome of one tool call.
type done struct {
	core.ToolResult
	kept   []core.Attachment // stored Files
	gained []core.ToolSpec   // tools that can be called from now on
	failed bool
	unsure bool  // it failed, but may have taken effect
	err    error // of the journal; it ends the loop
}

// act runs the tool calls of a in parallel, and adds a and the results in the order of the calls. If the context ends
// meanwhile it adds nothing: a call is never stored without its result.
func (r *run) act(ctx context.Context, a answer) error {
	results := make([]done, len(a.calls))
	var wg sync.WaitGroup
	for i, call := range a.calls {
		if !r.clients(call) {
			wg.Go(func() { results[i] = r.perform(ctx, i, call) })
		}
	}
	wg.Wait()
	for _, d := range results { // also of calls that were stopped
		r.out.Spent = r.out.Spent.And(d.Spent)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, d := range results {
		if d.err != nil {
			return d.err
		}
	}
	r.add(core.ModelMessage{Role: core.RoleAssistant, Content: a.text, ToolCalls: sendable(a.calls)}, "")
	r.asked = r.tainted
	for i, d := range results {
		if !r.clients(a.calls[i]) {
			r.addResult(a.calls[i], d)
		}
	}
	r.step++
	return nil
}

// sendable returns calls in a form that servers accept in a prompt: they refuse invalid
// names, and some fail on arguments that are not JSON.
func sendable(calls []core.ToolCall) []core.ToolCall {
	out := make([]core.ToolCall, len(calls))
	for i, call := range calls {
		if !toolName().MatchString(call.Name) {
			call.Name = "unknown_tool"
		}
		if wellFormed(call.Arguments) != nil {
			call.Arguments = "{}"
		}
		out[i] = call
	}
	return out
}

// endsAgain reports whether e ends what an earlier effect of the turn ends: models repeat themselves, and a reply that
// ends something twice could not be stored.
func endsAgain(earlier []core.Effect, e core.Effect) bool {
	what := ended(e)
	return what != "" && slices.ContainsFunc(earlier, func(o core.Effect) bool { return ended(o) == what })
}

// ended names what an effect ends; empty: nothing.
func ended(e core.Effect) string {
	switch e := e.(type) {
	case effect.CancelPlan:
		return fmt.Sprint("plan ", e.Plan)
	case effect.CloseLoop:
		return fmt.Sprint("loop ", e.Loop)
	}
	return ""
}

// addResult adds the outcome of a call to the turn.
func (r *run) addResult(call core.ToolCall, d done) {
	r.results = append(r.results, result{message: len(r.out.Messages), shown: len(r.prompt), step: r.step, full: d.Text})
	text := Truncate(d.Text, min(r.ResultTokens, r.ToolTokens), r.Tokenizer)
	before := r.tainted
	r.tainted = d.Tainted || r.outside(call.Name)
	r.add(core.ModelMessage{Role: core.RoleTool, Content: text, ToolCallID: call.ID}, call.Name)
	r.out.Messages[len(r.out.Messages)-1].Outside = r.outside(call.Name)
	r.tainted = r.tainted || before
	if query, _ := r.searched(call.Name, d.Text); r.asked && query != "" {
		r.out.Searched = append(r.out.Searched, query)
	}
	r.out.Searched = append(r.out.Searched, d.Searched...)
	for _, e := range d.Effects {
		if r.asked {
			e = effect.Taint(e)
		}
		if !endsAgain(r.out.Effects, e) {
			r.out.Effects = append(r.out.Effects, e)
		}
	}
	r.files = append(r.files, d.kept...)
	r.gain(d.gained)
	if !d.failed {
		r.used = append(r.used, call.Name)
	}
}

// perform runs one call. Errors become results that the model reads.
func (r *run) perform(ctx context.Context, index int, call core.ToolCall) done {
	if err := wellFormed(call.Arguments); err != nil && r.Tools.has(call.Name) {
		return failed("the arguments are not a JSON object (%v); they began with: %s", err, head(call.Arguments))
	}
	if call.Name == MoreTools && r.Tools.has(MoreTools) {
		return r.more(call)
	}
	tool, ok := r.Tools.tool(call.Name)
	if !ok {
		return failed("there is no tool %q; there are: %s", head(call.Name), r.Tools.names())
	}
	c := r.Call
	c.Step, c.Index, c.Now, c.Arguments = r.step, index, r.Now(), json.RawMessage(call.Arguments)
	c.Tainted = r.tainted
	if _, helper := tool.(*Delegate); helper && (r.tainted || r.steered(tool)) {
		c.Tainted = !r.own(ctx, tool, &call)
	}
	if r.outside(call.Name) && r.OnAct != nil {
		if r.OnAct(); ctx.Err() != nil {
			return done{err: ctx.Err()}
		}
	}
	if d, stop := r.permitted(ctx, tool, &call); stop {
		return d
	}
	c.Arguments = json.RawMessage(call.Arguments)
	if r.outside(call.Name) {
		return r.journalled(ctx, tool, call, c)
	}
	return r.call(ctx, tool, c)
}

// outside reports whether a tool acts outside of our own store.
func (r *run) outside(name string) bool {
	tool, _ := r.Tools.tool(name)
	x, ok := tool.(core.OutsideTool)
	return ok && x.Outside()
}

// begunMark is the journal's entry of a call that was begun and whose end is unknown.
const begunMark = "begun\n"

// journalled replays the call if it was made before, else makes and records it. A call that may change something is
// recorded before it is made, too: if the process dies in between it is not repeated, and the model reads that its
// effect is unknown. Nor is it repeated if another turn made it for the same message, as after a retry.
func (r *run) journalled(ctx context.Context, tool core.Tool, call core.ToolCall, c core.ToolUse) done {
	e := entry(c, call)
	e.Text = fingerprint(call)
	text, ok, err := r.Journal.Lookup(ctx, c.User, c.Turn, c.Step, c.Index)
	if err != nil {
		return done{err: fmt.Errorf("look up tool call: %w", err)}
	}
	switch recorded, same := strings.CutPrefix(text, e.Text); {
	case ok && same && recorded == begunMark:
		return r.unknown(ctx, tool, c, e)
	case ok && same:
		return r.replayed(recorded)
	}
	if changes(tool) {
		switch recorded, ok, err := r.earlier(ctx, c, e.Text); {
		case err != nil:
			return done{err: fmt.Errorf("look up earlier tool calls: %w", err)}
		case ok && recorded == begunMark:
			return failed(unknownEnd)
		case ok:
			return r.replayed(recorded)
		}
		begun := e
		begun.Text += begunMark
		if err := r.record(ctx, tool, c, begun, ""); err != nil {
			return done{err: err}
		}
	}
	return r.make(ctx, tool, c, e)
}

// earlier returns the entry of the same call by another turn for the same messages. Each entry answers one call.
func (r *run) earlier(ctx context.Context, c core.ToolUse, mark string) (entry string, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past == nil {
		if r.past, err = r.Journal.Earlier(ctx, c.User, c.Turn, c.Inputs); err != nil {
			return "", false, err
		}
		r.past = append([]store.CallRecord{}, r.past...) // not nil: it is known
	}
	for i, p := range r.past {
		if entry, ok = strings.CutPrefix(p.Text, mark); ok {
			r.past = slices.Delete(r.past, i, i+1)
			return entry, true, nil
		}
	}
	return "", false, nil
}

// make makes a call and records its result behind the text of its entry.
func (r *run) make(ctx context.Context, tool core.Tool, c core.ToolUse, e store.CallRecord) done {
	d := r.call(ctx, tool, c)
	if d.failed && ctx.Err() != nil {
		return d // interrupted: a re-run repeats calls that only read
	}
	d.Text = Truncate(d.Text, r.ResultTokens, r.Tokenizer)
	r.keep(ctx, c, &d)
	// The call has taken effect, so it is recorded even if the turn was stopped.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	e.Text += d.recorded()
	if err := r.record(ctx, tool, c, e, d.result()); err != nil {
		return done{err: err}
	}
	return d
}

// unknownEnd is the result of a call that was begun and never recorded as ended.
const unknownEnd = "the call was begun before, and how it ended is not known: it may have taken effect or not. " +
	"Tell the person so, and do not repeat it by yourself"

// unknown records and returns that it is unknown how a call ended.
func (r *run) unknown(ctx context.Context, tool core.Tool, c core.ToolUse, e store.CallRecord) done {
	d := failed(unknownEnd)
	e.Text += d.Text
	d.err = r.record(ctx, tool, c, e, audit.Unknown)
	return d
}

const recordTimeout = 5 * time.Second

// maxFiles bounds the files of one call that come with an answer.
const maxFiles = 4

// keep stores the files of a call, and adds to its text that they come with the answer.
func (r *run) keep(ctx context.Context, c core.ToolUse, d *done) {
	if r.Keep == nil {
		return
	}
	for n, f := range d.Files[:min(len(d.Files), maxFiles)] {
		picture := f.Alt != ""
		if picture && r.images.Add(1) > int64(r.MaxImages) {
			r.images.Add(-1)
			d.Text += fmt.Sprintf("\n[a picture is not shown to the person: an answer has at most %d]", r.MaxImages)
			continue
		}
		a, err := r.Keep(ctx, c, n, f)
		if err != nil && picture {
			r.images.Add(-1)
		}
		if err != nil {
			d.Text += fmt.Sprintf("\n[%s could not be kept: %v]", cmp.Or(f.Name, "the file"), err)
			continue
		}
		d.kept = append(d.kept, a)
		if picture {
			d.Text += fmt.Sprintf("\n[%s is shown to the person with your answer]", cmp.Or(a.Name, "the picture"))
			continue
		}
		d.Text += fmt.Sprintf("\n[%s is sent to the person with your answer]", cmp.Or(a.Name, "the "+a.Kind))
	}
}

// recorded returns the journal's entry of a call: a line for its files, if it has any, and its text.
func (d done) recorded() string {
	files, err := json.Marshal(d.kept)
	if err != nil || len(d.kept) == 0 {
		return d.Text
	}
	return filesLine + string(files) + "\n" + d.Text
}

const filesLine = "\x01files "

// replayed reads what recorded returned.
func (r *run) replayed(entry string) done {
	line, text, ok := strings.Cut(entry, "\n")
	files, marked := strings.CutPrefix(line, filesLine)
	var d done
	if !ok || !marked || json.Unmarshal([]byte(files), &d.kept) != nil {
		return done{ToolResult: core.ToolResult{Text: entry}}
	}
	d.Text = text
	for _, a := range d.kept {
		if a.Alt != "" {
			r.images.Add(1)
		}
	}
	return d
}

// fingerprint marks a journal entry with its call: a re-run in which the model makes
// another call must not get that result.
func fingerprint(call core.ToolCall) string {
	form, ok := canonical(call)
	if !ok {
		form = call.Name + "\x00" + call.Arguments
	}
	sum := sha256.Sum256([]byte(form))
	return hex.EncodeToString(sum[:8]) + "\n"
}

// call runs a tool within its timeout. An error becomes a failed result, with its usage.
func (r *run) call(ctx context.Context, tool core.Tool, c core.ToolUse) done {
	ctx, cancel := context.WithTimeout(ctx, r.timeout(tool))
	defer cancel()
	res, err := guarded(ctx, tool, c)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	d := done{ToolResult: res}
	switch {
	case errors.Is(err, errSlow):
		d = failed("the tool did not answer within %s", r.timeout(tool))
		d.unsure = true
	case err != nil:
		d = failed("%v", err)
	case strings.TrimSpace(d.Text) == "":
		d.Text = "(no output)"
	}
	d.Spent = res.Spent
	return d
}

// PatientTool is an optional interface of a core.Tool with a timeout of its own.
type PatientTool interface {
	// Timeout bounds one call.
	Timeout() time.Duration
}

func (r *run) timeout(tool core.Tool) time.Duration {
	if p, ok := tool.(PatientTool); ok {
		return p.Timeout()
	}
	return r.ToolTimeout
}

var errSlow = errors.New("too slow")

// guarded turns a panic of the tool into an error.
func guarded(ctx context.Context, tool core.Tool, c core.ToolUse) (res core.ToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = core.ToolResult{}, errors.New("the tool broke down; do not call it again in this answer")
		}
	}()
	return tool.Use(ctx, c)
}

func failed(format string, args ...any) done {
	return notDone("Error: " + fmt.Sprintf(format, args...))
}

// notDone returns the outcome of a call that did not run or failed, with why.
func notDone(why string) done { return done{failed: true, ToolResult: core.ToolResult{Text: why}} }

// head returns the beginning of a model's text, for an error message.
func head(s string) string {
	const longest = 80
	if len(s) <= longest {
		return s
	}
	return s[:text.RuneStart(s, longest)] + "…"
}
