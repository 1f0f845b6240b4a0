//go:build e2e

package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// changes are requests that change something, with their forms.
var changes = map[string]url.Values{
	"/messages":               {"text": {"forged"}, "nonce": {"0123456789abcdef0123"}},
	"/signout":                {},
	"/threads":                {"title": {"forged"}},
	"/stop":                   {},
	"/retry":                  {},
	"/m/1/forget":             {},
	"/m/1/remember":           {"text": {"forged"}, "theme": {"general"}, "type": {"fact"}},
	"/memory":                 {"text": {"forged"}, "theme": {"general"}, "type": {"fact"}},
	"/settings/profile":       {"name": {"forged"}},
	"/settings/keys":          {"name": {"forged"}, "scope": {"chat"}},
	"/settings/sessions/end":  {},
	"/settings/channels/link": {},
	"/settings/delete":        {},
	"/settings/data":          {"text": {"forged"}},
	"/settings/embeddings":    {"provider": {"openai"}, "model": {"forged"}},
	"/signin":                 {"code": {"ABCDEFGHJKLMNPQRSTUVWXYZ"}},
	"/theme":                  {"theme": {"dark"}},
}

// Requests of other sites' pages are refused, and no other site can frame the page.
func TestSecurity_otherSitesCanDoNothing(t *testing.T) {
	w := e2etest.NewTown(t, "")
	g := w.Start()
	v := g.NewGuest(g.WebCode())
	v.Post("/messages", url.Values{"text": {"mine"}, "nonce": {"aaaaaaaaaaaaaaaaaaaa"}})
	l := w.Ledger()
	l.Quiet(e2etest.Patience, g.Log)
	for _, header := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"null"}}} {
		v.Header = header
		for path, form := range changes {
			if r, _ := v.Post(path, form); r.StatusCode != http.StatusForbidden {
				t.Errorf("%v %s: %s", header, path, r.Status)
			}
		}
	}
	v.Header = http.Header{}
	if r, _ := v.Get("/settings"); r.StatusCode != http.StatusOK {
		t.Errorf("the session: %s", r.Status)
	}
	const all = `SELECT (SELECT COUNT(*) FROM messages WHERE body = 'forged') + (SELECT COUNT(*) FROM items) + (SELECT COUNT(*) FROM threads WHERE title = 'forged')
		+ (SELECT COUNT(*) FROM api_keys) + (SELECT COUNT(*) FROM users WHERE name = 'forged') + (SELECT COUNT(*) FROM messages WHERE redacted <> 0)`
	if n := l.Count(all); n != 0 {
		t.Errorf("%d things were changed", n)
	}

	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w,
			`<form method="post" action="%s/messages"><input name="text" value="forged"><input name="nonce" value="0123456789abcdef0123"></form><iframe src="%[1]s/"></iframe><script>if (location.search) document.forms[0].submit()</script>`, g.URL)
	}))
	t.Cleanup(evil.Close)
	p := g.NewTab(t).Allow("frame").Allow("403")
	p.SignIn(e2etest.NewLink(w, g))
	p.Base = evil.URL
	p.Open("/")
	if !p.Is(
		"(() => { try { return !frames[0].document.body.innerText.includes('Everthread') } catch { return true } })()") {
		t.Error("the page is shown in a frame of another")
	}
	p.Open("/?go")
	p.Sees("main", "This request came from another site")
	if n := l.Count(all); n != 0 {
		t.Errorf("%d things were changed by a form of another page", n)
	}
}

