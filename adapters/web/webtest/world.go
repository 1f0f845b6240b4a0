// Package webtest is the environment for tests of the web page and its rooms: people with
// browsers, a real store, and a gateway without a model.
package webtest

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

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
)

// Groups knows who has written in which group, and is told whether they attend it.
type Groups struct {
	*people.People
	Attended bool
	Err      error
	Asked    int // how often it was asked
}

// Attends returns what it was told.
func (g *Groups) Attends(context.Context, people.Attendance) (bool, error) {
	g.Asked++
	return g.Attended, g.Err
}

// World is the page with a real store and a gateway without a model.
type World struct {
	T       testing.TB
	Context context.Context
	Store   *sqlite.Store
	Clock   *clock
	Gate    *gate
	Hub     *live.Hub
	Page    *web.Channel
	People  *people.People
	Groups  *Groups
	Memory  *items.Memory
	Log     *zap.Logger
	Media   string
	Mux     *http.ServeMux
	HTTP    *httptest.Server
	Ana     *Person
	Bob     *Person
}

// Person is a user with a browser.
type Person struct {
	*World
	User   core.User
	Door   core.Identity
	Chat   core.Identity // on Telegram
	Client *http.Client
}

// clock is a clock that only tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

// Now returns the clock's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set sets the clock.
func (c *clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// Pass advances the clock.
func (c *clock) Pass(d time.Duration) { c.Set(c.Now().Add(d)) }

// DayOf returns the day of a user with these settings.
func DayOf(s core.Settings, t time.Time) core.Day {
	return day.At(t, s.Location(Paris()), 0, 3*time.Hour, 8*time.Hour)
}

// Paris returns the time zone of the world.
func Paris() *time.Location {
	l, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		panic(err)
	}
	return l
}

// gate is a gateway without a model.
type gate struct {
	core.Receiver
	w *World

	Mu       sync.Mutex
	Received []core.Inbound
	Acted    []core.Effect
	Kept     int
	broken   error // result of Receive
}

// Fail lets Receive return an error from now on; nil: none.
func (g *gate) Fail(err error) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.broken = err
}

func (g *gate) isBroken() error {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.broken
}

// Receive stores messages.
func (g *gate) Receive(ctx context.Context, in ...core.Inbound) error {
	if err := g.isBroken(); err != nil {
		return err
	}
	for _, e := range in {
		i, u, err := g.w.Store.Identify(ctx, e.Address)
		if err != nil {
			return err
		}
		m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: e.Text, Attachments: e.Attachments,
			SentAt: e.SentAt, Day: DayOf(u.Settings, e.SentAt), Quote: e.Quote, ForwardedFrom: e.ForwardedFrom}
		_, err = g.w.Store.Append(ctx, store.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e},
			Messages: []core.NewMessage{m}, Now: g.w.Clock.Now(), RunAt: g.w.Clock.Now(), Thread: e.Thread})
		if err != nil {
			return err
		}
		g.Mu.Lock()
		g.Received = append(g.Received, e)
		g.Mu.Unlock()
	}
	return nil
}

// Act applies and records effects.
func (g *gate) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error) {
	g.Mu.Lock()
	g.Acted = append(g.Acted, effects...)
	g.Mu.Unlock()
	return g.w.Store.Note(ctx, store.Note{User: user, Effects: effects, Now: g.w.Clock.Now()})
}

// Keep stores a file; one named no-room fails with core.ErrNoRoom.
func (g *gate) Keep(_ context.Context, user core.UserID, f core.File) (core.Attachment, error) {
	g.Mu.Lock()
	g.Kept++
	n := g.Kept
	g.Mu.Unlock()
	if f.Name == "no-room" {
		return core.Attachment{}, &core.Permanent{Err: core.ErrNoRoom}
	}
	a := core.Attachment{Kind: "document", Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)),
		Path: fmt.Sprintf("%d/upload-%d", user, n)}
	if strings.HasPrefix(f.MIME, "image/") {
		a.Kind = "photo"
	}
	path := filepath.Join(g.w.Media, a.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return a, err
	}
	return a, os.WriteFile(path, f.Data, 0o600)
}

// KeepVoice stores a voice note.
func (g *gate) KeepVoice(ctx context.Context, user core.UserID, f core.File,
	long time.Duration) (core.Attachment, error) {
	a, err := g.Keep(ctx, user, f)
	a.Kind, a.Duration = "voice", long
	return a, err
}

// Signals finds items that contain a text.
type Signals struct{ *sqlite.Store }

func (s Signals) Items(ctx context.Context, user core.UserID, query string) (search.ItemSignals, error) {
	out := search.ItemSignals{Mode: "fts"}
	all, err := s.Store.Items(ctx, store.ItemQuery{User: user, Limit: 1000})
	for _, i := range all {
		if strings.Contains(strings.ToLower(i.Content), strings.ToLower(query)) {
			out.Signals = append(out.Signals, search.ItemSignal{ID: i.ID, FTS: true, Lexical: 1})
		}
	}
	return out, err
}

