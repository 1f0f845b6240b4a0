package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/egress"
)

func TestPublic_addresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "172.32.0.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "192.0.0.8": false,
		"198.18.0.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false,
		"::127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:100.64.0.1": false, "fe80::1": false,
		"fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "fec0::1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false,
	} {
		if got := egress.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}

// server starts a server that counts its requests.
func server(t *testing.T, h http.HandlerFunc) (url string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, reached
}

// get returns the body of an address.
func get(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func refused(t *testing.T, c *http.Client, url string, want error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := get(ctx, c, url); !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", url, err, want)
	}
}

// TestAttack_privateAddresses tries to reach this machine by many forms of its addresses.
func TestAttack_privateAddresses(t *testing.T) {
	t.Parallel()
	url, reached := server(t, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	var gate *egress.Gate
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:127.0.0.1]", "0.0.0.0", "[::]", "[::127.0.0.1]", "127.1.2.3", "[64:ff9b::7f00:1]"} {
		for _, user := range []string{"", "example.org@", "a:b@"} {
			refused(t, gate.Client(), "http://"+user+host+":"+port+"/", egress.ErrPrivate)
			refused(t, gate.Client("http://127.0.0.1:1", "http://example.org:"+port), "http://"+user+host+":"+port+
				"/", egress.ErrPrivate)
		}
	}
	for _, host := range []string{"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "[fd00:ec2::254]",
		"10.0.0.1", "192.168.0.1", "172.31.255.1"} {
		refused(t, gate.Client(), "http://"+host+"/latest/meta-data/", egress.ErrPrivate)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
}

func TestGate_configuredAddressIsReached(t *testing.T) {
	t.Parallel()
	other, reached := server(t, nil)
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other, http.StatusFound)
		}
	})
	c := (*egress.Gate)(nil).Client(url)
	if _, err := get(t.Context(), c, url+"/x"); err != nil {
		t.Fatal(err)
	}
	refused(t, c, url+"/away",
		egress.ErrPrivate) // each hop is checked
	refused(t, c, strings.Replace(url, "127.0.0.1", "localhost", 1),
		egress.ErrPrivate) // this form was not configured
	refused(t, (*egress.Gate)(nil).Client(other), url,
		egress.ErrPrivate) // nor was this port
	refused(t, egress.New(egress.Options{AllowHosts: []string{"127.0.0.1"}}).Client(), url,
		egress.ErrPrivate) // a listed host must be public
	if n := reached.Load(); n != 0 {
		t.Errorf("the other server was reached %d times", n)
	}
	for name, o := range map[string]egress.Options{
		"allow_private_urls": {AllowPrivate: true},
		"with its port":      {AllowHosts: []string{strings.TrimPrefix(url, "http://")}},
	} {
		if _, err := get(t.Context(), egress.New(o).Client(), url+"/x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClient_onlyListedHosts(t *testing.T) {
	t.Parallel()
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	})
	g := egress.New(egress.Options{AllowHosts: []string{"API.example.org", "*.example.net", "[2606:4700::1]"},
		AllowPrivate: true, Resolver: nowhere()})
	for host, listed := range map[string]bool{
		"api.example.org": true, "api.example.org:8443": true, "a.example.net": true, "a.b.EXAMPLE.net": true,
		"example.org": false, "example.net": false, "xexample.net": false, "api.example.org.evil.example": false,
		"8.8.8.8": false, "127.0.0.1:1": false,
	} {
		_, err := get(t.Context(), g.Client(), "http://"+host+"/")
		if errors.Is(err, egress.ErrUnlisted) == listed {
			t.Errorf("%s: %v", host, err)
		}
	}
	refused(t, g.Client(url), url, egress.ErrUnlisted) // where the configured address redirects to
}

// nowhere returns a resolver that resolves no name.
func nowhere() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil,
			errors.New("no name server")
	}}
}

// TestAttack_rebinding resolves a name first to a public address, then to a private one: the dialled
// address is checked.
func TestAttack_rebinding(t *testing.T) {
	t.Parallel()
	url, reached := server(t, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	names := newNames(t)
	c := egress.New(egress.Options{Resolver: names.resolver()}).Client()
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // the public address never answers
		_, err := get(ctx, c, "http://rebind.example:"+port+"/")
		cancel()
		if err == nil {
			t.Fatal("the address was reached")
		}
	}
	refused(t, c, "http://rebind.example:"+port+"/", egress.ErrPrivate)
	refused(t, c, "http://both.example:"+port+"/", egress.ErrPrivate)
	if n := reached.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
	if names.asked.Load() < 3 {
		t.Error("the name server was not asked")
	}
}

// names is a name server. rebind.example is 192.0.2.1 once, then 127.0.0.1; both.example is ::1 and
// 127.0.0.1.
type names struct {
	address string
	asked   atomic.Int32
}

func newNames(t *testing.T) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{address: conn.LocalAddr().String()}
	var done sync.WaitGroup
	done.Go(func() {
		for buf := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) == nil {
				out, err := n.answer(m)
				if err != nil {
					t.Error(err)
				}
				_, _ = conn.WriteTo(out, from)
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); done.Wait() })
	return n
}

func (n *names) answer(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	switch {
	case q.Type == dnsmessage.TypeA && q.Name.String() == "rebind.example." && n.asked.Add(1) == 1:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}}}
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
	case q.Type == dnsmessage.TypeAAAA && q.Name.String() == "both.example.":
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: netip.IPv6Loopback().As16()}}}
	}
	return m.Pack()
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", n.address)
	}}
}

