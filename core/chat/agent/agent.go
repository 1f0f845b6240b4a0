// Package agent runs the loop of a model and its tools: it calls the model, runs the tools that the model calls in
// parallel, and returns their results to it, until the model answers.
//
// No failure of a tool ends the loop: an unknown name, malformed arguments, an error, a panic or a timeout become
// results that explain to the model what was wrong. Only errors of the model, the journal and the context end it.
package agent

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Request describes one run. Model, Messages, Tools, Journal, Permit, Tokenizer, Now and
// the numbers without a meaning of 0 are required.
type Request struct {
	Model       core.Model
	ModelName   string              // of calls whose answers do not name their model; may be empty
	Messages    []core.ModelMessage // the prompt; not changed
	CachePrefix int                 // as in core.ModelRequest
	Tools       *Registry
	Call        core.ToolUse // who the tools act for; Run sets Step, Index, Now and Arguments
	Journal     Journal

	// Client lists the tools of the client that sent the request. A call of one ends the
	// turn, without a result. They hide our own tools of the same name.
	Client []core.ToolSpec
	// Choice bounds the tools that the model's first call may use, as in core.ModelRequest.
	Choice string

	// Permit decides about a call of an outside tool; tainted means that the turn has read
	// foreign words, which the person did not write there.
	Permit func(tool core.Tool, tainted bool) Verdict
	// Tainted: the prompt contains foreign words. Results of outside tools are always foreign.
	Tainted bool
	// Foreign runs parallel to Messages, and marks those with foreign words. A call that the model would also make
	// without them needs no question because of them. nil: it is not known, and every call asks.
	Foreign []bool
	// Own are the messages that the person wrote, as the prompt shows them.
	Own []string
	// Decided is a call that the person decided about: the first step of the turn. nil: none.
	Decided *Decided

	// firstStep is the number of the first step, for the journal of a delegate.
	firstStep int

	MaxSteps        int           // calls of the model that may call tools
	ToolTokens      int           // bound of all results of the turn
	Window          int           // bound of every request, its answer included
	PromptTokens    int           // of Messages; 0: they are counted
	ResultTokens    int           // bound of one result
	ToolTimeout     time.Duration // of one tool call
	MaxImages       int           // of tools, that come with the answer
	MaxOutputTokens int           // of one completion; 0: the model's own
	Output          int           // tokens of the window that are kept free for an answer; 0: MaxOutputTokens

	Tokenizer core.Tokenizer
	Now       func() time.Time

	// Guard checks an answer, given the tools that succeeded in the turn. If it returns a
	// nudge, the model gets it, unseen by the person, with one more chance to use tools.
	// The new answer replaces the first, unless it fails or is empty. nil: no check.
	Guard func(answer string, used []string) (nudge string)
	// More reports whether the budget allows a request and an answer after it. It is
	// called before each call of the model except the first and the last; if it returns
	// false, the model must answer with what it has. nil: there is no budget.
	More func(ctx context.Context, req core.ModelRequest) (bool, error)

	// Keep stores the n-th file of a call, to come with the answer. nil: files are left out.
	Keep func(ctx context.Context, use core.ToolUse, n int, f core.File) (core.Attachment, error)

	// OnText receives the whole answer so far, each time it grows. Text that the model writes before it calls tools
	// counts as an answer until then: after the calls the text begins again.
	OnText func(soFar string)
	// OnAct is called before a tool acts outside our own store, which it does only if the context has not ended then.
	OnAct func()
}

// Verdict is the decision about a call of an outside tool.
type Verdict int

// Verdicts.
const (
	Allow  Verdict = iota // it runs
	Ask                   // the turn ends with a question to the person
	Refuse                // it does not run, and the model reads so
)

// Decided is a call with the person's decision.
type Decided struct {
	Approval core.ApprovalID
	Call     core.ToolCall
	Yes      bool
	Used     bool   // the call was begun, and is not repeated
	Result   string // its journal entry; empty: how it ended is unknown
}

