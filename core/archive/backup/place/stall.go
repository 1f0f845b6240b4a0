package place

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// errStalled is the error of a transfer without progress.
var errStalled = errors.New("nothing has moved for too long: check the network, and whether the server is up")

// brisk ends requests that make no progress for a time, in either direction, however long they take in all.
type brisk struct {
	next  http.RoundTripper
	stall time.Duration
}

// RoundTrip sends a request.
func (b brisk) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(b.stall, func() { cancel(errStalled) })
	moved := &moving{ctx: ctx, moved: func() { timer.Reset(b.stall) }, ended: func() {
		timer.Stop()
		cancel(nil)
	}}
	sent := req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		out := *moved
		out.body, out.ended = req.Body, func() {}
		sent.Body = &out
	}
	resp, err := b.next.RoundTrip(sent)
	if err != nil {
		moved.ended()
		return nil, moved.why(err)
	}
	moved.moved()
	moved.body, resp.Body = resp.Body, moved
	return resp, nil
}

// moving is a body that tells its progress.
type moving struct {
	ctx   context.Context
	body  io.ReadCloser
	moved func()
	ended func()
}

// why returns errStalled if that ended the request.
func (m *moving) why(err error) error {
	if cause := context.Cause(m.ctx); errors.Is(cause, errStalled) {
		return cause
	}
	return err
}

// Read reads.
func (m *moving) Read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	if n > 0 {
		m.moved()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = m.why(err)
	}
	return n, err
}

// Close ends the body.
func (m *moving) Close() error {
	m.ended()
	return m.body.Close()
}
