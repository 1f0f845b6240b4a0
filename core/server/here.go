package server

import (
	"net/http"
	"net/netip"
)

// forwarding are the headers of forwarded requests.
var forwarding = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	"X-Forwarded-Server", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

// Here reports whether a request comes from this machine itself, not through a proxy on
// it.
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
