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

	"github.com/everthread/everthread/core/text"
)

// protocol is the version that is offered first. Servers with newer versions still accept
// it, and some with older ones never answer the request for the versions that they support.
const protocol = "2025-11-25"

const (
	firstWait   = time.Second
	longestWait = 2 * time.Minute
	goodLife    = 30 * time.Second // of a connection, after which the back-off starts over
	mostTools   = 500              // of one server
	pulse       = time.Minute      // between pings of a program
)

var (
	errNotYet = errors.New("it has not been reached yet")
	errGone   = errors.New("the connection ended")
)

// link is the connection to one server, or with OAuth, that of one person.
type link struct {
	client *Client
	server Server
	people *people       // of a server with OAuth; nil for the connection of a person
	access *accessor     // of a person; nil: the server needs none
	main   *link         // of the server, whose tools the client has; nil: this one
	wanted chan struct{} // signals a call without a connection
	http   *http.Client  // of a server with a URL

	mu      sync.Mutex
	session *sdk.ClientSession // nil: none
	over    chan struct{}      // closed when session ends
	why     func() error       // returns the transport's error, if any
	down    error              // why there is no session
	listed  []string           // names in the first list; nil: not listed yet
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

// broke returns why a call failed. It waits a moment for a broken connection to be noticed.
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
	return l.redact(err)
}

// run connects, and reconnects whenever the connection ends, until ctx ends.
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

// complain logs why there is no connection, the first time as a warning.
func (l *link) complain(failures int, err error) {
	log := l.client.Log.Debug
	if failures == 0 {
		log = l.client.Log.Warn
	}
	log("MCP server is away", zap.String("server", l.server.Name), zap.Int("failures", failures+1), zap.Error(err))
}

// pause waits before the next attempt: longer each time, but at most a second once a call needs the server.
func (l *link) pause(ctx context.Context, failures int) {
	d := min(firstWait<<min(failures, 10), longestWait)
	d -= time.Duration(l.client.Rand() * float64(d) / 4)
	wait(ctx, min(d, firstWait), nil)
	wait(ctx, d-firstWait, l.wanted)
}

func wait(ctx context.Context, d time.Duration, wanted <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-time.After(d):
	}
}

// hold connects, and returns why the connection ended.
func (l *link) hold(ctx context.Context) error {
	session, why, err := l.connect(ctx)
	if err != nil {
		return l.redact(err)
	}
	l.set(session, nil)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case <-ctx.Done():
		_ = session.Close() // the error does not matter any more
		err = <-ended
	case err = <-ended:
		_ = session.Close() // it has ended; free the rest
	}
	return l.redact(errors.Join(why(), err, errGone))
}

// connect returns a session whose tools are listed; why returns the transport's later error.
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
		_ = session.Close() // the first error matters
		return nil, nil, fmt.Errorf("list tools: %w", errors.Join(why(), err))
	}
	return session, why, nil
}

func (l *link) options() *sdk.ClientOptions {
	o := &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // we offer nothing to servers
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.logChanged() },
	}
	if l.server.Command != "" {
		o.KeepAlive, o.KeepAliveFailureThreshold = pulse, 2
	}
	return o
}

func (l *link) logChanged() {
	l.client.Log.Info("tools of an MCP server changed; they are taken up at the next start",
		zap.String("server", l.server.Name))
}

// list lists the server's tools. The client adopts those of the first list.
func (l *link) list(ctx context.Context, session *sdk.ClientSession) error {
	all, err := listed(ctx, session)
	if err != nil {
		return err
	}
	if l.main != nil {
		l.main.keep(ctx, all)
		l = l.main
	}
	l.take(all)
	return nil
}

// take reads the list of a server.
func (l *link) take(all []*sdk.Tool) {
	var found []*tool
	names := []string{}
	for _, t := range all {
		names = append(names, t.Name)
		if one, err := newTool(l, t); err != nil {
			l.client.Log.Warn("MCP tool left out", zap.String("server", l.server.Name),
				zap.String("tool", t.Name), zap.Error(err))
		} else {
			found = append(found, one)
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
		l.logChanged()
	default:
		l.client.Log.Info("MCP server is up again", zap.String("server", l.server.Name))
	}
}

// listed returns the tools of a server, each once and at most mostTools. A page that the server gave before, by its
// cursor or because none of its tools is new, ends the list.
func listed(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	var all []*sdk.Tool
	names, cursors := map[string]bool{}, map[string]bool{"": true}
	for p := (&sdk.ListToolsParams{}); ; {
		page, err := session.ListTools(ctx, p)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, t := range page.Tools {
			if !names[t.Name] && len(all) < mostTools {
				names[t.Name] = true
				all = append(all, t)
			}
		}
		if cursors[page.NextCursor] || len(page.Tools) > 0 && len(all) == before {
			return all, nil
		}
		cursors[page.NextCursor] = true
		p.Cursor = page.NextCursor
	}
}

// redact returns an error in one line, without the address and the values of headers and
// variables, which may be secrets.
func (l *link) redact(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		message = strings.ReplaceAll(message, u.URL, "its address")
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
			message = strings.ReplaceAll(message, secret, "[…]")
		}
	}
	return errors.New(cut(text.OneLine(message), 400))
}
