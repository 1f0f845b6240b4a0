package web_test

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

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
)

func TestHeaders_onEveryAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("hello", "hello")
	values := map[string]string{"label": "2026-01-31", "id": "1", "message": "1", "n": "0", "file": "app.css"}
	patterns := []string{"GET /static/{file}", "GET /"}
	for _, r := range w.Page.AllRoutes() {
		if r.Pattern != "GET /live" { // it does not end
			patterns = append(patterns, r.Pattern)
		}
	}
	for _, pattern := range patterns {
		method, path := webtest.Concrete(pattern, values)
		for _, who := range []*webtest.Person{p, w.Bob} {
			a := who.Do(who.Request(method, path, nil))
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin"} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q", pattern, name, got)
				}
			}
			if !strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'") ||
				a.Header.Get("Permissions-Policy") == "" {
				t.Errorf("%s: %v", pattern, a.Header)
			}
			if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s may be kept: %q", pattern, a.Header.Get("Cache-Control"))
			}
			if strings.Contains(a.Body, "<script>") || strings.Contains(a.Body, " style=") ||
				strings.Contains(a.Body, "<style") || strings.Contains(a.Body, " onclick") {
				t.Errorf("%s has inline script or style", pattern)
			}
			if strings.Contains(a.Body, "maxlength") {
				t.Errorf("%s has a field that cuts off what is typed", pattern)
			}
		}
	}
	csp := p.Get("/").Header.Get("Content-Security-Policy")
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

func TestAssets_areKeptForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		path, _, _ := w.Page.Asset(name)
		plain := w.Try(httptest.NewRequest(http.MethodGet, path, nil))
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		packed := w.Try(r)
		if packed.Header().Get("Content-Encoding") != "gzip" ||
			!strings.Contains(packed.Header().Get("Cache-Control"), "immutable") {
			t.Fatalf("%s: %v", name, packed.Header())
		}
		z, err := gzip.NewReader(packed.Body)
		w.Must(err)
		b, err := io.ReadAll(z)
		w.Must(err)
		if string(b) != plain.Body.String() || len(b) == 0 {
			t.Errorf("%s differs when it is compressed", name)
		}
	}
}

func TestPage_firstIsSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	for range 50 {
		p.Talks("What did we say about the tomatoes on the balcony?",
			"They stand on the south side and get **five hours** of sun; cherry varieties cope with that.")
	}
	page := len(p.Get("/").Body)
	_, css, packedCSS := w.Page.Asset("app.css")
	_, js, packedJS := w.Page.Asset("app.js")
	all := page + packedCSS + packedJS
	t.Logf("page %d, css %d (%d packed), js %d (%d packed), in all %d", page, css, packedCSS, js, packedJS, all)
	if all > 150_000 {
		t.Errorf("the first page takes %d bytes", all)
	}
}

func TestGuard_changesOnlyFromOurPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	_, reply := p.Talks("hello", "hello")
	values := map[string]string{"label": "2026-01-31", "id": strings.TrimPrefix(webtest.Name(reply), "m")}
	for _, r := range w.Page.AllRoutes() {
		method, path := webtest.Concrete(r.Pattern, values)
		if method == http.MethodGet {
			continue
		}
		for _, foreign := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}},
			{"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"null"}}} {
			req := p.Request(method, path, strings.NewReader("text=x&nonce=aaaaaaaaaaaaaaaaaaaa&title=x"))
			req.Header.Del("Origin")
			for k, v := range foreign {
				req.Header[k] = v
			}
			p.Do(req).Wants(t, http.StatusForbidden, "from another site")
		}
		p.Get(path) // changes nothing either
	}
	w.Gate.Mu.Lock()
	defer w.Gate.Mu.Unlock()
	if len(w.Gate.Acted)+len(w.Gate.Received) > 0 {
		t.Errorf("something was done: %v %v", w.Gate.Acted, w.Gate.Received)
	}
}

