//go:build e2e

package e2etest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// SlowWay is a proxy to a database that can delay its answers.
type SlowWay struct {
	URL   string
	delay atomic.Int64 // of each answer, in nanoseconds
}

// NewSlowWay returns a proxy to a database without a delay. It ends with the test.
func NewSlowWay(t *testing.T, database string) *SlowWay {
	t.Helper()
	u, err := url.Parse(database)
	Must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	to := u.Host
	u.Host = l.Addr().String()
	w := &SlowWay{URL: u.String()}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { w.carry(c, to) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.delay.Store(0)
		open.Wait()
	})
	return w
}

// Slow sets the delay of each answer.
func (w *SlowWay) Slow(by time.Duration) { w.delay.Store(int64(by)) }

// carry connects a connection with one to the server, until either ends.
func (w *SlowWay) carry(c net.Conn, to string) {
	defer c.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { // ends with the connections
		_, _ = io.Copy(server, c)
		_ = server.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(w.delay.Load())) // the delay
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}