// The headers of every answer protect the page, and redirects stay on the site.
func TestSecurity_headersAndRedirects(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	code := g.WebCode()
	nobody := g.NewGuest("")
	u, err := url.Parse(g.URL)
	e2etest.Must(t, err)
	nobody.Jar.SetCookies(u, []*http.Cookie{{Name: "everthread", Value: "fixed-by-an-attacker-0123456789abcdefghijk",
		Path: "/"}})
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, `\\evil.example`,
		"/%09/evil.example", "javascript:alert(1)", "\t//evil.example", "/\n/evil.example", "http:evil.example"} {
		r, _ := nobody.Post("/theme", url.Values{"theme": {"dark"}, "next": {next}})
		at, err := u.Parse(r.Header.Get("Location"))
		if err != nil || at.Host != u.Host || at.Scheme != "http" || strings.HasPrefix(at.Path, "//") {
			t.Errorf("next=%q leads to %q", next, r.Header.Get("Location"))
		}
	}
	r, _ := nobody.Post("/signin", url.Values{"code": {code}, "next": {"//evil.example/x"}})
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" {
		t.Errorf("signed in: %s, to %q", r.Status, r.Header.Get("Location"))
	}
	set := r.Header.Get("Set-Cookie")
	if nobody.Cookie() == "fixed-by-an-attacker-0123456789abcdefghijk" || !strings.Contains(set, "HttpOnly") ||
		!strings.Contains(set, "SameSite=Lax") {
		t.Errorf("the session is %q", set)
	}
	for _, path := range []string{"/", "/signin", "/search?q=x", "/threads", "/memory", "/settings", "/admin", "/days",
		"/nothing", "/static/app.css", "/media/1/0"} {
		r, _ := nobody.Get(path)
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
	for _, path := range []string{"/media/1/..%2f..%2f..%2fetc%2fpasswd", "/media/..%2f..%2feverthread.db/0",
		"/media/1/%2e%2e", "/static/..%2f..%2fgo.mod", "/static/%2e%2e%2fapp.js", "/media/1/0/../../../etc/passwd",
		"/day/..%2f..%2f", "/static/..\\..\\x"} {
		if r, body := nobody.Get(path); r.StatusCode/100 == 2 || strings.Contains(body, "root:") ||
			strings.Contains(body, "SQLite format") {
			t.Errorf("%s: %s %.100s", path, r.Status, body)
		}
	}
}

// Guessing is stopped, without affecting others.
func TestSignIn_stopsGuessing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	good, _ := w.APIKey("", "read")
	if status, body := g.Request(http.MethodGet, "/api/v1/days", good, nil); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	v := g.NewGuest("")
	refused, stopped := 0, 0
	for n := range 40 {
		switch r, _ := v.Post("/signin", url.Values{"code": {fmt.Sprintf("ABCDEFGHJKLMNPQRSTUVW%03d", n)}}); r.StatusCode {
		case http.StatusForbidden:
			refused++
		case http.StatusTooManyRequests:
			stopped++
			if r.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
		default:
			t.Fatalf("a wrong code: %s", r.Status)
		}
	}
	if refused > 10 || stopped < 30 {
		t.Errorf("of 40 wrong codes %d were tried and %d stopped", refused, stopped)
	}
	tried := map[int]int{}
	for n := range 40 {
		status, _ := g.Request(http.MethodGet, "/api/v1/days", fmt.Sprintf("et_wrong%032d", n), nil)
		tried[status]++
	}
	if tried[http.StatusUnauthorized] > 10 || tried[http.StatusTooManyRequests] < 30 {
		t.Errorf("wrong keys: %v", tried)
	}
	if status, _ := g.Request(http.MethodGet, "/api/v1/days", good, nil); status != http.StatusOK {
		t.Errorf("a good key meanwhile: %d", status)
	}
	v.Header.Set("X-Large", strings.Repeat("x", 3<<20))
	r := v.Request(http.MethodGet, "/", nil)
	r.Header = v.Header
	if resp, err := v.Do(r); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 3 MB: %s", resp.Status)
		}
	}
	if status, _ := g.Get("/healthz"); status != http.StatusOK {
		t.Errorf("after that: %d", status)
	}
}

// A client that does not finish a request is disconnected, and others are served meanwhile.
func TestServer_halfARequestHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	var open []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		e2etest.Must(t, err)
		open = append(open, c)
		fmt.Fprintf(c, "POST /signin HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n")
	}
	begin := time.Now()
	if status, _ := g.Get("/signin"); status != http.StatusOK || time.Since(begin) > time.Second {
		t.Errorf("%d after %s", status, time.Since(begin))
	}
	for _, c := range open {
		e2etest.Must(t, c.Close())
	}
}