// TestGuard_nobodySeesAnother requests everything of Bob's as Ana.
func TestGuard_nobodySeesAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob, ana := w.Bob, w.Ana.SignedIn()
	ana.Talks("mine", "yours")
	w.Clock.Pass(-24 * 3600e9)
	var last string
	for range 3 {
		_, a := bob.Talks("secret of Bob", "secret answer")
		last = strings.TrimPrefix(webtest.Name(a), "m")
	}
	label := webtest.DayOf(bob.User.Settings, w.Clock.Now()).Label
	bob.Sums("## Summary\nsecret summary", false)
	w.Clock.Pass(24 * 3600e9)
	bob.SignedIn().Post("/threads", url.Values{"title": {"secret thread"}})
	threads, err := w.Store.Threads(w.Context, bob.User.ID, 1)
	w.Must(err)
	thread := fmt.Sprint(threads[0].ID)
	w.Gate.Acted = nil
	open := []string{"GET /day/{label}", "GET /live"} // a day without messages of Ana's
	for _, r := range w.Page.AllRoutes() {
		values := map[string]string{"label": label, "id": last, "message": last, "n": "0"}
		if strings.Contains(r.Pattern, "/threads/") {
			values["id"] = thread
		}
		if !strings.Contains(r.Pattern, "{") || strings.HasSuffix(r.Pattern, "{$}") {
			continue
		}
		method, path := webtest.Concrete(r.Pattern, values)
		a := ana.Do(ana.Request(method, path, strings.NewReader("text=x&theme=general&type=fact")))
		if !slices.Contains(open, r.Pattern) && a.Status != http.StatusNotFound {
			t.Errorf("%s answered %d", r.Pattern, a.Status)
		}
		a.Lacks(t, "secret")
	}
	for _, path := range []string{"/live?thread=" + thread, "/threads/" + thread, "/m/" + last,
		"/day/2026-01-31?at=" + last, "/day/" + label + "?at=" + last, "/?before=" + last, "/?after=1000000",
		"/search?q=secret"} {
		a := ana.Get(path)
		a.Lacks(t, "secret answer", "secret of", "secret thread", "secret summary")
	}
	form := map[string]string{"text": "x", "nonce": "aaaaaaaaaaaaaaaaaaaa", "thread": thread}
	ana.Upload("/messages", form, nil).Wants(t, http.StatusNotFound)
	ana.Post("/stop", url.Values{"thread": {thread}}).Wants(t, http.StatusNotFound)
	ana.Post("/retry", url.Values{"thread": {thread}}).Wants(t, http.StatusNotFound)
	if len(w.Gate.Acted)+len(w.Gate.Received) > 0 {
		t.Errorf("something was done: %v %v", w.Gate.Acted, w.Gate.Received)
	}
}

func TestGuard_nothingWithoutASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Ana.Talks("secret", "secret")
	values := map[string]string{"label": "2026-01-31", "id": "1", "message": "1", "n": "0"}
	for _, r := range w.Page.AllRoutes() {
		if r.Open {
			continue
		}
		method, path := webtest.Concrete(r.Pattern, values)
		a := w.Ana.Do(w.Ana.Request(method, path, nil))
		a.Wants(t, http.StatusUnauthorized, "There is no password")
		a.Lacks(t, "secret")
	}
}

func TestGuard_badInputGetsAClearPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("hello", "hello")
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
		{"a body too long", "POST", "/threads", "form", "title=" + strings.Repeat("x", web.FormBody), 413, "too large"},
		{"a title too long", "POST", "/threads", "form", "title=" + strings.Repeat("x", 201), 400, "too long"},
		{"no title", "POST", "/threads", "form", "title=+", 400, "title"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := p.Request(c.method, c.path, strings.NewReader(c.body))
			if c.kind != "" && c.kind != "form" {
				r.Header.Set("Content-Type", c.kind)
			}
			p.Do(r).Wants(t, c.status, c.want)
		})
	}
}

func TestPage_brokenSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.Page.Handler(web.Route{Pattern: "GET /x", Open: true, Serve: func(*web.Visit) error { panic("broken") }})
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	h.ServeHTTP(rec, r)
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "Something broke") ||
		strings.Contains(rec.Body.String(), "panic") {
		t.Errorf("got %d: %s", rec.Code, rec.Body)
	}
}
