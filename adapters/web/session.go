package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// noteUse is how much later than noted a session is used before that is noted.
const noteUse = time.Hour

func signInRoutes() []Route {
	return []Route{
		{Pattern: "GET /signin", Serve: (*Visit).signInPage, Open: true},
		{Pattern: "POST /signin", Serve: (*Visit).signIn, Open: true},
		{Pattern: "POST /signout", Serve: (*Visit).SignOut},
		{Pattern: "POST /theme", Serve: (*Visit).setTheme, Open: true},
	}
}

// cookieName is the name of the session's cookie: with __Host- it can come from
// this very host and by https only.
func (v *Visit) cookieName() string {
	if v.secure() {
		return "__Host-everthread"
	}
	return "everthread"
}

// secure reports whether the page is reached by https.
func (v *Visit) secure() bool {
	return v.channel.public.Scheme == "https" || v.R.TLS != nil || v.proxied() && v.R.Header.Get("X-Forwarded-Proto") == "https"
}

// hashOf is how a session's token is kept.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// identify finds out who visits. Nobody is no error.
func (v *Visit) identify(one Route) error {
	k, err := v.R.Cookie(v.cookieName())
	if err != nil || len(k.Value) > 100 {
		return nil
	}
	v.Session, v.User, err = v.channel.Store.Session(v.Context(), hashOf(k.Value), v.Now)
	if missing(err) {
		v.Session, v.User = core.Session{}, core.User{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the session: %w", err)
	}
	v.R = v.R.WithContext(core.WithActor(v.Context(), core.Actor{Via: core.ViaSession, ID: v.Session.ID, At: v.Now}))
	v.settle()
	if one.Owner && v.User.Role != core.RoleOwner {
		return core.ErrNotFound
	}
	return v.used()
}

// used moves the end of the session, now and then.
func (v *Visit) used() error {
	if v.Now.Sub(v.Session.UsedAt) < noteUse {
		return nil
	}
	expires := v.Now.Add(v.channel.Limits.SessionLife)
	err := v.channel.Store.UseSession(v.Context(), v.User.ID, v.Session.ID, v.Now, expires)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("note the use of the session: %w", err)
	}
	if k, err := v.R.Cookie(v.cookieName()); err == nil {
		v.setCookie(k.Value)
	}
	return nil
}

