package webtest

import (
	"bufio"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/store"
)

// Drawn returns a page without drawn pictures and links to apps.
func (a Answer) Drawn() Answer {
	ours := regexp.MustCompile(
		`<svg (class="qr" viewBox="[0-9 ]+"|viewBox="0 0 300 100") |href="https://t\.me/thread_bot\?text=/link%20[0-9A-Z]+"`)
	a.Body = ours.ReplaceAllString(a.Body, "<p ")
	return a
}

// Taken returns the messages that the gateway received.
func (w *World) Taken() []core.Inbound {
	w.Gate.Mu.Lock()
	defer w.Gate.Mu.Unlock()
	return append([]core.Inbound(nil), w.Gate.Received...)
}

// NonceOf returns the nonce of the composer.
func NonceOf(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="nonce" value="`)
	if !ok {
		t.Fatal("the form has no nonce")
	}
	n, _, _ := strings.Cut(rest, `"`)
	return n
}

// Shown returns the ids of the entries of a page, in order.
func (a Answer) Shown() []string {
	var out []string
	for _, m := range regexp.MustCompile(`<article class="[^"]*" id="([mv]\d+)"`).FindAllStringSubmatch(a.Body, -1) {
		out = append(out, m[1])
	}
	return out
}

// At sets the clock in January 2026.
func (p *Person) At(day, hour, minute int) {
	p.Clock.Set(time.Date(2026, 1, day, hour, minute, 0, 0, Paris()))
}

// Golden compares the main part of a page with its file, without the parts that always
// differ. With update it rewrites the file.
func Golden(t *testing.T, update bool, name, body string) {
	t.Helper()
	for pattern, with := range map[string]string{`name="nonce" value="[^"]*"`: `name="nonce" value="NONCE"`,
		`/static/(\w+)\.[0-9a-f]+\.`: `/static/$1.HASH.`, `data-v="[^"]*"`: `data-v="V"`,
		`data-last="[^"]*"`: `data-last="LAST"`, `data-turn="t\d+"`: `data-turn="TURN"`, `/threads/\d+`: `/threads/N`} {
		body = regexp.MustCompile(pattern).ReplaceAllString(body, with)
	}
	_, body, _ = strings.Cut(body, `<main id="main" tabindex="-1">`)
	body, _, _ = strings.Cut(body, "</main>")
	file := "testdata/" + name + ".html"
	if update {
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), body); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it again:\n%s", name, diff)
	}
}

// Try sends a request to the page without a browser.
func (w *World) Try(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.Mux.ServeHTTP(rec, r)
	return rec
}

// Name returns the id of a message's element.
func Name(id core.MessageID) string { return fmt.Sprintf("m%d", id) }

// Concrete returns a pattern with values in place of its wildcards.
func Concrete(pattern string, values map[string]string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	path = strings.ReplaceAll(path, "{$}", "")
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return method, path
}

// event is one of the live updates.
type event struct{ id, name, Data string }

// watching is an open page with live updates.
type watching struct {
	t      testing.TB
	Events chan event
	Status int
	Header http.Header
	Last   string
	Close  func()
	Ended  chan struct{}
}

