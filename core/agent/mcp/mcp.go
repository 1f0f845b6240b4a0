// Package mcp brings the tools of configured Model Context Protocol servers to
// the agent.
//
// Policy. Servers are connected in the background and again when they go away,
// so a server that is dead or slow costs one tool error, never a turn and never
// the start. The tools of a server are those of its first list: they come when
// it is up for the first time and then stay as they are until the process ends,
// whatever the server says later, for the list of tools stands at the head of
// every prompt and a change would cost every provider's cache. A tool that the
// server no longer has answers with the server's own error. What servers say is
// cut while it is read, and only text reaches the model.
//
// Addresses come from the configuration file, so private ones are fine.
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

// Server is where tools come from: a program that talks on its standard input
// and output (Command, Args, Env), or a streamable HTTP address (URL, Headers).
type Server struct {
	Name    string
	Command string
	Args    []string
	// Env is added to PATH, HOME, the locale and the like; of the rest of our own
	// environment, which holds secrets, a program sees nothing.
	Env     map[string]string
	URL     string
	Headers map[string]string

	// Roles and Users may use the tools. No role: the owner.
	Roles []core.UserRole
	Users []core.UserID
	// Allow are tools, as the server names them, that run without a question; "*":
	// all. With TrustHints those do that the server says only read.
	Allow      []string
	TrustHints bool
}

// may reports whether a user may use the server's tools.
func (s Server) may(u core.User) bool {
	roles := s.Roles
	if len(roles) == 0 {
		roles = []core.UserRole{core.RoleOwner}
	}
	return slices.Contains(roles, u.Role) || slices.Contains(s.Users, u.ID)
}

// Options say which servers and what bounds them. Tokenizer, Log, Now and Rand
// are required; numbers that are 0 have the default in brackets.
type Options struct {
	Servers      []Server
	Version      string        // of ours, for the servers
	SchemaTokens int           // of all descriptions together (1,500)
	Connect      time.Duration // for connecting and listing (20 s)
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

// New returns a client that knows no tools until Run runs.
func New(o Options) *Client {
	o.SchemaTokens, o.Connect = cmp.Or(o.SchemaTokens, 1500), cmp.Or(o.Connect, 20*time.Second)
	c := &Client{Options: o, names: map[string]bool{}, room: o.SchemaTokens}
	for _, s := range o.Servers {
		l := &link{client: c, server: s, wanted: make(chan struct{}, 1)}
		if s.URL != "" {
			l.http = o.Way.Client(s.URL)
		}
		c.links = append(c.links, l)
	}
	return c
}

// Run keeps the connections until ctx ends, closes them and returns nil.
func (c *Client) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, l := range c.links {
		wg.Go(func() { l.run(ctx) })
	}
	wg.Wait()
	return nil
}

// Tools returns the tools of all servers that have been up, ordered by name. It
// only ever grows, when a server is up for the first time. The caller must not
// change it.
func (c *Client) Tools() []core.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// Status says how a server is.
type Status struct {
	Name  string
	Up    bool
	Tools int    // that the model can use
	Error string // why it is not up, in words for the owner; empty: not tried yet
}

// Status returns how the servers are, in their configured order.
func (c *Client) Status() []Status {
	var out []Status
	for _, l := range c.links {
		session, err := l.state()
		s := Status{Name: l.server.Name, Up: session != nil}
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

// adopt makes the tools of a server known, by name, as far as they fit.
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

// specTokens is what the form around a description takes.
const specTokens = 12

// free returns a name that models accept and that no tool has yet.
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
