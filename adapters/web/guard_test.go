package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// try sends a request to the page without a browser.
func (w *world) try(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	return rec
}

// name is the element of a message.
func name(id core.MessageID) string { return fmt.Sprintf("m%d", id) }

// concrete is a pattern with values in place of its wildcards.
func concrete(pattern string, values map[string]string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	path = strings.ReplaceAll(path, "{$}", "")
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return method, path
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("hello", "hello")
	values := map[string]string{"label": "2026-01-31", "id": "1", "message": "1", "n": "0", "file": "app.css"}
	patterns := []string{"GET /static/{file}", "GET /"}
	for _, r := range w.page.routes() {
		if r.Pattern != "GET /live" { // it goes on
			patterns = append(patterns, r.Pattern)
		}
	}
	for _, pattern := range patterns {
		method, path := concrete(pattern, values)
		for _, who := range []*person{p, w.bob} {
			a := who.do(who.request(method, path, nil))
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin"} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s: %s is %q", pattern, name, got)
				}
			}
			if !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "default-src 'none'") ||
				a.header.Get("Permissions-Policy") == "" {
				t.Errorf("%s: %v", pattern, a.header)
			}
			if !strings.Contains(a.header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s may be kept: %q", pattern, a.header.Get("Cache-Control"))
			}
			if strings.Contains(a.body, "<script>") || strings.Contains(a.body, " style=") ||
				strings.Contains(a.body, "<style") || strings.Contains(a.body, "onclick") {
				t.Errorf("%s has inline script or style", pattern)
			}
		}
	}
	csp := p.get("/").header.Get("Content-Security-Policy")
	for _, want := range []string{"script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
		"form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy lacks %s: %s", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Error(csp)
	}
}

func TestAssetsAreKeptForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		path, err := w.page.assets.path(name)
		w.must(err)
		plain := w.try(httptest.NewRequest(http.MethodGet, path, nil))
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		packed := w.try(r)
		if packed.Header().Get("Content-Encoding") != "gzip" ||
			!strings.Contains(packed.Header().Get("Cache-Control"), "immutable") {
			t.Fatalf("%s: %v", name, packed.Header())
		}
		z, err := gzip.NewReader(packed.Body)
		w.must(err)
		b, err := io.ReadAll(z)
		w.must(err)
		if string(b) != plain.Body.String() || len(b) == 0 {
			t.Errorf("%s differs when it is packed", name)
		}
	}
}

func TestTheFirstPageIsSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	for range 50 {
		p.talks("What did we say about the tomatoes on the balcony?",
			"They stand on the south side and get **five hours** of sun; cherry varieties cope with that.")
	}
	page := len(p.get("/").body)
	css, js := w.page.assets.files[strings.TrimPrefix(w.page.assets.names["app.css"], "/static/")],
		w.page.assets.files[strings.TrimPrefix(w.page.assets.names["app.js"], "/static/")]
	all := page + len(css.gzip) + len(js.gzip)
	t.Logf("page %d, css %d (%d packed), js %d (%d packed), in all %d", page, len(css.plain), len(css.gzip),
		len(js.plain), len(js.gzip), all)
	if all > 150_000 {
		t.Errorf("the first page takes %d bytes", all)
	}
}

func TestChangesComeFromOurPagesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	_, reply := p.talks("hello", "hello")
	values := map[string]string{"label": "2026-01-31", "id": strings.TrimPrefix(name(reply), "m")}
	for _, r := range w.page.routes() {
		method, path := concrete(r.Pattern, values)
		if method == http.MethodGet {
			continue
		}
		for _, foreign := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}},
			{"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"null"}}} {
			req := p.request(method, path, strings.NewReader("text=x&nonce=aaaaaaaaaaaaaaaaaaaa&title=x"))
			req.Header.Del("Origin")
			for k, v := range foreign {
				req.Header[k] = v
			}
			p.do(req).wants(t, http.StatusForbidden, "another page than ours")
		}
		p.get(path) // changes nothing either
	}
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	if len(w.gate.acted)+len(w.gate.received) > 0 {
		t.Errorf("something was done: %v %v", w.gate.acted, w.gate.received)
	}
}

