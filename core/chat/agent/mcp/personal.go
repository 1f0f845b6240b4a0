package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

const (
	lookEvery  = 3 * time.Second // for the list that another process has kept
	learnEvery = time.Minute     // between attempts to list the tools of a server
)

// people are the connections of a server with OAuth, one for each person who uses it.
type people struct {
	mu      sync.Mutex
	of      map[core.UserID]*person
	ctx     context.Context // of run; nil: it does not run
	work    sync.WaitGroup  // what must end before run does
	looked  bool            // the kept list was read
	learned time.Time       // of the last attempt
}

// person is the connection of one person.
type person struct {
	*link
	grant int64 // with which it was made

	connecting sync.Mutex
	users      int // calls under way, and used when the last ended; of people.mu
	used       time.Time
}

// known reports whether the kept list was read.
func (p *people) known() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looked
}

// run takes the kept list, and ends idle connections, until ctx ends.
func (p *people) run(ctx context.Context, l *link) {
	p.mu.Lock()
	p.ctx = ctx
	p.mu.Unlock()
	for ctx.Err() == nil {
		if !l.hasList() {
			l.look(ctx)
		}
		p.sweep(l.client.Now().Add(-l.client.Idle))
		wait(ctx, min(lookEvery, l.client.Idle), nil)
	}
	p.mu.Lock()
	p.ctx = nil
	p.mu.Unlock()
	p.sweep(time.Time{})
	p.work.Wait()
	l.http.CloseIdleConnections()
}

// sweep ends the connections that were last used before a time; zero: all.
func (p *people) sweep(before time.Time) {
	p.mu.Lock()
	var ended []*person
	for user, one := range p.of {
		if before.IsZero() || one.users == 0 && one.used.Before(before) {
			delete(p.of, user)
			ended = append(ended, one)
		}
	}
	p.mu.Unlock()
	for _, one := range ended {
		one.close()
	}
}

// close ends the connection.
func (one *person) close() {
	if session, _ := one.state(); session != nil {
		_ = session.Close() // it is not used any more
	}
}

// runs reports whether run runs.
func (p *people) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx != nil
}

// start counts work that must end before run does, and reports whether run runs.
func (p *people) start() (ctx context.Context, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return nil, false
	}
	p.work.Add(1)
	return p.ctx, true
}

// reach returns the connection of a person, which it makes if there is none. The caller must call done when its call
// has ended. Errors are for the model.
func (p *people) reach(ctx context.Context, l *link, user core.UserID) (_ *link, done func(), err error) {
	a := &accessor{grants: l.client.Grants, user: user, server: l.server.Name}
	_, grant, err := a.token(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	one, err := p.take(l, a, grant)
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		one.users--
		one.used = l.client.Now()
	}
	if err := one.connect(egress.For(ctx, user), p); err != nil {
		done()
		return nil, nil, fmt.Errorf("the MCP server %s cannot be reached now: %w", l.server.Name, err)
	}
	return one.link, done, nil
}

// take returns the person of a grant. A connection that was made with an earlier grant, perhaps for another account of
// the service, is ended.
func (p *people) take(l *link, a *accessor, grant int64) (*person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return nil, fmt.Errorf("the MCP server %s cannot be reached now: %w", l.server.Name, errNotYet)
	}
	one := p.of[a.user]
	if one != nil && one.grant != grant {
		go one.close()
		one = nil
	}
	if one == nil {
		own := &link{client: l.client, server: l.server, main: l, access: a, http: l.http, wanted: make(chan struct{}, 1)}
		one = &person{link: own, grant: grant}
		p.of[a.user] = one
	}
	one.users++
	return one, nil
}

// connect connects, unless there is a connection.
func (one *person) connect(ctx context.Context, p *people) error {
	one.connecting.Lock()
	defer one.connecting.Unlock()
	if session, _ := one.state(); session != nil {
		return nil
	}
	if _, ok := p.start(); !ok {
		return errNotYet
	}
	session, why, err := one.link.connect(ctx)
	if err != nil {
		p.work.Done()
		return one.redact(err)
	}
	one.set(session, nil)
	if !p.runs() {
		_ = session.Close() // nobody else would
	}
	go func() {
		defer p.work.Done()
		err := session.Wait()
		one.set(nil, one.redact(errors.Join(why(), err, errGone)))
		_ = session.Close() // it has ended; free the rest
	}()
	return nil
}

