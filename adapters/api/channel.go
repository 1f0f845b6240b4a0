// Package api serves /api/v1, the interface for programs written for Everthread: the conversation, its days, search,
// memory and the prompts of turns, as JSON. It also serves its description, openapi.yaml.
//
// Policy. Each request acts for the user of its API key. Other users' data is not found.
// An unknown field or parameter is an error that names it.
package api

import (
	"cmp"
	"context"
	_ "embed"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/web"
)

const Name = "api"

// Asker receives messages and waits for their answer, as live.Asker does.
type Asker interface {
	Ask(ctx context.Context, in []core.Inbound, onText func(soFar string)) (live.Answer, error)
}

// Proposer asks a user about what a program proposes, as gateway.Gateway does.
type Proposer interface {
	Propose(ctx context.Context, u core.User, from string, effects ...core.Effect) (asked core.Identity, err error)
}

type Actor interface {
	Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error)
}

// Store provides days, turns, and the identities and threads of programs.
type Store interface {
	client.People
	client.Threads
	store.DayStore
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *store.Snapshot, error)
	web.Transcript
}

// Searcher searches and reads the conversation, as recall.Searcher does.
type Searcher interface {
	Search(ctx context.Context, q search.Query) (search.Result, error)
	Message(ctx context.Context, user core.UserID, id core.MessageID) (core.Message, error)
	Summary(ctx context.Context, user core.UserID, id core.SegmentID) (recall.DaySummary, error)
	Range(ctx context.Context, user core.UserID, id core.SegmentID, from, to core.MessageID) (recall.Page, error)
}

// Memory reads memory and prepares changes, as memory.Memory does.
type Memory interface {
	Search(ctx context.Context, q items.Query) (items.Found, error)
	Add(ctx context.Context, i core.Item, now time.Time) (items.Added, error)
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
}

// Options configure a Server. All but Patience are required.
type Options struct {
	Guard    *client.Guard
	Asker    Asker
	Actor    Actor
	Proposer Proposer
	Store    Store
	Searcher Searcher
	Memory   Memory
	Standing Standing
	Names    recall.Names   // resolves names in a search
	Zone     *time.Location // for users who chose none
	Patience time.Duration  // longest wait for an answer; 0: 11 minutes
	Log      *zap.Logger
	Now      func() time.Time
}

// Server serves the interface. Its methods may be called concurrently.
type Server struct {
	Options
	mux *http.ServeMux
}

func New(o Options) *Server {
	o.Patience = cmp.Or(o.Patience, 11*time.Minute)
	c := &Server{Options: o, mux: http.NewServeMux()}
	c.mux.HandleFunc("GET /api/openapi.yaml", describe)
	for _, r := range c.routes() {
		c.mux.Handle(r.method+" "+r.path, c.admitted(r.scope, r.handle))
	}
	return c
}

// Door describes the channel of programs.
func Door() live.Door { return live.Door{Channel: Name, Can: core.Capabilities{Program: true}} }

func (c *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{"/api/": http.HandlerFunc(c.serve)}
}

// handler answers a request of a known program: it returns a status and a value to encode as JSON, or an error.
type handler func(w http.ResponseWriter, r *http.Request, who client.Caller) (status int, answer any, err error)

type route struct {
	method, path string
	scope        core.Capability
	handle       handler
}

func (c *Server) routes() []route {
	return []route{
		{"POST", "/api/v1/chat", core.CanTalk, c.chat},
		{"GET", "/api/v1/days", core.CanRead, c.days},
		{"GET", "/api/v1/days/{label}", core.CanRead, c.day},
		{"POST", "/api/v1/days/{label}/summary", core.CanTalk, c.summarize},
		{"GET", "/api/v1/conversation/search", core.CanRead, c.search},
		{"GET", "/api/v1/conversation/messages", core.CanRead, c.messages},
		{"GET", "/api/v1/memory", core.CanMemory, c.memory},
		{"POST", "/api/v1/memory", core.CanMemory, c.remember},
		{"GET", "/api/v1/memory/themes", core.CanMemory, c.themes},
		{"GET", "/api/v1/memory/{id}", core.CanMemory, c.item},
		{"POST", "/api/v1/memory/{id}/archive", core.CanMemory, c.archive},
		{"GET", "/api/v1/standing", core.CanMemory, c.standing},
		{"POST", "/api/v1/standing", core.CanMemory, c.want},
		{"POST", "/api/v1/standing/{id}/remove", core.CanMemory, c.unwant},
		{"GET", "/api/v1/turns/{id}/context", core.CanRead, c.turn},
	}
}

// Needs lists the capability that each route needs.
func Needs() []trust.Need {
	var out []trust.Need
	for _, r := range (&Server{}).routes() {
		out = append(out, trust.Need{Door: trust.DoorAPI, What: r.method + " " + r.path, Capability: r.scope})
	}
	return out
}

func (c *Server) admitted(scope core.Capability, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := c.Guard.Admit(r, scope)
		status, answer := 0, any(nil)
		if err == nil {
			status, answer, err = h(w, who.Acting(r, c.Now()), who)
		}
		switch {
		case err == nil:
			w.Header().Set("Cache-Control", "no-store")
			server.WriteJSON(w, status, answer)
		case r.Context().Err() == nil:
			c.refuse(w, err)
		}
	})
}

// serve answers everything below /api/.
func (c *Server) serve(w http.ResponseWriter, r *http.Request) {
	if _, pattern := c.mux.Handler(r); pattern != "" {
		c.mux.ServeHTTP(w, r)
		return
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := c.mux.Handler(other); pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if allow := w.Header().Values("Allow"); len(allow) > 0 {
		c.refuse(w, failed(http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" does not take "+r.Method+
			", but "+strings.Join(allow, " and ")+".", 0))
		return
	}
	c.refuse(w, failed(http.StatusNotFound, "not_found", "There is nothing at "+r.URL.Path+
		"; GET /api/openapi.yaml describes what there is.", 0))
}

//go:embed openapi.yaml
var description []byte

// describe answers GET /api/openapi.yaml, which needs no key.
func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(description)
}
