package main

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/server"
)

// routes are everything that is served over HTTP.
func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		server.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", a.ready)
	if a.Config.HTTP.MetricsListen == "" {
		mux.Handle("GET /metrics", server.OnlyHere(a.Metrics(a.isReady)))
	}
	var nowhere http.Handler
	for pattern, handler := range a.allRoutes() {
		if pattern == "GET /" { // a page for what is nowhere, which would stand in the way of others
			nowhere = handler
			continue
		}
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if nowhere != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			nowhere.ServeHTTP(w, r)
			return
		}
		server.WriteError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path)
	})
	return mux
}

// allRoutes are those of channels and doors.
func (a *app) allRoutes() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, ch := range a.Channels {
		if h, ok := ch.(core.Handler); ok {
			maps.Copy(out, h.Routes(a.Gateway))
		}
	}
	if a.page != nil {
		maps.Copy(out, a.page.Routes())
	}
	if a.openai != nil {
		maps.Copy(out, a.openai.Routes())
		maps.Copy(out, a.api.Routes())
	}
	if a.mcp != nil {
		out["/mcp"] = a.mcp.Handler()
	}
	return out
}

// readiness is what /readyz answers.
type readiness struct {
	Ready    bool              `json:"ready"`
	Store    string            `json:"store,omitempty"`
	Schema   string            `json:"schema,omitempty"`
	Channels map[string]string `json:"channels,omitempty"`
}

// ready reports whether messages can be taken. Why not, and how the channels are, is
// told to this machine and the owner only.
func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	out, status := a.readiness(r.Context()), http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	if !server.Here(r) && !a.isOwner(r) {
		out = readiness{Ready: out.Ready}
	}
	server.WriteJSON(w, status, out)
}

// readiness finds out whether messages can be taken: the store answers and has this
// program's schema. What is wrong with a channel is told, but only a store that is
// away makes the process not ready.
func (a *app) readiness(ctx context.Context) readiness {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out := readiness{Ready: true, Store: "ok", Schema: "ok", Channels: map[string]string{}}
	if err := a.store.Ping(ctx); err != nil {
		out.Ready, out.Store = false, "the database does not answer"
	}
	if s, err := a.store.Schema(ctx); err != nil || s.Current < s.Target {
		out.Ready, out.Schema = false, "run `everthread migrate up`"
	}
	for name, err := range a.Health() {
		out.Channels[name] = "ok"
		if err != nil {
			out.Channels[name] = err.Error()
		}
	}
	return out
}

// isReady reports whether messages can be taken.
func (a *app) isReady(ctx context.Context) bool { return a.readiness(ctx).Ready }

// isOwner reports whether a request brings a session of the owner, or a key of theirs
// that may administer.
func (a *app) isOwner(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		_, err := a.guard.Admit(r, core.CanAdmin)
		return err == nil
	}
	return a.page != nil && a.page.IsOwner(r)
}

// metricsRoutes are what is served on http.metrics_listen.
func (a *app) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics(a.isReady))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		server.WriteError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path+", but /metrics")
	})
	return mux
}
