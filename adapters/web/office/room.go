// Package office is the room of the page where a person looks after what is theirs:
// memory, settings, data, browsers and keys, and, for the owner, the whole gateway. Its
// pages are long ones of sections, with questions in place (class="sure") and charts:
// templates/parts/office.html and static/office.css have what they share, which comes
// with {{define "head"}}{{template "office"}}{{end}}.
package office

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// Options configure a Room. Those without a remark are required.
type Options struct {
	Store   Store
	People  People
	Gateway web.Gateway
	Memory  Memory
	// Standing is what people want always.
	Standing   Standing
	Engine     Engine
	Embeddings Embeddings
	Agents     Agents
	Inspector  Inspector // of the owner's page

	Prices       Prices // of the model's tokens
	TokensPerDay int    // budget of a user; 0: none
	Summaries    string // of people who chose none: home, all or off
	Strategy     string // of people who chose none
	Voice        bool   // answers can be spoken

	MediaDir  string // where attachments lie
	PublicURL string // of the page, as people reach it

	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader // of keys; safe for concurrent use
}

// Room is memory, settings and administration. Its methods may be called concurrently.
type Room struct {
	Options
	exports *seats
	checks  chan struct{} // a seat each
	looks   chan struct{}
}

var _ web.ResumingRoom = (*Room)(nil)

// New returns the room.
func New(o Options) *Room {
	return &Room{o, newSeats(exportsEach, exportsAtOnce), make(chan struct{}, 1), make(chan struct{}, 1)}
}

//go:embed templates static
var files embed.FS

// Name returns office.
func (r *Room) Name() string { return "office" }

// Words returns the words of the room.
func (r *Room) Words(lang string) any { return say(lang) }

// Files returns the templates, and the style and script of the room.
func (r *Room) Files() fs.FS { return files }

// Routes lists the pages.
func (r *Room) Routes() []web.Route {
	return slices.Concat(web.Needing(core.CanMemory, slices.Concat(r.memoryRoutes(),
		r.standingRoutes())...),
		web.Needing(core.CanAccount, r.settingsRoutes()...), web.Needing(core.CanAdmin, r.adminRoutes()...))
}

// Resume goes on with deletions of accounts that were not finished.
func (r *Room) Resume(ctx context.Context) {
	if err := r.Engine.Resume(ctx); err != nil && ctx.Err() == nil {
		r.Log.Error("finish what is left of who was deleted", zap.Error(err))
	}
}
