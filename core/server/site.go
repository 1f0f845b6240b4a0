package server

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/everthread/everthread/core"
)

// Site is everything that a gateway serves over HTTP. All fields are required.
type Site struct {
	// Routes are those of channels and doors, by pattern. The one of "GET /" answers every
	// path that has no route, for browsers.
	Routes map[string]http.Handler
	Store  SchemaStore
	Health func() map[string]error // of channels
	// Metrics returns the handler of /metrics; ready reports whether messages can be taken.
	Metrics func(ready func(context.Context) bool) http.Handler
	Apart   bool                     // metrics have an address of their own
	IsOwner func(*http.Request) bool // who is told why the gateway is not ready
}

// SchemaStore is the part of a store that /readyz asks.
type SchemaStore interface {
	Ping(ctx context.Context) error
	Schema(ctx context.Context) (core.Schema, error)
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
	return mux
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
	"X-Forwarded-Server", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

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
