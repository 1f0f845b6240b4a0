package llm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// reader reads the text of an answer as local models write it: it removes thoughts, and finds tool calls that stand in
// the text. It holds back no more than what may still become the mark of one. Code, in fences or backticks, is never
// looked into.
type reader struct {
	tools   []core.ToolSpec // offered; marks of calls are hidden without them, too
	pending string          // not judged yet
	state   reading
	closes  []string // marks that end the thought; see the state

	said    bool // the answer has begun
	opened  bool // a mark that begins thoughts was seen
	literal int  // such marks within words, whose ends are words, too
	harmony bool // the answer has channels
	framed  bool // the answer is in tags
	skip    bool // white space is dropped

	column bool // something stands before on the line
	last   byte // before
	fence  int  // backticks of the open fence
	code   int  // backticks of open inline code

	// thought reports that there were thoughts; restart, that the text returned before was one, until it is cleared.
	thought, restart bool
	// startless is the mark that ended thoughts whose beginning was not in the text.
	startless string
	// malformed reports that there was a tool call that cannot be read.
	malformed bool
}

type reading int

const (
	answers  reading = iota
	thinks           // until one of closes
	assumed          // as thinks, but if none comes, it was the answer
	mustCall         // a mark of a call: everything until the end
	mayCall          // the same; it may as well be the answer
)

// newReader returns a reader. startless is what an earlier reader of this model found, empty: nothing.
func newReader(tools []core.ToolSpec, startless string) *reader {
	r := &reader{tools: tools}
	if startless != "" {
		r.state, r.closes = assumed, []string{startless}
	}
	return r
}

// pairs are marks around thoughts.
var pairs = [...][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<thoughts>", "</thoughts>"},
	{"<reasoning>", "</reasoning>"}, {"<reflection>", "</reflection>"}, {"<seed:think>", "</seed:think>"},
	{"[think]", "[/think]"}, {"◁think▷", "◁/think▷"}, {"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<|start_thinking|>", "<|end_thinking|>"}, {"<|channel>thought", "<channel|>"}, {"<|channel>", "<channel|>"},
}

// framing are marks around the answer that are no part of it, besides those of isToken. finals are, too, but only at its
// end, and answerTag only at the beginning of a line, since they may be words.
var (
	framing = [...]string{"<|im_start|>assistant", "<|turn>model", "<|turn>", "<turn|>", "<start_of_turn>model",
		"<start_of_turn>", "<end_of_turn>", "<eos>", "<tool_call|>", `<|"|>`}
	finals = [...]string{"</s>", "</answer>"}
)

const answerTag = "<answer>"

// callMarks begin tool calls. The tags may be words of an answer, the others are not.
var (
	callMarks = [...]string{"<|python_tag|>", "<|tool_call|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>",
		"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "[tool_calls]", "<|tool_call>", "<｜dsml｜", "<|start_action|>",
		"<seed:tool_call>"}
	callTags = [...]string{"<tool_call>", "<tool_calls>", "<function=", "<function_call>", "<function_calls>", "<invoke ",
		"<minimax:tool_call>"}
)

// The marks of channels.
const (
	channelMark = "<|channel|>"
	startMark   = "<|start|>"
	messageMark = "<|message|>"
	longHeader  = 200
)

var channelEnds = [...]string{"<|end|>", "<|return|>", "<|call|>", startMark, channelMark}

// longestMark bounds what is held back for a mark.
const longestMark = 32

// add adds a piece of the answer and returns the text that certainly belongs to it.
func (r *reader) add(s string) string {
	r.pending += s
	return r.read(false)
}

// end returns the rest of the text, and the calls in it.
func (r *reader) end() (rest string, calls []core.ToolCall) {
	rest = r.read(true)
	if r.state == assumed {
		r.state = answers
		rest += r.read(true)
	}
	switch r.state {
	case thinks:
		r.thought = true
		return rest, nil
	case mustCall, mayCall:
		return r.endCall(rest)
	}
	return rest, nil
}

func (r *reader) endCall(rest string) (string, []core.ToolCall) {
	calls := readCalls(r.pending, r.tools)
	known := len(calls) > 0 && len(r.tools) > 0 && !slices.ContainsFunc(calls, func(c core.ToolCall) bool {
		return !slices.ContainsFunc(r.tools, func(t core.ToolSpec) bool { return t.Name == c.Name })
	})
	switch {
	case known, r.state == mustCall && len(calls) > 0 && len(r.tools) > 0: // an unknown name is told to the model
		return rest, calls
	case r.state == mustCall: // never shown
		r.malformed = true
		return rest, nil
	}
	return rest + r.pending, nil
}

