package llm

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
)

// Client asks the server of one model.
type Client interface {
	// Ask sends a request once, with bare without its optional parameters. The text of the deltas is as the model wrote it,
	// with thoughts and tool calls that local models write in it. The last delta has Finish; errors are a *core.ModelError,
	// made by a Failure, or the context's.
	Ask(ctx context.Context, req core.ModelRequest, bare bool) iter.Seq2[core.Delta, error]
}

// New returns the model that a client asks.
//
// It reads thoughts and tool calls out of the text. If the server refuses a request for a reason other than the key,
// the account, the model's name or what is said, it tries the request smaller, one step at a time: without optional
// parameters, with alternating roles, without pictures, without tools, and shorter, down to a quarter. What made the
// difference is remembered for the next requests, and all of it forgotten after a while, since a server or a tool may
// have changed. What is a matter of chance, such as a tool call that cannot be read, is asked for once again first.
//
// The usage in the last delta is that of all requests. An answer that breaks off after its first words ends with
// FinishCut, before them with an error.
func New(c Client) core.Model { return &model{client: c} }

// model is a core.Model.
type model struct {
	client Client

	mu    sync.Mutex
	lacks reductions // what the server does not take, so far; of tools, see toolless
	// toolless holds the sets of tools without which the server answered: one tool may be at fault, perhaps a program's.
	toolless  map[string]bool
	over      int    // bytes of messages that were too long; 0: unknown
	startless string // see reader
	answers   int    // since the server was tried with everything
	vain      bool   // no smaller request helped against the server's last problem
}

// relearn is the number of answers after which a server is tried with everything again.
const relearn = 50

// attempt is one request of many, until one is answered.
type attempt struct {
	*model
	ctx   context.Context
	req   core.ModelRequest
	yield func(core.Delta, error) bool
	used  core.Usage // by requests whose answers could not be used
	lacks reductions
	step  core.Reduction // that was taken last
	full  int            // bytes of the messages of req
	made  []core.Reduction
}

// Stream asks the model.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		a := &attempt{model: m, ctx: ctx, req: req, yield: yield, full: sizeOf(req.Messages)}
		a.begin()
		if err := a.run(); err != nil {
			yield(core.Delta{}, err)
		}
	}
}

// begin starts with what the server is known to take.
func (a *attempt) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers >= relearn {
		a.model.lacks, a.over, a.answers = reductions{}, 0, 0
		a.startless, a.model.toolless = "", nil
	}
	if a.lacks = a.model.lacks; a.over > 0 && a.full >= a.over {
		a.lacks.add(core.ReducedLength)
	}
	if a.model.toolless[namesOf(a.req.Tools)] {
		a.lacks.add(core.ReducedTools)
	}
}

// namesOf identifies a set of tools.
func namesOf(tools []core.ToolSpec) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, " ")
}

// run sends requests until one is answered. The error is that of the first refusal, or a later one of another kind.
func (a *attempt) run() error {
	var first error
	again := false
	for {
		err := a.ask()
		if err == nil || a.ctx.Err() != nil {
			return err
		}
		what := refusalOf(err).remedy
		if what == noRemedy {
			return err
		}
		if first == nil {
			first = err
		}
		if what == repeated && !again {
			again = true
			continue
		}
		if a.hopeless(err) || !a.reduce(err) {
			return first
		}
	}
}

// hopeless reports whether the server has a problem against which nothing smaller has helped before.
func (a *attempt) hopeless(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.vain && kindOf(err) == core.ModelDown
}

func kindOf(err error) core.ModelErrorKind {
	if m, ok := errors.AsType[*core.ModelError](err); ok {
		return m.Kind
	}
	return ""
}

