//go:build e2e

package e2etest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Relay is the network between browsers and a gateway, which can be cut.
type Relay struct {
	URL string

	to    string
	mu    sync.Mutex
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
	r := &Relay{URL: "http://" + l.Addr().String(), to: strings.TrimPrefix(g.URL, "http://"), open: map[net.Conn]bool{}}
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

// Set sets the state, and closes open connections.
func (r *Relay) Set(s relayState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
	for c := range r.open {
		_ = c.Close()
	}
}

// enter registers a connection; false: nothing passes.
func (r *Relay) enter(c net.Conn) (relayState, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Cut {
		return r.state, false
	}
	r.open[c] = true
	return r.state, true
}

func (r *Relay) pass(browser net.Conn) {
	defer browser.Close()
	state, ok := r.enter(browser)
	if !ok {
		return
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, browser)
	}()
	gateway, err := net.Dial("tcp", r.to)
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