// read judges the pending text as far as it can be judged, with end to its end.
func (r *reader) read(end bool) string {
	var out strings.Builder
	for r.pending != "" {
		before := len(r.pending)
		switch r.state {
		case thinks, assumed:
			r.think()
		case answers:
			r.answer(&out, end)
		}
		if len(r.pending) == before {
			break
		}
	}
	return out.String()
}

// think skips thoughts to their end.
func (r *reader) think() {
	lower := lowerASCII(r.pending)
	at, mark := -1, ""
	for _, c := range r.closes {
		if i := strings.Index(lower, c); i >= 0 && (at < 0 || i < at) {
			at, mark = i, c
		}
	}
	if at < 0 {
		if r.state == thinks && len(r.pending) > longestMark {
			r.thought = true
			r.pending = r.pending[len(r.pending)-longestMark:]
		}
		return
	}
	r.thought = r.thought || strings.TrimSpace(r.pending[:at]) != ""
	r.opened, r.state, r.skip = true, answers, true
	if mark != startMark && mark != channelMark {
		at += len(mark)
	}
	r.pending = r.pending[at:]
}

// answer moves a piece of the answer from pending to out, or begins another state.
func (r *reader) answer(out *strings.Builder, end bool) {
	if r.skip {
		r.pending = strings.TrimLeftFunc(r.pending, unicode.IsSpace)
		if r.pending == "" {
			return
		}
		r.skip = false
	}
	i := strings.IndexAny(r.pending, "<[{`◁\n")
	if i < 0 {
		i = len(r.pending)
	}
	if i > 0 {
		r.take(out, i)
		return
	}
	if r.fence == 0 && r.code == 0 && r.mark(out, end) {
		return
	}
	n := 1
	if r.pending[0] == '`' {
		if n = len(r.pending) - len(strings.TrimLeft(r.pending, "`")); n == len(r.pending) && !end {
			return // there may be more of them
		}
		r.tick(n)
	} else if r.pending[0] >= utf8.RuneSelf {
		_, n = utf8.DecodeRuneInString(r.pending)
	}
	r.take(out, n)
}

// take moves n bytes to out.
func (r *reader) take(out *strings.Builder, n int) {
	s := r.pending[:n]
	r.pending = r.pending[n:]
	out.WriteString(s)
	r.last = s[n-1]
	switch {
	case s == "\n":
		r.column, r.code = false, 0
	case strings.TrimSpace(s) != "":
		r.column, r.said = true, true
	}
}

// tick follows n backticks.
func (r *reader) tick(n int) {
	switch {
	case r.fence > 0:
		if n >= r.fence && !r.column {
			r.fence = 0
		}
	case n >= 3 && !r.column:
		r.fence = n
	case r.code == 0:
		r.code = n
	case r.code == n:
		r.code = 0
	}
}

// mark reads a mark at the beginning of pending, outside of code. It reports whether that was one, or may become one
// with more text.
func (r *reader) mark(out *strings.Builder, end bool) bool {
	head := lowerASCII(r.pending[:min(len(r.pending), longestMark)])
	at := func(mark string) bool { return strings.HasPrefix(head, mark) }
	if !end && r.pending[0] != '\n' && (r.mayBegin(head) || begunToken().MatchString(r.pending)) {
		return true
	}
	if n := r.frame(at, end); n >= 0 {
		r.pending = r.pending[n:]
		return true
	}
	if at(channelMark) || at(startMark) || r.harmony {
		if done := r.channel(head, end); done {
			return true
		}
	}
	for _, p := range pairs {
		switch {
		case at(p[0]) && (!r.column || isToken(p[0])):
			r.pending, r.closes, r.state, r.opened = r.pending[len(p[0]):], []string{p[1]}, thinks, true
			return true
		case at(p[0]):
			r.literal++
		case at(p[1]):
			return r.close(out, p[1], end)
		}
	}
	if r.beginCall(at, end) {
		return true
	}
	found := token().FindString(r.pending)
	r.pending = r.pending[len(found):]
	return found != ""
}

// frame returns the length of a mark around the answer, 0 if it may become one, -1: there is none.
func (r *reader) frame(at func(string) bool, end bool) int {
	for _, m := range framing {
		if at(m) {
			return len(m)
		}
	}
	if at(answerTag) && !r.column {
		r.skip, r.framed = true, true
		return len(answerTag)
	}
	for _, m := range finals {
		switch {
		case at(m) && r.framed && m == "</answer>":
			return len(m)
		case !at(m) || strings.TrimSpace(r.pending[len(m):]) != "":
		case end:
			return len(r.pending)
		default:
			return 0
		}
	}
	return -1
}

