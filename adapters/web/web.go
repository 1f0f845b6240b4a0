// Package web is the page where a person sees and steers their conversation
// (SPEC 14): a channel of its own, rendered by the server, kept up to date by one
// small script, and whole without it.
//
// Policy. Every page is for the user of its session and reads through methods
// that take the user, so that another user's ids are not found. What changes
// something is POST, from our own pages only. Text that others wrote reaches a
// page through html/template or, as Markdown, through goldmark and then bluemonday;
// there is no inline script or style. What a page needs of the rest of the
// gateway it names in Options.
//
// Adding a page. Write a function that returns its routes (see conversationRoutes)
// and add it to the list in routes; a route with a Tab stands in the navigation,
// one with Owner is found by the owner only. A handler gets a *visit, reads, and
// ends with v.page("name", title, data): templates/name.html defines "main", has
// data as .Page, the words of the visitor's language as (t), and the parts of
// templates/parts.html, such as "empty" and "badge". A link of class "inline" opens
// a page in place, a form with data-inline is sent from there. Styles for tables,
// cards, forms, tabs, badges, notes and toasts are listed at the head of
// static/app.css; those of a long page of sections, such as the settings, with its
// questions in place (class="sure") and charts, are in templates/office.html and
// static/office.css, and come with {{define "head"}}{{template "office"}}{{end}}.
// Forms post to a route of their own, which ends with v.back(path,
// toast). Errors are returned: core.ErrNotFound becomes a page that says so, a
// *fault one in its own words.
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

// Options configure a Channel. Those without a remark are required.
type Options struct {
	Store   Store
	People  Doors
	Hub     *live.Hub
	Gateway Gateway
	Files   Files
	Search  Searcher // nil: there is no search
	Memory  Memory   // nil: nothing can be remembered
	Items   Items    // nil: there is no page of memory
	// Settings and Admin are what these pages need; nil: there is none.
	Settings *Settings
	Admin    *Admin
	Prices   Prices // of the model's tokens
	// Sure reports whether a user has just said yes to an account change, which is then
	// made by effects and told to all of the user's identities; it asks if not.
	Sure func(ctx context.Context, u core.User, s core.Session, c core.AccountSubject,
		effects ...core.Effect) (asked core.Identity, sure bool, err error)
	// Prompt returns what a turn sent to the model, by its snapshot; nil: it is not shown.
	Prompt   func(ctx context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error)
	Calendar day.Calendar

	MediaDir       string   // where attachments lie
	MediaMax       int64    // bytes of all files of one message; 0: 20 MiB
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
	LivePages         int           // open at once, of one user; 30
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
	if l.LivePages == 0 {
		l.LivePages = 30
	}
	return l
}

// Channel is the web page. Its methods may be called concurrently.
type Channel struct {
	Options
	public    *url.URL
	proxies   []netip.Prefix
	zone      *time.Location
	views     *views
	assets    *assets
	markdown  *markdown
	guard     *http.CrossOriginProtection
	tries     *tries
	watchers  watchers
	linkedTab []tab
	exports   *seats
	checks    chan struct{} // likewise
	looks     chan struct{} // likewise
}

// New returns the page. Errors are settings that make no sense.
func New(o Options) (*Channel, error) {
	o.Limits = o.Limits.orDefault()
	if o.MediaMax == 0 {
		o.MediaMax = 20 << 20
	}
	if o.Intake == nil {
		o.Intake = intake.New(intake.DefaultBytes, intake.DefaultPatience, time.Now)
	}
	c := &Channel{Options: o, markdown: newMarkdown(), tries: newTries(o.Limits, o.Now)}
	c.watchers.most = o.Limits.LivePages
	c.exports, c.checks, c.looks = newSeats(exportsEach, exportsAtOnce), make(chan struct{}, 1), make(chan struct{}, 1)
	c.zone = core.Settings{Zone: o.Zone}.Location(time.UTC)
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
	if c.assets, err = newAssets(); err != nil {
		return nil, err
	}
	c.linkedTab = tabs(c.routes())
	c.views, err = newViews(c)
	return c, err
}

// Door is the channel of the page: files are shown, and nothing proactive goes there.
func Door() live.Door {
	return live.Door{Channel: Name, Can: core.Capabilities{Files: true, Idempotent: true}}
}

// Run goes on with deletions that were not finished, waits until ctx ends, and then
// ends the open pages: what people write comes through the routes.
func (c *Channel) Run(ctx context.Context) error {
	if c.Settings != nil && c.Settings.Resume != nil {
		if err := c.Settings.Resume(ctx); err != nil && ctx.Err() == nil {
			c.Log.Error("finish what is left of who was deleted", zap.Error(err))
		}
	}
	<-ctx.Done()
	c.watchers.end()
	return nil
}

// Routes are all pages.
func (c *Channel) Routes() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, one := range c.routes() {
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
