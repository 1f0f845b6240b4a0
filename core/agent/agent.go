// Package agent is the loop of a model and its tools: the model is
// asked, the tools that it wants run in parallel, their results go back to it,
// until it answers.
//
// Nothing that happens in a tool ends the loop: an unknown name, malformed
// arguments, an error, a panic or too long a wait become results that tell the
// model what was wrong. Only the model itself, the journal and the context do.
package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
)

// ErrEmpty is returned when the model answered with nothing, twice.
var ErrEmpty = errors.New("the model gave an empty answer twice")

// Request is the work of one turn. Model, Messages, Tokenizer and Now are
// required; numbers that are 0 have the default in brackets.
type Request struct {
	Model       core.Model
	Messages    []core.ModelMessage // the prompt; not changed
	CachePrefix int                 // as in core.ModelRequest
	Tools       *Registry           // nil: none
	Call        core.ToolUse        // who the tools act for; Step, Index, Now and Arguments are set by Run
	Journal     Journal             // nil: outside tools are called again in a re-run

	// Client are tools of the client that asked: a call of one ends the turn, without
	// its result. Of a tool of our own with the same name the model knows nothing.
	Client []core.ToolSpec
	// Choice bounds which tools the first call of the model may use, as
	// core.ModelRequest says.
	Choice string

	// Permit decides about a call of an outside tool. tainted says that the turn has
	// read words that the person did not write there. nil: all are allowed.
	Permit func(tool core.Tool, tainted bool) Verdict
	// Tainted: the prompt shows such words already. Results of outside tools are such.
	Tainted bool
	// Foreign runs parallel to Messages: these hold such words. What a call is that the
	// model would make without them, too, needs no question because of them. nil: none is
	// known, and every call asks.
	Foreign []bool
	// Decided is a call that the person answered a question about: it is the first
	// step of the turn. nil: none.
	Decided *Decided

	// firstStep is the number of the first step, for the journal of a delegate.
	firstStep int

	MaxSteps        int           // calls of the model that may ask for tools (8)
	ToolTokens      int           // bound of all results of the turn (8,000)
	Window          int           // bound of every request, its answer included; 0: none
	PromptTokens    int           // of Messages; 0: they are counted here, where there is a Window
	ResultTokens    int           // bound of one result (4,000)
	ToolTimeout     time.Duration // of one call of a tool (30 s)
	MaxImages       int           // that tools show with the answer (4)
	MaxOutputTokens int           // of one completion; 0: the model's own

	Tokenizer core.Tokenizer
	Now       func() time.Time

	// Guard looks at an answer and at the tools that worked in the turn. If it
	// returns a nudge, the model gets it, unseen by the person, with one more
	// chance to use tools; what it then says replaces the answer, unless it fails
	// or says nothing. nil: none.
	Guard func(answer string, used []string) (nudge string)
	// More is asked before each call of the model but the first and the last, with what
	// it is to be asked: if the budget does not allow it and an answer after it, the
	// model answers with what it has. nil: there is no budget.
	More func(ctx context.Context, req core.ModelRequest) (bool, error)

	// Keep stores a file that a tool made, the n-th of a call, so that it can come
	// with the answer. nil: files are left out.
	Keep func(ctx context.Context, use core.ToolUse, n int, f core.File) (core.Attachment, error)

	// OnText is called with all that has been written of the answer, each time
	// there is more. What a model writes before it asks for tools counts as an
	// answer until it does: after the tools the text begins again.
	OnText func(soFar string)
	// OnTool is called after each call of a tool, by several goroutines at once.
	OnTool func(name string, took time.Duration, err error)
}

// Verdict is what becomes of a call of an outside tool.
type Verdict int

// Verdicts.
const (
	Allow  Verdict = iota // it runs
	Ask                   // the person is asked first, and the turn ends with that
	Refuse                // it does not run, and the model is told so
)

// Decided is a call with what the person said to it.
type Decided struct {
	Call core.ToolCall
	Yes  bool
}

// Outcome is what came of a turn. With an error it holds what there was until then.
type Outcome struct {
	// Messages are to be stored: the model's wishes and the results of its tools,
	// each wish with all of its results in the order of the calls, and last the
	// answer. With an error the answer is cut off, or missing if none had begun.
	Messages   []core.NewMessage
	Text       string // of the answer
	Finish     core.Finish
	Model      string // who answered
	Steps      int    // calls of the model
	Usage      core.Usage
	Estimated  bool          // Usage is partly counted here, for the model did not report it
	FirstToken time.Duration // from the start to the first text or the first wish
	Effects    []core.Effect // of the tools, in the order of Messages
	// Question: a call waits for a yes, and there is no answer yet.
	Question *core.Question
	Tainted  bool // the model read words that the person did not write
}

// Run asks the model until it answers. Errors are the model's, ErrEmpty, the
// journal's, *core.ModelError of kind ModelRejected if the model refused, or
// the context's; the outcome is valid even so.
func Run(ctx context.Context, req Request) (Outcome, error) {
	r := newRun(req)
	err := r.decided(ctx)
	if err != nil {
		return r.finish(answer{}), err
	}
	a, err := r.converse(ctx, r.MaxSteps)
	if err == nil && r.out.Question == nil {
		a, err = r.reconsider(ctx, a)
	}
	return r.finish(a), err
}