// A token is one of a model's vocabulary that controls it, such as <|im_end|>. Where none of the readings above knows
// what it does, it is left out.
var (
	token      = text.Pattern(`(?i)^(?:<\|/?[a-z][a-z0-9_]{1,40}\|?>|</?｜[^｜<>\n]{1,40}｜[^｜<>\n]{0,80}>)`)
	begunToken = text.Pattern(`(?i)^</?(?:\|/?(?:[a-z][a-z0-9_]{0,40})?\|?|｜[^｜<>\n]{0,40}(?:｜[^｜<>\n]{0,80})?)$`)
)

func isToken(mark string) bool { return strings.HasPrefix(mark, "<|") }

// mayBegin reports whether head is the beginning of a mark.
func (r *reader) mayBegin(head string) bool {
	begins := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return len(head) < len(m) && strings.HasPrefix(m, head) })
	}
	for _, p := range pairs {
		if begins(p[:]...) {
			return true
		}
	}
	return begins(framing[:]...) || begins(finals[:]...) || begins(answerTag) || begins(callMarks[:]...) ||
		begins(callTags[:]...) || begins(channelEnds[:]...)
}

// close judges a mark that ends thoughts without one that began them: then everything before was thoughts, unless the
// mark stands within words.
func (r *reader) close(out *strings.Builder, mark string, end bool) bool {
	if r.literal > 0 {
		r.literal--
		return false
	}
	after := r.pending[len(mark):]
	if r.column && after == "" && !end {
		return true // what follows decides
	}
	quoted := r.last == '"' || r.last == '\'' || r.last == '(' ||
		r.last == ' ' && after != "" && !strings.HasPrefix(after, "\n") && !strings.HasPrefix(after, "\r")
	if r.column && (quoted || r.opened) {
		if isToken(mark) || strings.HasSuffix(mark, "|>") {
			r.pending = after
			return true
		}
		return false
	}
	r.pending, r.skip = after, true
	if r.opened || r.harmony {
		return true
	}
	out.Reset()
	r.thought, r.restart = r.thought || r.said, r.restart || r.said
	r.startless = mark
	r.opened, r.said, r.column, r.fence, r.code = true, false, false, 0, 0
	return true
}

// channel reads the header of a channel: only the channel final is the answer, and a recipient makes it a tool call.
func (r *reader) channel(head string, end bool) bool {
	if r.said && !r.harmony {
		return false
	}
	for _, m := range channelEnds[:3] {
		if strings.HasPrefix(head, m) && r.harmony {
			r.pending, r.skip = r.pending[len(m):], true
			return true
		}
	}
	if !strings.HasPrefix(head, channelMark) && !strings.HasPrefix(head, startMark) {
		return false
	}
	header, _, found := strings.Cut(r.pending, messageMark)
	switch {
	case !found && !end && len(r.pending) < longHeader:
		return true
	case !found:
		return false
	}
	r.harmony = true
	_, name, _ := strings.Cut(header, channelMark)
	switch {
	case strings.Contains(header, "to="):
		r.state = mustCall
	case strings.HasPrefix(strings.TrimSpace(name), "final"), !strings.Contains(header, channelMark):
		r.pending, r.skip = r.pending[len(header)+len(messageMark):], true
	default:
		r.pending, r.state, r.closes = r.pending[len(header)+len(messageMark):], thinks, channelEnds[:]
	}
	return true
}

// beginCall begins to hold text that may be a tool call.
func (r *reader) beginCall(at func(string) bool, end bool) bool {
	tag := slices.IndexFunc(callTags[:], at)
	switch {
	case tag >= 0 && r.column:
		return r.callInLine(callTags[tag], end)
	case tag >= 0 && r.said:
		r.state = mayCall
		return true
	case tag >= 0, slices.ContainsFunc(callMarks[:], at):
		r.state = mustCall
		return true
	}
	if r.said || len(r.tools) == 0 || r.pending[0] == '\n' {
		return false
	}
	switch max(beginsCall(r.pending), beginsPython(r.pending, r.tools)) {
	case yes:
		r.state = mayCall
		return true
	case perhaps:
		return !end
	}
	return false
}

// callInLine judges a tag after words of its line: what follows must look like a call.
func (r *reader) callInLine(tag string, end bool) bool {
	rest := strings.TrimLeftFunc(r.pending[len(tag):], unicode.IsSpace)
	called := func(t core.ToolSpec) bool { return strings.HasPrefix(rest, t.Name) }
	switch {
	case len(r.tools) == 0:
		return false
	case rest == "":
		return !end
	case strings.ContainsAny(rest[:1], "{[<") || !strings.HasSuffix(tag, ">") || slices.ContainsFunc(r.tools, called):
		r.state = mayCall
		return true
	}
	return !end && slices.ContainsFunc(r.tools, func(t core.ToolSpec) bool { return strings.HasPrefix(t.Name, rest) })
}

// lowerASCII lowers ASCII letters, so that no place in a text moves.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