func (v *Visit) setCookie(token string) {
	http.SetCookie(v.W, &http.Cookie{Name: v.cookieName(), Value: token, Path: "/",
		MaxAge: int(v.channel.Limits.SessionLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: v.secure()})
}

// signInPage shows a button: chat apps fetch links for their previews, so a GET
// never uses a code up.
func (v *Visit) signInPage() error {
	code := v.R.URL.Query().Get("code")
	if code == "" {
		if v.User.ID != 0 {
			return v.Back("/", "")
		}
		return v.Page("signedout", v.Words.SignInTitle, nil)
	}
	page := signInView{Code: Short(code, 100), Next: local(v.R.URL.Query().Get("next"))}
	switch u, until, err := v.channel.Store.SignsIn(v.Context(), trust.CodeHash(page.Code), v.Now); {
	case err == nil:
		page.Name = fmt.Sprintf(v.Words.SignInName, u.Name)
		page.Until = v.until(u, until)
		if u.Settings.Zone == "" {
			page.House = v.ZoneOf(u.Settings).String()
		}
		if v.User.ID != 0 && v.User.ID != u.ID {
			page.Other = fmt.Sprintf(v.Words.SignInOther, v.User.Name, u.Name)
		}
	case !missing(err):
		return fmt.Errorf("find whom the code signs in: %w", err)
	}
	return v.Page("signin", v.Words.SignInTitle, page)
}

// signInView is what the sign-in page says. Name says whose account the code opens,
// and is empty if it opens none; Other warns if somebody else is signed in; Until says
// how long the code is good for; House is the gateway's own zone.
type signInView struct{ Code, Next, Name, Other, Until, House string }

// until says how long a code is good for, by the clock of whom it signs in. That one and
// this browser's may differ, so the minutes are said, too.
func (v *Visit) until(u core.User, end time.Time) string {
	left := int((end.Sub(v.Now) + time.Minute - 1) / time.Minute)
	return fmt.Sprintf(v.Words.SignInUntil, end.In(v.ZoneOf(u.Settings)).Format(HourMinute), v.Words.Minutes.Of(left))
}

// signIn uses a code up and starts a session with a new token.
func (v *Visit) signIn() error {
	token, err := v.Token()
	if err != nil {
		return err
	}
	s := core.Session{Hash: hashOf(token), Browser: Short(v.R.UserAgent(), 200), CreatedAt: v.Now, UsedAt: v.Now,
		Expires: v.Now.Add(v.channel.Limits.SessionLife)}
	s, err = v.channel.Store.SignIn(v.Context(), trust.CodeHash(v.R.PostForm.Get("code")), s, v.Now)
	if errors.Is(err, core.ErrRefused) { // only a wrong code counts: it has 120 bits, and nobody locks the right one out
		if wait := v.channel.tries.take(v.client()); wait > 0 {
			return &Fault{Status: http.StatusTooManyRequests, Text: v.Words.ErrTries, After: wait}
		}
		return Because(http.StatusForbidden, v.Words.ErrCode)
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	v.endOther()
	v.setCookie(token)
	v.channel.Log.Info("signed in", zap.Int64("user", int64(s.User)), zap.Int64("session", s.ID))
	v.takeZone(s, v.R.PostForm.Get("zone"))
	return v.Back(v.R.PostForm.Get("next"), "")
}

// endOther ends the session that the browser had before.
func (v *Visit) endOther() {
	if v.User.ID == 0 {
		return
	}
	if err := v.channel.Store.EndSession(v.Context(), v.User.ID, v.Session.ID); err != nil && !missing(err) {
		v.channel.Log.Warn("end the session before", zap.Int64("user", int64(v.User.ID)), zap.Error(err))
	}
}

// takeZone keeps the time zone that a person who had none chose as they signed in.
func (v *Visit) takeZone(s core.Session, zone string) {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || len(zone) > 60 {
		return
	}
	_, u, err := v.channel.Store.Session(v.Context(), s.Hash, v.Now)
	if err == nil && u.Settings.Zone == "" {
		u.Settings.Zone = zone
		_, err = v.channel.Gateway.Act(v.Context(), u.ID, core.SetSettings{Settings: u.Settings})
	}
	if err != nil {
		v.channel.Log.Warn("keep the time zone", zap.Int64("user", int64(s.User)), zap.Error(err))
	}
}

// SignOut ends the session, and answers that it did.
func (v *Visit) SignOut() error {
	if err := v.channel.Store.EndSession(v.Context(), v.User.ID, v.Session.ID); err != nil && !missing(err) {
		return fmt.Errorf("sign out: %w", err)
	}
	http.SetCookie(v.W, &http.Cookie{Name: v.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: v.secure()})
	if v.secure() { // what the script keeps; where it is not heeded, the script of the page does the same
		v.W.Header().Set("Clear-Site-Data", `"storage"`)
	}
	v.User = core.User{}
	return v.Page("signedout", v.Words.SignedOut, map[string]bool{"Bye": true})
}

// Token returns 256 random bits.
func (v *Visit) Token() (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(v.channel.Rand, b); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// themeCookie keeps whether the page is light or dark.
const themeCookie = "theme"

func (v *Visit) setTheme() error {
	k := &http.Cookie{Name: themeCookie, Value: v.R.PostForm.Get("theme"), Path: "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure()}
	if k.Value != "light" && k.Value != "dark" {
		k.Value, k.MaxAge = "", -1
	}
	http.SetCookie(v.W, k)
	return v.Back(v.R.PostForm.Get("next"), "")
}

// theme is light, dark or, as the system has it, empty.
func (v *Visit) theme() string {
	if k, err := v.R.Cookie(themeCookie); err == nil && (k.Value == "light" || k.Value == "dark") {
		return k.Value
	}
	return ""
}

// SessionLife is how long a session lasts after its last use.
func (v *Visit) SessionLife() time.Duration { return v.channel.Limits.SessionLife }

// Lives reports whether the visitor's session goes on.
func (v *Visit) Lives(ctx context.Context) (bool, error) {
	_, u, err := v.channel.Store.Session(ctx, v.Session.Hash, v.channel.Now())
	if missing(err) {
		return false, nil
	}
	return err == nil && u.ID == v.Session.User, err
}

// IsOwner reports whether a request comes from a browser that the owner signed in with.
func (c *Channel) IsOwner(r *http.Request) bool {
	k, err := r.Cookie(c.Visit(nil, r).cookieName())
	if err != nil || len(k.Value) > 100 {
		return false
	}
	_, user, err := c.Store.Session(r.Context(), hashOf(k.Value), c.Now())
	return err == nil && user.Role == core.RoleOwner
}
