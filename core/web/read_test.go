package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/trust/egress"
)

// scanned stands for the reader of documents.
type scanned struct{ asked atomic.Int64 }

func (s *scanned) Pages(_ context.Context, name, media string, data []byte) ([]string, error) {
	s.asked.Add(1)
	if name != "report.pdf" || media != "application/pdf" || !bytes.HasPrefix(data, []byte("%PDF-")) {
		return nil, fmt.Errorf("%s, %s, %.10q", name, media, data)
	}
	return []string{"First page.", "Second page."}, errors.New("It has more pages; only the first were read.")
}

// newReader returns a Web that may read on this machine.
func newReader(t testing.TB) *Web {
	gate := egress.New(egress.Options{AllowPrivate: true})
	client := gate.Client()
	t.Cleanup(client.CloseIdleConnections)
	return New(Options{Provider: SearXNG{}, Searching: client, Reading: client, Documents: &scanned{}, Tokens: tokens.New(),
		ResultTokens: 4000, MaxFile: 1 << 20})
}

// use returns a call of web_read.
func use(address string, from int) core.ToolUse {
	arguments, err := json.Marshal(map[string]any{"url": address, "from": from})
	if err != nil {
		panic(err)
	}
	return core.ToolUse{User: 1, Turn: 7, Now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Arguments: arguments}
}

// read reads a part of a page.
func read(t testing.TB, w *Web, u core.ToolUse) (part, error) {
	t.Helper()
	res, err := readTool{Web: w}.Use(t.Context(), u)
	if err != nil {
		return part{}, err
	}
	var p part
	if err := json.Unmarshal([]byte(res.Text), &p); err != nil || !res.Tainted {
		t.Errorf("%v, tainted %v: %s", err, res.Tainted, res.Text)
	}
	return p, nil
}

