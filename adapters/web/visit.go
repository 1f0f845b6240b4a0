package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// FormBody bounds the bodies of forms without files, in bytes, and openBody those of visitors who are not signed in.
const FormBody, openBody = 64 << 10, 4 << 10

// Visit is one request to a page with its answer.
type Visit struct {
	channel *Channel
	W       http.ResponseWriter
	R       *http.Request
	Session store.Session
	User    core.User // zero: not signed in
	Now     time.Time
	Zone    *time.Location
	Today   core.Day
	Lang    string // one of words.Languages
	Words   *Texts
	root    string // path below which the visitor reaches the site; empty: none
}

func (v *Visit) Context() context.Context { return v.R.Context() }

// handler returns the handler of a route with the checks that all routes share.
func (c *Channel) handler(one Route) http.Handler {
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(one.Body, FormBody))
		v := c.Visit(w, r)
		defer v.recover()
		if err := v.identify(one); err != nil {
			v.fail(err)
			return
		}
		if v.User.ID == 0 && !one.Open {
			v.refuse()
			return
		}
		if v.User.ID == 0 && r.Method == http.MethodPost {
			form, ok := channel.ReadBody(w, r, openBody)
			if !ok {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(form))
		}
		if err := v.serve(one); err != nil {
			v.fail(err)
		}
	})
	guarded := c.guard.Handler(serve)
	return c.headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = c.Proxies.Host(r) // the guard compares it with the origin
		guarded.ServeHTTP(w, r)
	}))
}

// serve calls a route with the posted form parsed. A route with a Body reads the body itself.
func (v *Visit) serve(one Route) error {
	if v.R.Method == http.MethodPost && one.Body == 0 {
		if err := v.R.ParseForm(); err != nil {
			return v.BadForm(err)
		}
		if err := v.Owned(v.R.PostForm.Get(accountField)); err != nil {
			return err
		}
	}
	return one.Serve(v)
}

func (c *Channel) foreign(w http.ResponseWriter, r *http.Request) {
	v := c.Visit(w, r)
	v.fail(Because(http.StatusForbidden, v.Words.ErrForeign))
}

// Visit returns the Visit of a request before its user is identified.
func (c *Channel) Visit(w http.ResponseWriter, r *http.Request) *Visit {
	v := &Visit{channel: c, W: w, R: r, Now: c.Now(), root: c.Proxies.Root(r, c.public)}
	v.settle()
	return v
}

// Again returns the visit with the present time and ctx.
func (v *Visit) Again(ctx context.Context) *Visit {
	w := *v
	w.R, w.Now = v.R.WithContext(ctx), v.channel.Now()
	w.settle()
	return &w
}

// Of returns the visit to what is u's, in the visitor's language. The caller has checked that the visitor may see it.
func (v *Visit) Of(u core.User) *Visit {
	w := *v
	w.User = u
	w.Zone = w.ZoneOf(u.Settings)
	w.Today = w.DayAt(w.Now)
	return &w
}

// settle sets the language, zone and day from the visitor's settings.
func (v *Visit) settle() {
	v.Lang = v.Language(v.User.Settings.Language)
	v.Words = say(v.Lang)
	v.Zone = v.ZoneOf(v.User.Settings)
	v.Today = v.DayAt(v.Now)
}

// Language returns the language of a visitor, given their choice; empty: none.
func (v *Visit) Language(chosen string) string {
	return languageOf(chosen, v.channel.Language, v.R.Header.Get("Accept-Language"))
}

// ZoneOf returns the time zone of a user with these settings.
func (v *Visit) ZoneOf(s core.Settings) *time.Location { return s.Location(v.channel.house) }

// DayAt returns the visitor's day at a time.
func (v *Visit) DayAt(t time.Time) core.Day { return v.channel.Calendar.Day(v.User.Settings, t) }

func (v *Visit) recover() {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	v.channel.Log.Error("page panicked", zap.String("page", v.R.Pattern), zap.Any("cause", cause),
		zap.ByteString("stack", debug.Stack()))
	v.fail(errBroken)
}

func (c *Channel) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		frames, ancestors := "DENY", "'none'"
		if c.Proxies.Framed(r) {
			frames, ancestors = "SAMEORIGIN", "'self'"
		}
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "+
			"media-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "+ancestors)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", frames) // for browsers without frame-ancestors
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(self), geolocation=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// wantsPart reports whether the script requests only the main part of a page.
func (v *Visit) wantsPart() bool { return v.R.Header.Get("X-Part") != "" }

func (v *Visit) wantsJSON() bool { return v.R.Header.Get("Accept") == "application/json" }

// Page answers with a page made from a template.
func (v *Visit) Page(name, title string, data any) error {
	return v.Render(http.StatusOK, name, title, data)
}

