package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/effect"
)

func TestSignIn_linkWorksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana
	code := p.Code()
	for range 3 { // like the previews of chat apps
		p.Get("/signin?code="+code).Wants(t, 200, `value="`+code+`"`, "Sign in", "opens Ana&#39;s account")
	}
	a := p.Post("/signin", url.Values{"code": {strings.ToLower(code)}, "next": {"/threads"}})
	a.Wants(t, http.StatusSeeOther)
	if got := a.Header.Get("Location"); got != "/threads" {
		t.Errorf("led to %q", got)
	}
	k := a.Cookie("everthread")
	if k == nil || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Secure || k.Path != "/" ||
		k.MaxAge != 30*24*3600 {
		t.Errorf("got cookie %+v", k)
	}
	p.Get("/").Wants(t, 200, "Ana")
	p.Get("/signin?code="+w.Bob.Code()).Wants(t, 200, "opens Bob&#39;s account", "Careful: you are signed in as Ana")
	w.Bob.Post("/signin", url.Values{"code": {code}}).Wants(t, http.StatusForbidden, "already been used")
	w.Bob.Get("/").Wants(t, http.StatusUnauthorized, "/web")
}

func TestSession_tokensAreHashed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana
	at, _ := url.Parse(w.HTTP.URL)
	planted := strings.Repeat("A", 43)
	p.Client.Jar.SetCookies(at, []*http.Cookie{{Name: "everthread", Value: planted, Path: "/"}})
	first := p.Post("/signin", url.Values{"code": {p.Code()}}).Cookie("everthread").Value
	second := p.Post("/signin", url.Values{"code": {p.Code()}}).Cookie("everthread").Value
	if first == planted || first == second || len(first) != 43 {
		t.Errorf("tokens are %q and %q", first, second)
	}
	all, err := w.Store.Sessions(w.Context, p.User.ID, w.Clock.Now())
	w.Must(err)
	if len(all) != 1 || all[0].Hash == second || all[0].Hash != web.HashOf(second) {
		t.Errorf("the session before should have ended, and the token be hashed: %+v", all)
	}
	if all[0].Browser != "Go-http-client/1.1" {
		t.Errorf("browser is %q", all[0].Browser)
	}
}

func TestSession_ends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	w.Clock.Pass(29 * 24 * time.Hour)
	p.Get("/").Wants(t, 200)
	w.Clock.Pass(29 * 24 * time.Hour)
	p.Get("/").Wants(t, 200)
	w.Clock.Pass(31 * 24 * time.Hour)
	p.Get("/").Wants(t, http.StatusUnauthorized)
	p.SignedIn()
	p.Post("/signout", nil).Wants(t, 200, "You are signed out")
	p.Get("/").Wants(t, http.StatusUnauthorized)
	all, err := w.Store.Sessions(w.Context, p.User.ID, w.Clock.Now())
	w.Must(err)
	if len(all) != 0 {
		t.Errorf("%d sessions are left", len(all))
	}
}

// Whoever has no session is told a way to get a link that exists: a chat that is linked, and the machine.
func TestSignIn_saysHow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana
	used := p.Code()
	p.Post("/signin", url.Values{"code": {used}})
	p.Post("/signout", nil)
	ways := map[string]func() webtest.Answer{
		"without a session": func() webtest.Answer { return p.Get("/") },
		"the page itself":   func() webtest.Answer { return p.Get("/signin") },
		"a used link":       func() webtest.Answer { return p.Post("/signin", url.Values{"code": {used}}) },
		"a wrong link":      func() webtest.Answer { return p.Post("/signin", url.Values{"code": {"WRONG"}}) },
	}
	for name, way := range ways {
		a := way()
		if strings.HasSuffix(name, "link") {
			a.Wants(t, http.StatusForbidden, "already been used, or is too old")
		}
		a.Wants(t, a.Status, "Send /web to the assistant in one of your chats",
			"<code>everthread users link NAME</code>")
		a.Lacks(t, "Telegram", "start-code")
	}
	_, err := w.Gate.Act(w.Context, p.User.ID, effect.Unlink{Identity: p.Chat.ID, At: w.Clock.Now()})
	w.Must(err)
	for _, way := range ways {
		a := way()
		a.Wants(t, a.Status, "<code>everthread users link NAME</code>")
		a.Lacks(t, "Send /web", "start-code")
	}
}

