package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds what is read of an answer, in bytes; a hundred messages of
	// 4096 characters stay below.
	maxAnswer = 8 << 20
	userAgent = "everthread/1.0.0" // name/number, as the API description wants it
)

// api calls the Agent Platform with one key (CHANNELS B2.1). Its errors are
// *apiError or *netError and never hold the key.
type api struct {
	root string
	host string
	key  string
	http *http.Client
}

func newAPI(o Options, key string) *api {
	u, _ := url.Parse(o.APIURL) // checked before
	return &api{root: o.APIURL, host: u.Host, key: key, http: o.HTTP}
}

// apiError is the service's own refusal of a request.
type apiError struct {
	Op    string
	HTTP  int
	Code  int // 0: none was given
	Text  string
	Trace string
	Wait  time.Duration
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: %s (HTTP %d, WhatsApp error %d)", e.Op, e.Text, e.HTTP, e.Code)
}

// netError is a request without an answer. Left reports whether it may have
// reached the service.
type netError struct {
	Op   string
	Left bool
	Err  error
}

func (e *netError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *netError) Unwrap() error { return e.Err }

// call is one request to the API.
type call struct {
	op      string // what it is for, in errors
	method  string
	path    string // below the root
	kind    string // content type of body
	body    []byte
	timeout time.Duration
}

// jsonCall returns a POST with v as its JSON body.
func jsonCall(op, path string, timeout time.Duration, v any) (call, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return call{}, &netError{Op: op, Err: err}
	}
	return call{op: op, method: http.MethodPost, path: path, kind: "application/json", body: body, timeout: timeout}, nil
}

// do makes a call and decodes the answer into result, if that is not nil. It
// returns the HTTP status of an answer that is no refusal.
func (a *api) do(ctx context.Context, c call, result any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var left atomic.Bool
	req, err := http.NewRequestWithContext(watchRequest(ctx, &left), c.method, a.root+"/"+c.path, bytes.NewReader(c.body))
	if err != nil {
		return 0, &netError{Op: c.op, Err: a.clean(err)}
	}
	if c.kind != "" {
		req.Header.Set("Content-Type", c.kind)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("User-Agent", userAgent)
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, &netError{Op: c.op, Left: left.Load(), Err: a.clean(err)}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, &netError{Op: c.op, Left: true, Err: a.clean(err)}
	}
	return resp.StatusCode, decode(c.op, resp, raw, result)
}

// watchRequest notes in left whether the request may have been sent. Each
// attempt of the transport begins anew; it makes another one only if nothing
// was sent.
func watchRequest(ctx context.Context, left *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { left.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { left.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				left.Store(false)
			}
		},
	})
}

// described is the service's description of an error (CHANNELS B2.7).
type described struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
	Trace string `json:"fbtrace_id"`
}

// text is the most telling of what the service says, in one line.
func (g described) text() string {
	for _, s := range []string{g.Data.Details, g.Message} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			return s
		}
	}
	return "no reason given"
}

func decode(op string, resp *http.Response, raw []byte, result any) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refusal(op, resp, raw)
	}
	if result == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return &netError{Op: op, Left: true, Err: errors.New("the answer is not what was expected")}
	}
	return nil
}

func refusal(op string, resp *http.Response, raw []byte) error {
	e := &apiError{Op: op, HTTP: resp.StatusCode, Text: http.StatusText(resp.StatusCode)}
	var body struct {
		Error *described `json:"error"`
	}
	if json.Unmarshal(raw, &body) == nil && body.Error != nil {
		e.Code, e.Text, e.Trace = body.Error.Code, body.Error.text(), body.Error.Trace
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	e.Wait = time.Duration(max(0, seconds)) * time.Second
	return e
}

// clean takes the URL and the key out of an error of net/http.
func (a *api) clean(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if strings.Contains(err.Error(), a.key) {
		return errors.New(strings.ReplaceAll(err.Error(), a.key, "***"))
	}
	return err
}