// New returns a world with two people, Ana and Bob, on a Saturday afternoon in Paris. The
// options may be changed before the page is created from the rooms.
func New(t testing.TB, rooms func(w *World) []web.Room, change ...func(o *web.Options)) *World {
	t.Helper()
	w := &World{T: t, Context: context.Background(), Media: t.TempDir(), Log: zaptest.NewLogger(t),
		Clock: &clock{at: time.Date(2026, 1, 31, 14, 40, 0, 0, Paris())}}
	w.Store = sqlitetest.Open(t, t.TempDir())
	w.Hub = live.New(w.Store, "test", w.Clock.Now, w.Log)
	w.Gate = &gate{w: w}
	w.Memory = &items.Memory{Store: w.Store, Signals: Signals{w.Store}}
	w.People = &people.People{Store: w.Store, Now: w.Clock.Now, Rand: rand.Reader, Log: w.Log}
	w.Groups = &Groups{People: w.People}
	o := web.Options{Store: w.Store, Owner: w.People, Gateway: w.Gate, Rooms: rooms(w), PublicURL: "http://127.0.0.1:8080",
		Calendar: day.Calendar{Zone: Paris(), Finalize: 3 * time.Hour, Post: 8 * time.Hour},
		Zone:     "Europe/Paris", Language: "en", Log: w.Log, Now: w.Clock.Now, Rand: rand.Reader}
	for _, f := range change {
		f(&o)
	}
	var err error
	w.Page, err = web.New(o)
	w.Must(err)
	w.Mux = http.NewServeMux()
	for pattern, h := range w.Page.Routes() {
		w.Mux.Handle(pattern, h)
	}
	w.HTTP = httptest.NewServer(w.Mux)
	t.Cleanup(func() { w.End(); w.HTTP.CloseClientConnections(); w.HTTP.Close() })
	w.Ana, w.Bob = w.person("Ana", core.RoleOwner), w.person("Bob", core.RoleMember)
	return w
}

// End ends the page, as the end of the process would.
func (w *World) End() {
	ctx, cancel := context.WithCancel(w.Context)
	cancel()
	w.Must(w.Page.Run(ctx))
}

// Yes is a user who approves every account change.
func (w *World) Yes(ctx context.Context, u core.User, _ store.Session, c effect.AccountSubject,
	effects ...core.Effect) (core.Identity, bool, error) {
	if c.User == 0 {
		c.User = u.ID
	}
	_, err := w.Store.Note(ctx, store.Note{User: c.User, Effects: effects, Now: w.Clock.Now()})
	return core.Identity{}, err == nil, err
}

// Must ends the test with an error, if there is one.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *World) person(name string, role core.UserRole) *Person {
	w.T.Helper()
	u, err := w.Store.AddUser(w.Context, core.User{Name: name, Role: role, CreatedAt: w.Clock.Now()})
	w.Must(err)
	chat, err := w.Store.AddIdentity(w.Context, core.Identity{User: u.ID, Address: core.Address{Channel: "telegram",
		Account: "1", External: name}, LastUsed: w.Clock.Now()})
	w.Must(err)
	door, err := w.People.Door(w.Context, u.ID, web.Name)
	w.Must(err)
	p := &Person{World: w, User: u, Door: door, Chat: chat}
	p.Client = p.Browser()
	return p
}

// Browser is a browser that is not signed in.
func (w *World) Browser() *http.Client {
	jar, err := cookiejar.New(nil)
	w.Must(err)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// Code returns a new sign-in code.
func (p *Person) Code() string {
	p.T.Helper()
	code := rand.Text()
	p.Must(p.Store.PutCode(p.Context, effect.Code{Kind: effect.CodeWeb, Hash: trust.CodeHash(code), User: p.User.ID,
		Address: p.Chat.Address, Created: p.Clock.Now(), Expires: p.Clock.Now().Add(10 * time.Minute)}))
	return code
}

// SignedIn signs the person's browser in.
func (p *Person) SignedIn() *Person {
	p.T.Helper()
	a := p.Post("/signin", url.Values{"code": {p.Code()}})
	if a.Status != http.StatusSeeOther {
		p.T.Fatalf("signing in answered %d: %s", a.Status, a.Body)
	}
	return p
}

// Answer is a browser's response.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Do sends a request without following redirects.
func (p *Person) Do(r *http.Request) Answer {
	p.T.Helper()
	res, err := p.Client.Do(r)
	p.Must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.Must(err)
	return Answer{res.StatusCode, string(b), res.Header}
}

// Request returns a request of the person's browser.
func (p *Person) Request(method, path string, body io.Reader) *http.Request {
	p.T.Helper()
	r, err := http.NewRequest(method, p.HTTP.URL+path, body)
	p.Must(err)
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Origin", p.HTTP.URL)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

// Get requests a page.
func (p *Person) Get(path string) Answer {
	p.T.Helper()
	return p.Do(p.Request(http.MethodGet, path, nil))
}

// Post posts a form.
func (p *Person) Post(path string, form url.Values) Answer {
	p.T.Helper()
	return p.Do(p.Request(http.MethodPost, path, strings.NewReader(form.Encode())))
}

// Upload posts a form with files, by name.
func (p *Person) Upload(path string, form map[string]string, files map[string]string) Answer {
	p.T.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range form {
		p.Must(m.WriteField(k, v))
	}
	for name, data := range files {
		f, err := m.CreateFormFile("file", name)
		p.Must(err)
		_, err = f.Write([]byte(data))
		p.Must(err)
	}
	p.Must(m.Close())
	r := p.Request(http.MethodPost, path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return p.Do(r)
}
