package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/server"
)

// failed returns an error for the program; after is the Retry-After, if above 0.
func failed(status int, code, message string, after time.Duration) *client.Refusal {
	return &client.Refusal{Status: status, Code: code, Message: message, After: after}
}

func invalid(format string, args ...any) error {
	return failed(http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...), 0)
}

func missing(format string, args ...any) error {
	return failed(http.StatusNotFound, "not_found", fmt.Sprintf(format, args...), 0)
}

// refuse answers with an error.
func (c *Server) refuse(w http.ResponseWriter, err error) {
	f := c.explain(err)
	client.Head(w, f.Status, f.After)
	w.Header().Set("Cache-Control", "no-store")
	server.WriteError(w, f.Status, f.Code, f.Message)
}

// explain returns the error for the program.
func (c *Server) explain(err error) *client.Refusal {
	var known *client.Refusal
	var body *client.BadBody
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &body) && body.Status == http.StatusRequestEntityTooLarge:
		return failed(body.Status, "too_large", body.Message, 0)
	case errors.As(err, &body):
		return failed(body.Status, "invalid_request", body.Message, 0)
	case errors.Is(err, core.ErrRefused):
		return failed(http.StatusBadRequest, "invalid_request", sentence(err.Error()), 0)
	case errors.Is(err, core.ErrMoving):
		return failed(http.StatusServiceUnavailable, "moving",
			"Two conversations are being joined at the moment. Try again in some seconds.", 5*time.Second)
	}
	return c.explainAnswer(err)
}

// explainAnswer returns the error for a missing answer, or for an internal error.
func (c *Server) explainAnswer(err error) *client.Refusal {
	var over *live.OverBudget
	turn, ok := live.IsFailed(err)
	switch {
	case errors.As(err, &over):
		return failed(http.StatusTooManyRequests, "budget_exceeded", "The day's budget of tokens is used up until "+
			over.Until.UTC().Format(time.RFC3339)+". The message is kept, and is answered then.",
			max(over.Until.Sub(c.Now()), time.Second))
	case ok && turn.Stopped:
		return failed(http.StatusConflict, "stopped", "The answer was stopped before there was anything to say.", 0)
	case ok:
		return failed(http.StatusBadGateway, "model_failed", "The model did not answer: "+turn.Why()+
			". The message is kept, and is answered with the next one or after /retry.", 0)
	case errors.Is(err, context.DeadlineExceeded):
		return failed(http.StatusGatewayTimeout, "timeout",
			"There was no answer in time. It is still worked on, and will be in the conversation; a request with the same Idempotency-Key waits for it again.", 0)
	}
	c.Log.Error("request of a program failed", zap.Error(err))
	return failed(http.StatusInternalServerError, "internal_error",
		"Something went wrong on the server; its log says what.", 0)
}

// sentence returns s with a capital letter and a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
