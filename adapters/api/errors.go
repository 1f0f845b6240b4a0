package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/live"
)

// failure is an error as it is told.
type failure struct {
	status  int
	code    string
	message string
	after   time.Duration // Retry-After, if it is above 0
}

// Error returns the message.
func (f *failure) Error() string { return f.message }

func invalid(format string, args ...any) error {
	return &failure{status: http.StatusBadRequest, code: "invalid_request", message: fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) error {
	return &failure{status: http.StatusNotFound, code: "not_found", message: fmt.Sprintf(format, args...)}
}

// errorBody is the shape of an error.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// refuse answers with an error.
func (c *Server) refuse(w http.ResponseWriter, err error) {
	f := c.explain(err)
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.after.Seconds()))))
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, f.status, errorBody{errorDetail{f.code, f.message}})
}

// explain says an error in words, with its status.
func (c *Server) explain(err error) *failure {
	var known *failure
	var refusal *client.Refusal
	var body *client.BadBody
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		return &failure{refusal.Status, refusal.Code, refusal.Message, refusal.After}
	case errors.As(err, &body) && body.Status == http.StatusRequestEntityTooLarge:
		return &failure{body.Status, "too_large", body.Message, 0}
	case errors.As(err, &body):
		return &failure{body.Status, "invalid_request", body.Message, 0}
	case errors.Is(err, core.ErrRefused):
		return &failure{http.StatusBadRequest, "invalid_request", sentence(err.Error()), 0}
	case errors.Is(err, core.ErrMoving):
		return &failure{http.StatusServiceUnavailable, "moving",
			"Two conversations are being joined at the moment. Try again in some seconds.", 5 * time.Second}
	}
	return c.explainAnswer(err)
}

// explainAnswer says why there is no answer, or that something of ours went wrong.
func (c *Server) explainAnswer(err error) *failure {
	var over *live.OverBudget
	failed, ok := live.IsFailed(err)
	switch {
	case errors.As(err, &over):
		return &failure{http.StatusTooManyRequests, "budget_exceeded", "The day's budget of tokens is used up until " +
			over.Until.UTC().Format(time.RFC3339) + ". The message is kept, and is answered then.",
			max(over.Until.Sub(c.Now()), time.Second)}
	case ok && failed.Stopped:
		return &failure{http.StatusConflict, "stopped", "The answer was stopped before there was anything to say.", 0}
	case ok:
		return &failure{http.StatusBadGateway, "model_failed", "The model did not answer: " + reason(failed.Reason) +
			". The message is kept, and is answered with the next one or after /retry.", 0}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{http.StatusGatewayTimeout, "timeout",
			"There was no answer in time. It is still worked on, and will be in the conversation; a request with the same Idempotency-Key waits for it again.", 0}
	}
	c.Log.Error("answer a program", zap.Error(err))
	return &failure{http.StatusInternalServerError, "internal_error",
		"Something went wrong on the server; its log says what.", 0}
}

func reason(s string) string {
	if s == "" {
		return "its provider gave no reason"
	}
	return s
}

// sentence is words that begin like a sentence and end like one.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// list joins words.
func list(words []string) string { return strings.Join(words, " and ") }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the client is gone: there is nobody to tell
}
