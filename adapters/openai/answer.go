package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index    int    `json:"index"`
	Message  reply  `json:"message"`
	Logprobs any    `json:"logprobs"`
	Finish   string `json:"finish_reason"`
}

type reply struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"`
	Refusal *string    `json:"refusal"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in streams
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type usage struct {
	Prompt     int           `json:"prompt_tokens"`
	Completion int           `json:"completion_tokens"`
	Total      int           `json:"total_tokens"`
	Details    promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	// Usage is set in the last chunk only, if requested.
	Usage *usage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index    int     `json:"index"`
	Delta    delta   `json:"delta"`
	Logprobs any     `json:"logprobs"`
	Finish   *string `json:"finish_reason"`
}

type delta struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

// answerID returns the id of the answer to a request, which is the same for a repeat.
func answerID(event string) string {
	sum := sha256.Sum256([]byte(event))
	return "chatcmpl-" + hex.EncodeToString(sum[:12])
}

func (o outcome) completion(q question, event string, now time.Time) completion {
	if !o.at.IsZero() {
		now = o.at
	}
	r := reply{Role: "assistant", Calls: shownCalls(o.calls, false)}
	if o.text != "" || len(o.calls) == 0 {
		r.Content = &o.text
	}
	return completion{ID: answerID(event), Object: "chat.completion", Created: now.Unix(), Model: q.model,
		Choices: []choice{{Message: r, Finish: o.finish}}, Usage: shownUsage(o.usage)}
}

func shownUsage(u core.Usage) *usage {
	return &usage{u.Prompt, u.Completion, u.Prompt + u.Completion, promptDetails{u.Cached}}
}

func shownCalls(calls []core.ToolCall, numbered bool) []toolCall {
	var out []toolCall
	for n, c := range calls {
		t := toolCall{ID: c.ID, Type: "function", Function: function{c.Name, c.Arguments}}
		if numbered {
			t.Index = &n
		}
		out = append(out, t)
	}
	return out
}

// stream answers with server-sent events. Before the first text, for at most one
// KeepAlive, an error still has its own status; after that it is an event.
func (c *Server) stream(ctx context.Context, w http.ResponseWriter, q question, event string, ask asking) error {
	s := &streamer{w: w, control: http.NewResponseController(w), now: c.Now,
		head: chunk{ID: answerID(event), Object: "chat.completion.chunk", Created: c.Now().Unix(), Model: q.model}}
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }() // the connection may serve others after this
	out, err := c.follow(ctx, s, ask)
	switch {
	case err != nil && !s.begun:
		return err
	case err != nil:
		s.event(c.explain(err).body())
		c.Log.Debug("stream ended with an error", zap.Error(err))
		return nil
	}
	s.finish(out, q.usage)
	return nil
}

func (c *Server) follow(ctx context.Context, s *streamer, ask asking) (outcome, error) {
	type result struct {
		outcome
		err error
	}
	texts, done := make(chan string), make(chan result, 1)
	go func() {
		out, err := ask(func(soFar string) {
			select {
			case texts <- soFar:
			case <-ctx.Done():
			}
		})
		done <- result{out, err}
	}()
	tick := time.NewTicker(c.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case text := <-texts:
			s.text(text)
		case <-tick.C:
			s.alive()
		case r := <-done:
			return r.outcome, r.err
		}
	}
}

const writeTime = 30 * time.Second

// streamer writes the chunks of one answer.
type streamer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	head    chunk
	begun   bool
	shown   string // text of this step sent so far
}

// begin sends the header and the role.
func (s *streamer) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer the stream
	h.Set("X-Content-Type-Options", "nosniff")
	s.w.WriteHeader(http.StatusOK)
	empty := ""
	s.delta(delta{Role: "assistant", Content: &empty}, nil)
}

// text sends the new part of the text so far. After tool calls the text starts again, and
// follows the sent one.
func (s *streamer) text(soFar string) {
	s.begin()
	more, goesOn := strings.CutPrefix(soFar, s.shown)
	if !goesOn {
		if strings.HasPrefix(s.shown, soFar) {
			return // an older state of the same text
		}
		more = "\n\n" + soFar
	}
	s.shown = soFar
	if more != "" {
		s.delta(delta{Content: &more}, nil)
	}
}

// alive sends a keep-alive line.
func (s *streamer) alive() {
	s.begin()
	s.write(": keep-alive\n\n")
}

// finish sends the rest of an answer and ends the stream.
func (s *streamer) finish(out outcome, usage bool) {
	s.begin()
	if out.text != "" {
		s.text(out.text)
	}
	if len(out.calls) > 0 {
		s.delta(delta{Calls: shownCalls(out.calls, true)}, nil)
	}
	s.delta(delta{}, &out.finish)
	if usage {
		last := s.head
		last.Choices, last.Usage = []chunkChoice{}, shownUsage(out.usage)
		s.event(last)
	}
	s.write("data: [DONE]\n\n")
}

func (s *streamer) delta(d delta, finish *string) {
	c := s.head
	c.Choices = []chunkChoice{{Delta: d, Finish: finish}}
	s.event(c)
}

func (s *streamer) event(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return // impossible: all values can be encoded
	}
	s.write("data: " + string(data) + "\n\n")
}

// write sends text immediately. It ignores errors, as the context ends when the client is
// gone.
func (s *streamer) write(text string) {
	_ = s.control.SetWriteDeadline(s.now().Add(writeTime))
	if _, err := s.w.Write([]byte(text)); err == nil {
		_ = s.control.Flush()
	}
}
