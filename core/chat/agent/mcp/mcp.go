// Package mcp provides the agent with the tools of configured Model Context Protocol servers.
//
// Servers are connected and reconnected in the background, so a dead or slow server costs one tool error, never a turn
// and never the start. A server's tools are those of its first list, until the process ends: the list of tools is at
// the head of every prompt, and a change would invalidate the caches of providers. A call of a tool that the server
// removed returns the server's own error. Messages of servers are bounded while they are read, and only text reaches
// the model.
//
// A server with OAuth is connected for each person separately, when their turn calls one of its tools, with the access
// that they granted, and the connection ends when it is idle. Only people who have connected the server have its tools.
// Its list is that of the first person's connection, and is kept in the store, so that later starts have it at once.
//
// Addresses come from the configuration file, so private ones are allowed.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// Server is a source of tools: a program that communicates on its standard input and output
// (Command, Args, Env), or a streamable HTTP address (URL, Headers).
type Server struct {
	Name    string
	Command string
	Args    []string
	// Env is added to PATH, HOME, the locale and the like. The program does not see the
	// rest of our environment, which contains secrets.
	Env     map[string]string
	URL     string
	Headers map[string]string
	// OAuth: the URL wants the access that each person grants for themselves; see Options.Grants.
	OAuth bool

	// Roles and Users may use the tools. Without a role the owner may.
	Roles []core.UserRole
	Users []core.UserID
	// Allow lists tools, by the server's names, that run without a question; "*": all.
	// With TrustHints tools that the server marks as read-only do, too.
	Allow      []string
	TrustHints bool
}

// May reports whether a user may use the server.
func (s Server) May(u core.User) bool {
	roles := s.Roles
	if len(roles) == 0 {
		roles = []core.UserRole{core.RoleOwner}
	}
	return slices.Contains(roles, u.Role) || slices.Contains(s.Users, u.ID)
}

// Grants have the access that people granted to servers with OAuth.
type Grants interface {
	// Access returns a token with which a server acts for a user, and the id of the grant. refused is a token that the
	// server does not take; empty: none. core.ErrNotFound: the user has not granted access, or it has ended.
	Access(ctx context.Context, user core.UserID, server, refused string) (token string, grant int64, err error)
	// List returns what SetList kept for a server, or "".
	List(ctx context.Context, server string) (string, error)
	SetList(ctx context.Context, server, list string) error
}

// Options configure a client. Tokenizer, Log, Now and Rand are required; a number that is 0
// means the default in brackets.
type Options struct {
	Servers      []Server
	Version      string        // of ours, for the servers
	SchemaTokens int           // of all descriptions together (1,500)
	Connect      time.Duration // for connecting and listing (20 s)
	Idle         time.Duration // after which a person's connection ends (10 min)
	Grants       Grants        // required for servers with OAuth
	Tokenizer    core.Tokenizer
	Way          *egress.Gate // nil: the policy alone
	Log          *zap.Logger
	Now          func() time.Time
	Rand         func() float64 // in [0, 1), for the jitter
}

// Client is connected to the servers while Run runs. It is safe for concurrent use.
type Client struct {
	Options
	links []*link

	mu    sync.Mutex
	tools []core.Tool // ordered by name; replaced, never changed
	names map[string]bool
	room  int // tokens left for descriptions
}

// New returns a client without tools until Run runs.
func New(o Options) *Client {
	o.SchemaTokens, o.Connect = cmp.Or(o.SchemaTokens, 1500), cmp.Or(o.Connect, 20*time.Second)
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	c := &Client{Options: o, names: map[string]bool{}, room: o.SchemaTokens}
	for _, s := range o.Servers {
		l := &link{client: c, server: s, wanted: make(chan struct{}, 1)}
		if s.URL != "" {
			l.http = o.Way.Client(s.URL)
		}
		if s.OAuth {
			l.people = &people{of: map[core.UserID]*person{}}
		}
		c.links = append(c.links, l)
	}
	return c
}

// Run keeps the connections until ctx ends, closes them and returns nil.
func (c *Client) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, l := range c.links {
		if l.server.OAuth {
			wg.Go(func() { l.people.run(ctx, l) })
		} else {
			wg.Go(func() { l.run(ctx) })
		}
	}
	wg.Wait()
	return nil
}

// Tools returns the tools of all servers that have been up, ordered by name. It only ever grows, when a server is up
// for the first time. The caller must not change it.
func (c *Client) Tools() []core.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// Status is the state of a server.
type Status struct {
	Name  string
	OAuth bool   // every person has a connection of their own
	Up    bool   // with OAuth: what the store has of it was read
	Tools int    // that the model can use
	Error string // why it is not up, for the owner; empty: not tried yet
}

// Status returns the states of the servers, in their configured order.
func (c *Client) Status() []Status {
	var out []Status
	for _, l := range c.links {
		session, err := l.state()
		s := Status{Name: l.server.Name, OAuth: l.server.OAuth, Up: session != nil}
		if s.OAuth {
			s.Up = l.people.known()
		}
		if err != nil {
			s.Error = err.Error()
		}
		for _, t := range c.Tools() {
			if t.(*tool).link == l {
				s.Tools++
			}
		}
		out = append(out, s)
	}
	return out
}

// adopt adds the tools of a server, by name, while their descriptions have room.
func (c *Client) adopt(l *link, found []*tool) {
	slices.SortFunc(found, func(a, b *tool) int { return strings.Compare(a.name, b.name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	tools := slices.Clone(c.tools)
	for _, t := range found {
		t.spec.Name = c.free(l.server.Name + "_" + t.name)
		need := specTokens + c.Tokenizer.Count(t.spec.Name) + c.Tokenizer.Count(t.spec.Description) +
			c.Tokenizer.Count(string(t.spec.Schema))
		if need > c.room {
			c.Log.Warn("MCP tool left out: descriptions of tools take too much of the prompt",
				zap.String("server", l.server.Name), zap.String("tool", t.name), zap.Int("tokens", need), zap.Int("left", c.room))
			continue
		}
		c.room -= need
		c.names[t.spec.Name] = true
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b core.Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) })
	c.tools = tools
}

// specTokens is the overhead of a description.
const specTokens = 12

// free returns a name that models accept and no tool has yet.
func (c *Client) free(name string) string {
	const longest = 64
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	out := name[:min(len(name), longest)]
	for n := 2; c.names[out]; n++ {
		suffix := fmt.Sprintf("_%d", n)
		out = name[:min(len(name), longest-len(suffix))] + suffix
	}
	return out
}