// TestNobodySeesAnother asks for everything of Bob's, as Ana.
func TestNobodySeesAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob, ana := w.bob, w.ana.signedIn()
	ana.talks("mine", "yours")
	w.clock.pass(-24 * 3600e9)
	var last string
	for range 3 {
		_, a := bob.talks("secret of Bob", "secret answer")
		last = strings.TrimPrefix(name(a), "m")
	}
	label := dayOf(bob.user.Settings, w.clock.now()).Label
	bob.sums("## Summary\nsecret summary", false)
	w.clock.pass(24 * 3600e9)
	bob.signedIn().post("/threads", url.Values{"title": {"secret thread"}})
	threads, err := w.store.Threads(w.ctx, bob.user.ID, 1)
	w.must(err)
	thread := strings.TrimPrefix(place{thread: threads[0]}.path(), "/threads/")
	w.gate.acted = nil
	open := []string{"GET /day/{label}", "GET /live"} // a day that Ana said nothing on
	for _, r := range w.page.routes() {
		values := map[string]string{"label": label, "id": last, "message": last, "n": "0"}
		if strings.Contains(r.Pattern, "/threads/") {
			values["id"] = thread
		}
		if !strings.Contains(r.Pattern, "{") || strings.HasSuffix(r.Pattern, "{$}") {
			continue
		}
		method, path := concrete(r.Pattern, values)
		a := ana.do(ana.request(method, path, strings.NewReader("text=x&theme=general&type=fact")))
		if !slices.Contains(open, r.Pattern) && a.status != http.StatusNotFound {
			t.Errorf("%s answered %d", r.Pattern, a.status)
		}
		a.lacks(t, "secret")
	}
	for _, path := range []string{"/live?thread=" + thread, "/threads/" + thread, "/m/" + last,
		"/day/2026-01-31?at=" + last, "/day/" + label + "?at=" + last, "/?before=" + last, "/?after=1000000",
		"/search?q=secret"} {
		a := ana.get(path)
		a.lacks(t, "secret answer", "secret of", "secret thread", "secret summary")
	}
	form := map[string]string{"text": "x", "nonce": "aaaaaaaaaaaaaaaaaaaa", "thread": thread}
	ana.upload("/messages", form, nil).wants(t, http.StatusNotFound)
	ana.post("/stop", url.Values{"thread": {thread}}).wants(t, http.StatusNotFound)
	ana.post("/retry", url.Values{"thread": {thread}}).wants(t, http.StatusNotFound)
	if len(w.gate.acted)+len(w.gate.received) > 0 {
		t.Errorf("something was done: %v %v", w.gate.acted, w.gate.received)
	}
}

func TestWithoutASessionThereIsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ana.talks("secret", "secret")
	values := map[string]string{"label": "2026-01-31", "id": "1", "message": "1", "n": "0"}
	for _, r := range w.page.routes() {
		if r.Open {
			continue
		}
		method, path := concrete(r.Pattern, values)
		a := w.ana.do(w.ana.request(method, path, nil))
		a.wants(t, http.StatusUnauthorized, "There is no password")
		a.lacks(t, "secret")
	}
}

func TestBadInputGetsAClearPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("hello", "hello")
	cases := []struct {
		name, method, path, kind, body string
		status                         int
		want                           string
	}{
		{"a date that is none", "GET", "/day/2026-02-30", "", "", 404, "There is nothing here"},
		{"a day that is a path", "GET", "/day/..%2f..%2fetc", "", "", 404, "There is nothing here"},
		{"a day with quotes", "GET", "/day/%22%3E%3Cscript%3E", "", "", 404, "There is nothing here"},
		{"a month that is none", "GET", "/days?month=2026-13", "", "", 404, "There is nothing here"},
		{"a date to pick that is none", "GET", "/days?date=//evil", "", "", 404, "There is nothing here"},
		{"a message that is no number", "GET", "/m/x", "", "", 404, "There is nothing here"},
		{"a message below zero", "GET", "/m/-1", "", "", 404, "There is nothing here"},
		{"a message beyond all", "GET", "/m/99999999999999999999", "", "", 404, "There is nothing here"},
		{"a thread that is no number", "GET", "/threads/x", "", "", 404, "There is nothing here"},
		{"the continuous thread as a plain one", "GET", "/threads/1", "", "", 404, "There is nothing here"},
		{"media that is no number", "GET", "/media/1/x", "", "", 404, "There is nothing here"},
		{"nowhere", "GET", "/nowhere", "", "", 404, "There is nothing here"},
		{"a place far away", "GET", "/?before=9223372036854775807", "", "", 200, "hello"},
		{"nothing to send", "POST", "/messages", "form", "nonce=aaaaaaaaaaaaaaaaaaaa&text=++", 400, "Write something"},
		{"no nonce", "POST", "/messages", "form", "text=x", 400, "could not be read"},
		{"a nonce that is code", "POST", "/messages", "form", "text=x&nonce=%27+OR+1%3D1--aaaaaaaaaa", 400,
			"could not be read"},
		{"a broken form", "POST", "/messages", "form", "text=%zz", 400, "could not be read"},
		{"a broken upload", "POST", "/messages", "multipart/form-data; boundary=x", "--x\r\nnonsense", 400,
			"could not be read"},
		{"an upload without a boundary", "POST", "/messages", "multipart/form-data", "x", 400, "could not be read"},
		{"a message too long", "POST", "/messages", "form", "nonce=aaaaaaaaaaaaaaaaaaaa&text=" + strings.Repeat("x",
			maxText+1), 413, "too large"},
		{"a body too long", "POST", "/threads", "form", "title=" + strings.Repeat("x", formBody), 413, "too large"},
		{"a title too long", "POST", "/threads", "form", "title=" + strings.Repeat("x", 201), 400, "too long"},
		{"no title", "POST", "/threads", "form", "title=+", 400, "title"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := p.request(c.method, c.path, strings.NewReader(c.body))
			if c.kind != "" && c.kind != "form" {
				r.Header.Set("Content-Type", c.kind)
			}
			p.do(r).wants(t, c.status, c.want)
		})
	}
}

func TestAPageThatBreaksSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.page.handler(route{Pattern: "GET /x", Open: true, Serve: func(*visit) error { panic("broken") }})
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	h.ServeHTTP(rec, r)
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "Something broke") ||
		strings.Contains(rec.Body.String(), "panic") {
		t.Errorf("got %d: %s", rec.Code, rec.Body)
	}
}
