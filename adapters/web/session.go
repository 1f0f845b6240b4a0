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
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// noteUse is the interval at which the use of a session is stored.
const noteUse = time.Hour

func signInRoutes() []Route {
	return []Route{
		{Pattern: "GET /signin", Serve: (*Visit).signInPage, Open: true},
		{Pattern: "POST /signin", Serve: (*Visit).signIn, Open: true},
		{Pattern: "POST /start", Serve: (*Visit).start, Open: true},
		{Pattern: "POST /signout", Serve: (*Visit).SignOut},
		{Pattern: "POST /theme", Serve: (*Visit).setTheme, Open: true},
	}
}

// cookieName returns the name of the session's cookie. Browsers accept one with __Host-
// only from this exact host and over HTTPS.
func (v *Visit) cookieName() string {
	return v.HostCookie("everthread")
}

// HostCookie returns the name of a cookie that, over HTTPS, only this host can set. Below a path, where such cookies
// are not possible, it can be set over HTTPS only.
func (v *Visit) HostCookie(name string) string {
	switch {
	case !v.secure():
		return name
	case v.root != "":
		return "__Secure-" + name
	}
	return "__Host-" + name
}

// Base returns the public address of the page, or the one at which the visitor has reached it if that has another path
// or the public one opens only on the machine of the gateway.
func (v *Visit) Base() string {
	public := v.channel.public
	at, err := url.Parse("//" + v.R.Host)
	elsewhere := strings.TrimRight(public.Path, "/") != v.root || here(public.Hostname()) && !here(at.Hostname())
	if err != nil || at.Host == "" || !elsewhere {
		return strings.TrimRight(public.String(), "/")
	}
	scheme := "http"
	if v.secure() {
		scheme = "https"
	}
	return scheme + "://" + at.Host + v.root
}

