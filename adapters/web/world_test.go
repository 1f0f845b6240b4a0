package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
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
	user    core.User
	door    core.Identity
	chat    core.Identity // on Telegram
	client  *http.Client
	session string
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
}

func (g *gate) Receive(ctx context.Context, in ...core.Inbound) error {
	for _, e := range in {
		i, u, err := g.w.store.Identify(ctx, e.Address)
		if err != nil {
			return err
		}
		m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: e.Text, Attachments: e.Attachments, SentAt: e.SentAt, Day: dayOf(u.Settings, e.SentAt), Quote: e.Quote, ForwardedFrom: e.ForwardedFrom}
		_, err = g.w.store.Append(ctx, core.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e}, Messages: []core.NewMessage{m}, Now: g.w.clock.now(), RunAt: g.w.clock.now(), Thread: e.Thread})
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
	a := core.Attachment{Kind: "document", Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Path: fmt.Sprintf("%d/upload-%d", user, n)}
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
				r.Hits = append(r.Hits, core.Hit{Kind: core.DocSummary, Segment: g.ID, Label: g.Day.Label, Summary: s, Snippet: s.Markdown, Score: 0.78})
			}
		}
		ms, _ := f.w.store.DayMessages(ctx, q.User, g.ID, 0, 1000)
		for _, m := range ms {
			if strings.Contains(m.Text, q.Query) {
				r.Hits = append(r.Hits, core.Hit{Kind: core.DocMessage, Segment: g.ID, Label: g.Day.Label, Message: m, Snippet: m.Text, Score: 0.62})
			}
		}
	}
	return r, err
}

// newWorld has two people, Ana and Bob, on a Saturday afternoon in Paris. Options
// may be changed before the page is made.
func newWorld(t *testing.T, change ...func(o *Options)) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), media: t.TempDir(), clock: &clock{at: time.Date(2026, 1, 31, 14, 40, 0, 0, paris())}}
	var err error
	w.store, err = sqlite.Open(t.TempDir())
	w.must(err)
	t.Cleanup(func() { w.must(w.store.Close()) })
	w.must(w.store.Migrate(w.ctx))
	log := zaptest.NewLogger(t)
	w.hub = live.New(w.store, "test", w.clock.now, log)
	w.gate = &gate{w: w}
	o := Options{Store: w.store, Hub: w.hub, Gateway: w.gate, Day: dayOf, MediaDir: w.media, MediaMax: 1 << 20, PublicURL: "http://127.0.0.1:8080",
		People: &people.People{Store: w.store, Now: w.clock.now, Rand: rand.Reader, Log: log},
		Memory: &memory.Memory{Store: w.store}, Search: finder{w}, Zone: "Europe/Paris", Language: "en", Log: log, Now: w.clock.now, Rand: rand.Reader}
	for _, f := range change {
		f(&o)
	}
	w.page, err = New(o)
	w.must(err)
	w.mux = http.NewServeMux()
	for pattern, h := range w.page.Routes(w.gate) {
		w.mux.Handle(pattern, h)
	}
	w.http = httptest.NewServer(w.mux)
	t.Cleanup(func() { w.page.watchers.end(); w.http.CloseClientConnections(); w.http.Close() })
	w.ana, w.bob = w.person("Ana", core.RoleOwner), w.person("Bob", core.RoleMember)
	return w
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
	chat, err := w.store.AddIdentity(w.ctx, core.Identity{User: u.ID, Address: core.Address{Channel: "telegram", Account: "1", External: name}, LastUsed: w.clock.now()})
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
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// code is a fresh code that signs in.
func (p *person) code() string {
	p.t.Helper()
	code := rand.Text()
	p.must(p.store.PutCode(p.ctx, core.Code{Kind: core.CodeWeb, Hash: people.Hash(code), User: p.user.ID, Created: p.clock.now(), Expires: p.clock.now().Add(10 * time.Minute)}))
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

// said is what may be asked of what somebody says.
type said struct {
	quote   *core.Quote
	forward string
	files   []core.Attachment
	thread  core.ThreadID
	at      core.Identity
}

// says stores a message of the person.
func (p *person) says(text string, more ...func(*said)) core.MessageID {
	p.t.Helper()
	s := said{at: p.chat}
	for _, f := range more {
		f(&s)
	}
	now := p.clock.now()
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 5, Quote: s.quote, ForwardedFrom: s.forward, Attachments: s.files, SentAt: now, Day: dayOf(p.user.Settings, now)}
	id := rand.Text()
	e := core.Inbound{Address: s.at.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: text, SentAt: now, ReceivedAt: now}
	out, err := p.store.Append(p.ctx, core.Append{User: p.user.ID, Identity: s.at.ID, Events: []core.Inbound{e}, Messages: []core.NewMessage{m}, Now: now, RunAt: now, Thread: s.thread})
	p.must(err)
	return out.Messages[0]
}

// turn claims the turn that waits.
func (p *person) turn() *core.Turn {
	p.t.Helper()
	claim := core.Claim{Worker: "test", Now: p.clock.now(), Until: p.clock.now().Add(time.Minute)}
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueTurn}, p.clock.now(), 10)
	p.must(err)
	for _, ref := range refs {
		if ref.User != p.user.ID {
			continue
		}
		t, _, err := p.store.ClaimTurn(p.ctx, ref, claim, core.Budget{})
		p.must(err)
		if t != nil {
			return t
		}
	}
	p.t.Fatal("no turn is due")
	return nil
}

