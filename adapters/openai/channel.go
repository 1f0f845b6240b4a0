// Package openai serves the OpenAI-compatible interface: any program that can
// talk to OpenAI's chat completions talks to a user's thread.
//
// Policy. The server has the history: of a request's messages those after the
// last one of the assistant are new, system ones are instructions for this turn.
// The answer is what the turn stored, so a request that is repeated with its
// Idempotency-Key is answered again and stores nothing. A client that goes away
// stops no turn. What a chat program asks for itself (titles, tags, follow-up
// questions) is no conversation: the model answers it directly, and nothing is
// stored.
package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/trust"
)

// Name is the channel's name.
const Name = "openai"

// Asker puts messages on the road and waits for their answer, as live.Asker does.
type Asker interface {
	Ask(ctx context.Context, in []core.Inbound, onText func(soFar string)) (live.Answer, error)
}

// Director asks the model without a thread. The delta is all that it answered;
// its tokens count on the user's budget. Errors are *core.ModelError,
// *live.OverBudget and the context's.
type Director interface {
	Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error)
	// Afford takes tokens of the user's budget before a call that costs some; settle
	// puts what it took in their place. *live.OverBudget: they are not to be had.
	Afford(ctx context.Context, user core.UserID, tokens int) (settle func(core.Usage) error, err error)
}

// Store is what the channel reads besides, and how a program gets its identity.
type Store interface {
	client.People
	client.Threads
	core.RefStore
	Timeline(ctx context.Context, q core.TimelineQuery) (ms []core.Message, more bool, err error)
}

// Keeper stores a file that came with a message.
type Keeper interface {
	Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error)
}

// Options configure a Server. Guard, Asker, Director, Keeper and Store are
// required.
type Options struct {
	Guard    *client.Guard
	Asker    Asker
	Director Director
	Keeper   Keeper
	Store    Store

	// Embedder makes the vectors of /v1/embeddings as EmbeddingModel; nil: there are none.
	Embedder       core.Embedder
	EmbeddingModel string
	Tokens         core.Tokenizer // counts what was embedded; nil: it is told as 0

	// ExtrasRoom is how many tokens a request's instructions and tools may take, as Tokens
	// counts; 0: there is no bound.
	ExtrasRoom int

	MaxBody   int64         // bytes; 0: 8 MiB
	Patience  time.Duration // how long a request waits for its answer; 0: 11 minutes
	KeepAlive time.Duration // how often a waiting stream shows that it lives; 0: 10 s

	Log  *zap.Logger      // nil: none
	Now  func() time.Time // nil: time.Now
	Rand io.Reader        // of ids; nil: crypto/rand
}

// Server serves the interface. Its methods may be called concurrently.
type Server struct{ Options }

// New returns the server.
func New(o Options) *Server {
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.Patience = cmp.Or(o.Patience, 11*time.Minute)
	o.KeepAlive = cmp.Or(o.KeepAlive, 10*time.Second)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return &Server{o}
}

// Door is the channel that programs come through.
func Door() live.Door { return live.Door{Channel: Name, Can: core.Capabilities{Program: true}} }

// Routes returns the interface. What it receives goes through Asker.
func (c *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /v1/chat/completions": c.admitted(c.complete),
		"POST /v1/embeddings":       c.admitted(c.embed),
		"GET /v1/models":            c.admitted(c.models),
		"GET /v1/models/{id...}":    c.admitted(c.model),
		"/v1/":                      http.HandlerFunc(c.nothing),
	}
}

// Needs lists what each route needs of a key.
func Needs() []trust.Need {
	var out []trust.Need
	for pattern := range (&Server{}).Routes() {
		if pattern != "/v1/" {
			out = append(out, trust.Need{Door: trust.DoorOpenAI, What: pattern, Capability: core.CanTalk})
		}
	}
	return out
}

// handler answers a request of a known program, or returns why it does not.
type handler func(w http.ResponseWriter, r *http.Request, who client.Caller) error

// admitted lets programs in that may chat.
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
