package matrix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

const (
	callTimeout = 30 * time.Second
	showTimeout = 5 * time.Second // for dispensable requests
)

// session is a login: the client with its token, and the encryption of rooms.
type session struct {
	cli    *mautrix.Client
	crypto cryptor // nil: encrypted rooms cannot be read

	opened  time.Time
	renewal renewal
}

func (c *Channel) newSession(token, device string) (*session, error) {
	cli, err := mautrix.NewClient(c.opts.Homeserver, id.UserID(c.opts.UserID), token)
	if err != nil {
		return nil, fmt.Errorf("homeserver: %w", err)
	}
	cli.DeviceID = id.DeviceID(device)
	cli.Client, cli.ExternalClient = c.opts.HTTP, c.opts.HTTP
	cli.Log = zerolog.Nop()
	cli.IgnoreRateLimit = true // deliveries wait, not requests
	return &session{cli: cli}, nil
}

type request struct {
	method string
	path   []any // below /_matrix/client; BuildURL escapes each part
	query  url.Values
	body   any
	result any
}

// call sends r within timeout. Its errors are *apiError or *netError.
func (s *session) call(ctx context.Context, timeout time.Duration, r request) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := s.cli.BuildURL(mautrix.ClientURLPath(r.path))
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	_, err := s.cli.MakeFullRequest(ctx, mautrix.FullRequest{
		Method: r.method, URL: address, RequestJSON: r.body, ResponseJSON: r.result, SensitiveContent: true,
	})
	return clean(err)
}

// read gets a path.
func (s *session) read(ctx context.Context, timeout time.Duration, result any, path ...any) error {
	return s.call(ctx, timeout, request{method: http.MethodGet, path: path, result: result})
}

type apiError struct {
	Status     int
	Code       string // such as M_FORBIDDEN
	Text       string
	RetryAfter time.Duration
	SoftLogout bool
}

func (e *apiError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the homeserver answered %d %s %s", e.Status, e.Code, e.Text))
}

// netError is a request without an answer. Left reports whether it may have
// reached the homeserver.
type netError struct {
	Left bool
	err  error
}

func (e *netError) Error() string { return "the homeserver cannot be reached: " + e.err.Error() }
func (e *netError) Unwrap() error { return e.err }

// clean returns an error of the client as an *apiError or *netError, without URLs.
func clean(err error) error {
	if err == nil {
		return nil
	}
	var e mautrix.HTTPError
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return &netError{Left: true, err: err}
		}
		return err
	}
	if e.Response != nil && (e.Response.StatusCode < 200 || e.Response.StatusCode >= 300) {
		return refusal(e)
	}
	cause := err
	if e.WrappedError != nil {
		cause = e.WrappedError
	}
	if u, ok := errors.AsType[*url.Error](cause); ok {
		cause = u.Err
	}
	return &netError{Left: !notLeft(cause), err: cause}
}

// notLeft reports whether a request failed before any of it was sent.
func notLeft(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func refusal(e mautrix.HTTPError) *apiError {
	out := &apiError{Status: e.Response.StatusCode}
	if e.RespError != nil {
		out.Code, out.Text = e.RespError.ErrCode, e.RespError.Err
		out.SoftLogout, _ = e.RespError.ExtraData["soft_logout"].(bool)
		if ms, ok := e.RespError.ExtraData["retry_after_ms"].(float64); ok && ms > 0 {
			out.RetryAfter = time.Duration(min(ms, 1e9)) * time.Millisecond
		}
	}
	if s, err := strconv.Atoi(e.Response.Header.Get("Retry-After")); err == nil && s > 0 {
		out.RetryAfter = time.Duration(min(s, 1e6)) * time.Second
	}
	return out
}

// refused returns err as a refusal, or nil.
func refused(err error) *apiError {
	e, _ := errors.AsType[*apiError](err)
	return e
}

// forGood reports whether err is a refusal that retries do not fix.
func forGood(err error) bool {
	e := refused(err)
	return e != nil && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests && !e.loggedOut()
}

// loggedOut reports whether the access token is no longer valid.
func (e *apiError) loggedOut() bool {
	return e.Code == "M_UNKNOWN_TOKEN" || e.Code == "M_MISSING_TOKEN" || e.Status == http.StatusUnauthorized
}

func retryAfterOf(err error) time.Duration {
	if e := refused(err); e != nil {
		return e.RetryAfter
	}
	return 0
}
