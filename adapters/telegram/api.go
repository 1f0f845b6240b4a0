package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/everthread/everthread/core/channel"
)

// maxAnswer bounds what is read of an answer, in bytes. A full batch of
// updates stays far below.
const maxAnswer = 32 << 20

const callTimeout = 30 * time.Second

// api calls the Bot API with JSON bodies, and forms for files. The client of
// go-telegram/bot is not used: it writes every request as multipart through a
// pipe and a goroutine, which is most of the cost of a small call. Its types
// are.
type api struct {
	root  string // without the token
	token string
	http  *http.Client
}

// apiError is the service's own refusal of a request.
type apiError struct {
	Method      string
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Method, e.Code, e.Description)
}

// netError is a request without an answer.
type netError = channel.NetError

type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call posts params as JSON to method and decodes the result into result, if
// that is not nil. Errors are *apiError or *netError and never hold the token.
func (a *api) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return &netError{Op: method, Err: err}
	}
	return a.post(ctx, timeout, method, "application/json", body, result)
}

// post is call with a body of any content type that the service takes.
func (a *api) post(ctx context.Context, timeout time.Duration, method, kind string, body []byte, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.root+"/bot"+a.token+"/"+method,
		bytes.NewReader(body))
	if err != nil {
		return &netError{Op: method, Err: a.clean(err)}
	}
	req.Header.Set("Content-Type", kind)
	resp, err := channel.Do(a.http, req, method, a.token, maxAnswer)
	if err != nil {
		return err
	}
	return decode(method, resp, result)
}

func decode(method string, resp channel.Answer, result any) error {
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		if resp.Status < 300 {
			return &netError{Op: method, Left: true, Err: errors.New("answer is not JSON")}
		}
		if c := resp.Status; c >= 400 && c < 500 && c != http.StatusTooManyRequests { // the service always says why
			return &netError{Op: method, Err: fmt.Errorf(
				"HTTP %d from something that is not the Bot API; check channels.telegram.api_url, and what stands in between", c)}
		}
		a = answer{Code: resp.Status, Description: http.StatusText(resp.Status)}
	}
	if !a.OK {
		return &apiError{
			Method: method, Code: cmp.Or(a.Code, resp.Status), Description: a.Description,
			RetryAfter: retryAfter(a, resp), MigrateTo: a.Parameters.MigrateTo,
		}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return &netError{Op: method, Left: true, Err: fmt.Errorf("decode result: %w", err)}
	}
	return nil
}

func retryAfter(a answer, resp channel.Answer) time.Duration {
	seconds := a.Parameters.RetryAfter
	if seconds == 0 {
		seconds, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// clean takes the URL, and with it the token, out of an error of net/http.
func (a *api) clean(err error) error { return channel.Clean(err, a.token) }

// retryAfterOf is how long the service asks to wait; 0: it does not.
func retryAfterOf(err error) time.Duration {
	var refused *apiError
	if errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}
