//go:build e2e

package e2etest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

// Relay is the network between browsers and a gateway, which can be cut.
type Relay struct {
	URL string

	mu    sync.Mutex
	to    string // of the gateway, or of the proxy before it
	gate  string // of the gateway
	proxy string // empty: none
	state relayState
	open  map[net.Conn]bool
}

type relayState int

// States of a Relay.
const (
	Whole relayState = iota
	Cut              // nothing passes
	Mute             // requests pass, answers do not
)

// NewRelay relays to the gateway.
func (g *Gateway) NewRelay(t *testing.T) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	r := &Relay{URL: "http://" + l.Addr().String(), open: map[net.Conn]bool{}}
	r.To(g)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(c)
		}
	}()
	return r
}

// To relays to another gateway from now on.
func (r *Relay) To(g *Gateway) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = strings.TrimPrefix(g.URL, "http://")
	if r.proxy == "" {
		r.to = r.gate
	}
}

// dashboard shows the page below ROOT in a frame, under a bar of its own.
const dashboard = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Dashboard</title>
<style>body { margin: 0; display: flex; flex-direction: column; height: 100vh; font: 20px/56px sans-serif; color: #fff; background: #03a9f4 }
header { padding: 0 16px } header::before { content: "☰"; margin-right: 24px } iframe { flex: 1; border: 0 }</style>
<header>Everthread</header><iframe src="ROOT/"></iframe>`

// Below serves the gateway only below a path, as Home Assistant's ingress does: it removes the path and names it in a
// header. /dashboard shows the gateway's page in a frame.
func (r *Relay) Below(t *testing.T, root string) {
	t.Helper()
	site := http.NewServeMux()
	site.HandleFunc("GET /dashboard", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Replace(dashboard, "ROOT", root, 1))
	})
	site.Handle(root+"/", http.StripPrefix(root, &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		r.mu.Lock()
		defer r.mu.Unlock()
		p.Out.URL.Scheme, p.Out.URL.Host = "http", r.gate
		p.SetXForwarded()
		p.Out.Header.Set("X-Ingress-Path", root)
	}}))
	s := httptest.NewServer(site)
	t.Cleanup(func() {
		s.CloseClientConnections() // a page that is still open has a stream
		s.Close()
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proxy = s.Listener.Addr().String()
	r.to = r.proxy
}

// Set sets the state, and closes open connections.
func (r *Relay) Set(s relayState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
	for c := range r.open {
		_ = c.Close()
	}
}

// enter registers a connection, and returns where it leads; empty: nothing passes.
func (r *Relay) enter(c net.Conn) (string, relayState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Cut {
		return "", r.state
	}
	r.open[c] = true
	return r.to, r.state
}

func (r *Relay) pass(browser net.Conn) {
	defer browser.Close()
	to, state := r.enter(browser)
	if to == "" {
		return
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, browser)
	}()
	gateway, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer gateway.Close()
	go func() {
		_, _ = io.Copy(gateway, browser) // until one of them ends
		_ = gateway.Close()
	}()
	if state == Mute {
		_, _ = gateway.Read(make([]byte, 1)) // it has received the request
		return
	}
	_, _ = io.Copy(browser, gateway)
}