// Watch opens the live updates of a page.
func (p *Person) Watch(path, last string) *watching {
	p.T.Helper()
	ctx, cancel := context.WithCancel(p.Context)
	r := p.Request(http.MethodGet, path, nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := p.Client.Do(r)
	p.Must(err)
	w := &watching{t: p.T, Events: make(chan event, 1000), Status: res.StatusCode, Header: res.Header, Last: last,
		Ended: make(chan struct{})}
	w.Close = func() { cancel(); <-w.Ended }
	p.T.Cleanup(w.Close)
	go func() {
		defer close(w.Ended)
		defer close(w.Events)
		defer res.Body.Close()
		in := bufio.NewScanner(res.Body)
		in.Buffer(nil, 1<<20)
		var e event
		for in.Scan() {
			field, value, _ := strings.Cut(in.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.Data = value
			case "":
				if e.name != "" {
					w.Events <- e
				}
				e = event{id: e.id} // as in a browser, an id holds until the next one
			}
		}
	}()
	return w
}

// Next returns the next event with a name, and skips others.
func (w *watching) Next(name string) event {
	w.t.Helper()
	for late := time.After(5 * time.Second); ; {
		select {
		case e, ok := <-w.Events:
			if !ok {
				w.t.Fatalf("the updates ended before %s came", name)
			}
			if e.id != "" {
				w.Last = e.id
			}
			if e.name == name {
				return e
			}
		case <-late:
			w.t.Fatalf("no %s came", name)
		}
	}
}

// Until checks that no event with one name arrives before one with another.
func (w *watching) Until(name, never string) {
	w.t.Helper()
	for late := time.After(5 * time.Second); ; {
		select {
		case e := <-w.Events:
			if e.name == never {
				w.t.Errorf("%s came: %s", never, e.Data)
			}
			if e.name == name {
				return
			}
		case <-late:
			w.t.Fatalf("no %s came", name)
		}
	}
}

// Follows runs the hub until the test ends.
func (w *World) Follows() {
	ctx, cancel := context.WithCancel(w.Context)
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Hub.Run(ctx) }()
	w.T.Cleanup(func() { cancel(); <-done })
}

// LastIn returns the digest of what a page shows.
func LastIn(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `data-last="`)
	if !ok {
		t.Fatal("the page does not follow")
	}
	last, _, _ := strings.Cut(rest, `"`)
	return last
}

// Dangers returns the parts of HTML that could run or load something, or mislead.
func Dangers(t *testing.T, body string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "iframe", "object", "embed", "base", "svg", "math", "frame", "applet", "style", "noscript",
			"template", "foreignobject":
			out = append(out, "<"+n.Data+">")
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.Map(func(r rune) rune {
				if r <= ' ' {
					return -1
				}
				return r
			}, a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "formaction", a.Key == "srcset":
				out = append(out, n.Data+" "+a.Key)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				ours := strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") || strings.HasPrefix(value, "#")
				out = append(out, where(n, a, value, ours)...)
			}
		}
	}
	return out
}

func where(n *html.Node, a html.Attribute, value string, ours bool) []string {
	if ours {
		return nil
	}
	if n.Data == "a" && (strings.HasPrefix(value, "mailto:") || strings.HasPrefix(value, "tel:")) {
		return nil
	}
	known := strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://")
	if n.Data == "a" && a.Key == "href" && known {
		for _, other := range n.Attr {
			if other.Key == "rel" && strings.Contains(other.Val, "noopener") && strings.Contains(other.Val, "nofollow") {
				return nil
			}
		}
	}
	return []string{n.Data + " " + a.Key + "=" + a.Val}
}

// Keeps stores a memory item of the person.
func (p *Person) Keeps(theme string, kind core.ItemType, text string, more ...func(*core.Item)) core.ItemID {
	p.T.Helper()
	i := core.Item{User: p.User.ID, Theme: theme, Type: kind, Content: text}
	for _, f := range more {
		f(&i)
	}
	add, _, err := p.Memory.Keep(p.Context, i, p.Clock.Now())
	p.Must(err)
	_, err = p.Store.Note(p.Context, store.Note{User: p.User.ID, Effects: []core.Effect{*add}, Now: p.Clock.Now()})
	p.Must(err)
	return add.Item.ID
}

// Settings returns the person's stored settings.
func (p *Person) Settings() core.User {
	p.T.Helper()
	u, err := p.Store.User(p.Context, p.User.ID)
	p.Must(err)
	return u
}

// On adds an identity on a channel.
func (p *Person) On(channel, name string) core.Identity {
	p.T.Helper()
	i, err := p.Store.AddIdentity(p.Context, core.Identity{User: p.User.ID,
		Address: core.Address{Channel: channel, Account: "1", External: rand.Text()}, Name: name, LastUsed: p.Clock.Now()})
	p.Must(err)
	return i
}

// Spends stores what the person's calls took on a day.
func (p *Person) Spends(day string, spent core.Bill) {
	p.T.Helper()
	p.Must(p.Store.Spend(p.Context, p.User.ID, day, spent))
}