// Render is Page with another status than 200.
func (v *Visit) Render(status int, name, title string, data any) error {
	var b bytes.Buffer
	if err := v.Execute(&b, name, title, data); err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.WriteHeader(status)
	_, _ = v.W.Write(b.Bytes()) // an error means the client is gone
	return nil
}

// SetCookie sets a cookie for the whole site that scripts cannot read. A negative age removes it.
func (v *Visit) SetCookie(name, value string, seconds int) {
	http.SetCookie(v.W, &http.Cookie{Name: name, Value: value, Path: v.root + "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: v.secure()})
}

// toastCookie carries the report of an action to the next page.
const toastCookie = "toast"

// Back ends an action: it redirects to a path of this site, which shows toast.
func (v *Visit) Back(path, toast string) error {
	if v.wantsJSON() {
		return v.JSON(http.StatusOK, map[string]string{"url": v.root + local(path), "toast": toast})
	}
	if toast != "" {
		v.SetCookie(toastCookie, escape(toast), 30)
	}
	http.Redirect(v.W, v.R, v.root+local(path), http.StatusSeeOther)
	return nil
}

// Act applies effects for the visitor and redirects with a toast. Errors are prefixed with what.
func (v *Visit) Act(what, path, toast string, effects ...core.Effect) error {
	if _, err := v.channel.Gateway.Act(v.Context(), v.User.ID, effects...); err != nil {
		return v.Refusal(fmt.Errorf("%s: %w", what, err))
	}
	return v.Back(path, toast)
}

// ID returns the number in the path, or core.ErrNotFound.
func (v *Visit) ID() (int64, error) {
	n, err := strconv.ParseInt(v.R.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return 0, core.ErrNotFound
	}
	return n, nil
}

// WithID returns a handler for the number in the path.
func WithID(serve func(v *Visit, id int64) error) func(*Visit) error {
	return func(v *Visit) error {
		id, err := v.ID()
		if err != nil {
			return err
		}
		return serve(v, id)
	}
}

// Each returns the results of one for all elements; nil: there are none.
func Each[T, S any](all []T, one func(T) S) []S {
	var out []S
	for _, x := range all {
		out = append(out, one(x))
	}
	return out
}

// Stay returns a context for a long answer, which ends with ctx and when the process stops. It is not ok if the visitor
// already has most such answers (0: no limit); otherwise the caller must call leave.
func (v *Visit) Stay(ctx context.Context, most int) (_ context.Context, leave func(), ok bool) {
	return v.channel.watchers.stay(ctx, v.User.ID, most)
}

// toast removes and returns the toast of the last action.
func (v *Visit) toast() string {
	k, err := v.R.Cookie(toastCookie)
	if err != nil || v.wantsPart() {
		return ""
	}
	v.SetCookie(toastCookie, "", -1)
	return unescape(k.Value)
}

// DayName returns the displayed name of a day, relative to today.
func (v *Visit) DayName(label string) string { return day.Name(label, v.Today.Label, v.Lang) }

type tries struct {
	limits Limits
	now    func() time.Time

	mu    sync.Mutex
	since time.Time // start of the current minute
	all   int
	by    map[netip.Addr]int
}

func newTries(l Limits, now func() time.Time) *tries {
	return &tries{limits: l, now: now, by: map[netip.Addr]int{}}
}

// take counts a try, or returns how long to wait if there were too many.
func (t *tries) take(from netip.Addr) time.Duration {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= time.Minute || now.Before(t.since) {
		t.since, t.all = now, 0
		clear(t.by)
	}
	if t.all >= t.limits.SignIns || t.by[from] >= t.limits.SignInsPerAddress {
		return t.since.Add(time.Minute).Sub(now)
	}
	t.all++
	t.by[from]++
	return 0
}

// client returns the visitor's address. An IPv6 client is its /64.
func (v *Visit) client() netip.Addr {
	at := v.channel.Proxies.Origin(v.R)
	if at.Is6() {
		if p, err := at.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return at
}

// watchers counts the long answers of each user. All of them end with life.
type watchers struct {
	life context.Context
	end  context.CancelFunc // ends all answers; later ones are refused
	mu   sync.Mutex
	open map[core.UserID]int
}

func newWatchers() *watchers {
	life, end := context.WithCancel(context.Background())
	return &watchers{life: life, end: end, open: map[core.UserID]int{}}
}

// stay registers a long answer, unless the user already has most of them (0: no limit).
// The returned context ends when the process stops. The caller must call leave.
func (w *watchers) stay(ctx context.Context, user core.UserID, most int) (_ context.Context, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil || most > 0 && w.open[user] >= most {
		return ctx, nil, false
	}
	w.open[user]++
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(w.life, cancel)
	return ctx, func() {
		forget()
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[user]--; w.open[user] == 0 {
			delete(w.open, user)
		}
	}, true
}
