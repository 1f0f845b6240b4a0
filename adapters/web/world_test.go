package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/trust"
)

// world is the page over a real store, with a gateway that stores what it is told.
type world struct {
	t     *testing.T
	ctx   context.Context
	store *sqlite.Store
	clock *clock
	gate  *gate
	hub   *live.Hub
	page  *Channel
	media string
	mux   *http.ServeMux
	http  *httptest.Server
	ana   *person
	bob   *person
}

// person is somebody with a browser.
type person struct {
	*world
	user   core.User
	door   core.Identity
	chat   core.Identity // on Telegram
	client *http.Client
}

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

func (c *clock) pass(d time.Duration) { c.set(c.now().Add(d)) }

func dayOf(s core.Settings, t time.Time) core.Day {
	return day.At(t, s.Location(paris()), 0, 3*time.Hour, 8*time.Hour)
}

func paris() *time.Location {
	l, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		panic(err)
	}
	return l
}

// gate is a gateway without a model.
type gate struct {
	core.Receiver
	w *world

	mu       sync.Mutex
	received []core.Inbound
	acted    []core.Effect
	kept     int
	broken   error // what Receive answers
}

func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken = err
}

func (g *gate) isBroken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

func (g *gate) Receive(ctx context.Context, in ...core.Inbound) error {
	if err := g.isBroken(); err != nil {
		return err
	}
	for _, e := range in {
		i, u, err := g.w.store.Identify(ctx, e.Address)
		if err != nil {
			return err
		}
		m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: e.Text, Attachments: e.Attachments,
			SentAt: e.SentAt, Day: dayOf(u.Settings, e.SentAt), Quote: e.Quote, ForwardedFrom: e.ForwardedFrom}
		_, err = g.w.store.Append(ctx, core.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e},
			Messages: []core.NewMessage{m}, Now: g.w.clock.now(), RunAt: g.w.clock.now(), Thread: e.Thread})
		if err != nil {
			return err
		}
		g.mu.Lock()
		g.received = append(g.received, e)
		g.mu.Unlock()
	}
	return nil
}

func (g *gate) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error) {
	g.mu.Lock()
	g.acted = append(g.acted, effects...)
	g.mu.Unlock()
	return g.w.store.Note(ctx, core.Note{User: user, Effects: effects, Now: g.w.clock.now()})
}

func (g *gate) Keep(_ context.Context, user core.UserID, f core.File) (core.Attachment, error) {
	g.mu.Lock()
	g.kept++
	n := g.kept
	g.mu.Unlock()
	if f.Name == "no-room" {
		return core.Attachment{}, &core.Permanent{Err: core.ErrNoRoom}
	}
	a := core.Attachment{Kind: "document", Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)),
		Path: fmt.Sprintf("%d/upload-%d", user, n)}
	if strings.HasPrefix(f.MIME, "image/") {
		a.Kind = "photo"
	}
	path := filepath.Join(g.w.media, a.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return a, err
	}
	return a, os.WriteFile(path, f.Data, 0o600)
}

// finder finds the messages and summaries that hold the query.
type finder struct{ w *world }

func (f finder) Search(ctx context.Context, q core.SearchQuery) (core.SearchResult, error) {
	r := core.SearchResult{Mode: "fts"}
	days, err := f.w.store.Days(ctx, q.User, "", 50)
	for _, g := range days {
		if q.Day != "" && g.Day.Label != q.Day {
			continue
		}
		all, _ := f.w.store.Summaries(ctx, q.User, g.ID, 1)
		for _, s := range all {
			if strings.Contains(s.Markdown, q.Query) {
				r.Hits = append(r.Hits, core.Hit{Kind: core.DocSummary, Segment: g.ID, Label: g.Day.Label, Summary: s,
					Snippet: s.Markdown, Score: 0.78})
			}
		}
		ms, _ := f.w.store.DayMessages(ctx, q.User, g.ID, 0, 1000)
		for _, m := range ms {
			if strings.Contains(m.Text, q.Query) {
				r.Hits = append(r.Hits, core.Hit{Kind: core.DocMessage, Segment: g.ID, Label: g.Day.Label, Message: m,
					Snippet: m.Text, Score: 0.62})
				if q.Matching {
					r.Hits[len(r.Hits)-1].After = core.Beside{Message: m.ID + 1, Role: core.RoleAssistant,
						Snippet: "What stands\nbeside it"}
				}
			}
		}
	}
	return r, err
}

