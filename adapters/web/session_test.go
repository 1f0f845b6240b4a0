package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// cookie is the cookie of a name that an answer sets, nil if it sets none.
func (a answer) cookie(name string) *http.Cookie {
	for _, k := range (&http.Response{Header: a.header}).Cookies() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

func TestALinkSignsInOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana
	code := p.code()
	for range 3 { // as previews of chat apps do
		p.get("/signin?code="+code).wants(t, 200, `value="`+code+`"`, "Sign in", "opens the account of Ana")
	}
	a := p.post("/signin", url.Values{"code": {strings.ToLower(code)}, "next": {"/threads"}})
	a.wants(t, http.StatusSeeOther)
	if got := a.header.Get("Location"); got != "/threads" {
		t.Errorf("led to %q", got)
	}
	k := a.cookie("everthread")
	if k == nil || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Secure || k.Path != "/" ||
		k.MaxAge != 30*24*3600 {
		t.Errorf("got cookie %+v", k)
	}
	p.get("/").wants(t, 200, "Ana")
	p.get("/signin?code="+w.bob.code()).wants(t, 200, "opens the account of Bob", "Careful: you are signed in as Ana")
	w.bob.post("/signin", url.Values{"code": {code}}).wants(t, http.StatusForbidden, "used already")
	w.bob.get("/").wants(t, http.StatusUnauthorized, "/web")
}

func TestTokensAreKeptHashedAndNeverTakenFromOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana
	at, _ := url.Parse(w.http.URL)
	planted := strings.Repeat("A", 43)
	p.client.Jar.SetCookies(at, []*http.Cookie{{Name: "everthread", Value: planted, Path: "/"}})
	first := p.post("/signin", url.Values{"code": {p.code()}}).cookie("everthread").Value
	second := p.post("/signin", url.Values{"code": {p.code()}}).cookie("everthread").Value
	if first == planted || first == second || len(first) != 43 {
		t.Errorf("tokens are %q and %q", first, second)
	}
	all, err := w.store.Sessions(w.ctx, p.user.ID, w.clock.now())
	w.must(err)
	if len(all) != 1 || all[0].Hash == second || all[0].Hash != hashOf(second) {
		t.Errorf("the session before should have ended, and the token be hashed: %+v", all)
	}
	if all[0].Browser != "Go-http-client/1.1" {
		t.Errorf("browser is %q", all[0].Browser)
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	w.clock.pass(29 * 24 * time.Hour)
	p.get("/").wants(t, 200)
	w.clock.pass(29 * 24 * time.Hour)
	p.get("/").wants(t, 200)
	w.clock.pass(31 * 24 * time.Hour)
	p.get("/").wants(t, http.StatusUnauthorized)
	p.signedIn()
	p.post("/signout", nil).wants(t, 200, "You are signed out")
	p.get("/").wants(t, http.StatusUnauthorized)
	all, err := w.store.Sessions(w.ctx, p.user.ID, w.clock.now())
	w.must(err)
	if len(all) != 0 {
		t.Errorf("%d sessions are left", len(all))
	}
}

func TestTheLastUseIsNotedOnceAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	used := func() time.Time {
		all, err := w.store.Sessions(w.ctx, p.user.ID, w.clock.now())
		w.must(err)
		return all[0].UsedAt
	}
	begin := used()
	w.clock.pass(59 * time.Minute)
	p.get("/")
	if !used().Equal(begin) {
		t.Error("noted too early")
	}
	w.clock.pass(2 * time.Minute)
	if a := p.get("/"); !used().After(begin) || a.cookie("everthread") == nil {
		t.Error("not noted, or the cookie was not prolonged")
	}
}

func TestSignInsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Limits.SignIns = 14 })
	try := func(remote, forwarded string) int {
		r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader("code=WRONG"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = remote + ":1"
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		rec := httptest.NewRecorder()
		w.mux.ServeHTTP(rec, r)
		if rec.Code == http.StatusTooManyRequests && rec.Header().Get("Retry-After") == "" {
			t.Error("it is not said when to try again")
		}
		return rec.Code
	}
	for n := range 10 {
		if got := try("192.0.2.1", ""); got != http.StatusForbidden {
			t.Fatalf("try %d answered %d", n, got)
		}
	}
	if got := try("192.0.2.1", "198.51.100.7"); got != http.StatusTooManyRequests {
		t.Errorf("the eleventh answered %d: nobody but a proxy is believed", got)
	}
	for n := range 4 {
		if got := try("192.0.2.2", ""); got != http.StatusForbidden {
			t.Fatalf("another address, try %d answered %d", n, got)
		}
	}
	if got := try("192.0.2.3", ""); got != http.StatusTooManyRequests {
		t.Errorf("in all there were 14, and one more answered %d", got)
	}
	// Whoever has the right link is not locked out by those who have not.
	w.ana.post("/signin", url.Values{"code": {w.ana.code()}}).wants(t, http.StatusSeeOther)
	w.clock.pass(time.Minute)
	if got := try("192.0.2.1", ""); got != http.StatusForbidden {
		t.Errorf("a minute later it answered %d", got)
	}
}