// Meet has the client learn the tools of servers with OAuth that nobody has listed yet, and that a user has connected.
// It does not wait for it.
func (c *Client) Meet(u core.User) {
	for _, l := range c.links {
		if l.people == nil || l.hasList() || !l.server.May(u) || !slices.Contains(u.Services, l.server.Name) {
			continue
		}
		if ctx, ok := l.people.mayLearn(c.Now()); ok {
			go func() {
				defer l.people.work.Done()
				l.learn(ctx, u.ID)
			}()
		}
	}
}

// mayLearn reports whether it is time for an attempt to list tools, which the caller must count as done.
func (p *people) mayLearn(now time.Time) (context.Context, bool) {
	p.mu.Lock()
	soon := now.Sub(p.learned) < learnEvery
	p.mu.Unlock()
	if soon {
		return nil, false
	}
	ctx, ok := p.start()
	if ok {
		p.mu.Lock()
		p.learned = now
		p.mu.Unlock()
	}
	return ctx, ok
}

// learn lists the tools with the connection of a user.
func (l *link) learn(ctx context.Context, user core.UserID) {
	_, done, err := l.people.reach(ctx, l, user)
	if err != nil {
		l.client.Log.Warn("tools of an MCP server not listed yet", zap.String("server", l.server.Name), zap.Error(err))
		return
	}
	done()
}

func (l *link) hasList() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listed != nil
}

// look takes the kept list, if there is one.
func (l *link) look(ctx context.Context) {
	kept, err := l.client.Grants.List(ctx, l.server.Name)
	var all []*sdk.Tool
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &all)
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		l.client.Log.Warn("the kept list of tools cannot be read", zap.String("server", l.server.Name), zap.Error(err))
	case kept != "":
		l.take(all)
	}
	l.people.mu.Lock()
	defer l.people.mu.Unlock()
	l.people.looked = true
}

// keep keeps a list for the next start, if it differs from the one in use.
func (l *link) keep(ctx context.Context, all []*sdk.Tool) {
	names := make([]string, 0, len(all))
	for _, t := range all {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	l.mu.Lock()
	same := l.listed != nil && slices.Equal(l.listed, names)
	l.mu.Unlock()
	if same {
		return
	}
	list, err := json.Marshal(all)
	if err == nil {
		err = l.client.Grants.SetList(ctx, l.server.Name, string(list))
	}
	if err != nil {
		l.client.Log.Warn("the list of tools was not kept", zap.String("server", l.server.Name), zap.Error(err))
	}
}

// accessor has the access of one person to one server.
type accessor struct {
	grants Grants
	user   core.UserID
	server string
}

// token returns a token and the id of its grant. Errors are for the model.
func (a *accessor) token(ctx context.Context, refused string) (string, int64, error) {
	token, grant, err := a.grants.Access(ctx, a.user, a.server, refused)
	if errors.Is(err, core.ErrNotFound) {
		return "", 0, fmt.Errorf("%s is not connected for this person, or no longer; ask them to send /connect %s, which "+
			"gives them a link to connect it", a.server, a.server)
	}
	return token, grant, err
}

// bearer is a RoundTripper that adds the token of a person. If the server refuses it, it tries once more with a new one.
type bearer struct {
	next   http.RoundTripper
	access *accessor
	fault  *fault
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, token, err := b.try(req, "")
	if err != nil || resp.StatusCode != http.StatusUnauthorized || req.Method == http.MethodDelete || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	_ = resp.Body.Close() // the status says it
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	resp, _, err = b.try(again, token)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		b.fault.set(fmt.Errorf("%s does not accept the access of this person; ask them to send /connect %s, which gives "+
			"them a link to connect it again", b.access.server, b.access.server))
	}
	return resp, err
}

// try sends a request with a token other than the refused one.
func (b *bearer) try(req *http.Request, refused string) (*http.Response, string, error) {
	token, _, err := b.access.token(req.Context(), refused)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // it was not read
		}
		b.fault.set(err)
		return nil, "", err
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.next.RoundTrip(req)
	return resp, token, err
}
