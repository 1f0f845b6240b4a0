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

// maxAnswer bounds an answer, in bytes. A full batch of updates is far smaller.
const maxAnswer = 32 << 20

const callTimeout = 30 * time.Second

// api calls the Bot API with JSON bodies, and with forms for files. It uses the types of
// go-telegram/bot but not its client, which writes every request as multipart through a
// pipe and a goroutine: most of the cost of a small call.
type api struct {
	root  string // without the token
	token string
	http  *http.Client
}

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

// call posts params as JSON to method and decodes the result into result unless that is
// nil. Its errors are *apiError or *netError and never contain the token.
func (a *api) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return &netError{Op: method, Err: err}
	}
	return a.post(ctx, timeout, method, "application/json", body, result)
}

// post is call with a body of any content type that the service accepts.
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
		if c := resp.Status; c >= 400 && c < 500 && c != http.StatusTooManyRequests { // the service's own refusals are JSON
			return &netError{Op: method, Err: fmt.Errorf(
				"HTTP %d from something that is not the Bot API; check channels.telegram.api_url, and proxies in between", c)}
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
	inHeader, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(cmp.Or(a.Parameters.RetryAfter, inHeader)) * time.Second
}

// clean removes the URL, which contains the token, from an error of net/http.
func (a *api) clean(err error) error { return channel.Clean(err, a.token) }

func retryAfterOf(err error) time.Duration {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.RetryAfter
	}
	return 0
}
