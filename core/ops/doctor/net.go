package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/trust/egress"
)

// Alive asks the server that listens on an address of this machine whether it is alive.
func Alive(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	a, err := get(ctx, "http://"+net.JoinHostPort(host, port)+"/healthz")
	if err != nil {
		return fmt.Errorf("no server answers on %s: %w", listen, server.Cause(err))
	}
	if a.resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server on %s answers %s", listen, a.resp.Status)
	}
	return nil
}

// listening checks that the gateway can listen on its addresses, or does already.
func (e *examination) listening(ctx context.Context) {
	c := e.Config
	running := answersAt(ctx, c.HTTP)
	e.address("http.listen", c.HTTP.Listen, func() (good, wrong string) {
		switch {
		case !running:
			return "", fmt.Sprintf(e.ListenProgram, c.HTTP.Listen)
		case c.DatabaseURL == "" && !datadir.Served(c.DataDir):
			return "", fmt.Sprintf(e.ListenOther, c.DataDir, c.HTTP.Listen)
		}
		return fmt.Sprintf(e.ListenRuns, c.HTTP.Listen), ""
	})
	if at := c.HTTP.MetricsListen; at != "" {
		e.address("http.metrics_listen", at, func() (good, wrong string) {
			if !running {
				return "", fmt.Sprintf(e.ListenProgram, at)
			}
			return fmt.Sprintf(e.ListenMetrics, at), ""
		})
	}
}

// address tries to listen on an address. taken says what it means that the address is in use.
func (e *examination) address(key, address string, taken func() (good, wrong string)) {
	ln, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		e.verdict(key, ln.Close(), e.ListenFree, address)
	case errors.Is(err, syscall.EADDRINUSE):
		good, wrong := taken()
		if wrong == "" {
			e.fine(key, "%s", good)
			return
		}
		said := fmt.Sprintf(e.ListenStop, wrong, key)
		if other := server.FreeNear(address); other != "" {
			said += fmt.Sprintf(e.ListenSuch, other)
		}
		e.problem(key, "%s", said)
	case errors.Is(err, syscall.EACCES):
		e.problem(key, e.ListenDenied, address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.problem(key, e.ListenForeign, address)
	default:
		e.problem(key, e.ListenFails, address, server.Cause(err))
	}
}

// answersAt reports whether an everthread answers where this one listens.
func answersAt(ctx context.Context, h configs.HTTP) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var said struct{ Ready *bool }
	a, err := get(ctx, h.At(h.Listen)+"/readyz")
	return err == nil && json.Unmarshal(a.body, &said) == nil && said.Ready != nil
}

// public looks up the name by which others reach the gateway.
func (e *examination) public(ctx context.Context) {
	u, err := url.Parse(e.Config.HTTP.PublicURL)
	if err != nil {
		return // reported with the configuration
	}
	name := u.Hostname()
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return
	}
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		if missing, ok := errors.AsType[*net.DNSError](err); ok {
			err = errors.New(missing.Err)
		}
		e.problem("http.public_url", e.NameUnknown, name, err)
		return
	}
	e.fine("http.public_url", e.NameIs, name, strings.Join(found, ", "))
}

// answer is a response with its body.
type answer struct {
	resp *http.Response
	body []byte
}

// get fetches an address that the operator wrote. Errors do not repeat it, for it may hold a token.
func get(ctx context.Context, address string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, errors.New("the address is wrong")
	}
	req.Close = true
	resp, err := (*egress.Gate)(nil).Client(address).Do(req)
	if err != nil {
		return answer{}, channel.Clean(err, "")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp, body}, err
}