func TestSession_lastUseOnceAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	used := func() time.Time {
		all, err := w.Store.Sessions(w.Context, p.User.ID, w.Clock.Now())
		w.Must(err)
		return all[0].UsedAt
	}
	begin := used()
	w.Clock.Pass(59 * time.Minute)
	p.Get("/")
	if !used().Equal(begin) {
		t.Error("noted too early")
	}
	w.Clock.Pass(2 * time.Minute)
	if a := p.Get("/"); !used().After(begin) || a.Cookie("everthread") == nil {
		t.Error("not noted, or the cookie was not prolonged")
	}
}

func TestSignIn_isLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *web.Options) { o.Limits.SignIns = 14 })
	try := func(remote, forwarded string) int {
		r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader("code=WRONG"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = remote + ":1"
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		rec := httptest.NewRecorder()
		w.Mux.ServeHTTP(rec, r)
		if rec.Code == http.StatusTooManyRequests && rec.Header().Get("Retry-After") == "" {
			t.Error("the refusal does not say when to try again")
		}
		return rec.Code
	}
	for n := range 10 {
		if got := try("192.0.2.1", ""); got != http.StatusForbidden {
			t.Fatalf("try %d answered %d", n, got)
		}
	}
	if got := try("192.0.2.1", "198.51.100.7"); got != http.StatusTooManyRequests {
		t.Errorf("the eleventh: got status %d; only a proxy's header is trusted", got)
	}
	for n := range 4 {
		if got := try("192.0.2.2", ""); got != http.StatusForbidden {
			t.Fatalf("another address, try %d answered %d", n, got)
		}
	}
	if got := try("192.0.2.3", ""); got != http.StatusTooManyRequests {
		t.Errorf("in all there were 14, and one more answered %d", got)
	}
	// Wrong links do not lock out a person with the right one.
	w.Ana.Post("/signin", url.Values{"code": {w.Ana.Code()}}).Wants(t, http.StatusSeeOther)
	w.Clock.Pass(time.Minute)
	if got := try("192.0.2.1", ""); got != http.StatusForbidden {
		t.Errorf("a minute later it answered %d", got)
	}
}

// proxies returns trusted addresses and networks.
func proxies(all ...string) client.Proxies {
	p, err := client.ParseProxies(all)
	if err != nil {
		panic(err)
	}
	return p
}

func TestClients_behindProxies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *web.Options) { o.Proxies = proxies("10.0.0.0/8", "192.0.2.9", "fd00::/8") })
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
			if got := w.Page.Visit(httptest.NewRecorder(), r).Client(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestCookies_secureOverHTTPS(t *testing.T) {
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
			w := newWorld(t, func(o *web.Options) { o.PublicURL, o.Proxies = c.public, proxies("10.0.0.0/8") })
			r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader("code="+w.Ana.Code()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = c.remote + ":1"
			r.Header.Set("X-Forwarded-Proto", c.proto)
			rec := httptest.NewRecorder()
			w.Mux.ServeHTTP(rec, r)
			name := "everthread"
			if c.secure {
				name = "__Host-everthread"
			}
			k := webtest.Answer{Header: rec.Header()}.Cookie(name)
			if k == nil || k.Secure != c.secure || k.Domain != "" {
				t.Errorf("got %d with %v", rec.Code, rec.Header())
			}
		})
	}
}

func TestRedirects_stayHere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example",
		"javascript:alert(1)", "evil.example", "http:evil", "/\t/evil.example", "/%09/x\r\nSet-Cookie: a=b",
		"///evil.example", "/a\x00b", "https:///evil", "", "?x", "//", "/%2f%2fevil.example/..", "http://user@evil.example"} {
		if got := web.Local(path); got != "/" && (strings.HasPrefix(got, "//") || !strings.HasPrefix(got, "/") ||
			strings.Contains(got, "\\")) {
			t.Errorf("%q became %q", path, got)
		}
	}
	for _, path := range []string{"/", "/day/2026-01-31?at=5#m5", "/search?q=a%20b"} {
		if got := web.Local(path); got != path {
			t.Errorf("%q became %q", path, got)
		}
	}
	w := newWorld(t)
	a := w.Ana.Post("/signin", url.Values{"code": {w.Ana.Code()}, "next": {"//evil.example/x"}})
	if got := a.Header.Get("Location"); got != "/" {
		t.Errorf("signing in led to %q", got)
	}
	if got := w.Ana.Post("/theme", url.Values{"theme": {"dark"}, "next": {"https://evil.example"}}).Header.Get(
		"Location"); got != "/" {
		t.Errorf("the theme led to %q", got)
	}
}

