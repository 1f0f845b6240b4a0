package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/text"
)

// params are the parameters of a request. err is the first problem with them.
type params struct {
	values url.Values
	err    error
}

// paramsOf returns the parameters of a request. Only names are allowed, each once.
func paramsOf(r *http.Request, names ...string) *params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &params{values: values}
	if err != nil {
		p.fail("The parameters of the URL cannot be read.")
	}
	for name, all := range values {
		switch {
		case !slices.Contains(names, name) && len(names) == 0:
			p.fail("There is no parameter %s.", text.Within(name, shown))
		case !slices.Contains(names, name):
			p.fail("There is no parameter %s; there are %s.", text.Within(name, shown), strings.Join(names, ", "))
		case len(all) > 1:
			p.fail("%s stands more than once.", name)
		}
	}
	return p
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid(format, args...)
	}
}

func (p *params) text(name string) string { return strings.TrimSpace(p.values.Get(name)) }

// number returns a whole number from least to most, or 0 if missing.
func (p *params) number(name string, least, most int64) int64 {
	s := p.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < least || n > most {
		if most == math.MaxInt64 {
			p.fail("%s must be a whole number, %d or more.", name, least)
		}
		p.fail("%s must be a whole number from %d to %d.", name, least, most)
	}
	return n
}

// id returns an id, or 0 if missing.
func (p *params) id(name string) int64 { return p.number(name, 1, math.MaxInt64) }

func (p *params) limit(otherwise, most int) int {
	return int(cmp.Or(p.number("limit", 1, int64(most)), int64(otherwise)))
}

// share returns a number from 0 to 1, or 0 if missing.
func (p *params) share(name string) float64 {
	s := p.text(name)
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		p.fail("%s must be a number from 0 to 1.", name)
	}
	return f
}

// day returns the label of a day, or "" if missing.
func (p *params) day(name string) string {
	s := p.text(name)
	if s != "" && !isDay(s) {
		p.fail("%s must be a day such as 2026-11-19.", name)
	}
	return s
}

func isDay(label string) bool {
	_, err := time.Parse(time.DateOnly, label)
	return err == nil
}

func pathDay(r *http.Request) (string, error) {
	label := r.PathValue("label")
	if !isDay(label) {
		return "", invalid("%s is not a day; write it as 2026-11-19.", text.Within(label, shown))
	}
	return label, nil
}

// pathID returns the id in a URL without parameters.
func pathID(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, invalid("%s is not a number, 1 or more.", text.Within(r.PathValue("id"), shown))
	}
	return n, paramsOf(r).err
}

// shown bounds the part of a request that an error repeats, in characters.
const shown = 60

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

func (c *Server) refuse(w http.ResponseWriter, err error) {
	f := c.explain(err)
	client.Head(w, f.Status, f.After)
	w.Header().Set("Cache-Control", "no-store")
	server.WriteError(w, f.Status, f.Code, f.Message)
}

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
	}
	return c.explainAnswer(err)
}

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
		return failed(http.StatusBadGateway, "model_failed", "The model did not answer: "+turn.Why()+". "+turn.Then(), 0)
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