// newWorld has two people, Ana and Bob, on a Saturday afternoon in Paris. Options
// may be changed before the page is made.
func newWorld(t *testing.T, change ...func(o *Options)) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), media: t.TempDir(),
		clock: &clock{at: time.Date(2026, 1, 31, 14, 40, 0, 0, paris())}}
	var err error
	w.store = sqlitetest.Open(t, t.TempDir())
	log := zaptest.NewLogger(t)
	w.hub = live.New(w.store, "test", w.clock.now, log)
	w.gate = &gate{w: w}
	o := Options{Store: w.store, Hub: w.hub, Gateway: w.gate, Files: w.gate,
		Calendar: day.Calendar{Zone: paris(), Finalize: 3 * time.Hour, Post: 8 * time.Hour}, MediaDir: w.media,
		MediaMax: 1 << 20, PublicURL: "http://127.0.0.1:8080", Sure: w.yes,
		People: &people.People{Store: w.store, Now: w.clock.now, Rand: rand.Reader, Log: log},
		Memory: &memory.Memory{Store: w.store}, Search: finder{w}, Zone: "Europe/Paris", Language: "en", Log: log,
		Now: w.clock.now, Rand: rand.Reader}
	for _, f := range change {
		f(&o)
	}
	w.page, err = New(o)
	w.must(err)
	w.mux = http.NewServeMux()
	for pattern, h := range w.page.Routes() {
		w.mux.Handle(pattern, h)
	}
	w.http = httptest.NewServer(w.mux)
	t.Cleanup(func() { w.page.watchers.end(); w.http.CloseClientConnections(); w.http.Close() })
	w.ana, w.bob = w.person("Ana", core.RoleOwner), w.person("Bob", core.RoleMember)
	return w
}

// yes is somebody who has said yes to whatever is asked.
func (w *world) yes(ctx context.Context, u core.User, _ core.Session, c core.AccountSubject,
	effects ...core.Effect) (core.Identity, bool, error) {
	if c.User == 0 {
		c.User = u.ID
	}
	_, err := w.store.Note(ctx, core.Note{User: c.User, Effects: effects, Now: w.clock.now()})
	return core.Identity{}, err == nil, err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) person(name string, role core.UserRole) *person {
	w.t.Helper()
	u, err := w.store.AddUser(w.ctx, core.User{Name: name, Role: role, CreatedAt: w.clock.now()})
	w.must(err)
	chat, err := w.store.AddIdentity(w.ctx, core.Identity{User: u.ID, Address: core.Address{Channel: "telegram",
		Account: "1", External: name}, LastUsed: w.clock.now()})
	w.must(err)
	door, err := w.page.People.Door(w.ctx, u.ID, Name)
	w.must(err)
	p := &person{world: w, user: u, door: door, chat: chat}
	p.client = p.browser()
	return p
}

// browser is a browser that is not signed in.
func (w *world) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// code is a fresh code that signs in.
func (p *person) code() string {
	p.t.Helper()
	code := rand.Text()
	p.must(p.store.PutCode(p.ctx, core.Code{Kind: core.CodeWeb, Hash: trust.CodeHash(code), User: p.user.ID,
		Address: p.chat.Address, Created: p.clock.now(), Expires: p.clock.now().Add(10 * time.Minute)}))
	return code
}

// signedIn signs the person's browser in.
func (p *person) signedIn() *person {
	p.t.Helper()
	a := p.post("/signin", url.Values{"code": {p.code()}})
	if a.status != http.StatusSeeOther {
		p.t.Fatalf("signing in answered %d: %s", a.status, a.body)
	}
	return p
}

// answer is what a browser got.
type answer struct {
	status int
	body   string
	header http.Header
}

func (p *person) do(r *http.Request) answer {
	p.t.Helper()
	res, err := p.client.Do(r)
	p.must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.must(err)
	return answer{res.StatusCode, string(b), res.Header}
}

func (p *person) request(method, path string, body io.Reader) *http.Request {
	p.t.Helper()
	r, err := http.NewRequest(method, p.http.URL+path, body)
	p.must(err)
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Origin", p.http.URL)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (p *person) get(path string) answer {
	p.t.Helper()
	return p.do(p.request(http.MethodGet, path, nil))
}

func (p *person) post(path string, form url.Values) answer {
	p.t.Helper()
	return p.do(p.request(http.MethodPost, path, strings.NewReader(form.Encode())))
}

// upload posts a form with files, by name.
func (p *person) upload(path string, form map[string]string, files map[string]string) answer {
	p.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range form {
		p.must(m.WriteField(k, v))
	}
	for name, data := range files {
		f, err := m.CreateFormFile("file", name)
		p.must(err)
		_, err = f.Write([]byte(data))
		p.must(err)
	}
	p.must(m.Close())
	r := p.request(http.MethodPost, path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return p.do(r)
}