// meter is an in-memory store of used calls and bytes.
type meter struct {
	mu    sync.Mutex
	used  map[string]store.Egress
	takes int
}

func (m *meter) TakeEgress(_ context.Context, user core.UserID, day string, want,
	most store.Egress) (store.Egress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := string(rune('0'+user)) + day
	u := m.used[key]
	within := func(want, used, most int64) int64 {
		if most > 0 && want > 0 {
			return max(0, min(want, most-used))
		}
		return max(want, -used)
	}
	got := store.Egress{Calls: within(want.Calls, u.Calls, most.Calls), Bytes: within(want.Bytes, u.Bytes, most.Bytes)}
	m.used[key] = store.Egress{Calls: u.Calls + got.Calls, Bytes: u.Bytes + got.Bytes}
	m.takes++
	return got, nil
}

// clock is set by the test.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time { return time.Unix(c.now.Load(), 0).UTC() }

func limited(most store.Egress) (*egress.Gate, *meter, *clock) {
	m, c := &meter{used: map[string]store.Egress{}}, &clock{}
	c.now.Store(1_800_000_000)
	return egress.New(egress.Options{PerDay: most, Meter: m, Now: c.Now,
		Day: func(context.Context, core.UserID) (core.Day, error) {
			start := c.Now().Truncate(24 * time.Hour)
			return core.Day{Label: start.Format(time.DateOnly), Start: start, End: start.Add(24 * time.Hour)}, nil
		}}), m, c
}

func TestClient_callsOfADay(t *testing.T) {
	t.Parallel()
	url, reached := server(t, nil)
	g, m, at := limited(store.Egress{Calls: 200})
	c := g.Client(url)
	var over atomic.Int32
	var all sync.WaitGroup
	for range 300 { // concurrently
		all.Go(func() {
			var spent *egress.QuotaError
			if _, err := get(egress.For(t.Context(), 1), c, url); errors.As(err, &spent) {
				over.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if reached.Load() != 200 || over.Load() != 100 {
		t.Errorf("%d calls were made and %d refused, want 200 and 100", reached.Load(), over.Load())
	}
	if m.takes > 60 {
		t.Errorf("200 calls took %d writes, want at most 60", m.takes)
	}
	_, err := get(egress.For(t.Context(), 1), c, url)
	if err == nil ||
		!strings.Contains(err.Error(), "goes on at 00:00 UTC, and the operator can raise egress.calls_per_day") {
		t.Errorf("got %v", err)
	}
	if _, err := get(egress.For(t.Context(), 2), c, url); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := get(t.Context(), c, url); err != nil {
		t.Errorf("no user: %v", err)
	}
	at.now.Add(24 * 3600)
	if _, err := get(egress.For(t.Context(), 1), c, url); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

func TestClient_bytesOfADay(t *testing.T) {
	t.Parallel()
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 40_000))
	})
	g, m, at := limited(store.Egress{Bytes: 100_000})
	c := g.Client(url)
	ctx := egress.For(t.Context(), 1)
	for range 2 {
		if body, err := get(ctx, c, url); err != nil || len(body) != 40_000 {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
	}
	var spent *egress.QuotaError
	if _, err := get(ctx, c, url); !errors.As(err, &spent) || spent.Key != "egress.bytes_per_day" {
		t.Errorf("the third response: got %v", err)
	}
	at.now.Add(24 * 3600)
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", 100_001)),
		io.LimitReader(strings.NewReader(strings.Repeat("x", 100_001)), 100_001)} {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
		if _, err := c.Do(req); !errors.As(err, &spent) {
			t.Errorf("a request of too many bytes: got %v", err)
		}
	}
	for key, used := range m.used {
		if used.Bytes > 100_000 {
			t.Errorf("%s: %d bytes", key, used.Bytes)
		}
	}
}

func TestSettle_returnsWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("12345")) })
	g, m, _ := limited(store.Egress{Calls: 1000, Bytes: 1000})
	for range 3 {
		if _, err := get(egress.For(t.Context(), 1), g.Client(url), url); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.used) != 1 {
		t.Errorf("got %+v, want the use of one user's day", m.used)
	}
	for _, used := range m.used {
		if used != (store.Egress{Calls: 3, Bytes: 15}) {
			t.Errorf("got %+v", used)
		}
	}
}

func TestDial_keepsToThePolicy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	}()
	place := l.Addr().String()
	dial := func(g *egress.Gate, written ...string) error {
		c, err := g.Dial(written...)(t.Context(), "tcp", place)
		if err != nil {
			return err
		}
		defer c.Close()
		said, err := io.ReadAll(c)
		if err == nil && string(said) != "hello" {
			t.Errorf("read %q", said)
		}
		return err
	}
	for name, tt := range map[string]struct {
		gate    *egress.Gate
		written []string
		want    error
	}{
		"as written":           {nil, []string{place}, nil},
		"another port":         {nil, []string{"127.0.0.1:1"}, egress.ErrPrivate},
		"private":              {nil, nil, egress.ErrPrivate},
		"private, allowed":     {egress.New(egress.Options{AllowPrivate: true}), nil, nil},
		"listed with its port": {egress.New(egress.Options{AllowHosts: []string{place}}), nil, nil},
		"not listed":           {egress.New(egress.Options{AllowHosts: []string{"example.org"}}), nil, egress.ErrUnlisted},
	} {
		if err := dial(tt.gate, tt.written...); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}
