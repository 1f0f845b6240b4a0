package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/everthread/everthread/core"
)

// routes are everything that is served over HTTP (SPEC 15).
func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", a.ready)
	if a.Config.HTTP.MetricsListen == "" {
		mux.Handle("GET /metrics", onlyHere(a.metrics()))
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
		writeError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path)
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
	if !here(r) && !a.isOwner(r) {
		out = readiness{Ready: out.Ready}
	}
	writeJSON(w, status, out)
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
	for name, err := range a.health() {
		out.Channels[name] = "ok"
		if err != nil {
			out.Channels[name] = err.Error()
		}
	}
	return out
}

// health says of every channel what is wrong with it, or nil; of one
// with many accounts one by one.
func (a *app) health() map[string]error {
	out := map[string]error{}
	for name, ch := range a.Channels {
		if accounts, ok := ch.(core.AccountChecker); ok {
			for account, err := range accounts.CheckAccounts() {
				out[name+":"+account] = err
			}
			continue
		}
		out[name] = nil
		if c, ok := ch.(core.Checker); ok {
			out[name] = c.Check()
		}
	}
	return out
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: there is nobody to tell
}

// writeError answers as SPEC 15 wants errors.
func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