// Outcome is the result of a run. With an error it holds everything until then.
type Outcome struct {
	// Messages are those to store: the model's tool calls, each message followed by all of its results in the order of
	// the calls, and last the answer. With an error the answer is incomplete, or missing if none had begun.
	Messages   []core.NewMessage
	Text       string // of the answer
	Finish     core.Finish
	Model      string // that answered
	Instead    bool   // a fallback answered
	Steps      int    // calls of the model
	Spent      core.Bill
	Estimated  bool          // Spent is partly counted here, because the model did not report it
	FirstToken time.Duration // from the start to the first text or tool call
	Effects    []core.Effect // of the tools, in the order of Messages
	Reduced    []core.Reduction
	// Question is the call that waits for a yes; there is no answer then. nil: none.
	Question *core.Question
	Tainted  bool     // the model read foreign words
	Searched []string // queries that were sent after it had
}

// Run calls the model until it answers. Errors are those of the model, the journal and the context, and a
// *core.ModelError of kind ModelRejected if the model refused before its first word, or with core.ErrThoughtOnly or
// core.ErrEmpty. The outcome is valid with an error, too.
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

// converse calls the model until it answers, at most steps times with tools.
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

// affordable reports whether the budget allows another call of the model. The first one is
// reserved already, unless it follows a decided call.
func (r *run) affordable(ctx context.Context, tools []core.ToolSpec) (bool, error) {
	if r.More == nil || r.out.Steps == 0 && r.Decided == nil {
		return true, nil
	}
	r.shrink()
	return r.More(ctx, r.request(tools))
}

// noMoreTools requests an answer at the step limit, or when the budget is used up. It is not
// a system message, because some servers accept these only at the start.
const noMoreTools = "[No more tools can be used for this answer. Answer now with what you have, and say what is missing.]"

// run is the state of one Run. Messages of prompt from base on are in out too, except notes.
type run struct {
	Request
	prompt  []core.ModelMessage
	base    int
	results []result
	used    []string // tools that succeeded
	files   []core.Attachment
	images  atomic.Int64 // of files
	specs   []core.ToolSpec
	ids     map[string]bool // of tool calls, because some servers reuse them
	step    int             // answers with tool calls so far, from firstStep on
	started time.Time
	tainted bool   // the model has read foreign words
	asked   bool   // it had when it made the current calls
	foreign []bool // runs parallel to prompt
	schemas int    // of specs, in tokens
	sizes   []int  // of the messages from base on, in tokens
	without counterfactual
	mu      sync.Mutex         // of out.Question and past, while calls run in parallel
	past    []store.CallRecord // calls of other turns for the same messages, which are not repeated; nil: not read yet
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
	prompt := append(make([]core.ModelMessage, 0, len(req.Messages)+8), req.Messages...)
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
	r.specs = req.offered()
	r.measure()
	return r
}

// offered returns the tools that the model is offered, the client's last.
func (r *Request) offered() []core.ToolSpec {
	own := r.Tools.Specs()
	if len(r.Client) == 0 {
		return own
	}
	out := slices.DeleteFunc(slices.Clone(own), func(s core.ToolSpec) bool {
		return r.clients(core.ToolCall{Name: s.Name})
	})
	return append(out, r.Client...)
}

// clients reports whether a call is of a tool of the client.
func (r *Request) clients(call core.ToolCall) bool {
	return slices.ContainsFunc(r.Client, func(s core.ToolSpec) bool { return s.Name == call.Name })
}

// finish returns the outcome with the answer so far.
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

// add appends a message to the prompt and to the outcome.
func (r *run) add(m core.ModelMessage, toolName string) {
	r.push(m, r.tainted)
	r.out.Messages = append(r.out.Messages, core.NewMessage{Role: m.Role, Kind: core.KindChat, Text: m.Content,
		Tokens:    core.TokensOf(r.Tokenizer, m.Content, m.ToolCalls),
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: toolName, SentAt: r.Now(), Tainted: r.tainted,
	})
}
