// Package web is the web page of the gateway, a channel of its own. The server renders it and a small script keeps it
// up to date; everything works without the script. The package is the shell of its rooms: sessions and sign-in, layout
// and navigation, static files, request guards, and the texts that all rooms share. It imports no room; chat and settings
// beside it are rooms, and import only this package of the page.
//
// Policy. Every page belongs to the user of its session and reads through methods that take the user, so that another
// user's ids are not found. Changes are POST requests, from our own pages only. Foreign text reaches a page through
// html/template or, as Markdown, through goldmark and then bluemonday; there is no inline script or style. A room
// declares what it needs from the rest of the gateway in its own Options.
//
// Adding a page. Write a function that serves it and a Route for it, in the Routes of its room. A route with a Tab is
// in the navigation; only the owner finds one with Owner. The function receives a Visit, reads, and ends with
// v.Page("name", title, data): templates/name.html of the room defines "main", and has data as .Page, the texts in the
// visitor's language as (t), those of the room under the room's name, and the parts in templates/parts. A link of class
// "inline" opens a page in place, and a form with data-inline is sent from there. Styles for tables, cards, forms,
// tabs, badges, notes and toasts are listed at the head of static/app.css, which all pages share. A form posts to a
// route of its own, which reads v.R.PostForm and ends with v.Back(path, toast). Functions return errors:
// core.ErrNotFound becomes the page for it, and a *Fault one with its own text.
//
// Adding a room. Implement Room, and pass it to New.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

const Name = "web"

type Gateway interface {
	Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error)
}

// Doors finds or creates a user's identity on one of the gateway's own channels.
type Doors interface {
	Door(ctx context.Context, user core.UserID, channel string) (core.Identity, error)
}

// Owner lets the owner in at the first start, as people.People does.
type Owner interface {
	Doors
	// Unclaimed reports whether the owner has no address yet, and there is a code for them.
	Unclaimed(ctx context.Context) (bool, error)
	// Claim returns a code that signs the owner in, or core.ErrRefused for a wrong code or an owner with an address.
	Claim(ctx context.Context, code string) (string, error)
}

// Store holds sessions, and knows where the owner can ask for a link.
type Store interface {
	store.SessionStore
	FindUsers(ctx context.Context, words string, offset, limit int) (users []core.User, total int, err error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
}

// Options configure a Channel. Fields without a comment are required.
type Options struct {
	Store    Store
	Owner    Owner
	Gateway  Gateway
	Rooms    []Room // in the order in which the navigation shows their tabs
	Calendar day.Calendar
	// Channels have the titles of channels without a name in the catalogues; may be nil.
	Channels core.Channels

	PublicURL string         // URL at which people reach the page
	Proxies   client.Proxies // whose X-Forwarded headers are trusted; may be nil
	Language  string         // for people who chose none and whose browser prefers none
	Zone      string         // for people who chose none
	Limits    Limits

	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader // for tokens; safe for concurrent use
}

// Limits bound sign-ins and sessions. Zero values stand for the defaults.
type Limits struct {
	SignInsPerAddress int           // failed sign-ins a minute from one address; 10
	SignIns           int           // failed sign-ins a minute in all; 200
	SessionLife       time.Duration // from the last use; 30 days
}

func (l Limits) orDefault() Limits {
	return Limits{SignInsPerAddress: cmp.Or(l.SignInsPerAddress, 10), SignIns: cmp.Or(l.SignIns, 200),
		SessionLife: cmp.Or(l.SessionLife, 30*24*time.Hour)}
}

// Channel is the web page. Its methods may be called concurrently.
type Channel struct {
	Options
	public    *url.URL
	house     *time.Location // zone for people who chose none
	views     *views
	assets    *assets
	guard     *http.CrossOriginProtection
	tries     *tries
	watchers  *watchers
	routes    []Route
	linkedTab []linkedTab
}

// New returns the page, or an error if the options are invalid.
func New(o Options) (*Channel, error) {
	o.Limits = o.Limits.orDefault()
	c := &Channel{Options: o, tries: newTries(o.Limits, o.Now), watchers: newWatchers(),
		routes: routes(o.Rooms)}
	c.linkedTab = tabs(c.routes)
	c.house = core.Settings{Zone: o.Zone}.Location(time.UTC)
	var err error
	if c.public, err = url.Parse(o.PublicURL); err != nil || c.public.Host == "" {
		return nil, fmt.Errorf("web: the public address %q is not a URL with a host", o.PublicURL)
	}
	c.guard = http.NewCrossOriginProtection()
	c.guard.SetDenyHandler(http.HandlerFunc(c.foreign))
	if err := c.guard.AddTrustedOrigin(c.public.Scheme + "://" + c.public.Host); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if c.assets, err = newAssets(o.Rooms); err != nil {
		return nil, err
	}
	c.views, err = newViews(c)
	return c, err
}

// Door describes the page's channel: it shows files, and no proactive delivery goes there.
func Door() live.Door {
	return live.Door{Channel: Name, Can: core.Capabilities{Files: true, Voice: true, Idempotent: true, Rings: true}}
}

// Run has rooms finish the work of an earlier process, waits until ctx ends, and then
// ends the live updates. Messages arrive through the routes.
func (c *Channel) Run(ctx context.Context) error {
	for _, room := range c.Rooms {
		if one, ok := room.(ResumingRoom); ok {
			one.Resume(ctx)
		}
	}
	<-ctx.Done()
	c.watchers.end()
	return nil
}

func (c *Channel) Routes() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, one := range c.routes {
		out[one.Pattern] = c.handler(one)
	}
	out["GET /static/{file}"] = c.headers(c.assets)
	out["GET /"] = c.headers(http.HandlerFunc(c.nothing))
	return out
}

func missing(err error) bool { return errors.Is(err, core.ErrNotFound) }
