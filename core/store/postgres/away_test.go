package postgres_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/storetest"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := server(t)
	storetest.TestMigrate(t, func() storetest.Migrator { return unmigrated(t, schema(t, dsn)) })
}

func TestMigrate_together(t *testing.T) {
	t.Parallel()
	url := schema(t, server(t))
	storetest.TestMigrateTogether(t, unmigrated(t, url), unmigrated(t, url), unmigrated(t, url))
}

func unmigrated(t *testing.T, url string) *postgres.Store {
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url, Conns: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStore_serverIsAway checks that calls fail while the server is away and work afterwards, including wake-ups.
func TestStore_serverIsAway(t *testing.T) {
	t.Parallel()
	p := newProxy(t, server(t))
	s := opened(t, p.through(schema(t, server(t))))
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	wakes := s.Wakes(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx) }()
	p.cut()
	if err := s.Ping(t.Context()); err == nil {
		t.Error("ping while the server is away: got no error")
	}
	if err := enqueue(t.Context(), s, u.ID); err == nil {
		t.Error("enqueue while the server is away: got no error")
	}
	p.mend()
	time.Sleep(1200 * time.Millisecond) // a connection that was idle for a second is checked before its next use
	if err := enqueue(t.Context(), s, u.ID); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	heard(t, s, wakes)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// heard waits until a notification of another connection arrives.
func heard(t *testing.T, s *postgres.Store, wakes <-chan string) {
	late := time.After(20 * time.Second)
	for {
		if _, err := s.DB().ExecContext(t.Context(), `SELECT pg_notify('everthread', 'from afar')`); err != nil {
			t.Fatal(err)
		}
		select {
		case topic := <-wakes:
			if topic == "from afar" {
				return
			}
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatal("Listen did not connect again")
		}
	}
}

// TestStore_serverIsSilent checks that a server that stops answering causes an error before long.
func TestStore_serverIsSilent(t *testing.T) {
	t.Parallel()
	p := newProxy(t, server(t))
	patience := fulltest.Size(2*time.Second, 10*time.Second)
	s := openedWith(t, postgres.Options{URL: p.through(schema(t, server(t))), Conns: 6, Patience: patience})
	u, err := s.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	p.hold(true)
	begin := time.Now()
	var wg sync.WaitGroup
	for _, f := range []func() error{
		func() error { return enqueue(t.Context(), s, u.ID) },
		func() error { return s.Ping(t.Context()) },
		func() error { _, err := s.Backlog(t.Context(), u.ID, 0); return err },
		func() error { _, err := s.Users(t.Context()); return err },
		func() error { _, _, err := s.Acquire(t.Context(), "l", "w", begin, begin); return err },
	} {
		wg.Go(func() {
			if err := f(); err == nil {
				t.Error("got no error")
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took > patience+2*time.Second {
		t.Errorf("it took %s", took)
	}
	p.hold(false)
	p.cut()
	p.mend()
	if err := enqueue(t.Context(), s, u.ID); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func enqueue(ctx context.Context, s *postgres.Store, u core.UserID) error {
	return s.Enqueue(ctx, store.NewJob{User: u, Queue: "q", Key: "k"})
}

// proxy is a TCP proxy between a store and its server.
type proxy struct {
	t      *testing.T
	server string
	l      net.Listener
	mu     sync.Mutex
	away   bool
	silent bool
	conns  []net.Conn
}

func newProxy(t *testing.T, dsn string) *proxy {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, server: u.Host, l: l}
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	go p.accept()
	return p
}

// through returns a URL that leads through the proxy.
func (p *proxy) through(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		p.t.Fatal(err)
	}
	u.Host = p.l.Addr().String()
	return u.String()
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		p.mu.Lock()
		if p.away || err != nil {
			_ = in.Close()
		} else {
			p.conns = append(p.conns, in, out)
			go p.copy(in, out)
			go p.copy(out, in)
		}
		p.mu.Unlock()
	}
}

// copy forwards bytes, or discards them while the proxy is silent.
func (p *proxy) copy(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		if err != nil {
			return
		}
		if silent {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut closes all connections and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

func (p *proxy) hold(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}