// A user finds nothing of another's by any id.
func TestWeb_findsNoIDsOfOthers(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		owner := g.NewGuest(g.WebCode())
		owner.Upload("secret.txt", []byte("the secret of the owner"))
		for n := range 5 {
			owner.Post("/messages", url.Values{"text": {fmt.Sprint("secret ", n)},
				"nonce": {fmt.Sprintf("aaaaaaaaaaaaaaaaaaa%d", n)}})
		}
		l := w.Ledger()
		l.Quiet(e2etest.Patience, g.Log)
		owner.Post("/threads", url.Values{"title": {"secret thread"}})
		ownKey, id := w.APIKey("", "chat,read,memory")
		g.Request(http.MethodPost, "/api/v1/memory", ownKey, map[string]any{"content": "secret item",
			"type": "fact", "theme": "secret"})
		w.MustRun("users", "add", "Eve")
		eve := g.NewGuest(w.SignInCode("Eve"))
		key, hers := w.APIKey("Eve", "chat,read,memory")
		for n := range 40 {
			for _, path := range []string{"/m/%d", "/m/%d/why", "/m/%d/earlier", "/m/%d/remember", "/m/%d/forget", "/threads/%d",
				"/media/%d/0", "/live?thread=%d"} {
				if r, body := eve.Get(fmt.Sprintf(path, n)); r.StatusCode != http.StatusNotFound ||
					strings.Contains(body, "secret") {
					t.Errorf(path+": %s", n, r.Status)
				}
			}
			for _, path := range []string{"/m/%d/remember", "/m/%d/forget", "/memory/%d/archive", "/memory/%d/restore",
				"/memory/standing/%d/remove", "/settings/keys/%d/revoke", "/messages?%d"} {
				r, body := eve.Post(fmt.Sprintf(path, n), url.Values{"text": {"x"}, "thread": {fmt.Sprint(n)},
					"nonce": {"0123456789abcdef0123"}, "theme": {"general"}, "type": {"fact"}})
				if strings.Contains(body, "secret") || r.StatusCode != http.StatusNotFound && (path != "/messages?%d" || n > 0) &&
					(!strings.Contains(path, "keys") || fmt.Sprint(n) != hers) {
					t.Errorf(path+": %s", n, r.Status)
				}
			}
			for _, path := range []string{"/api/v1/turns/%d/context", "/api/v1/memory/%d",
				"/api/v1/conversation/messages?message_id=%d", "/api/v1/conversation/messages?day_segment_id=%d"} {
				if status, body := g.Request(http.MethodGet, fmt.Sprintf(path, n), key, nil); status < 400 ||
					strings.Contains(body, "secret") {
					t.Errorf(path+": %d %s", n, status, body)
				}
			}
		}
		if r, _ := eve.Get("/admin"); r.StatusCode != http.StatusNotFound {
			t.Errorf("the owner's page: %s", r.Status)
		}
		for _, path := range []string{"/", "/search?q=secret&scope=all", "/memory", "/settings", "/settings/keys", "/settings/channels", "/threads", "/admin", "/admin/users",
			"/api/v1/conversation/search?query=secret", "/api/v1/memory?query=secret"} {
			if _, body := eve.Get(path); regexp.MustCompile(`secret (\d|thread|item)|>secret`).MatchString(body) {
				t.Errorf("%s shows it", path)
			}
		}
		for n := range 40 {
			eve.Post(fmt.Sprintf("/settings/channels/%d/unlink", n), nil)
			eve.Post(fmt.Sprintf("/settings/sessions/%d/end", n), nil)
		}
		if n := l.Count(`SELECT COUNT(*) FROM identities WHERE user_id = 1`); n < 1 {
			t.Error("the owner's identities are gone")
		}
		if r, _ := owner.Get("/settings"); r.StatusCode != http.StatusOK {
			t.Errorf("the owner's session: %s", r.Status)
		}
		if status, _ := g.Request(http.MethodGet, "/api/v1/days", ownKey, nil); status != http.StatusOK {
			t.Errorf("the owner's key %s: %d", id, status)
		}
		if n := l.Count(`SELECT COUNT(*) FROM items WHERE status = 'active' AND content = 'secret item'`); n != 1 {
			t.Error("the owner's item is gone")
		}
	})
}

