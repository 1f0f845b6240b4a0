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
	People  web.Doors
	Gateway web.Gateway
	Memory  Memory // nil: there is no page of memory
	// Standing is what people want always; nil: the pages do not show it.
	Standing Standing
	// Settings and Admin are what these pages need; nil: there is none.
	Settings *Settings
	Admin    *Admin
	Prices   Prices // of the model's tokens
	// Sure reports whether a user has just said yes to an account change, which is then
	// made by effects and told to all of the user's identities; it asks if not.
	Sure func(ctx context.Context, u core.User, s core.Session, c core.AccountSubject,
		effects ...core.Effect) (asked core.Identity, sure bool, err error)
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
	if r.Settings == nil || r.Settings.Resume == nil {
		return
	}
	if err := r.Settings.Resume(ctx); err != nil && ctx.Err() == nil {
		r.Log.Error("finish what is left of who was deleted", zap.Error(err))
	}
}