// answers commits a reply to what waits; earlier messages are calls of tools.
func (p *person) answers(text string, before ...core.NewMessage) core.MessageID {
	p.t.Helper()
	return p.replies(p.turn(), text, before...)
}

func (p *person) replies(t *core.Turn, text string, before ...core.NewMessage) core.MessageID {
	p.t.Helper()
	now := p.clock.now()
	ms := append(before, core.NewMessage{Role: core.RoleAssistant, Kind: core.KindChat, Text: text, Tokens: 7, SentAt: now})
	for i := range ms {
		ms[i].Kind, ms[i].SentAt = core.KindChat, now
	}
	s := &core.Snapshot{Strategy: "continuous", Epoch: t.ID, NewEpoch: "first", Messages: core.NewIDSet(t.Inputs...), Parts: []core.PartTokens{{Name: "instructions", Tokens: 310}, {Name: "policy", Tokens: 140}, {Name: "last", Tokens: 96}, {Name: "raw", Tokens: 640}},
		Loaded: 12, Included: 9, Truncated: 1, OpenLoops: 2, ToolTokens: 1240, Total: 1186, Cap: 6150, Model: "demo", Usage: core.Usage{Prompt: 2431, Cached: 1800, Completion: 64}, FirstTokenMS: 410, TotalMS: 1850, Steps: 1}
	r := core.Reply{Turn: t, State: core.TurnDone, Now: now, Messages: ms, Snapshot: s, Day: dayOf(p.user.Settings, now).Label,
		Epoch:      &core.Epoch{ID: t.ID, StartedAt: now, Zone: "Europe/Paris", Strategy: "continuous", Head: []core.HeadPart{{Name: "instructions", Text: "Be kind.", Tokens: 310}}},
		Deliveries: []core.NewDelivery{{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply, Parts: []core.Part{{Text: text}}}}}
	out, err := p.store.Commit(p.ctx, r, nil)
	p.must(err)
	return out.Messages[len(out.Messages)-1]
}

// talks is an exchange.
func (p *person) talks(question, reply string) (q, a core.MessageID) {
	p.t.Helper()
	q = p.says(question)
	p.clock.pass(20 * time.Second)
	return q, p.answers(reply)
}

// sums stores a summary of today.
func (p *person) sums(markdown string, final bool, covers ...core.MessageID) {
	p.t.Helper()
	p.sumsOf(dayOf(p.user.Settings, p.clock.now()).Label, markdown, final, covers...)
}

func (p *person) sumsOf(label, markdown string, final bool, covers ...core.MessageID) {
	p.t.Helper()
	g, err := p.store.Day(p.ctx, p.user.ID, label)
	p.must(err)
	g, err = p.store.Segment(p.ctx, p.user.ID, g.ID)
	p.must(err)
	now := p.clock.now()
	p.must(p.store.Enqueue(p.ctx, core.NewJob{User: p.user.ID, Queue: core.QueueSummarize, Key: core.SummaryKey, Ref: int64(g.ID), RunAt: now, Unique: true}))
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueSummarize}, now, 10)
	p.must(err)
	j, err := p.store.Claim(p.ctx, refs[0], core.Claim{Worker: "test", Now: now, Until: now.Add(time.Minute)})
	p.must(err)
	ms, err := p.store.DayMessages(p.ctx, p.user.ID, g.ID, 0, 1000)
	p.must(err)
	put := core.PutSummary{Summary: core.Summary{User: p.user.ID, Segment: g.ID, Markdown: markdown, Tokens: 40, Covers: core.NewIDSet(covers...), Model: "demo"}, ReadTo: ms[len(ms)-1].ID,
		Edits: g.Edits, Lease: j.Lease, Final: final, Post: core.PostSkipped, Day: label, Now: now,
		Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: markdown, SentAt: now}}
	p.must(p.store.PutSummary(p.ctx, put))
}

// deliver settles what is on its way to the person's chat.
func (p *person) deliver(state core.DeliveryState, why string) {
	p.t.Helper()
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueDeliver + "telegram"}, p.clock.now(), 100)
	p.must(err)
	for _, ref := range refs {
		d, err := p.store.ClaimDelivery(p.ctx, ref, core.Claim{Worker: "test", Now: p.clock.now(), Until: p.clock.now().Add(time.Minute)})
		p.must(err)
		if d == nil {
			continue
		}
		_, err = p.store.FinishPart(p.ctx, d, 0, core.PartResult{State: state, Receipt: core.Receipt{NativeID: rand.Text()}, Error: why}, p.clock.now())
		p.must(err)
	}
}

// wants checks that an answer holds texts.
func (a answer) wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("got status %d, want %d: %s", a.status, status, short(a.body, 400))
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			_, main, _ := strings.Cut(a.body, "<main")
			t.Errorf("%q is not in the page:\n%s", text, short(main, 6000))
		}
	}
}

func (a answer) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("%q is in the page", text)
		}
	}
}

func decode(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), into); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
}