// APIKey stores an API key of the person.
func (p *Person) APIKey(name string) core.APIKey {
	p.T.Helper()
	k, _, err := client.NewKey(rand.Reader, p.User, name, []string{"chat"}, p.Clock.Now())
	p.Must(err)
	k, err = p.Store.AddAPIKey(p.Context, k)
	p.Must(err)
	return k
}

// Dies makes a job a dead letter, and returns it.
func (p *Person) Dies(why string) store.Job {
	p.T.Helper()
	now := p.Clock.Now()
	p.Must(p.Store.Enqueue(p.Context, store.NewJob{User: p.User.ID, Queue: core.QueueEmbed, Key: core.EmbedKey,
		RunAt: now}))
	refs, _, err := p.Store.Due(p.Context, []string{core.QueueEmbed}, now, 100, store.Share{})
	p.Must(err)
	for _, ref := range refs {
		if ref.User == p.User.ID {
			j, err := p.Store.Claim(p.Context, ref, store.Claim{Worker: "test", Now: now, Until: now.Add(time.Minute)})
			p.Must(err)
			p.Must(p.Store.Finish(p.Context, p.User.ID, j.Lease, why))
			return *j
		}
	}
	p.T.Fatal("no job is due")
	return store.Job{}
}

// Between returns the part of a page between two texts.
func (a Answer) Between(t *testing.T, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.Body, from)
	out, _, also := strings.Cut(rest, to)
	if !ok || !also {
		t.Fatalf("%q … %q is not in the page", from, to)
	}
	return out
}

// Elsewhere returns the target of an action's redirect.
func (a Answer) Elsewhere(t *testing.T, path string) {
	t.Helper()
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != path {
		t.Errorf("got %d to %q, want %q: %s", a.Status, a.Header.Get("Location"), path, web.Short(a.Body, 300))
	}
}

// Cookie returns the cookie that an answer sets, or nil.
func (a Answer) Cookie(name string) *http.Cookie {
	for _, k := range (&http.Response{Header: a.Header}).Cookies() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Deletes confirms the account deletion.
func (p *Person) Deletes() Answer {
	p.T.Helper()
	return p.Post("/settings/delete", url.Values{"word": {"DELETE"}})
}

//go:embed testdata/xss.txt
var xss string

// Payloads returns attempts to run something on a page. A payload of several lines begins
// with a link or a table.
func Payloads() []string {
	lines := strings.Split(strings.TrimSpace(xss), "\n")
	return append(lines, xss, "[x][y]\n\n[y]: javascript:alert(1)", strings.Join(lines[len(lines)-3:], "\n"))
}

// ownTag is a <link> or <meta> of the layout.
var ownTag = regexp.MustCompile(`^<(link rel="(icon|apple-touch-icon|stylesheet)" href="/static/[^"]+"( type="[^"]+")?|` +
	`link rel="manifest" href="/manifest\.webmanifest\?lang=[a-z]+"|meta charset="utf-8"|` +
	`meta name="(viewport|color-scheme)" content="[^"]+"|` +
	`meta name="theme-color" content="#[0-9a-f]{6}"( media="\(prefers-color-scheme: [a-z]+\)")?)>$`)

// Harmless checks that a page runs nothing but its own scripts.
func (a Answer) Harmless(t *testing.T, what string) {
	t.Helper()
	if bad := Dangers(t, a.Body); bad != nil {
		t.Errorf("%s: %v", what, bad)
	}
	for _, script := range strings.Split(a.Body, "<script")[1:] {
		if !strings.HasPrefix(script, ` src="/static/`) {
			t.Errorf("%s: a script of somebody else's: %s", what, web.Short(script, 100))
		}
	}
	for _, tag := range regexp.MustCompile(`<(?:link|meta)\b[^>]*>?`).FindAllString(a.Body, -1) {
		if !ownTag.MatchString(tag) {
			t.Errorf("%s: %s", what, web.Short(tag, 100))
		}
	}
}
