package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
)

// NetError is the error of a request without an answer. Left means that the request may have reached the service.
type NetError struct {
	Op   string
	Left bool
	Err  error
}

// Error returns the operation and the cause.
func (e *NetError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NetError) Unwrap() error { return e.Err }

// Answer is the response of a service.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a request and reads at most max bytes of the response. Its errors are *NetError
// and never contain the secret.
func Do(client *http.Client, req *http.Request, op, secret string, max int64) (Answer, error) {
	var left atomic.Bool
	resp, err := client.Do(req.WithContext(Watch(req.Context(), &left)))
	if err != nil {
		return Answer{}, &NetError{Op: op, Left: left.Load(), Err: Clean(err, secret)}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, max))
	if err != nil {
		return Answer{}, &NetError{Op: op, Left: true, Err: Clean(err, secret)}
	}
	return Answer{resp.StatusCode, resp.Header, raw}, nil
}

// State is the present failure of a channel. Its zero value is ready, and means that the channel works.
type State struct {
	mu  sync.Mutex
	err error
}

// Check returns the error that prevents the channel from receiving, or nil.
func (s *State) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Report sets the failure; nil: the channel works. It reports whether the failure is new.
func (s *State) Report(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.err
	s.err = err
	return err != nil && (before == nil || before.Error() != err.Error())
}

// HostOf returns the host of an address, or "".
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Clean removes the URL and a secret from an error of net/http.
func Clean(err error, secret string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if secret != "" && strings.Contains(err.Error(), secret) {
		return errors.New(strings.ReplaceAll(err.Error(), secret, "***"))
	}
	return err
}

// Form returns a form with fields and a file, and its content type. disposition is the Content-Disposition of the file.
func Form(fields [][2]string, disposition, media string, data []byte) ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	var failed error
	for _, f := range fields {
		failed = errors.Join(failed, w.WriteField(f[0], f[1]))
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {media}})
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(failed, err, w.Close()); err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// TooLarge returns the error of a file of more than max bytes.
func TooLarge(max int64) error {
	return &core.Permanent{Err: fmt.Errorf("%w: it has more than %d bytes", core.ErrTooLarge, max)}
}

// Watch returns a context, and sets left to whether a request with it may have been sent. Each
// attempt of the transport resets left; it retries only if nothing was sent.
func Watch(ctx context.Context, left *atomic.Bool) context.Context {
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

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Backoff is the growing pause between attempts. The zero value is ready.
type Backoff struct{ next time.Duration }

// Wait waits for asked, which the service requested; if that is 0, for a pause that doubles
// each time. It returns early when ctx ends.
func (b *Backoff) Wait(ctx context.Context, asked time.Duration) {
	b.next = min(max(2*b.next, firstPause), lastPause)
	if asked <= 0 {
		asked = b.next
	}
	_ = Pause(ctx, asked)
}

// Pause waits for d. If ctx ends before, it returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// english is the language of the log.
const english = "en"

// Trouble is an error that the owner must fix. It has advice in their language; its text is in English, for the log.
type Trouble struct {
	Advice func(language string) string // a sentence without its full stop
	Err    error                        // of the service
}

// Error returns the advice in English and the cause.
func (t *Trouble) Error() string { return t.Advice(english) + ": " + t.Err.Error() }

// Unwrap returns the cause.
func (t *Trouble) Unwrap() error { return t.Err }

// Said returns an error as people read it in a language: the advice of a Trouble with the
// service's own words, else the error's text.
func Said(err error, language string) string {
	if t, ok := errors.AsType[*Trouble](err); ok {
		return t.Advice(language) + " (" + t.Err.Error() + ")"
	}
	return err.Error()
}
