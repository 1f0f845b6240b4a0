package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// protocol is the version that is offered first. Servers that speak newer ones
// still take it, and some that speak older ones never answer the question which
// they know.
const protocol = "2025-11-25"

const (
	firstWait   = time.Second
	longestWait = 2 * time.Minute
	goodLife    = 30 * time.Second // of a connection after which waits begin again
	mostTools   = 500              // of one server
	pulse       = time.Minute      // between looks whether a program still answers
)

var (
	errNotYet = errors.New("it has not been reached yet")
	errGone   = errors.New("the connection ended")
)

// link is the connection to one server.
type link struct {
	client *Client
	server Server
	wanted chan struct{} // a call found no connection
	http   *http.Client  // of a server with an address

	mu      sync.Mutex
	session *sdk.ClientSession // nil: none
	over    chan struct{}      // closed when session ends
	why     func() error       // something broke, as far as the transport knows
	down    error              // why there is none
	listed  []string           // names in the first list; nil: none came yet
}

func (l *link) state() (*sdk.ClientSession, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session, l.down
}

func (l *link) set(session *sdk.ClientSession, down error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		close(l.over)
		l.over = nil
	}
	if session != nil {
		l.over = make(chan struct{})
	}
	l.session, l.down = session, down
}

// broke tells why a call failed. It waits a moment for a connection that broke
// to be known as such.
func (l *link) broke(ctx context.Context, err error) error {
	const moment = 500 * time.Millisecond
	l.mu.Lock()
	over, why := l.over, l.why
	l.mu.Unlock()
	if over != nil {
		wait(ctx, moment, over)
	}
	if session, down := l.state(); session == nil && down != nil {
		return down
	}
	if cause := why(); cause != nil {
		err = cause
	}
	return l.plain(err)
}

// run connects, and again whenever the connection ends, until ctx does.
func (l *link) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		began := l.client.Now()
		err := l.hold(ctx)
		if ctx.Err() != nil {
			break
		}
		if l.client.Now().Sub(began) > goodLife {
			failures = 0
		}
		l.set(nil, err)
		l.complain(failures, err)
		l.pause(ctx, failures)
	}
	l.set(nil, nil)
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
}

// complain logs why there is no connection: the first time for the owner.
func (l *link) complain(failures int, err error) {
	log := l.client.Log.Debug
	if failures == 0 {
		log = l.client.Log.Warn
	}
	log("MCP server is away", zap.String("server", l.server.Name), zap.Int("failures", failures+1), zap.Error(err))
}

// pause waits before the next attempt: longer each time, but no longer than a
// second once a call wants the server.
func (l *link) pause(ctx context.Context, failures int) {
	d := min(firstWait<<min(failures, 10), longestWait)
	d -= time.Duration(l.client.Rand() * float64(d) / 4)
	wait(ctx, min(d, firstWait), nil)
	wait(ctx, d-firstWait, l.wanted)
}

func wait(ctx context.Context, d time.Duration, wanted <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-t.C:
	}
}

// hold connects, takes the tools of a first list and returns why the connection
// ended.
func (l *link) hold(ctx context.Context) error {
	session, why, err := l.connect(ctx)
	if err != nil {
		return l.plain(err)
	}
	l.set(session, nil)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case <-ctx.Done():
		_ = session.Close() // nobody wants to know
		err = <-ended
	case err = <-ended:
		_ = session.Close() // what is left of it
	}
	return l.plain(errors.Join(why(), err, errGone))
}

// connect returns a session whose tools are known, and what tells afterwards
// why something broke.
func (l *link) connect(ctx context.Context) (session *sdk.ClientSession, why func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.client.Connect)
	defer cancel()
	transport, why := l.transport()
	l.mu.Lock()
	l.why = why
	l.mu.Unlock()
	client := sdk.NewClient(&sdk.Implementation{Name: "everthread", Version: l.client.Version}, l.options())
	session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", errors.Join(why(), err))
	}
	if err := l.list(ctx, session); err != nil {
		_ = session.Close() // the other error says more
		return nil, nil, fmt.Errorf("list tools: %w", errors.Join(why(), err))
	}
	return session, why, nil
}

func (l *link) options() *sdk.ClientOptions {
	o := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // we offer nothing to servers
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			l.client.Log.Info("tools of an MCP server changed; they are taken up at the next start",
				zap.String("server", l.server.Name))
		},
	}
	if l.server.Command != "" {
		o.KeepAlive, o.KeepAliveFailureThreshold = pulse, 2
	}
	return o
}

// list takes the tools of the first list that a server gives.
func (l *link) list(ctx context.Context, session *sdk.ClientSession) error {
	var found []*tool
	names := []string{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		names = append(names, t.Name)
		if one, err := newTool(l, t); err != nil {
			l.client.Log.Warn("MCP tool left out", zap.String("server", l.server.Name),
				zap.String("tool", t.Name), zap.Error(err))
		} else {
			found = append(found, one)
		}
		if len(names) == mostTools {
			break
		}
	}
	slices.Sort(names)
	l.mu.Lock()
	before := l.listed
	if before == nil {
		l.listed = names
	}
	l.mu.Unlock()
	switch {
	case before == nil:
		l.client.adopt(l, found)
		l.client.Log.Info("MCP server is up", zap.String("server", l.server.Name), zap.Int("tools", len(names)))
	case !slices.Equal(before, names):
		l.client.Log.Info("tools of an MCP server changed; they are taken up at the next start",
			zap.String("server", l.server.Name))
	default:
		l.client.Log.Info("MCP server is up again", zap.String("server", l.server.Name))
	}
	return nil
}

// plain is an error in one line, without the address and the values of headers
// and variables, which may be secrets.
func (l *link) plain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var u *url.Error
	if errors.As(err, &u) {
		text = strings.ReplaceAll(text, u.URL, "its address")
	}
	secrets := []string{l.server.URL}
	for _, values := range []map[string]string{l.server.Headers, l.server.Env} {
		for _, v := range values {
			if len(v) >= 6 { // shorter ones are words such as true
				secrets = append(secrets, v)
			}
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[…]")
		}
	}
	return errors.New(cut(strings.Join(strings.Fields(text), " "), 400))
}
