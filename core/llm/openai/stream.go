package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
)

// Bounds of an answer; more is cut off.
const (
	longestLine   = 4 << 20
	longestAnswer = 32 << 20
	mostJoined    = 64 // lines of one event
)

// chunk is one event of a stream, or a whole answer if Message is set in place of Delta.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta        piece  `json:"delta"`
		Message      *piece `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *api.Usage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type piece struct {
	Content   flexible   `json:"content"`
	Refusal   string     `json:"refusal"`
	ToolCalls []callPart `json:"tool_calls"`
}

type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string   `json:"name"`
		Arguments flexible `json:"arguments"`
	} `json:"function"`
}

// flexible is a string that some servers send in another form: as a list of parts, of
// which those of type text count, or as the object that it should encode.
type flexible string

// UnmarshalJSON reads any of the forms.
func (f *flexible) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(f))
	case 'n':
		return nil
	case '[':
		return f.join(b)
	}
	*f = flexible(b)
	return nil
}

func (f *flexible) join(b []byte) error {
	var parts []struct {
		Type string   `json:"type"`
		Text flexible `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" || part.Type == "" {
			*f += part.Text
		}
	}
	return nil
}

// errEnough ends the reading of an answer early: the consumer stopped, or an error was yielded.
var errEnough = errors.New("enough")

// errPartial is the error of an event that may continue on the next line.
var errPartial = errors.New("not yet JSON")

// assembly assembles an answer from its pieces and yields it.
type assembly struct {
	ctx      context.Context
	secret   string
	model    string
	yield    func(core.Delta, error) bool
	thought  thought
	calls    []core.ToolCall
	indexes  []int // of calls, in the stream
	finish   string
	refused  bool
	answered bool // a choice was read
	done     bool // [DONE] or a whole answer was read
	usage    *core.Usage
}

// run reads an answer to its end and yields its pieces, last the one with Finish.
func (a *assembly) run(body io.Reader) {
	reader := bufio.NewReader(io.LimitReader(body, longestAnswer))
	err := a.read(reader)
	switch {
	case errors.Is(err, errEnough):
		return
	case err != nil && !a.complete():
		_ = a.fail(llm.Broken(a.ctx, err)) // it was yielded
	case !a.complete():
		_ = a.fail(llm.CutOff())
	case a.text(a.thought.rest()) == nil:
		a.yield(a.last(), nil)
	}
}

// complete reports whether the answer is complete. After the finish reason only the usage can be lost.
func (a *assembly) complete() bool { return a.done || a.finish != "" }

// read reads an answer. By its first byte it is a stream, one JSON object although a stream was requested, or neither.
func (a *assembly) read(r *bufio.Reader) error {
	first, err := firstByte(r)
	switch {
	case errors.Is(err, io.EOF):
		return a.fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New("the model server sent an empty answer")})
	case err != nil:
		return err
	case first == '{':
		return a.whole(r)
	case first == '<':
		return a.fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New(
			"a web page came in place of a model's answer; check llm.base_url (it often ends in /v1) and any proxy before it")})
	}
	return a.events(r)
}

// firstByte skips white space and a byte order mark, and peeks at the next byte.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return b, r.UnreadByte()
		}
	}
}

// whole reads an answer that is no stream.
func (a *assembly) whole(r io.Reader) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	err = a.event(body)
	if errors.Is(err, errPartial) || err == nil && !a.answered {
		return a.malformed()
	}
	if err != nil {
		return err
	}
	a.done = true
	return nil
}

// events reads a stream of server-sent events. Data on several lines is joined, as some
// servers send it; comments and other fields are skipped.
func (a *assembly) events(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), longestLine)
	var pending []byte
	joined := 0
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if len(pending) > 0 && (len(lines.Bytes()) == 0 || joined == mostJoined) {
			return a.malformed()
		}
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			a.done = true
			return nil
		}
		pending = append(pending, data...)
		switch err := a.event(pending); {
		case errors.Is(err, errPartial):
			joined++
		case err != nil:
			return err
		default:
			pending, joined = pending[:0], 0
		}
	}
	return lines.Err()
}

