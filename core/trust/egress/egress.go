// Package egress dials every connection that a user or a model can cause, by one policy (docs/security.md).
//
// An address that the operator configured may be reached, host and port. Every other address, redirects included, must
// be public: the check is on the dialled address, so that DNS rebinding does not help. Connections for a user, see For,
// count against the user's daily allowance.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Why a connection is refused.
var (
	ErrPrivate  = errors.New("this address is inside a private network, which is not allowed here; use a public address, or have the operator allow it with allow_private_urls")
	ErrUnlisted = errors.New(
		"this host is not among those that may be reached; the operator can add it to egress.allow_hosts")
)

// Options are a policy. The zero value allows every public host.
type Options struct {
	// AllowHosts are the only hosts that may be reached besides configured addresses:
	// example.org, *.example.org, or with a port, which may then be private, too. Empty: all.
	AllowHosts   []string
	AllowPrivate bool

	// PerDay is a user's daily allowance; 0: no limit. With a limit Meter, Day and Now are required.
	PerDay store.Egress
	Meter  Meter
	// Day returns a user's current day.
	Day func(ctx context.Context, user core.UserID) (core.Day, error)
	Now func() time.Time

	Resolver *net.Resolver // nil: the system's
}

// Gate enforces a policy. It is safe for concurrent use. Nil enforces that of the zero Options.
type Gate struct {
	Options
	accounts accounts
}

// New returns a gate.
func New(o Options) *Gate {
	return &Gate{Options: o, accounts: accounts{of: map[core.UserID]*account{}}}
}

type userKey struct{}

// For returns a context whose requests count as a user's.
func For(ctx context.Context, user core.UserID) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// Client returns a client that reaches the addresses (URLs) in written, which the operator configured or which are our
// own, and all others by the policy. It uses the environment's proxy only for written addresses, because a proxy
// resolves names itself. The client has no timeout of its own and keeps connections for many concurrent calls.
func (g *Gate) Client(written ...string) *http.Client {
	if g == nil {
		g = New(Options{})
	}
	w := &way{gate: g, written: map[string]bool{}, free: transport(), guarded: transport()}
	for _, address := range written {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			w.written[place(u)] = true
		}
	}
	dialer := &net.Dialer{Timeout: dialTime, Resolver: g.Resolver}
	w.free.DialContext = dialer.DialContext
	w.free.Proxy = http.ProxyFromEnvironment
	checked := *dialer
	checked.Control = onlyPublic
	w.guarded.DialContext = checked.DialContext
	return &http.Client{Transport: w}
}

// Dial returns a function that connects to the places in written (host:port), which the operator configured, and to all
// others by the policy. What is read counts as that of the user of its context.
func (g *Gate) Dial(written ...string) func(ctx context.Context, network, address string) (net.Conn, error) {
	if g == nil {
		g = New(Options{})
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := &net.Dialer{Timeout: dialTime, Resolver: g.Resolver}
		if !slices.Contains(written, address) {
			u := &url.URL{Host: address}
			listed, named := g.listed(u, place(u))
			switch {
			case len(g.AllowHosts) > 0 && !listed:
				return nil, ErrUnlisted
			case !named && !g.AllowPrivate:
				dialer.Control = onlyPublic
			}
		}
		user, _ := ctx.Value(userKey{}).(core.UserID)
		counted := user != 0 && g.PerDay != (store.Egress{})
		if counted {
			if err := g.take(ctx, user, store.Egress{Calls: 1}); err != nil {
				return nil, err
			}
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil || !counted {
			return conn, err
		}
		count := func(n int) error { return g.take(ctx, user, store.Egress{Bytes: int64(n)}) }
		return &countingConn{conn, counting{ReadCloser: conn, count: count}}, nil
	}
}

// countingConn is a connection that counts what is read.
type countingConn struct {
	net.Conn
	in counting
}

// Read fails when the allowance is used up.
func (c *countingConn) Read(p []byte) (int, error) { return c.in.Read(p) }

const dialTime = 15 * time.Second

// transport returns a transport that keeps enough connections for many concurrent calls of
// one server, and sends the request of a usual prompt with one write.
func transport() *http.Transport {
	return &http.Transport{ForceAttemptHTTP2: true, MaxIdleConns: 512, MaxIdleConnsPerHost: 128,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, WriteBufferSize: 32 << 10}
}

// onlyPublic refuses to dial an address that is not public.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read address: %w", err)
	}
	if !Public(at.Addr()) {
		return ErrPrivate
	}
	return nil
}

// way is the transport of a client.
type way struct {
	gate          *Gate
	written       map[string]bool
	free, guarded *http.Transport
}

// RoundTrip sends a request. Each hop of a redirect is a request of its own.
func (w *way) RoundTrip(req *http.Request) (*http.Response, error) {
	next, err := w.choose(req.URL)
	user, _ := req.Context().Value(userKey{}).(core.UserID)
	counted := err == nil && user != 0 && w.gate.PerDay != (store.Egress{})
	if counted {
		err = w.gate.take(req.Context(), user, store.Egress{Calls: 1, Bytes: max(0, req.ContentLength)})
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it was not read
		}
		return nil, err
	}
	count := func(n int) error {
		return w.gate.take(req.Context(), user, store.Egress{Bytes: int64(n)})
	}
	if counted && req.ContentLength <= 0 && req.Body != nil && req.Body != http.NoBody { // of unknown length
		req = req.Clone(req.Context())
		req.Body = &counting{ReadCloser: req.Body, count: count}
	}
	resp, err := next.RoundTrip(req)
	if err == nil && counted {
		resp.Body = &counting{ReadCloser: resp.Body, count: count}
	}
	return resp, err
}

// choose returns the transport for an address.
func (w *way) choose(u *url.URL) (*http.Transport, error) {
	at := place(u)
	if w.written[at] {
		return w.free, nil
	}
	listed, named := w.gate.listed(u, at)
	switch {
	case len(w.gate.AllowHosts) > 0 && !listed:
		return nil, ErrUnlisted
	case named || w.gate.AllowPrivate:
		return w.free, nil
	}
	return w.guarded, nil
}

// CloseIdleConnections closes idle connections.
func (w *way) CloseIdleConnections() {
	w.free.CloseIdleConnections()
	w.guarded.CloseIdleConnections()
}

// listed reports whether an address is on the list, and whether with its port.
func (g *Gate) listed(u *url.URL, at string) (listed, withPort bool) {
	host := strings.ToLower(u.Hostname())
	for _, entry := range g.AllowHosts {
		entry = strings.ToLower(entry)
		switch {
		case entry == at:
			return true, true
		case strings.Trim(entry, "[]") == host, strings.HasPrefix(entry, "*.") && strings.HasSuffix(host, entry[1:]):
			listed = true
		}
	}
	return listed, false
}

// place returns the host and port of an address.
func place(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// counting is a body that counts its bytes.
type counting struct {
	io.ReadCloser
	count func(n int) error
}

// Read fails when the allowance is used up.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		if over := c.count(n); over != nil {
			return 0, over
		}
	}
	return n, err
}

// special lists networks that have no public hosts, or whose addresses embed another one,
// besides those that netip knows.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata of a cloud
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// Public reports whether an address is one that anybody can reach.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
