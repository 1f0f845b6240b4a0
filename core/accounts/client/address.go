package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Account is the account in the addresses of all programs.
const Account = "local"

// People is the part of a store that Join uses.
type People interface {
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error)
	MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error
}

// Address returns the address of a key's program on a channel. Each key has its own.
func (c Caller) Address(channel string) core.Address {
	return core.Address{Channel: channel, Account: Account, External: ofKey + strconv.FormatInt(c.Key.ID, 10)}
}

// ofKey begins the address of a key.
const ofKey = "key-"

// KeyOf returns the key of an address, if it has one.
func KeyOf(a core.Address) (id int64, ok bool) {
	number, ok := strings.CutPrefix(a.External, ofKey)
	if !ok || a.Account != Account {
		return 0, false
	}
	id, err := strconv.ParseInt(number, 10, 64)
	return id, err == nil
}

// Join returns the identity of a program on a channel, and creates it at its first message. The identity always belongs
// to the key's user: if it was moved to another user, it is moved back, without its messages.
func Join(ctx context.Context, p People, c Caller, channel string, now time.Time) (core.Identity, error) {
	a := c.Address(channel)
	i, _, err := p.Identify(ctx, a)
	if errors.Is(err, core.ErrNotFound) {
		_, err = p.AddIdentity(ctx, core.Identity{User: c.User.ID, Address: a, Name: c.Key.Name, LastUsed: now})
		if err == nil || errors.Is(err, core.ErrExists) {
			i, _, err = p.Identify(ctx, a)
		}
	}
	if err == nil && i.User != c.User.ID {
		if err = p.MoveIdentity(ctx, i, c.User.ID); err == nil {
			i, _, err = p.Identify(ctx, a)
		}
	}
	if err == nil && i.User != c.User.ID {
		err = core.ErrChanged
	}
	if err != nil {
		return core.Identity{}, fmt.Errorf("find the program's identity: %w", err)
	}
	return i, nil
}

// Threads is the part of a store that Place uses.
type Threads interface {
	// Thread returns a thread; 0: the continuous one.
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	// ThreadNamed returns the plain thread that a client calls name, and creates it if needed.
	ThreadNamed(ctx context.Context, user core.UserID, name string, now time.Time) (core.Thread, error)
}

// Place puts messages into the plain thread with a name, or without a name into the continuous thread, and returns that
// thread (0: the continuous one). A program chooses the thread with each message; /thread does not apply to it.
func Place(ctx context.Context, s Threads, i core.Identity, name string, in []core.Inbound,
	now time.Time) (core.ThreadID, error) {
	if name == "" && i.Thread == 0 {
		return 0, nil
	}
	find := func() (core.Thread, error) { return s.Thread(ctx, i.User, 0) }
	if name != "" {
		find = func() (core.Thread, error) { return s.ThreadNamed(ctx, i.User, name, now) }
	}
	t, err := find()
	if err != nil {
		return 0, fmt.Errorf("find the thread: %w", err)
	}
	for n := range in {
		in[n].Thread = t.ID
	}
	return t.ID, nil
}

// Proxies are the addresses and networks whose X-Forwarded headers are trusted.
type Proxies []netip.Prefix

// ParseProxies parses addresses, and networks such as 10.0.0.0/8.
func ParseProxies(all []string) (Proxies, error) {
	var out Proxies
	for _, s := range all {
		p, err := netip.ParsePrefix(s)
		if a, bad := netip.ParseAddr(s); bad == nil {
			p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func (p Proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Origin returns the origin of a request: the address of its connection or, if that is a
// proxy, the last address of X-Forwarded-For that is none.
func (p Proxies) Origin(r *http.Request) netip.Addr {
	at := peer(r)
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(chain) {
		a, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !p.trusts(at) {
			break
		}
		at = a.Unmap().WithZone("")
	}
	return at
}

// Forwards reports whether a request comes through a proxy.
func (p Proxies) Forwards(r *http.Request) bool { return p.trusts(peer(r)) }

// Root returns the path below which the client of a request reaches this server, without a slash at its end: the one
// that a proxy has removed and names (X-Forwarded-Prefix, or X-Ingress-Path of Home Assistant), or else that of public,
// the public URL.
func (p Proxies) Root(r *http.Request, public *url.URL) string {
	root := public.Path
	if p.Forwards(r) {
		named, _, _ := strings.Cut(cmp.Or(r.Header.Get("X-Ingress-Path"), r.Header.Get("X-Forwarded-Prefix"), root), ",")
		if plainPath().MatchString(named) {
			root = named
		}
	}
	return strings.TrimRight(root, "/")
}

// plainPath matches paths that mean the same in a header, in HTML and in a cookie.
var plainPath = text.Pattern(`^(/[A-Za-z0-9._~-]+)*/?$`)

// Framed reports whether a request comes through the ingress of Home Assistant, which shows pages in a frame of its own.
func (p Proxies) Framed(r *http.Request) bool {
	return p.Forwards(r) && r.Header.Get("X-Ingress-Path") != ""
}

// Host returns the host that the client of a request has named.
func (p Proxies) Host(r *http.Request) string {
	if p.Forwards(r) {
		return cmp.Or(r.Header.Get("X-Forwarded-Host"), r.Host)
	}
	return r.Host
}

// peer returns the address of a request's connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, _ := netip.ParseAddr(host)
	return a.Unmap().WithZone("")
}
