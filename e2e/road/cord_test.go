//go:build e2e

package road

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// cord is a connection to a server that can be unplugged and plugged in again.
type cord struct {
	t       *testing.T
	address string
	target  string

	mu    sync.Mutex
	ln    net.Listener
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// newCord returns a cord to target, an address.
func newCord(t *testing.T, target string) *cord {
	t.Helper()
	c := &cord{t: t, address: "127.0.0.1:0", target: target, conns: map[net.Conn]bool{}}
	c.plug()
	t.Cleanup(func() { c.pull(); c.work.Wait() })
	return c
}

// plug accepts connections.
func (c *cord) plug() {
	c.t.Helper()
	ln, err := net.Listen("tcp", c.address)
	e2etest.Must(c.t, err)
	c.mu.Lock()
	c.ln, c.address = ln, ln.Addr().String()
	c.mu.Unlock()
	c.work.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.work.Go(func() { c.lead(conn) })
		}
	})
}

// pull cuts all connections; new ones are refused.
func (c *cord) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ln.Close()
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cord) lead(in net.Conn) {
	out, err := net.Dial("tcp", c.target)
	if err != nil {
		_ = in.Close()
		return
	}
	c.mu.Lock()
	c.conns[in], c.conns[out] = true, true
	c.mu.Unlock()
	var both sync.WaitGroup
	for _, p := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(p[0], p[1])
			_, _ = in.Close(), out.Close()
		})
	}
	both.Wait()
	c.mu.Lock()
	delete(c.conns, in)
	delete(c.conns, out)
	c.mu.Unlock()
}

// through returns a URL with the cord's address in place of its host.
func (c *cord) through(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	e2etest.Must(t, err)
	u.Host = c.address
	return u.String()
}

// moody is a model that fails its next requests, and otherwise is the shared emulator.
type moody struct {
	*httptest.Server
	mu      sync.Mutex
	due     []http.HandlerFunc
	forever http.HandlerFunc
	asked   int
}

func newMoody(t *testing.T) *moody {
	t.Helper()
	target, err := url.Parse(e2etest.Common.URL(t))
	e2etest.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	m := &moody{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := m.next(); f != nil {
			f(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

func (m *moody) next() http.HandlerFunc {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if len(m.due) == 0 {
		return m.forever
	}
	f := m.due[0]
	m.due = m.due[1:]
	return f
}

// trouble passes the next n requests to f; 0: all from now on, until it is called with
// nil.
func (m *moody) trouble(n int, f http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n == 0 {
		m.forever = f
	}
	for range n {
		m.due = append(m.due, f)
	}
}

// requests returns the number of requests.
func (m *moody) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}
