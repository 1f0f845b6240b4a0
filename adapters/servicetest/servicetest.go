// Package servicetest is the common part of fake chat services: a server, injected
// failures, counts of calls, recorded errors, and waiting for changes.
package servicetest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Server is the base of a fake service whose failures are of type F. The service shares
// its lock.
type Server[F any] struct {
	sync.Mutex
	// Ctx ends with the server.
	Ctx context.Context

	cancel   context.CancelFunc
	http     *httptest.Server
	wg       sync.WaitGroup
	changed  chan struct{} // closed and replaced at each change
	failures map[string][]failure[F]
	calls    map[string]int
	errs     []error
}

// failure is a failure of a number of calls.
type failure[F any] struct {
	f    F
	left int
}

// Start serves h on addr; "" is a free port of 127.0.0.1. The caller must call Close.
func (s *Server[F]) Start(h http.Handler, addr string) error {
	s.Ctx, s.cancel = context.WithCancel(context.Background())
	s.changed, s.failures, s.calls = make(chan struct{}), map[string][]failure[F]{}, map[string]int{}
	s.http = httptest.NewUnstartedServer(h)
	if addr != "" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		_ = s.http.Listener.Close()
		s.http.Listener = l
	}
	s.http.Start()
	return nil
}

// Go runs f concurrently with requests; Close waits for it.
func (s *Server[F]) Go(f func()) { s.wg.Go(f) }

// URL returns the server's URL.
func (s *Server[F]) URL() string { return s.http.URL }

// Close ends all requests and the server.
func (s *Server[F]) Close() {
	s.cancel()
	s.http.CloseClientConnections()
	s.http.Close()
	s.wg.Wait()
}

// Stop takes the server off the network. The caller must still call Close.
func (s *Server[F]) Stop() {
	s.http.CloseClientConnections()
	_ = s.http.Listener.Close()
}

// Fail lets n more calls of what fail, after earlier failures have been used up. With 0 it
// cancels all failures of what.
func (s *Server[F]) Fail(what string, n int, f F) {
	s.Lock()
	defer s.Unlock()
	if s.failures[what] = append(s.failures[what], failure[F]{f, n}); n == 0 {
		delete(s.failures, what)
	}
}

// Begin counts a call of what, and removes and returns its failure.
func (s *Server[F]) Begin(what string) (f F, failing bool) {
	s.Lock()
	defer s.Unlock()
	s.calls[what]++
	s.Signal()
	f, failing = s.Due(what)
	if failing {
		s.Spend(what)
	}
	return f, failing
}

// Due returns the failure of the next call of what. The caller holds the lock.
func (s *Server[F]) Due(what string) (f F, failing bool) {
	if due := s.failures[what]; len(due) > 0 {
		return due[0].f, true
	}
	return f, false
}

// Spend uses up the failure of one call of what. The caller holds the lock.
func (s *Server[F]) Spend(what string) {
	due := s.failures[what]
	if due[0].left--; due[0].left == 0 {
		s.failures[what] = due[1:]
	}
}

// Hang waits until the client disconnects or the server closes.
func (s *Server[F]) Hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.Ctx.Done():
	}
}

// Calls returns the number of calls of what.
func (s *Server[F]) Calls(what string) int {
	s.Lock()
	defer s.Unlock()
	return s.calls[what]
}

// Note records an error of a request.
func (s *Server[F]) Note(err error) {
	s.Lock()
	defer s.Unlock()
	s.Noted(err)
}

// Noted is Note for callers that hold the lock.
func (s *Server[F]) Noted(err error) { s.errs = append(s.errs, err) }

// Errors returns the recorded errors.
func (s *Server[F]) Errors() []error {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.errs)
}

// Signal reports a change to Wait and Changed. The caller holds the lock.
func (s *Server[F]) Signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change. The caller holds the lock.
func (s *Server[F]) Changed() <-chan struct{} { return s.changed }

// Wait waits until what returns true. It is called again at each change of the server.
func (s *Server[F]) Wait(ctx context.Context, what func() bool) error {
	for {
		s.Lock()
		changed := s.Changed()
		s.Unlock()
		if what() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
