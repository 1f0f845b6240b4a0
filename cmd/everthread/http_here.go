package main

import (
	"net/http"
	"net/netip"

	"github.com/everthread/everthread/core"
)

// forwarding are the headers by which a proxy says that it passes somebody on.
var forwarding = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Server", "X-Real-Ip",
	"X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

// here reports whether a request comes from this machine, and from nobody else
// through a proxy on it.
func here(r *http.Request) bool {
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

// onlyHere lets nobody else in.
func onlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !here(r) {
			writeError(w, http.StatusForbidden, "forbidden", "this is told on the machine itself only; http.metrics_listen gives it an address of its own")
			return
		}
		next.ServeHTTP(w, r)
	})
}

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
	mux.Handle("GET /metrics", a.metrics())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "there is nothing at "+r.URL.Path+", but /metrics")
	})
	return mux
}
