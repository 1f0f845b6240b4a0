package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// noteUse is how much later than noted a session is used before that is noted.
const noteUse = time.Hour

func (c *Channel) signInRoutes() []route {
	return []route{
		{Pattern: "GET /signin", Serve: (*visit).signInPage, Open: true},
		{Pattern: "POST /signin", Serve: (*visit).signIn, Open: true},
		{Pattern: "POST /signout", Serve: (*visit).signOut},
		{Pattern: "POST /theme", Serve: (*visit).setTheme, Open: true},
	}
}

// cookieName is the name of the session's cookie: with __Host- it can come from
// this very host and by https only.
func (v *visit) cookieName() string {
	if v.secure() {
		return "__Host-everthread"
	}
	return "everthread"
}

// secure reports whether the page is reached by https.
func (v *visit) secure() bool {
	return v.public.Scheme == "https" || v.r.TLS != nil || v.proxied() && v.r.Header.Get("X-Forwarded-Proto") == "https"
}

// hashOf is how a session's token is kept.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// identify finds out who visits. Nobody is no error.
func (v *visit) identify(one route) error {
	k, err := v.r.Cookie(v.cookieName())
	if err != nil || len(k.Value) > 100 {
		return nil
	}
	v.session, v.user, err = v.Store.Session(v.ctx(), hashOf(k.Value), v.now)
	if missing(err) {
		v.session, v.user = core.Session{}, core.User{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the session: %w", err)
	}
	v.r = v.r.WithContext(core.WithActor(v.ctx(), core.Actor{Via: core.ViaSession, ID: v.session.ID, At: v.now}))
	v.settle()
	if one.Owner && v.user.Role != core.RoleOwner {
		return core.ErrNotFound
	}
	return v.used()
}

// used moves the end of the session, now and then.
func (v *visit) used() error {
	if v.now.Sub(v.session.UsedAt) < noteUse {
		return nil
	}
	expires := v.now.Add(v.Limits.SessionLife)
	err := v.Store.UseSession(v.ctx(), v.user.ID, v.session.ID, v.now, expires)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("note the use of the session: %w", err)
	}
	if k, err := v.r.Cookie(v.cookieName()); err == nil {
		v.setCookie(k.Value)
	}
	return nil
}

func (v *visit) setCookie(token string) {
	http.SetCookie(v.w, &http.Cookie{Name: v.cookieName(), Value: token, Path: "/",
		MaxAge: int(v.Limits.SessionLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure()})
}

// signInPage shows a button: chat apps fetch links for their previews, so a GET
// never uses a code up.
func (v *visit) signInPage() error {
	code := v.r.URL.Query().Get("code")
	if code == "" {
		if v.user.ID != 0 {
			return v.back("/", "")
		}
		return v.page("signedout", v.words.SignInTitle, nil)
	}
	page := signInView{Code: short(code, 100), Next: local(v.r.URL.Query().Get("next"))}
	switch u, err := v.Store.SignsIn(v.ctx(), trust.CodeHash(page.Code), v.now); {
	case err == nil:
		page.Name = fmt.Sprintf(v.words.SignInName, u.Name)
		if v.user.ID != 0 && v.user.ID != u.ID {
			page.Other = fmt.Sprintf(v.words.SignInOther, v.user.Name, u.Name)
		}
	case !missing(err):
		return fmt.Errorf("find whom the code signs in: %w", err)
	}
	return v.page("signin", v.words.SignInTitle, page)
}

// signInView is what the sign-in page says. Name says whose account the code opens,
// and is empty if it opens none; Other warns if somebody else is signed in.
type signInView struct{ Code, Next, Name, Other string }

// signIn uses a code up and starts a session with a new token.
func (v *visit) signIn() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	token, err := v.token()
	if err != nil {
		return err
	}
	s := core.Session{Hash: hashOf(token), Browser: short(v.r.UserAgent(), 200), CreatedAt: v.now, UsedAt: v.now,
		Expires: v.now.Add(v.Limits.SessionLife)}
	s, err = v.Store.SignIn(v.ctx(), trust.CodeHash(v.r.PostForm.Get("code")), s, v.now)
	if errors.Is(err, core.ErrRefused) { // only a wrong code counts: it has 120 bits, and nobody locks the right one out
		if wait := v.tries.take(v.client()); wait > 0 {
			return &fault{status: http.StatusTooManyRequests, text: func(w *texts) string { return w.ErrTries }, after: wait}
		}
		return because(http.StatusForbidden, func(w *texts) string { return w.ErrCode })
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	v.endOther()
	v.setCookie(token)
	v.Log.Info("signed in", zap.Int64("user", int64(s.User)), zap.Int64("session", s.ID))
	v.takeZone(s, v.r.PostForm.Get("zone"))
	return v.back(v.r.PostForm.Get("next"), "")
}

// endOther ends the session that the browser had before.
func (v *visit) endOther() {
	if v.user.ID == 0 {
		return
	}
	if err := v.Store.EndSession(v.ctx(), v.user.ID, v.session.ID); err != nil && !missing(err) {
		v.Log.Warn("end the session before", zap.Int64("user", int64(v.user.ID)), zap.Error(err))
	}
}

// takeZone keeps the browser's time zone for a person who chose none (SPEC 4).
func (v *visit) takeZone(s core.Session, zone string) {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || len(zone) > 60 {
		return
	}
	_, u, err := v.Store.Session(v.ctx(), s.Hash, v.now)
	if err == nil && u.Settings.Zone == "" {
		u.Settings.Zone = zone
		_, err = v.Gateway.Act(v.ctx(), u.ID, core.SetSettings{Settings: u.Settings})
	}
	if err != nil {
		v.Log.Warn("keep the browser's time zone", zap.Int64("user", int64(s.User)), zap.Error(err))
	}
}

func (v *visit) signOut() error {
	if err := v.Store.EndSession(v.ctx(), v.user.ID, v.session.ID); err != nil && !missing(err) {
		return fmt.Errorf("sign out: %w", err)
	}
	http.SetCookie(v.w, &http.Cookie{Name: v.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: v.secure()})
	v.user = core.User{}
	return v.page("signedout", v.words.SignedOut, map[string]bool{"Bye": true})
}

// token returns 256 random bits.
func (v *visit) token() (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(v.Rand, b); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// themeCookie keeps whether the page is light or dark.
const themeCookie = "theme"

func (v *visit) setTheme() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	k := &http.Cookie{Name: themeCookie, Value: v.r.PostForm.Get("theme"), Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure()}
	if k.Value != "light" && k.Value != "dark" {
		k.Value, k.MaxAge = "", -1
	}
	http.SetCookie(v.w, k)
	return v.back(v.r.PostForm.Get("next"), "")
}

// theme is light, dark or, as the system has it, empty.
func (v *visit) theme() string {
	if k, err := v.r.Cookie(themeCookie); err == nil && (k.Value == "light" || k.Value == "dark") {
		return k.Value
	}
	return ""
}

// badForm is what is said of a form that cannot be read.
func badForm(err error) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return err
	}
	return because(http.StatusBadRequest, func(w *texts) string { return w.ErrForm })
}

// short is at most n bytes of a text, whole characters.
func short(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
