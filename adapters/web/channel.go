// Package web is the page where a person sees and steers their conversation: a channel
// of its own, rendered by the server, kept up to date by one small script, and whole
// without it. It is the shell of its rooms: sessions and sign-in, the layout and its
// navigation, what is served beside pages, what guards them, and the words that all
// rooms say. It knows no room; chat and office beside it are two, and know it alone.
//
// Policy. Every page is for the user of its session and reads through methods
// that take the user, so that another user's ids are not found. What changes
// something is POST, from our own pages only. Text that others wrote reaches a
// page through html/template or, as Markdown, through goldmark and then bluemonday;
// there is no inline script or style. What a room needs of the rest of the gateway it
// names in its own Options.
//
// Adding a page. Write a function that serves it and a Route for it, in the Routes of
// its room; a route with a Tab stands in the navigation, one with Owner is found by the
// owner only. The function is given a Visit, reads, and ends with v.Page("name", title,
// data): templates/name.html of the room defines "main", has data as .Page, the words of
// the visitor's language as (t) and, under the room's name, those of the room, and the
// parts in templates/parts. A link of class "inline" opens a page in place, a form with
// data-inline is sent from there. Styles for tables, cards, forms, tabs, badges, notes
// and toasts are listed at the head of static/app.css, which all pages share. Forms post
// to a route of their own, which finds them in v.R.PostForm and ends with v.Back(path,
// toast). Errors are returned: core.ErrNotFound becomes a page that says so, a *Fault
// one in its own words.
//
// Adding a room. Write a Room, and hand it to New.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/live"
)

// Name is the channel's name.
const Name = "web"

// Gateway makes changes, all or none.
type Gateway interface {
	Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error)
}

// Doors finds or makes a user's identity on a channel of our own.
type Doors interface {
	Door(ctx context.Context, user core.UserID, channel string) (core.Identity, error)
}

// Options configure a Channel. Those without a remark are required.
type Options struct {
	Store    core.SessionStore
	Gateway  Gateway
	Rooms    []Room // in the order in which the navigation shows their tabs
	Calendar day.Calendar
	// Channels say what a channel calls itself, if the catalogues have no name for it; nil: none does.
	Channels core.Channels

	PublicURL      string   // of the page, as people reach it
	TrustedProxies []string // addresses or networks whose X-Forwarded headers are believed
	Language       string   // of people who chose none and whose browser says nothing
	Zone           string   // of people who chose none
	Limits         Limits

	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader // of tokens; safe for concurrent use
	// Intake is of forms of people who are not signed in; nil: one of its own.
	Intake *intake.Budget
}

// Limits are numbers that keep the page well. Zero values are the defaults.
type Limits struct {
	SignInsPerAddress int           // tries to sign in a minute from one address; 10
	SignIns           int           // and in all; 200
	SessionLife       time.Duration // from the last use; 30 days
}

func (l Limits) orDefault() Limits {
	if l.SignInsPerAddress == 0 {
		l.SignInsPerAddress = 10
	}
	if l.SignIns == 0 {
		l.SignIns = 200
	}
	if l.SessionLife == 0 {
		l.SessionLife = 30 * 24 * time.Hour
	}
	return l
}

// Channel is the web page. Its methods may be called concurrently.
type Channel struct {
	Options
	public    *url.URL
	proxies   []netip.Prefix
	house     *time.Location // zone of people who chose none
	views     *views
	assets    *assets
	guard     *http.CrossOriginProtection
	tries     *tries
	watchers  watchers
	routes    []Route
	linkedTab []linkedTab
}

// New returns the page. Errors are settings that make no sense.
func New(o Options) (*Channel, error) {
	o.Limits = o.Limits.orDefault()
	if o.Intake == nil {
		o.Intake = intake.New(intake.DefaultBytes, intake.DefaultPatience, time.Now)
	}
	c := &Channel{Options: o, tries: newTries(o.Limits, o.Now), routes: routes(o.Rooms)}
	c.linkedTab = tabs(c.routes)
	c.house = core.Settings{Zone: o.Zone}.Location(time.UTC)
	var err error
	if c.public, err = url.Parse(o.PublicURL); err != nil || c.public.Host == "" {
		return nil, fmt.Errorf("web: the public address %q is no web address", o.PublicURL)
	}
	if c.proxies, err = prefixes(o.TrustedProxies); err != nil {
		return nil, err
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

// Door is the channel of the page: files are shown, and nothing proactive goes there.
func Door() live.Door {
	return live.Door{Channel: Name, Can: core.Capabilities{Files: true, Voice: true, Idempotent: true}}
}

// Run has rooms finish what a process before left, waits until ctx ends, and then ends
// the open pages: what people write comes through the routes.
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

// Routes are all pages.
func (c *Channel) Routes() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, one := range c.routes {
		out[one.Pattern] = c.handler(one)
	}
	out["GET /static/{file}"] = c.headers(c.assets)
	out["GET /"] = c.headers(http.HandlerFunc(c.nothing))
	return out
}

// prefixes reads addresses and networks.
func prefixes(all []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range all {
		p, err := netip.ParsePrefix(s)
		if a, bad := netip.ParseAddr(s); bad == nil {
			p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("web: trusted proxy %q is neither an address nor a network", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func missing(err error) bool { return errors.Is(err, core.ErrNotFound) }
