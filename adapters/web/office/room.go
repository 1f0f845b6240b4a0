// Package office is the part of the web page where a person manages memory, settings,
// data, browsers and keys, and the owner the whole gateway. Its pages are long, with
// sections, confirmations in place (class="sure") and charts. They share
// templates/parts/office.html and static/office.css, which
// {{define "head"}}{{template "office"}}{{end}} includes.
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

// Options configure a Room. Fields without a comment are required.
type Options struct {
	Store      Store
	People     People
	Gateway    web.Gateway
	Memory     Memory
	Standing   Standing
	Engine     Engine
	Embeddings Embeddings
	Agents     Agents
	Inspector  Inspector // for the owner's page

	Prices       Prices // of the model's tokens
	TokensPerDay int    // budget of a user; 0: unlimited
	Summaries    string // for people who chose none: home, all or off
	Strategy     string // for people who chose none
	Voice        bool   // replies can be spoken

	MediaDir  string // folder of the attachments
	PublicURL string // URL at which people reach the page

	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader // for keys; safe for concurrent use
}

// Room serves memory, settings and administration. Its methods may be called concurrently.
type Room struct {
	Options
	exports, checks, looks *seats
}

var _ web.ResumingRoom = (*Room)(nil)

// New returns a Room.
func New(o Options) *Room {
	return &Room{o, newSeats(exportsEach, exportsAtOnce), newSeats(1, 1), newSeats(1, 1)}
}

//go:embed templates static
var files embed.FS

// Name returns office.
func (r *Room) Name() string { return "office" }

// Words returns the room's texts in a language.
func (r *Room) Words(lang string) any { return say(lang) }

// Files returns the templates, and the style and script of the room.
func (r *Room) Files() fs.FS { return files }

// Routes returns the room's routes.
func (r *Room) Routes() []web.Route {
	return slices.Concat(web.Needing(core.CanMemory, slices.Concat(r.memoryRoutes(), r.standingRoutes())...),
		web.Needing(core.CanAccount, r.settingsRoutes()...), web.Needing(core.CanAdmin, r.adminRoutes()...))
}

// Resume continues unfinished account deletions.
func (r *Room) Resume(ctx context.Context) {
	if err := r.Engine.Resume(ctx); err != nil && ctx.Err() == nil {
		r.Log.Error("unfinished account deletions not resumed", zap.Error(err))
	}
}
