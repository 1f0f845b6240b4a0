// Package openai serves the OpenAI-compatible interface, through which any program that
// supports OpenAI's chat completions can talk to a user's thread.
//
// Policy. The server has the history: only the messages of a request after the last one of the assistant are new, and
// system messages are instructions for this turn. The answer is the turn's stored one, so a request that is repeated
// with its Idempotency-Key is answered again and stores nothing. A client that disconnects does not stop the turn. A
// chat program's own requests (titles, tags, follow-up questions) are not conversation: the model answers them
// directly, and nothing is stored.
package openai

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

const Name = "openai"

// Asker receives messages and waits for their answer, as live.Asker does.
type Asker interface {
	Ask(ctx context.Context, in []core.Inbound, onText func(soFar string)) (live.Answer, error)
}

// Director calls the model without a thread.
type Director interface {
	// Direct returns the whole answer and charges the user's budget. Its errors are
	// *core.ModelError, *live.OverBudget and the context's.
	Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error)
	// Afford reserves tokens of the user's budget before a call, or returns
	// *live.OverBudget. settle replaces the reservation by the actual usage.
	Afford(ctx context.Context, user core.UserID, tokens int) (settle func(core.Bill) error, err error)
}

// Store provides identities, threads and earlier messages.
type Store interface {
	client.People
	client.Threads
	store.RefStore
	Timeline(ctx context.Context, q store.TimelineQuery) (ms []core.Message, more bool, err error)
}

// Keeper stores a file that came with a message.
type Keeper interface {
	Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error)
}

// Options configure a Server. All are required that have no meaning of nil or 0.
type Options struct {
	Guard    *client.Guard
	Asker    Asker
	Director Director
	Keeper   Keeper
	Store    Store

	// Embedder makes the vectors of /v1/embeddings under the name EmbeddingModel; nil: no embeddings.
	Embedder       core.Embedder
	EmbeddingModel string
	Tokens         core.Tokenizer // counts embedded texts

	// ExtrasRoom bounds the tokens of a request's instructions and tools, as counted by Tokens; 0: no limit.
	ExtrasRoom int

	Patience  time.Duration // longest wait for an answer; 0: 11 minutes
	KeepAlive time.Duration // interval of keep-alive lines in a waiting stream; 0: 10 s

	Log *zap.Logger
	Now func() time.Time
}

// maxBody bounds the bytes of a request.
const maxBody = 8 << 20

// Server serves the interface. Its methods may be called concurrently.
type Server struct{ Options }

func New(o Options) *Server {
	o.Patience = cmp.Or(o.Patience, 11*time.Minute)
	o.KeepAlive = cmp.Or(o.KeepAlive, 10*time.Second)
	return &Server{o}
}

// Door describes the channel of programs.
func Door() live.Door { return live.Door{Channel: Name, Can: core.Capabilities{Program: true}} }

func (c *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /v1/chat/completions": c.admitted(c.complete),
		"POST /v1/embeddings":       c.admitted(c.embed),
		"GET /v1/models":            c.admitted(c.models),
		"GET /v1/models/{id...}":    c.admitted(c.model),
		"/v1/":                      http.HandlerFunc(c.nothing),
	}
}

// Needs lists the capability that each route needs.
func Needs() []trust.Need {
	var out []trust.Need
	for pattern := range (&Server{}).Routes() {
		if pattern != "/v1/" {
			out = append(out, trust.Need{Door: trust.DoorOpenAI, What: pattern, Capability: core.CanTalk})
		}
	}
	return out
}

// handler answers a request of a known program, or returns an error.
type handler func(w http.ResponseWriter, r *http.Request, who client.Caller) error

func (c *Server) admitted(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := c.Guard.Admit(r, core.CanTalk)
		if err == nil {
			err = h(w, who.Acting(r, c.Now()), who)
		}
		if err != nil && r.Context().Err() == nil {
			c.refuse(w, err)
		}
	})
}

func (c *Server) nothing(w http.ResponseWriter, r *http.Request) {
	c.refuse(w, &failure{status: http.StatusNotFound, kind: invalidRequest, code: "unknown_url",
		message: "There is nothing at " + r.Method + " " + r.URL.Path +
			". There are POST /v1/chat/completions, POST /v1/embeddings and GET /v1/models."})
}