// converse asks the model until it answers, with tools at most steps times.
func (r *run) converse(ctx context.Context, steps int) (answer, error) {
	for range steps {
		if r.Choice == "none" {
			return r.ask(ctx, nil)
		}
		if ok, err := r.affordable(ctx, r.specs); err != nil {
			return answer{}, err
		} else if !ok || !r.fit(r.specs) {
			break
		}
		a, err := r.ask(ctx, r.specs)
		if err != nil || len(a.calls) == 0 {
			return a, err
		}
		if err := r.act(ctx, a); err != nil {
			return answer{text: a.text}, err
		}
		if r.out.Question != nil {
			return answer{text: a.text, finish: core.FinishStop}, nil
		}
		if slices.ContainsFunc(a.calls, r.clients) {
			return answer{finish: core.FinishTools}, nil
		}
	}
	r.note(core.RoleUser, noMoreTools)
	return r.ask(ctx, nil)
}

// affordable reports whether the model may be asked once more. The first call is
// paid, unless it comes with the result of one that the person was asked about.
func (r *run) affordable(ctx context.Context, tools []core.ToolSpec) (bool, error) {
	if r.More == nil || r.out.Steps == 0 && r.Decided == nil {
		return true, nil
	}
	r.shrink()
	return r.More(ctx, r.request(tools))
}

// noMoreTools asks for an answer at the step limit, or when the budget is used up. It is not a system message,
// for some servers take these only at the start.
const noMoreTools = "[No more tools can be used for this answer. Answer now with what you have, and say what is missing.]"

// run is the state of one Run. Each message appended to prompt from base on
// stands in out.Messages, too, but for notes.
type run struct {
	Request
	prompt  []core.ModelMessage
	base    int
	results []result
	used    []string // tools that worked
	files   []core.Attachment
	images  atomic.Int64 // of files
	specs   []core.ToolSpec
	ids     map[string]bool // of tool calls, for some servers reuse them
	step    int             // answers with tool calls so far, from firstStep on
	started time.Time
	tainted bool   // what the model has read holds words that the person did not write
	asked   bool   // it was so when the model asked for what is done now
	foreign []bool // runs parallel to prompt
	schemas int    // of specs, in tokens; 0 without a Window
	sizes   []int  // of the messages from base on, in tokens; none without a Window
	second  second
	mu      sync.Mutex // of out.Question, while calls run in parallel
	out     Outcome
}

// result is a tool's result in the prompt, which may be shown shortened.
type result struct {
	message int // in out.Messages
	shown   int // in prompt
	step    int
	full    string
}

func newRun(req Request) *run {
	req.MaxSteps = cmp.Or(req.MaxSteps, 8)
	req.ToolTokens = cmp.Or(req.ToolTokens, 8000)
	req.ResultTokens = cmp.Or(req.ResultTokens, 4000)
	req.ToolTimeout = cmp.Or(req.ToolTimeout, 30*time.Second)
	req.MaxImages = cmp.Or(req.MaxImages, 4)
	prompt := make([]core.ModelMessage, len(req.Messages), len(req.Messages)+8)
	copy(prompt, req.Messages)
	ids := map[string]bool{}
	for _, m := range prompt {
		for _, call := range m.ToolCalls {
			ids[call.ID] = true
		}
	}
	foreign := make([]bool, len(prompt), cap(prompt))
	copy(foreign, req.Foreign)
	r := &run{Request: req, tainted: req.Tainted, prompt: prompt, foreign: foreign, base: len(prompt),
		ids: ids, step: req.firstStep, started: req.Now()}
	r.measure()
	r.specs = req.offered()
	r.measureTools()
	return r
}

// offered are the tools that the model is told of, the client's last.
func (r *Request) offered() []core.ToolSpec {
	own := r.Tools.Specs()
	if len(r.Client) == 0 {
		return own
	}
	out := slices.DeleteFunc(slices.Clone(own), func(s core.ToolSpec) bool {
		return r.clients(
			core.ToolCall{Name: s.Name})
	})
	return append(out, r.Client...)
}

// clients reports whether a call is of a tool of the client.
func (r *Request) clients(call core.ToolCall) bool {
	return slices.ContainsFunc(r.Client, func(s core.ToolSpec) bool { return s.Name == call.Name })
}

// finish adds the answer, or what there is of it.
func (r *run) finish(a answer) Outcome {
	r.out.Text, r.out.Finish, r.out.Tainted = a.text, a.finish, r.tainted
	if a.text != "" && r.out.Question == nil {
		r.out.Messages = append(r.out.Messages, core.NewMessage{
			Role: core.RoleAssistant, Kind: core.KindChat, Text: a.text,
			Tokens: r.Tokenizer.Count(a.text), SentAt: r.Now(), Attachments: r.files, Tainted: r.tainted,
		})
	}
	return r.out
}

// note appends a message to the prompt that is not stored.
func (r *run) note(role core.Role, text string) {
	r.push(core.ModelMessage{Role: role, Content: text}, r.tainted && role == core.RoleAssistant)
}

// add appends a message to the prompt and to what is stored.
func (r *run) add(m core.ModelMessage, toolName string) {
	tokens := r.Tokenizer.Count(m.Content)
	for _, call := range m.ToolCalls {
		tokens += r.Tokenizer.Count(call.Name) + r.Tokenizer.Count(call.Arguments)
	}
	r.push(m, r.tainted)
	r.out.Messages = append(r.out.Messages, core.NewMessage{
		Role: m.Role, Kind: core.KindChat, Text: m.Content, Tokens: tokens,
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: toolName, SentAt: r.Now(), Tainted: r.tainted,
	})
}