func TestClientsBehindProxies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.TrustedProxies = []string{"10.0.0.0/8", "192.0.2.9", "fd00::/8"} })
	cases := []struct{ name, remote, forwarded, want string }{
		{"no proxy", "198.51.100.1", "", "198.51.100.1"},
		{"no proxy of ours", "198.51.100.1", "203.0.113.5", "198.51.100.1"},
		{"a proxy", "10.1.2.3", "203.0.113.5", "203.0.113.5"},
		{"a proxy without a word", "10.1.2.3", "", "10.1.2.3"},
		{"two proxies", "10.1.2.3", "203.0.113.5, 192.0.2.9", "203.0.113.5"},
		{"what the client says itself", "10.1.2.3", "6.6.6.6, 203.0.113.5", "203.0.113.5"},
		{"nonsense", "10.1.2.3", "203.0.113.5, unknown", "10.1.2.3"},
		{"IPv6 is its network", "10.1.2.3", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
		{"IPv4 within IPv6", "::ffff:198.51.100.1", "", "198.51.100.1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = "[" + c.remote + "]:1"
			if !strings.Contains(c.remote, ":") {
				r.RemoteAddr = c.remote + ":1"
			}
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if got := w.page.visit(httptest.NewRecorder(), r).client().String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestCookiesAreSecureOverHTTPS(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, public, remote, proto string
		secure                      bool
	}{
		{"plain", "http://127.0.0.1:8080", "127.0.0.1", "", false},
		{"public address", "https://chat.example.org", "127.0.0.1", "", true},
		{"a proxy says so", "http://127.0.0.1:8080", "10.0.0.1", "https", true},
		{"somebody says so", "http://127.0.0.1:8080", "198.51.100.1", "https", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) { o.PublicURL, o.TrustedProxies = c.public, []string{"10.0.0.0/8"} })
			r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader("code="+w.ana.code()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = c.remote + ":1"
			r.Header.Set("X-Forwarded-Proto", c.proto)
			rec := httptest.NewRecorder()
			w.mux.ServeHTTP(rec, r)
			name := "everthread"
			if c.secure {
				name = "__Host-everthread"
			}
			k := answer{header: rec.Header()}.cookie(name)
			if k == nil || k.Secure != c.secure || k.Domain != "" {
				t.Errorf("got %d with %v", rec.Code, rec.Header())
			}
		})
	}
}

func TestRedirectsStayHere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example",
		"javascript:alert(1)", "evil.example", "http:evil", "/\t/evil.example", "/%09/x\r\nSet-Cookie: a=b",
		"///evil.example", "/a\x00b", "https:///evil", "", "?x", "//", "/%2f%2fevil.example/..", "http://user@evil.example"} {
		if got := local(path); got != "/" && (strings.HasPrefix(got, "//") || !strings.HasPrefix(got, "/") ||
			strings.Contains(got, "\\")) {
			t.Errorf("%q became %q", path, got)
		}
	}
	for _, path := range []string{"/", "/day/2026-01-31?at=5#m5", "/search?q=a%20b"} {
		if got := local(path); got != path {
			t.Errorf("%q became %q", path, got)
		}
	}
	w := newWorld(t)
	a := w.ana.post("/signin", url.Values{"code": {w.ana.code()}, "next": {"//evil.example/x"}})
	if got := a.header.Get("Location"); got != "/" {
		t.Errorf("signing in led to %q", got)
	}
	if got := w.ana.post("/theme", url.Values{"theme": {"dark"}, "next": {"https://evil.example"}}).header.Get(
		"Location"); got != "/" {
		t.Errorf("the theme led to %q", got)
	}
}

func TestTheBrowsersZoneIsTakenFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana
	zone := func() string {
		u, err := w.page.People.(interface {
			User(ctx context.Context, id core.UserID) (core.User, error)
		}).User(w.ctx, p.user.ID)
		w.must(err)
		return u.Settings.Zone
	}
	p.post("/signin", url.Values{"code": {p.code()}, "zone": {"Nowhere/Town"}})
	if got := zone(); got != "" {
		t.Errorf("took %q", got)
	}
	p.post("/signin", url.Values{"code": {p.code()}, "zone": {"Asia/Tokyo"}})
	if got := zone(); got != "Asia/Tokyo" {
		t.Errorf("got %q", got)
	}
	p.post("/signin", url.Values{"code": {p.code()}, "zone": {"Europe/Rome"}})
	if got := zone(); got != "Asia/Tokyo" {
		t.Errorf("it became %q", got)
	}
}

func TestTheThemeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.get("/threads").lacks(t, "data-theme")
	p.post("/theme", url.Values{"theme": {"dark"}})
	p.get("/threads").wants(t, 200, `data-theme="dark"`)
	p.post("/theme", url.Values{"theme": {`"><script>`}})
	p.get("/threads").lacks(t, "data-theme")
}