// event adds one event. errPartial means that it is not yet JSON.
func (a *assembly) event(data []byte) error {
	var c chunk
	var syntax *json.SyntaxError
	err := json.Unmarshal(data, &c)
	switch {
	case errors.As(err, &syntax):
		return errPartial
	case err != nil:
		return a.malformed()
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		failure := llm.ReadError(c.Error)
		failure.Secret = a.secret
		return a.fail(failure.Error())
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = usage(c.Usage)
	}
	if len(c.Choices) == 0 {
		return nil
	}
	a.answered = true
	choice := c.Choices[0]
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	if choice.Message != nil {
		return a.piece(*choice.Message)
	}
	return a.piece(choice.Delta)
}

func (a *assembly) piece(p piece) error {
	a.refused = a.refused || p.Refusal != ""
	for _, part := range p.ToolCalls {
		a.call(part)
	}
	return a.text(a.thought.strip(string(p.Content)))
}

// call adds a part of a tool call. Servers identify calls by the index, the id, or both.
func (a *assembly) call(p callPart) {
	i := a.find(p)
	if i < 0 {
		i = len(a.calls)
		at := i
		if p.Index != nil {
			at = *p.Index
		}
		a.calls, a.indexes = append(a.calls, core.ToolCall{}), append(a.indexes, at)
	}
	call := &a.calls[i]
	if p.ID != "" {
		call.ID = p.ID
	}
	if call.Name == "" {
		call.Name = p.Function.Name
	}
	call.Arguments += string(p.Function.Arguments)
}

// find returns the call that p continues, -1 if it begins one.
func (a *assembly) find(p callPart) int {
	last := len(a.calls) - 1
	for i := last; i >= 0; i-- {
		if p.Index != nil && a.indexes[i] != *p.Index {
			continue
		}
		if p.ID != "" && p.ID != a.calls[i].ID && (a.calls[i].ID != "" || p.Index == nil) {
			continue
		}
		if p.Index == nil && p.ID == "" && p.Function.Name != "" {
			return -1
		}
		return i
	}
	return -1
}

func (a *assembly) text(s string) error {
	if s != "" && !a.yield(core.Delta{Text: s}, nil) {
		return errEnough
	}
	return nil
}

func (a *assembly) last() core.Delta {
	d := core.Delta{ToolCalls: a.calls, Usage: a.usage, Model: a.model, Finish: core.FinishStop}
	switch a.finish {
	case "length", "max_tokens", "model_length":
		d.Finish = core.FinishLength
	case "content_filter", "refusal", "safety":
		d.Finish = core.FinishRefused
	default:
		if len(a.calls) > 0 {
			d.Finish = core.FinishTools
		}
	}
	if a.refused {
		d.Finish = core.FinishRefused
	}
	return d
}

// fail yields err as the end of the answer.
func (a *assembly) fail(err error) error {
	a.yield(core.Delta{}, err)
	return errEnough
}

func (a *assembly) malformed() error {
	return a.fail(&core.ModelError{Kind: core.ModelDown, Err: errors.New(
		"the model server's answer is not in the form of the OpenAI API; check llm.base_url and llm.provider")})
}

func usage(u *api.Usage) *core.Usage {
	out := &core.Usage{Prompt: u.PromptTokens, Completion: u.CompletionTokens}
	if u.PromptTokensDetails != nil {
		out.Cached = u.PromptTokensDetails.CachedTokens
	}
	return out
}

// thought removes the thinking that some local models write at the beginning of an
// answer, between <think> and </think>.
type thought struct {
	held  string // text that may be thinking
	state thinking
}

type thinking int

const (
	mayThink thinking = iota
	thinks
	answers
)

const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
)

// strip adds a piece and returns the text that certainly belongs to the answer.
func (t *thought) strip(s string) string {
	if t.state == answers {
		return s
	}
	t.held += s
	if t.state == mayThink {
		t.begin()
	}
	if t.state == thinks {
		t.end()
	}
	if t.state != answers {
		return ""
	}
	s, t.held = t.held, ""
	return s
}

func (t *thought) begin() {
	start := strings.TrimLeft(t.held, " \r\n\t")
	switch {
	case strings.HasPrefix(start, thinkStart):
		t.state = thinks
	case !strings.HasPrefix(thinkStart, start):
		t.state = answers
	}
}

func (t *thought) end() {
	before, after, ended := strings.Cut(t.held, thinkEnd)
	if ended {
		t.held, t.state = strings.TrimLeft(after, " \r\n\t"), answers
		return
	}
	t.held = before[max(0, len(before)-len(thinkEnd)):]
}

// rest returns the held text at the end of an answer, unless it is thinking.
func (t *thought) rest() string {
	if t.state == thinks {
		return ""
	}
	return t.held
}