// site serves a handler beside rules for robots that forbid /private.
func site(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\n\nUser-agent: Everthread\nDisallow: /private\nDisallow: /*?secret=\n")
			return
		}
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

const paragraph = "The old bridge over the river was closed on Monday, because its northern pillar has moved by two centimetres since spring. "

// TestRead_kinds checks what is read of each kind of content.
func TestRead_kinds(t *testing.T) {
	t.Parallel()
	article := "<html><head><title>Bridge closed</title><meta property=article:published_time content=2026-11-20T10:00:00Z></head><body><article><h1>Bridge closed</h1><p>" +
		strings.Repeat(paragraph, 4) + `</p><p>More <a href="/plan#x">in the plan</a>. Grüße, 東京.</p></article></body></html>`
	latin, err := charmap.Windows1252.NewEncoder().String(article[:strings.Index(article, ", 東京")] + ".</p></article>")
	if err != nil {
		t.Fatal(err)
	}
	sjis, err := japanese.ShiftJIS.NewEncoder().String("<title>東京</title><meta charset=shift_jis><p>" + strings.Repeat("東京の天気は晴れです。", 40))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path, media, body string
		want              []string
	}{
		{"/utf8", "text/html; charset=utf-8", article, []string{`"title":"Bridge closed"`, `"date":"2026-11-20"`, "northern pillar", "Grüße, 東京", "/plan"}},
		{"/latin1", "text/html; charset=iso-8859-1", latin, []string{"Grüße"}},
		{"/meta", "text/html", sjis, []string{"東京の天気は晴れです", `"title":"東京"`}},
		{"/plain", "text/plain", "a < b &amp; c", []string{`"text":"a < b &amp; c"`}},
		{"/data.json", "application/json", `{"price": 12}`, []string{`{\"price\": 12}`}},
		{"/data.csv", "text/csv", "a,b\n1,2\n", []string{`a,b\n1,2`, `"title":"data.csv"`}},
		{"/report.pdf", "application/pdf", "%PDF-1.7 …", []string{`[page 1]\nFirst page.\n\n[page 2]\nSecond page.`, "only the first were read"}},
		{"/untyped", "", article, []string{"northern pillar"}},
	}
	w := newReader(t)
	at := site(t, func(w http.ResponseWriter, r *http.Request) {
		for _, c := range cases {
			if c.path == r.URL.Path {
				w.Header().Set("Content-Type", c.media)
				fmt.Fprint(w, c.body)
			}
		}
	})
	for _, c := range cases {
		res, err := readTool{Web: w}.Use(t.Context(), use(at+c.path, 0))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		for _, want := range append(c.want, `"url":"`+at+c.path+`"`) {
			if !strings.Contains(res.Text, want) {
				t.Errorf("%s lacks %s: %s", c.path, want, res.Text)
			}
		}
	}
}

// TestRead_hostile checks that whatever a site sends ends soon, in bounds, with a plain error.
func TestRead_hostile(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 40 {
		_, _ = z.Write(bytes.Repeat([]byte("<b>"), 1<<20))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wall := "<title>Site</title><p>We and our 812 partners use cookies. Cookies help us. Consent to cookies, or manage your consent and your privacy.</p><script>x()</script>"
	pages := map[string]func(w http.ResponseWriter, r *http.Request){
		"/circle":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle2", http.StatusFound) },
		"/circle2": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle", http.StatusFound) },
		"/endless": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/endless?"+r.URL.RawQuery+"x", http.StatusFound)
		},
		"/nowhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		},
		"/into-private": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/private/x", http.StatusFound) },
		"/script":       body0(`<html><body><div id="root"></div><script src=/app.js></script></body></html>`),
		"/empty":        body0(""),
		"/blank":        body0("<html><body><img src=x></body></html>"),
		"/wall":         body0(wall),
		"/picture": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\r\n")
		},
		"/large.pdf": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = w.Write(append([]byte("%PDF-1.7"), make([]byte, 2<<20)...))
		},
		"/brotli": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "x")
		},
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "<p>half")
		},
		"/slow": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, "a ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		},
		"/401": status(401), "/402": status(402), "/403": status(403), "/404": status(404), "/429": status(429), "/503": status(503), "/204": status(204),
	}
	at := site(t, func(w http.ResponseWriter, r *http.Request) {
		if p := pages[r.URL.Path]; p != nil {
			p(w, r)
		}
	})
	self := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(self.Close)
	w := newReader(t)
	for address, want := range map[string]string{
		at + "/circle": "in a circle", at + "/endless": "on and on", at + "/nowhere": "no address of a page",
		at + "/private/x": "robots.txt", at + "/page?secret=1": "robots.txt", at + "/into-private": "robots.txt",
		at + "/script": "made by scripts", at + "/empty": "is empty", at + "/blank": "no text", at + "/wall": "question about cookies",
		at + "/picture": "image/png", at + "/large.pdf": "too large to read", at + "/brotli": "packed", at + "/cut": "broke off",
		at + "/slow": "came in time", at + "/401": "sign in or pay", at + "/402": "sign in or pay", at + "/403": "does not let",
		at + "/404": "no such page", at + "/429": "no more pages", at + "/503": "has a fault", at + "/204": "did not send",
		self.URL: "certificate is not valid", strings.Replace(at, "http:", "https:", 1): "does not speak HTTPS",
		"http://127.0.0.1:1/": "no connection", "ftp://x.example/": "https:// or http://", "https://": "https:// or http://",
		"https://user:pw@x.example/": "user name", "https://x.example/" + strings.Repeat("a", 3000): "too long", "": "https:// or http://",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		began := time.Now()
		res, err := readTool{Web: w}.Use(ctx, use(address, 0))
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || time.Since(began) > 3*time.Second {
			t.Errorf("%.80s: %v %.200s after %s; want %q", address, err, res.Text, time.Since(began), want)
		}
	}
	large := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
			return
		}
		fmt.Fprint(w, "<title>Much</title>")
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, "<p>"+strings.Repeat(paragraph, 100)); err != nil {
				return
			}
		}
	})
	if p, err := read(t, w, use(large+"/much", 0)); err != nil || p.Note == "" || p.Next == 0 || p.Title != "Much" {
		t.Errorf("endless: %+.300v, %v", p, err)
	}
	if _, err := read(t, w, use(large+"/bomb", 0)); err == nil {
		t.Error("a bomb without text was read")
	}
}

func body0(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, text)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// TestRead_expensiveHTML checks that pages made to be expensive are read in bounded time.
func TestRead_expensiveHTML(t *testing.T) {
	t.Parallel()
	many := func(s string) string { return strings.Repeat(s, longestPage/len(s)) }
	pages := map[string]string{"nested": many("<div>") + paragraph, "tables": many("<table><tr><td>x"), "links": many("<a href=/x>y</a> "),
		"attributes": "<p " + many(`a="b" `) + ">" + paragraph, "paragraphs": many("<p>word, word</p>"), "lists": many("<ul><li>"),
		"styles": many(`<p style="display:none">x</p>`) + paragraph, "bold": many("<b><i>") + paragraph, "rows": "<table>" + many("<tr><td>a<td>b") + "</table>"}
	at := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, pages[strings.TrimPrefix(r.URL.Path, "/")])
	})
	w := newReader(t)
	for name := range pages {
		began := time.Now()
		_, err := read(t, w, use(at+"/"+name, 0))
		if took := time.Since(began); took > conversionTime+10*time.Second {
			t.Errorf("%s took %s: %v", name, took, err)
		} else {
			t.Logf("%s took %s: %v", name, took.Round(time.Millisecond), err)
		}
	}
}

// TestRead_parts checks that the parts of a page make the whole of it, each within the bound, with one request, and that
// they say how to go on.
func TestRead_parts(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "%d. %s\n東京の天気 \"%d\" \\ 🌦\n", i, paragraph, i)
	}
	at := site(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, b.String())
	})
	w := newReader(t)
	var whole strings.Builder
	for from, parts := 0, 1; ; parts++ {
		res, err := readTool{Web: w}.Use(t.Context(), use(at+"/long", from))
		if err != nil {
			t.Fatal(err)
		}
		var p part
		if err := json.Unmarshal([]byte(res.Text), &p); err != nil {
			t.Fatal(err)
		}
		if n := w.Tokens.Count(res.Text); n > 4000 || p.Next > 0 && n < 2500 {
			t.Errorf("part %d has %d tokens", parts, n)
		}
		whole.WriteString(p.Text)
		if p.Next == 0 {
			break
		}
		if !strings.Contains(p.Left, fmt.Sprint("from ", p.Next)) {
			t.Errorf("it says %q", p.Left)
		}
		from = p.Next
	}
	if got := whole.String(); got != strings.TrimSpace(b.String()) {
		t.Errorf("%d bytes of %d", len(got), b.Len())
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
	if _, err := read(t, w, use(at+"/long", 1<<20)); err == nil {
		t.Error("a part behind the end was read")
	}
	next := use(at+"/long", 0)
	next.Turn++
	if _, err := read(t, w, next); err != nil || requests.Load() != 2 {
		t.Errorf("%v, and %d requests in the next turn", err, requests.Load())
	}
}

// TestRead_staysOnTheSite checks that a page that has moved is followed within its site, and to others only in a turn
// that has read no words of others.
func TestRead_staysOnTheSite(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	other := site(t, func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, "<p>"+strings.Repeat(paragraph, 5))
	})
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	at := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other+"/there", http.StatusFound)
		case "/old":
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
		default:
			fmt.Fprint(w, "<p>"+strings.Repeat(paragraph, 5))
		}
	})
	for _, tainted := range []bool{true, false} {
		w := newReader(t)
		u := use(at+"/old", 0)
		u.Tainted = tainted
		if p, err := read(t, w, u); err != nil || p.URL != at+"/new" {
			t.Errorf("tainted %v: %+v, %v", tainted, p, err)
		}
		u = use(at+"/away", 0)
		u.Tainted = tainted
		_, err := read(t, w, u)
		if tainted != (err != nil) || tainted && (!strings.Contains(err.Error(), other+"/there") || reached.Load() > 0) {
			t.Errorf("tainted %v: %v, %d requests", tainted, err, reached.Load())
		}
	}
}

// TestRead_publicAddressesOnly checks that a page inside a private network is not read, redirected to or not.
func TestRead_publicAddressesOnly(t *testing.T) {
	t.Parallel()
	w := newReader(t)
	w.Reading = egress.New(egress.Options{}).Client()
	at := site(t, body0("<p>secret"))
	if _, err := read(t, w, use(at+"/", 0)); err == nil || !strings.Contains(err.Error(), "private network") {
		t.Errorf("%v", err)
	}
}

// TestReaches_wordForWord checks which addresses count as pointed to.
func TestReaches_wordForWord(t *testing.T) {
	t.Parallel()
	own := []string{"[Thu 19 Nov 08:10] Look at https://News.example/a?b=1, and (see http://x.example/y). heise.de too",
		"[link](https://m.example/md) „https://q.example/z“ HTTPS://UP.example/Path#part"}
	found := []string{"https://hit.example/1"}
	for address, want := range map[string]bool{
		"https://news.example/a?b=1": true, "https://news.example/a?b=1#frag": true, "HTTPS://NEWS.EXAMPLE/a?b=1": true,
		"https://news.example/a?b=2": false, "https://news.example/a": false, "https://news.example/a?b=1&c=2": false,
		"http://news.example/a?b=1": false, "https://news.example/A?b=1": false, "https://news.example:443/a?b=1": false,
		"http://x.example/y": true, "http://x.example/": false, "https://m.example/md": true, "https://q.example/z": true,
		"https://up.example/Path": true, "https://up.example/path": false, "https://hit.example/1": true,
		"https://hit.example/1?x": false, "https://hit.example/": false, "https://heise.de/": false, "https://evil.example/": false,
		"https://news.example/a?b=%31": false, "https://news.example/./a?b=1": false,
	} {
		arguments, _ := json.Marshal(map[string]string{"url": address})
		if got, err := (readTool{}).Reaches(string(arguments), own, found); got != want || err != nil {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
}
