package embed

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivate is why an address is refused that leads to this machine or its network.
var ErrPrivate = errors.New("embeddings.base_url leads into a private network, which is not allowed here; use a public address, or set allow_private_urls")

// publicOnly makes a transport refuse addresses of this machine and of private
// networks. It looks at what a name resolved to, at the moment of dialling, so
// no name that changes its mind gets through. A proxy is not used: it would
// resolve the name itself.
func publicOnly(t *http.Transport) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("read address: %w", err)
		}
		if !public(at.Addr()) {
			return ErrPrivate
		}
		return nil
	}}
	t.Proxy, t.DialContext = nil, dialer.DialContext
}

// special are the networks that lead to no public host, or to another address
// inside them, beside those that netip knows.
func special() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// public tells whether an address is one that anybody can reach.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
