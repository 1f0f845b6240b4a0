// Package server serves HTTP on configured listeners, with a common form of errors and little memory.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/everthread/everthread/core/store"
)

// Listen listens on an address, which the configuration key sets.
func Listen(key, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		free := "an address that is free"
		if near := FreeNear(address); errors.Is(err, syscall.EADDRINUSE) && near != "" {
			free += ", such as " + near
		}
		return nil, fmt.Errorf("listen on %s: %w; set %s to %s", address, Cause(err), key, free)
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
	l := Lend(ln)
	var work sync.WaitGroup
	work.Go(func() { _ = s.Serve(l) }) // it ends with Close
	return func() {
		_ = s.Close()
		work.Wait()
	}
}

// Lend returns ln for a server after which another one continues to use it: closing it only interrupts Accept. Clients
// that connect between two servers wait.
func Lend(ln net.Listener) net.Listener {
	l := &lent{ln}
	_ = l.deadline(time.Time{}) // the server before set one
	return l
}

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
		WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
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

// Site is everything that a gateway serves over HTTP. All fields are required.
type Site struct {
	// Routes are those of channels and doors, by pattern. The one of "GET /" answers every
	// path that has no route, for browsers.
	Routes map[string]http.Handler
	Store  SchemaStore
	Health func() map[string]error // of channels
	// Metrics returns the handler of /metrics; ready reports whether messages can be taken.
	Metrics func(ready func(context.Context) bool) http.Handler
	Apart   bool                       // metrics have an address of their own
	Root    func(*http.Request) string // path below which the client of a request reaches the site; empty: none
	IsOwner func(*http.Request) bool   // who is told why the gateway is not ready
}

// SchemaStore is the part of a store that /readyz asks.
type SchemaStore interface {
	Ping(ctx context.Context) error
	Schema(ctx context.Context) (store.Schema, error)
}

// Handler serves the site.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", s.serveReady)
	if !s.Apart {
		mux.Handle("GET /metrics", OnlyHere(s.Metrics(s.ready)))
	}
	for pattern, handler := range s.Routes {
		if pattern != "GET /" { // it would take the paths of others
			mux.Handle(pattern, handler)
		}
	}
	page := s.Routes["GET /"]
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if page != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			page.ServeHTTP(w, r)
			return
		}
		WriteError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path)
	})
	return s.below(mux)
}

// below serves next to clients that reach the site below a path, whether their proxy removes it or not.
func (s *Site) below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch root := s.Root(r); {
		case root != "" && r.URL.Path == root: // the page is at the path with a slash
			http.Redirect(w, r, root+"/", http.StatusPermanentRedirect)
		case root != "" && strings.HasPrefix(r.URL.Path, root+"/"):
			http.StripPrefix(root, next).ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// MetricsHandler serves the metrics alone.
func (s *Site) MetricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.Metrics(s.ready))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path+", but /metrics")
	})
	return mux
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready    bool              `json:"ready"`
	Store    string            `json:"store,omitempty"`
	Schema   string            `json:"schema,omitempty"`
	Channels map[string]string `json:"channels,omitempty"`
}

// serveReady answers /readyz. Only this machine and the owner learn more than yes or no.
func (s *Site) serveReady(w http.ResponseWriter, r *http.Request) {
	out, status := s.readiness(r.Context()), http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	if !Here(r) && !s.IsOwner(r) {
		out = readiness{Ready: out.Ready}
	}
	WriteJSON(w, status, out)
}

// readiness checks that the store answers and has this program's schema. A channel that
// fails is reported, but does not make the gateway unready.
func (s *Site) readiness(ctx context.Context) readiness {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out := readiness{Ready: true, Store: "ok", Schema: "ok", Channels: map[string]string{}}
	if err := s.Store.Ping(ctx); err != nil {
		out.Ready, out.Store = false, "the database does not answer"
	}
	if schema, err := s.Store.Schema(ctx); err != nil || schema.Current < schema.Target {
		out.Ready, out.Schema = false, "run `everthread migrate up`"
	}
	for name, err := range s.Health() {
		out.Channels[name] = "ok"
		if err != nil {
			out.Channels[name] = err.Error()
		}
	}
	return out
}

func (s *Site) ready(ctx context.Context) bool { return s.readiness(ctx).Ready }

// forwarding are the headers of forwarded requests.
var forwarding = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	"X-Forwarded-Prefix", "X-Forwarded-Server", "X-Ingress-Path", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

// Here reports whether a request comes from this machine itself, not through a proxy on it.
func Here(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, name := range forwarding {
		if r.Header.Values(name) != nil {
			return false
		}
	}
	return true
}

// OnlyHere refuses requests that are not from this machine.
func OnlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Here(r) {
			WriteError(w, http.StatusForbidden, "forbidden",
				"this is told on the machine itself only; http.metrics_listen gives it an address of its own")
			return
		}
		next.ServeHTTP(w, r)
	})
}
