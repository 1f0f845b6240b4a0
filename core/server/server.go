// Package server serves HTTP on configured listeners, with a common form of errors and
// little memory.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Listen listens on an address, which the configuration key sets.
func Listen(key, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; set %s to an address that is free", address, Cause(err), key)
	}
	return ln, nil
}

// FreeNear returns a free address near one in use, empty if that is free or none is found.
func FreeNear(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	first, err := net.LookupPort("tcp", port)
	if err != nil {
		return ""
	}
	for n := range 100 {
		near := net.JoinHostPort(host, strconv.Itoa(first+n))
		ln, err := net.Listen("tcp", near)
		if err != nil {
			continue
		}
		if ln.Close() == nil && n > 0 {
			return near
		}
		break
	}
	return ""
}

// Cause returns the cause of a network error.
func Cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err
	}
	return err
}

// Alive answers /healthz on ln until the returned function is called, which leaves ln open.
func Alive(ln net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		WriteError(w, http.StatusServiceUnavailable, "starting", "the database does not answer yet")
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	l := &lent{Listener: ln}
	var work sync.WaitGroup
	work.Go(func() { _ = s.Serve(l) }) // it ends with Close
	return func() {
		_ = s.Close()
		work.Wait()
		_ = l.deadline(time.Time{})
	}
}

// lent is a listener that another server will continue to use: closing it only interrupts Accept.
type lent struct{ net.Listener }

// Close interrupts Accept.
func (l *lent) Close() error { return l.deadline(time.Unix(1, 0)) }

func (l *lent) deadline(t time.Time) error {
	if d, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		return d.SetDeadline(t)
	}
	return nil
}

// Serve serves HTTP on ln until ctx ends.
func Serve(ctx context.Context, ln net.Listener, routes http.Handler) error {
	s := &http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ConnState: new(crowd).note}
	stopped := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	})
	defer stopped()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Grace is the time for requests to end at shutdown.
const Grace = time.Second

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it fails only if the client is gone
}

// WriteError answers with an error: a code for programs, a message for people.
func WriteError(w http.ResponseWriter, status int, code, message string) {
	WriteJSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