// reduce takes the next step down that makes a difference, first the one that the refusal hints at, and reports whether
// there is one.
func (a *attempt) reduce(err error) bool {
	if hint := refusalOf(err).hint; hint != "" && a.leave(hint) || slices.ContainsFunc(order[:], a.leave) {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.vain = kindOf(err) == core.ModelDown
	return false
}

// leave leaves a part out of the request, and reports whether that makes a difference.
func (a *attempt) leave(k core.Reduction) bool {
	if k == core.ReducedLength {
		return a.shorten()
	}
	next := a.lacks
	next.add(k)
	if _, made := next.apply(a.req); a.lacks.has(k) || len(made) <= len(a.made) {
		return false
	}
	a.lacks, a.step = next, k
	return true
}

// shortest is the size of messages that are not shortened further.
const shortest = 256

// shorten halves the messages, down to a quarter, and reports whether it did.
func (a *attempt) shorten() bool {
	most := a.full / 2
	if a.lacks.has(core.ReducedLength) {
		most = a.lacks.most / 2
	}
	if most < a.full/4 || most < shortest {
		return false
	}
	a.lacks.add(core.ReducedLength)
	a.lacks.most, a.step = most, core.ReducedLength
	return true
}

// ask sends one request and passes its answer on. An error means that nothing of an answer was passed on.
func (a *attempt) ask() error {
	req, made := a.lacks.apply(a.req)
	a.made = made
	a.mu.Lock()
	startless := a.startless
	a.mu.Unlock()
	p := &passing{attempt: a, sent: req, reader: newReader(req.Tools, startless)}
	for d, err := range a.client.Ask(a.ctx, req, a.lacks.has(core.ReducedParameters)) {
		switch {
		case err != nil && a.ctx.Err() != nil:
			return a.ctx.Err()
		case err != nil && !p.began:
			return err
		case err != nil:
			return p.last(core.Delta{Finish: core.FinishCut})
		case d.Finish != "":
			return p.last(d)
		}
		if p.bytes += len(d.Text); p.bytes > longestText {
			return p.last(core.Delta{Finish: core.FinishLength})
		}
		if !p.text(p.reader.add(d.Text)) {
			return nil
		}
	}
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if !p.began {
		return CutOff()
	}
	return p.last(core.Delta{Finish: core.FinishCut})
}

// passing is one answer on its way.
type passing struct {
	*attempt
	sent   core.ModelRequest
	reader *reader
	began  bool
	bytes  int // of the answer and of its thoughts
}

// text passes text on, and reports whether more is wanted.
func (p *passing) text(s string) bool {
	restart := p.reader.restart && p.began
	p.reader.restart = false
	p.began = p.began && !restart || strings.TrimSpace(s) != ""
	if !restart && (s == "" || !p.began) {
		return true
	}
	return p.yield(core.Delta{Text: s, Restart: restart}, nil)
}

// last passes on the end of an answer. The error means that it has none, by chance.
func (p *passing) last(d core.Delta) error {
	p.bytes += len(d.Text)
	more := p.reader.add(d.Text)
	rest, calls := p.reader.end()
	if !p.text(more + rest) {
		return nil
	}
	d.Text, d.Thought = "", d.Thought || p.reader.thought
	if d.Usage = p.usage(d); d.Usage != nil {
		p.used = p.used.Add(*d.Usage)
	}
	if len(calls) > 0 && len(d.ToolCalls) == 0 && (d.Finish == core.FinishStop || d.Finish == core.FinishTools) {
		d.ToolCalls = calls
	}
	if len(d.ToolCalls) > 0 && d.Finish == core.FinishStop {
		d.Finish = core.FinishTools
	}
	switch empty := len(d.ToolCalls) == 0; {
	case p.reader.malformed && empty && d.Finish != core.FinishRefused:
		d.Finish = core.FinishCut
	case d.Finish == core.FinishTools && empty && p.began:
		d.Finish = core.FinishStop
	case d.Finish == core.FinishTools && empty:
		d.Finish = core.FinishCut
	}
	if d.Finish == core.FinishCut {
		d.ToolCalls = nil
		if !p.began {
			return &core.ModelError{Kind: core.ModelDown, Err: &refusal{
				text: "the model server ended its answer before the first word; it is tried again", remedy: repeated}}
		}
	}
	if d.Usage != nil || p.used != (core.Usage{}) {
		d.Usage = &p.used
	}
	d.Reduced = p.made
	p.learn(p.reader.startless)
	p.yield(d, nil)
	return nil
}

// Bounds of a reported usage: the tokens of a picture, of what a server adds to a request, and of thoughts that are not
// shown. Every other token has at least a byte.
const (
	mostImage   = 20_000
	mostAdded   = 20_000
	mostThought = 200_000
)

// usage returns the usage of an answer as it can be at most; nil: it was not reported.
func (p *passing) usage(d core.Delta) *core.Usage {
	if d.Usage == nil || d.Usage.Prompt <= 0 && d.Usage.Completion <= 0 {
		return nil
	}
	prompt, answer := sizeOf(p.sent.Messages)+mostAdded+100*len(p.sent.Messages), p.bytes+mostThought
	for _, m := range p.sent.Messages {
		prompt += len(m.Images) * mostImage
	}
	for _, t := range p.sent.Tools {
		prompt += len(t.Name) + len(t.Description) + len(t.Schema) + 100
	}
	for _, c := range d.ToolCalls {
		answer += len(c.Arguments) + 100
	}
	u := core.Usage{Prompt: min(max(d.Usage.Prompt, 0), prompt), Completion: min(max(d.Usage.Completion, 0), answer)}
	u.Cached = min(max(d.Usage.Cached, 0), u.Prompt)
	return &u
}

// learn remembers what made the difference. Earlier steps of the same attempt may not have been needed: if they were,
// the next attempts add them again. A length is remembered as the size that is too long.
func (a *attempt) learn(startless string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.vain = false
	a.answers++
	if startless != "" {
		a.startless = startless
	}
	switch {
	case a.step == core.ReducedLength:
		a.model.lacks.most = a.lacks.most
		if a.over = min(a.full, a.over); a.over == 0 {
			a.over = a.full
		}
	case a.step == core.ReducedTools:
		if a.model.toolless == nil {
			a.model.toolless = map[string]bool{}
		}
		a.model.toolless[namesOf(a.req.Tools)] = true
	case a.step != "":
		a.model.lacks.add(a.step)
	}
}
