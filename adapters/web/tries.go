package web

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// tries limits failed sign-ins per minute.
type tries struct {
	limits Limits
	now    func() time.Time

	mu    sync.Mutex
	since time.Time // start of the current minute
	all   int
	by    map[netip.Addr]int
}

func newTries(l Limits, now func() time.Time) *tries {
	return &tries{limits: l, now: now, by: map[netip.Addr]int{}}
}

// take counts a try, or returns how long to wait if there were too many.
func (t *tries) take(from netip.Addr) time.Duration {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= time.Minute || now.Before(t.since) {
		t.since, t.all = now, 0
		clear(t.by)
	}
	if t.all >= t.limits.SignIns || t.by[from] >= t.limits.SignInsPerAddress {
		return t.since.Add(time.Minute).Sub(now)
	}
	t.all++
	t.by[from]++
	return 0
}

// remote returns the address of a request's connection.
func (v *Visit) remote() netip.Addr {
	host, _, err := net.SplitHostPort(v.R.RemoteAddr)
	if err != nil {
		host = v.R.RemoteAddr
	}
	a, _ := netip.ParseAddr(host)
	return a.Unmap().WithZone("")
}

func (c *Channel) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// client returns the visitor's address: the last one in X-Forwarded-For that is not a
// trusted proxy, if a trusted proxy sent the header. An IPv6 client is its /64.
func (v *Visit) client() netip.Addr {
	at := v.remote()
	chain := strings.Split(strings.Join(v.R.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(chain) - 1; i >= 0 && v.channel.trusts(at); i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(chain[i]))
		if err != nil {
			break
		}
		at = a.Unmap().WithZone("")
	}
	if at.Is6() {
		if p, err := at.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return at
}
