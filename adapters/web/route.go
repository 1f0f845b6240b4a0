package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/trust"
)

// route is one page or action.
type route struct {
	Pattern string // of http.ServeMux
	Serve   func(v *visit) error
	Open    bool            // for everybody, signed in or not
	Owner   bool            // for the owner only; others do not find it
	Needs   core.Capability // of the visitor; see needing
	Body    int64           // largest body, in bytes; 0: formBody
	// Tab names the entry of the navigation that leads here; nil: none. It is the
	// first segment of Pattern's path.
	Tab func(w *texts) string
}

// formBody bounds the bodies of forms without files, openBody those of people who are
// not signed in.
const (
	formBody = 64 << 10
	openBody = 4 << 10
)

// routes are all pages and actions: one line for each area.
func (c *Channel) routes() []route {
	return slices.Concat(
		needing(core.CanTalk, c.conversationRoutes()),
		needing(core.CanTalk, c.threadRoutes()),
		needing(core.CanTalk, c.messageRoutes()),
		needing(core.CanAccount, c.signInRoutes()),
		needing(core.CanMemory, c.memoryRoutes()),
		needing(core.CanAccount, c.settingsRoutes()),
		needing(core.CanAdmin, c.adminRoutes()),
	)
}

// needing returns the routes of an area with what each needs: what changes
// something the capability of the area, what only shows CanRead, what is the
// owner's CanAdmin.
func needing(area core.Capability, all []route) []route {
	for i := range all {
		switch r := &all[i]; {
		case r.Open:
			r.Needs = trust.Open
		case r.Owner:
			r.Needs = core.CanAdmin
		case area == core.CanTalk && strings.HasPrefix(r.Pattern, "GET "):
			r.Needs = core.CanRead
		default:
			r.Needs = area
		}
	}
	return all
}

// Needs lists what each page and action needs. A session of a person has all but
// CanAdmin, which is the owner's.
func Needs() []trust.Need {
	var out []trust.Need
	c := &Channel{Options: Options{Settings: &Settings{}, Admin: &Admin{}}}
	for _, r := range c.routes() {
		out = append(out, trust.Need{Door: trust.DoorPage, What: r.Pattern, Capability: r.Needs})
	}
	return out
}

// tab is an entry of the navigation.
type tab struct {
	Path  string
	Name  func(w *texts) string
	Owner bool
}

func tabs(all []route) []tab {
	var out []tab
	for _, r := range all {
		if r.Tab != nil {
			path := strings.TrimSuffix(strings.TrimPrefix(r.Pattern, "GET "), "{$}")
			out = append(out, tab{path, r.Tab, r.Owner})
		}
	}
	return out
}

// visit is one request.
type visit struct {
	*Channel
	w       http.ResponseWriter
	r       *http.Request
	session core.Session
	user    core.User // zero: nobody is signed in
	now     time.Time
	zone    *time.Location
	today   core.Day
	lang    string // one of words.Languages
	words   *texts
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// handler is a route with what all have in common.
func (c *Channel) handler(one route) http.Handler {
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := one.Body
		if limit == 0 {
			limit = formBody
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		v := c.visit(w, r)
		defer v.recover()
		if err := v.identify(one); err != nil {
			v.fail(err)
			return
		}
		if v.user.ID == 0 && !one.Open {
			v.refuse()
			return
		}
		if v.user.ID == 0 && r.Method == http.MethodPost {
			form, err := c.Intake.Take(w, r, openBody)
			if err != nil {
				intake.Refuse(w, err)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(form.Bytes()))
			form.Release()
		}
		if err := one.Serve(v); err != nil {
			v.fail(err)
		}
	})
	return c.headers(c.guard.Handler(serve))
}

// foreign answers what came from another page than ours.
func (c *Channel) foreign(w http.ResponseWriter, r *http.Request) {
	c.visit(w, r).fail(because(http.StatusForbidden, func(w *texts) string { return w.ErrForeign }))
}

// visit is a request of nobody yet.
func (c *Channel) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{Channel: c, w: w, r: r, now: c.Now()}
	v.settle()
	return v
}

// settle takes the language, zone and day of the visitor.
func (v *visit) settle() {
	v.lang = languageOf(v.user.Settings.Language, v.Language, v.r.Header.Get("Accept-Language"))
	v.words = say(v.lang)
	v.zone = v.user.Settings.Location(v.Channel.zone)
	v.today = v.Calendar.Day(v.user.Settings, v.now)
}

// recover answers when a handler breaks.
func (v *visit) recover() {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	v.Log.Error("a page broke", zap.String("page", v.r.Pattern), zap.Any("cause", cause),
		zap.ByteString("stack", debug.Stack()))
	v.fail(errBroken)
}

// headers sets what every answer has.
func (c *Channel) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"media-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY") // for browsers that know no frame-ancestors
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// wantsPart reports whether the script asks for the inside of a page only.
func (v *visit) wantsPart() bool { return v.r.Header.Get("X-Part") != "" }

// wantsJSON reports whether the script asks for data.
func (v *visit) wantsJSON() bool { return v.r.Header.Get("Accept") == "application/json" }

// page answers with a page of templates.
func (v *visit) page(name, title string, data any) error {
	return v.render(http.StatusOK, name, title, data)
}

func (v *visit) render(status int, name, title string, data any) error {
	var b bytes.Buffer
	if err := v.views.execute(&b, v, name, title, data); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // the client is gone: there is nobody to tell
	return nil
}

// toastCookie carries what was done to the next page.
const toastCookie = "toast"

// back ends an action: it leads to a path of ours, where toast is said.
func (v *visit) back(path, toast string) error {
	if v.wantsJSON() {
		return v.json(http.StatusOK, map[string]string{"url": local(path), "toast": toast})
	}
	if toast != "" {
		http.SetCookie(v.w, &http.Cookie{Name: toastCookie, Value: escape(toast), Path: "/", MaxAge: 30, HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: v.secure()})
	}
	http.Redirect(v.w, v.r, local(path), http.StatusSeeOther)
	return nil
}

// toast takes what the last action left to say.
func (v *visit) toast() string {
	k, err := v.r.Cookie(toastCookie)
	if err != nil || v.wantsPart() {
		return ""
	}
	http.SetCookie(v.w, &http.Cookie{Name: toastCookie, Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: v.secure()})
	return unescape(k.Value)
}

// dayName is what a day is called today.
func (v *visit) dayName(label string) string { return day.Name(label, v.today.Label, v.lang) }
