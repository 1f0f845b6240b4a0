package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/ops/server"
)

// completion is a whole answer with choices, or a chunk of a stream with parts of them.
type completion[C choice | chunkChoice] struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []C    `json:"choices"`
	Usage   *usage `json:"usage,omitempty"` // in the last chunk only, if requested
}

type chunk = completion[chunkChoice]

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

func (o outcome) completion(q question, event string, now time.Time) completion[choice] {
	if !o.at.IsZero() {
		now = o.at
	}
	r := reply{Role: "assistant", Calls: shownCalls(o.calls, false)}
	if o.text != "" || len(o.calls) == 0 {
		r.Content = &o.text
	}
	return completion[choice]{ID: answerID(event), Object: "chat.completion", Created: now.Unix(), Model: q.model,
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

type streamer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	head    chunk
	begun   bool
	shown   string // text of this step sent so far
}

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
	s.delta(delta{Role: "assistant", Content: new("")}, nil)
}

// text sends the new part of the text so far. After tool calls the text starts again, and follows the sent one.
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

// write sends text immediately. It ignores errors, as the context ends when the client is gone.
func (s *streamer) write(text string) {
	_ = s.control.SetWriteDeadline(s.now().Add(writeTime))
	if _, err := s.w.Write([]byte(text)); err == nil {
		_ = s.control.Flush()
	}
}

// Types of errors, as OpenAI names them.
const (
	invalidRequest = "invalid_request_error"
	authentication = "authentication_error"
	permission     = "permission_error"
	rateLimit      = "rate_limit_error"
	quota          = "insufficient_quota"
	serverError    = "server_error"
)

type failure struct {
	status                     int
	kind, code, param, message string
	after                      time.Duration // Retry-After; 0: none
}

func (f *failure) Error() string { return f.message }

// invalid returns a failure for a request that can never work. param is the wrong field.
func invalid(param, code, format string, args ...any) error {
	return &failure{status: http.StatusBadRequest, kind: invalidRequest, code: code, param: param,
		message: fmt.Sprintf(format, args...)}
}

type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (f *failure) body() errorBody {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return errorBody{errorDetail{f.message, f.kind, optional(f.param), optional(f.code)}}
}

func (c *Server) refuse(w http.ResponseWriter, err error) {
	f := c.explain(err)
	client.Head(w, f.status, f.after)
	if f.status == http.StatusBadGateway || f.status == http.StatusGatewayTimeout || f.kind == quota {
		// The message is stored and waits; sent again, it would be a second one.
		w.Header().Set("X-Should-Retry", "false")
	}
	server.WriteJSON(w, f.status, f.body())
}

func (c *Server) explain(err error) *failure {
	var known *failure
	var refusal *client.Refusal
	var body *client.BadBody
	var over *live.OverBudget
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		return &failure{status: refusal.Status, kind: kindOf(refusal.Status), code: refusal.Code, message: refusal.Message,
			after: refusal.After}
	case errors.As(err, &body):
		return &failure{status: body.Status, kind: invalidRequest, param: body.Param, message: body.Message}
	case errors.As(err, &over):
		return &failure{status: http.StatusTooManyRequests, kind: quota, code: "budget_exceeded",
			after: max(over.Until.Sub(c.Now()), time.Second), message: "The day's budget of tokens is used up until " +
				over.Until.UTC().Format(time.RFC3339) +
				". A message that was stored is answered then."}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{status: http.StatusGatewayTimeout, kind: serverError, code: "timeout",
			message: "There was no answer in time. It is still worked on, and will be in the conversation; a request with the same Idempotency-Key waits for it again."}
	}
	return c.explainModel(err)
}

func (c *Server) explainModel(err error) *failure {
	var model *core.ModelError
	failed, ok := live.IsFailed(err)
	switch {
	case ok && failed.Stopped:
		return &failure{status: http.StatusConflict, kind: invalidRequest, code: "stopped",
			message: "The answer was stopped before there was anything to say."}
	case ok:
		return &failure{status: http.StatusBadGateway, kind: serverError, code: "model_failed",
			message: "The model did not answer: " + failed.Why() + ". " + failed.Then()}
	case errors.As(err, &model):
		return &failure{status: http.StatusBadGateway, kind: serverError, code: "model_failed",
			message: "The model did not answer: " + model.Error() + "."}
	}
	c.Log.Error("request of a program failed", zap.Error(err))
	return &failure{status: http.StatusInternalServerError, kind: serverError, code: "internal_error",
		message: "Something went wrong on the server; its log says what."}
}

func kindOf(status int) string {
	return cmp.Or(map[int]string{http.StatusUnauthorized: authentication, http.StatusForbidden: permission,
		http.StatusTooManyRequests: rateLimit}[status], invalidRequest)
}