// here reports whether a host is the local machine.
func here(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func (v *Visit) secure() bool {
	return v.channel.public.Scheme == "https" || v.R.TLS != nil ||
		v.channel.Proxies.Forwards(v.R) && v.R.Header.Get("X-Forwarded-Proto") == "https"
}

// hashOf returns the stored form of a session's token.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// identify sets the visitor's session and user. A missing session is not an error.
func (v *Visit) identify(one Route) error {
	k, err := v.R.Cookie(v.cookieName())
	if err != nil || len(k.Value) > 100 {
		return nil
	}
	v.Session, v.User, err = v.channel.Store.Session(v.Context(), hashOf(k.Value), v.Now)
	if missing(err) {
		v.Session, v.User = store.Session{}, core.User{}
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

// used extends the session, at most once per noteUse.
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
		v.setSession(k.Value)
	}
	return nil
}

func (v *Visit) setSession(token string) {
	v.SetCookie(v.cookieName(), token, int(v.channel.Limits.SessionLife.Seconds()))
}

// signInPage shows a button. A GET never uses a code up, as chat apps fetch links for their previews.
func (v *Visit) signInPage() error {
	code := v.R.URL.Query().Get("code")
	if code == "" {
		if v.User.ID != 0 {
			return v.Back("/", "")
		}
		return v.signedOut(http.StatusOK, v.Words.SignInTitle, "")
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
		return fmt.Errorf("find the user of the code: %w", err)
	}
	return v.Page("signin", v.Words.SignInTitle, page)
}

// signInView holds the data of the sign-in page. Name states whose account the code opens, and is empty for an unknown
// code. Other warns that another user is signed in. Until states how long the code is valid. House is the gateway's own
// zone, if the user chose none.
type signInView struct{ Code, Next, Name, Other, Until, House string }

// until states how long a code is valid, in the zone of its user. The browser's zone may
// differ, so it names the minutes too.
func (v *Visit) until(u core.User, end time.Time) string {
	left := int((end.Sub(v.Now) + time.Minute - 1) / time.Minute)
	return fmt.Sprintf(v.Words.SignInUntil, end.In(v.ZoneOf(u.Settings)).Format(HourMinute), v.Words.Minutes.Of(left))
}

// signIn uses up a code and starts a session.
func (v *Visit) signIn() error {
	return v.signInWith(v.R.PostForm.Get("code"), v.R.PostForm.Get("next"))
}

// start lets the owner in at the first start, and leads to the model.
func (v *Visit) start() error {
	code, err := v.channel.Owner.Claim(v.Context(), v.R.PostForm.Get("code"))
	if errors.Is(err, core.ErrRefused) {
		return v.wrongCode()
	}
	if err != nil {
		return fmt.Errorf("let the owner in: %w", err)
	}
	return v.signInWith(code, "/setup/model?first=1")
}

// wrongCode refuses a code. Only wrong ones count, so that nobody can lock out the right one.
func (v *Visit) wrongCode() error {
	if wait := v.channel.tries.take(v.client()); wait > 0 {
		return &Fault{Status: http.StatusTooManyRequests, Text: v.Words.ErrTries, After: wait}
	}
	return v.signedOut(http.StatusForbidden, v.Words.SignInTitle, v.Words.ErrCode)
}

// signInWith uses up a code, starts a session with a new token and leads to a page.
func (v *Visit) signInWith(code, next string) error {
	token, err := v.Token()
	if err != nil {
		return err
	}
	s := store.Session{Hash: hashOf(token), Browser: Short(v.R.UserAgent(), 200), CreatedAt: v.Now, UsedAt: v.Now,
		Expires: v.Now.Add(v.channel.Limits.SessionLife)}
	s, err = v.channel.Store.SignIn(v.Context(), trust.CodeHash(code), s, v.Now)
	if errors.Is(err, core.ErrRefused) {
		return v.wrongCode()
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	if _, err := v.channel.Owner.Door(v.Context(), s.User, Name); err != nil { // from now on they have been here
		return fmt.Errorf("find the door: %w", err)
	}
	v.endOther()
	v.setSession(token)
	v.channel.Log.Info("signed in", zap.Int64("user", int64(s.User)), zap.Int64("session", s.ID))
	v.takeZone(s, v.R.PostForm.Get("zone"))
	return v.Back(next, "")
}

// endOther ends the browser's previous session.
func (v *Visit) endOther() {
	if v.User.ID == 0 {
		return
	}
	if err := v.channel.Store.EndSession(v.Context(), v.User.ID, v.Session.ID); err != nil && !missing(err) {
		v.channel.Log.Warn("previous session not ended", zap.Int64("user", int64(v.User.ID)), zap.Error(err))
	}
}

// takeZone stores the time zone chosen at sign-in by a user who had none.
func (v *Visit) takeZone(s store.Session, zone string) {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || len(zone) > 60 {
		return
	}
	_, u, err := v.channel.Store.Session(v.Context(), s.Hash, v.Now)
	if err == nil && u.Settings.Zone == "" {
		u.Settings.Zone = zone
		_, err = v.channel.Gateway.Act(v.Context(), u.ID, effect.SetSettings{Settings: u.Settings})
	}
	if err != nil {
		v.channel.Log.Warn("time zone not stored", zap.Int64("user", int64(s.User)), zap.Error(err))
	}
}

// SignOut ends the session and answers with the page for it.
func (v *Visit) SignOut() error {
	if err := v.channel.Store.EndSession(v.Context(), v.User.ID, v.Session.ID); err != nil && !missing(err) {
		return fmt.Errorf("sign out: %w", err)
	}
	v.SetCookie(v.cookieName(), "", -1)
	if v.secure() && v.root == "" { // clears the script's data; where the header is ignored, the script does the same
		v.W.Header().Set("Clear-Site-Data", `"storage"`)
	}
	v.User = core.User{}
	return v.signedOut(http.StatusOK, v.Words.SignedOut, "")
}

// signedOutView is the page for those who need a link: why, if they had one, and whether a chat brings another. It does
// not say which: anybody may read the page. Fresh: the owner has not been here.
type signedOutView struct {
	Bye    bool
	Why    string
	Linked bool
	Fresh  bool
}

// signedOut answers with the page that says how to get a link.
func (v *Visit) signedOut(status int, title, why string) error {
	page := signedOutView{Bye: title == v.Words.SignedOut, Why: why}
	var err error
	if page.Fresh, err = v.channel.Owner.Unclaimed(v.Context()); err != nil && !missing(err) {
		return fmt.Errorf("find the owner: %w", err)
	}
	users, _, err := v.channel.Store.FindUsers(v.Context(), "", 0, 50)
	if err != nil {
		return fmt.Errorf("find the owner: %w", err)
	}
	if n := slices.IndexFunc(users, func(u core.User) bool { return u.Role == core.RoleOwner }); n >= 0 {
		ids, err := v.channel.Store.Identities(v.Context(), users[n].ID)
		if err != nil {
			return fmt.Errorf("read the owner's identities: %w", err)
		}
		page.Linked = slices.ContainsFunc(ids, func(i core.Identity) bool { return !people.Own(i.Address.Channel) })
	}
	return v.Render(status, "signedout", title, page)
}

// Token returns 256 random bits.
func (v *Visit) Token() (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(v.channel.Rand, b); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// themeCookie holds the theme, light or dark.
const themeCookie = "theme"

func (v *Visit) setTheme() error {
	if theme := v.R.PostForm.Get("theme"); theme == "light" || theme == "dark" {
		v.SetCookie(themeCookie, theme, 365*24*3600)
	} else {
		v.SetCookie(themeCookie, "", -1)
	}
	return v.Back(v.R.PostForm.Get("next"), "")
}

// theme returns light, dark or, for the system's theme, "".
func (v *Visit) theme() string {
	if k, err := v.R.Cookie(themeCookie); err == nil && (k.Value == "light" || k.Value == "dark") {
		return k.Value
	}
	return ""
}

// SessionLife returns the life of a session after its last use.
func (v *Visit) SessionLife() time.Duration { return v.channel.Limits.SessionLife }

// Lives reports whether the visitor's session is still valid.
func (v *Visit) Lives(ctx context.Context) (bool, error) {
	_, u, err := v.channel.Store.Session(ctx, v.Session.Hash, v.channel.Now())
	if missing(err) {
		return false, nil
	}
	return err == nil && u.ID == v.Session.User, err
}

// IsOwner reports whether a request has a session of the owner.
func (c *Channel) IsOwner(r *http.Request) bool {
	k, err := r.Cookie(c.Visit(nil, r).cookieName())
	if err != nil || len(k.Value) > 100 {
		return false
	}
	_, user, err := c.Store.Session(r.Context(), hashOf(k.Value), c.Now())
	return err == nil && user.Role == core.RoleOwner
}