func TestSignIn_saysUntilWhenAsksZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana
	code := p.Code()
	w.Clock.Pass(3*time.Minute + 30*time.Second)
	p.Get("/signin?code="+code).Wants(t, 200, "once, until 14:50 (7 minutes left)", `data-house="Europe/Paris"`,
		"Which time zone is yours?")
	p.Post("/signin", url.Values{"code": {code}, "zone": {"Europe/Paris"}}) // the gateway's zone, once chosen, is not offered again
	p.Get("/signin?code="+p.Code()).Lacks(t, "Which time zone is yours?")
	unknown := p.Get("/signin?code=NOTONE")
	unknown.Wants(t, 200, "within ten minutes of its creation")
	unknown.Lacks(t, "Which time zone is yours?")
}

func TestSignIn_takesTheChosenZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana
	zone := func() string {
		u, err := w.Store.User(w.Context, p.User.ID)
		w.Must(err)
		return u.Settings.Zone
	}
	p.Post("/signin", url.Values{"code": {p.Code()}, "zone": {"Nowhere/Town"}})
	if got := zone(); got != "" {
		t.Errorf("took %q", got)
	}
	p.Post("/signin", url.Values{"code": {p.Code()}, "zone": {"Asia/Tokyo"}})
	if got := zone(); got != "Asia/Tokyo" {
		t.Errorf("got %q", got)
	}
	p.Post("/signin", url.Values{"code": {p.Code()}, "zone": {"Europe/Rome"}})
	if got := zone(); got != "Asia/Tokyo" {
		t.Errorf("it became %q", got)
	}
}

func TestTheme_isKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/threads").Lacks(t, "data-theme")
	p.Post("/theme", url.Values{"theme": {"dark"}})
	p.Get("/threads").Wants(t, 200, `data-theme="dark"`)
	p.Post("/theme", url.Values{"theme": {`"><script>`}})
	p.Get("/threads").Lacks(t, "data-theme")
}

// TestStart_isClosedOnceTheOwnerHasBeenThere: no code of the first start works any more, and wrong ones are counted.
func TestStart_isClosedOnceTheOwnerHasBeenThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.People.Settings.SetupCode = "let-me-in-1"
	w.Ana.SignedIn()
	w.Bob.Client.Jar = nil
	for range 10 {
		w.Bob.Post("/start", url.Values{"code": {"let-me-in-1"}}).Wants(t, http.StatusForbidden, "already been used")
	}
	w.Bob.Post("/start", url.Values{"code": {"let-me-in-1"}}).Wants(t, http.StatusTooManyRequests)
}

// Below a path, cookies belong to it, links lead below it, and only Home Assistant's ingress shows pages in a frame.
func TestPage_belowAPath(t *testing.T) {
	t.Parallel()
	proxies, err := client.ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *web.Options) { o.Proxies = proxies })
	code := w.Ana.Code()
	ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(url.Values{"code": {code}, "next": {"/threads?x=1"}}.Encode()))
		r.RemoteAddr = "127.0.0.1:4000"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return w.Try(r)
	}
	in := ask("POST", "/signin", "X-Forwarded-Prefix", "/e", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "home.example",
		"Origin", "https://home.example")
	if to := in.Header().Get("Location"); in.Code != http.StatusSeeOther || to != "/e/threads?x=1" {
		t.Fatalf("signing in: %d to %q", in.Code, to)
	}
	if k := in.Result().Cookies()[0]; k.Name != "__Secure-everthread" || k.Path != "/e/" || !k.Secure {
		t.Errorf("got cookie %+v", k)
	}
	page := ask("GET", "/signin?code=1", "X-Forwarded-Prefix", "/e")
	for _, want := range []string{`data-root="/e"`, `action="/e/signin"`, `href="/e/manifest.webmanifest`, `src="/e/static/app.`,
		`href="/e/static/app.`, `action="/e/theme"`} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if h := page.Header(); h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("other pages can frame it: %v", h)
	}
	h := ask("GET", "/signin?code=1", "X-Ingress-Path", "/api/hassio_ingress/1").Header()
	if h.Get("X-Frame-Options") != "SAMEORIGIN" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
		t.Errorf("Home Assistant cannot show it: %v", h)
	}
	if got := ask("POST", "/signin", "X-Forwarded-Host", "home.example", "Origin", "https://evil.example"); got.Code != http.StatusForbidden {
		t.Errorf("another site posts: %d", got.Code)
	}
}