// A key that is revoked during a request gets this answer, and no other one.
func TestAPIKey_revokedDuringARequest(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 60*time.Millisecond))
	g := w.Start()
	key, id := w.APIKey("", "chat")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/chat/completions",
		strings.NewReader(
			`{"model": "everthread", "stream": true, "messages": [{"role": "user", "content": "say 60 words"}]}`))
	e2etest.Must(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	e2etest.Must(t, err)
	defer resp.Body.Close()
	head := make([]byte, 400)
	_, err = io.ReadFull(resp.Body, head)
	e2etest.Must(t, err)
	w.MustRun("apikey", "revoke", id)
	rest, err := io.ReadAll(resp.Body)
	e2etest.Must(t, err)
	if out := string(rest); !strings.Contains(out, "word60") || !strings.Contains(out, "[DONE]") {
		t.Errorf("the answer ended with %.200s", out[max(0, len(out)-200):])
	}
	status, body := g.Request(http.MethodPost, "/v1/chat/completions", key,
		json.RawMessage(`{"model": "everthread", "messages": [{"role": "user", "content": "again"}]}`))
	if status != http.StatusUnauthorized {
		t.Errorf("afterwards: %d %s", status, body)
	}
	if n := w.Ledger().Count(`SELECT COUNT(*) FROM messages WHERE body = 'again'`); n != 0 {
		t.Error("it was stored")
	}
}

// A page whose session ends gets no more updates, and says so.
func TestSession_endEndsItsStream(t *testing.T) {
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 60*time.Millisecond))
	g := w.Start()
	p := g.NewTab(t).Allow("401")
	p.SignIn(g.WebCode())
	other := g.NewGuest(e2etest.NewLink(w, g))
	p.Send("say 200 words")
	p.Sees(".writing .prose", "word9")
	if r, _ := other.Post("/settings/sessions/end", url.Values{"sure": {"yes"}, "confirm": {"yes"}}); r.StatusCode >= 400 {
		t.Fatalf("sign out everywhere: %s", r.Status)
	}
	p.Sees("#toast", "You are signed out")
	if p.Is("document.body.innerText.includes('word200')") {
		t.Error("it heard all")
	}
	seen := e2etest.Js[string](p, "document.querySelector('#entries').innerText")
	w.Ledger().Quiet(e2etest.Patience, g.Log)
	if after := e2etest.Js[string](p, "document.querySelector('#entries').innerText"); after != seen {
		t.Errorf("it still hears: %.100q", after[len(seen)/2:])
	}
}

// Two processes on one database: an open page of one shows the other's work as it happens.
func TestWeb_showsWorkOfAnotherProcess(t *testing.T) {
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	w.UseModel(e2etest.StartModel(t, 40*time.Millisecond))
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=polling")
	one := w.Start("EVERTHREAD_TURN_WORKERS=1")
	p := one.NewTab(t)
	p.SignIn(one.WebCode())
	key, _ := w.APIKey("", "chat")
	w.Telegram.Say(e2etest.Bob, "say 3000 words") // keeps the only worker of the first process
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'running'`, 1, one)
	two := w.Start()
	asked := make(chan string)
	go func() {
		_, body := two.Request(http.MethodPost, "/v1/chat/completions", key,
			map[string]any{"model": "everthread", "messages": []any{map[string]any{"role": "user", "content": "say 80 words"}}})
		asked <- body
	}()
	l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'say 80 words'`, 1, two)
	p.Within(time.Second,
		"[...document.querySelectorAll('.entry.user')].some((x) => x.innerText.includes('say 80 words'))")
	p.Sees(".writing .prose", "word5")
	if p.Is("document.body.innerText.includes('word80')") {
		t.Error("the answer appears only when it is complete")
	}
	if body := <-asked; !strings.Contains(body, "word80") {
		t.Errorf("answered %.200s", body)
	}
	p.Within(time.Second,
		"[...document.querySelectorAll('.entry.agent:not(.writing)')].some((x) => x.innerText.includes('word80'))")
	p.Send("and from the page")
	p.Sees(".entry.agent", "echo: and from the page")
}
