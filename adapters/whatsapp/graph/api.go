// Package graph is the common part of Meta's two interfaces to WhatsApp: requests, their errors, messages and files.
package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/channel"
)

// userAgent is set as the service refused requests without one.
const userAgent = "everthread/1.0.0" // name/number, as the API description requires

// API makes requests with one token. Its errors are *Error or *NetError and never contain the token.
type API struct {
	Root  string // URL to which paths are relative
	Host  string // of Root
	Token string
	HTTP  *http.Client
	Max   int64 // bytes read of an answer
	CDN   bool  // files come from Meta's content network as well
}

// New returns the API at root, a valid URL.
func New(root, token string, client *http.Client, most int64) *API {
	u, _ := url.Parse(root) // validated by the caller
	return &API{Root: root, Host: u.Host, Token: token, HTTP: client, Max: most}
}

// Error is the service's refusal of a request, or later of a message.
type Error struct {
	Op      string
	HTTP    int // 0: from a webhook
	Code    int // 0: none
	Subcode int
	Text    string
	Wait    time.Duration
}

func (e *Error) Error() string {
	what := e.Text
	if e.Op != "" {
		what = e.Op + ": " + what
	}
	switch {
	case e.HTTP == 0:
		return fmt.Sprintf("%s (WhatsApp error %d)", what, e.Code)
	case e.Code == 0:
		return fmt.Sprintf("%s (HTTP %d)", what, e.HTTP)
	}
	return fmt.Sprintf("%s (HTTP %d, WhatsApp error %d)", what, e.HTTP, e.Code)
}

// NetError is a request without an answer.
type NetError = channel.NetError

// Call is one request.
type Call struct {
	Op      string // purpose, for errors
	Method  string
	Path    string // relative to the root
	Kind    string // content type of Body
	Body    []byte
	Timeout time.Duration
}

// Post returns a call with v as its JSON body.
func Post(op, path string, timeout time.Duration, v any) (Call, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Call{}, &NetError{Op: op, Err: err}
	}
	c := Call{Op: op, Method: http.MethodPost, Path: path, Kind: "application/json", Body: body, Timeout: timeout}
	return c, nil
}

// Send posts a message and returns its wamid.
func (a *API) Send(ctx context.Context, path string, timeout time.Duration, message any) (string, error) {
	c, err := Post("send", path, timeout, message)
	if err != nil {
		return "", err
	}
	var sent struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	if _, err := a.Do(ctx, c, &sent); err != nil {
		return "", err
	}
	if len(sent.Messages) == 0 || sent.Messages[0].ID == "" {
		return "", &NetError{Op: c.Op, Left: true, Err: errors.New("the answer has no message id")}
	}
	return sent.Messages[0].ID, nil
}

// MarkRead marks the message wamid as read and, with typing, shows that an answer is being
// written. op names the call in errors.
func (a *API) MarkRead(ctx context.Context, op, path string, timeout time.Duration, wamid string, typing bool) error {
	body := map[string]any{"messaging_product": "whatsapp", "status": "read", "message_id": wamid}
	if typing {
		body["typing_indicator"] = map[string]string{"type": "text"}
	}
	c, err := Post(op, path, timeout, body)
	if err == nil {
		_, err = a.Do(ctx, c, nil)
	}
	return err
}

// Answer is the service's answer.
type Answer = channel.Answer

// Do makes a call and decodes the answer, if any, into result unless that is nil.
func (a *API) Do(ctx context.Context, c Call, result any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := a.request(ctx, c.Method, a.Root+"/"+c.Path, bytes.NewReader(c.Body))
	if err != nil {
		return Answer{}, &NetError{Op: c.Op, Err: err}
	}
	if c.Kind != "" {
		req.Header.Set("Content-Type", c.Kind)
	}
	resp, err := channel.Do(a.HTTP, req, c.Op, a.Token, a.Max)
	if err != nil {
		return Answer{}, err
	}
	return resp, decode(c.Op, resp, result)
}

func (a *API) request(ctx context.Context, method, address string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, a.Clean(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("User-Agent", userAgent)
	return req, nil
}

// Described is the service's description of an error.
type Described struct {
	Message string `json:"message"`
	Title   string `json:"title"`
	Code    int    `json:"code"`
	Subcode int    `json:"error_subcode"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
}

// Text returns the most specific description in one line.
func (d Described) Text() string {
	for _, s := range []string{d.Data.Details, d.Message, d.Title} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			return s
		}
	}
	return "no reason given"
}

func decode(op string, resp Answer, result any) error {
	if resp.Status < 200 || resp.Status > 299 {
		return refusal(op, resp)
	}
	if result == nil || resp.Status == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(resp.Body, result); err != nil {
		return &NetError{Op: op, Left: true, Err: errors.New("the answer has an unexpected form")}
	}
	return nil
}

func refusal(op string, resp Answer) error {
	e := &Error{Op: op, HTTP: resp.Status, Text: http.StatusText(resp.Status)}
	var body struct {
		Error *Described `json:"error"`
	}
	if json.Unmarshal(resp.Body, &body) == nil && body.Error != nil {
		e.Code, e.Subcode, e.Text = body.Error.Code, body.Error.Subcode, body.Error.Text()
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	e.Wait = time.Duration(max(0, seconds)) * time.Second
	return e
}

// Clean removes the URL and the token from an error of net/http.
func (a *API) Clean(err error) error { return channel.Clean(err, a.Token) }
