package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/server"
)

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
	status  int
	kind    string
	code    string
	param   string
	message string
	after   time.Duration // Retry-After; 0: none
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
	case errors.Is(err, core.ErrMoving):
		return &failure{status: http.StatusServiceUnavailable, kind: serverError, code: "moving", after: 5 * time.Second,
			message: "Two conversations are being joined at the moment. Try again in some seconds."}
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
	switch status {
	case http.StatusUnauthorized:
		return authentication
	case http.StatusForbidden:
		return permission
	case http.StatusTooManyRequests:
		return rateLimit
	}
	return invalidRequest
}
