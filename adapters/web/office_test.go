package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/export"
	"github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/seal"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// office is the world of the pages of memory, settings and administration.
type office struct {
	*world
	models *fakeModels
	agents *fakeAgents
	health map[string]error
	found  []core.Finding
	gone   []core.UserID
	leaves func(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error)
}

func newOffice(t *testing.T, change ...func(o *Options)) *office {
	t.Helper()
	f := &office{agents: &fakeAgents{keys: map[int64]string{}}, health: map[string]error{"telegram": nil},
		found: []core.Finding{{Check: "llm", OK: true, Detail: "the model answers"}}}
	f.world = newWorld(t, append([]func(o *Options){func(o *Options) { f.open(t, o) }}, change...)...)
	return f
}

// open fills in what the pages need, over the store of the options.
func (f *office) open(t *testing.T, o *Options) {
	st := o.Store.(*sqlite.Store)
	f.leaves = func(ctx context.Context, user core.UserID, tell func(people.Deletion)) ([]string, error) {
		for _, r := range []people.Deletion{{Step: people.DeletionCount},
			{Step: people.DeletionCount, Done: 1200, Total: 1}, {Step: people.DeletionRows, Total: 1200},
			{Step: people.DeletionFiles, Total: 2}, {Step: people.DeletionFiles, Done: 2, Total: 2},
			{Step: people.DeletionClean}, {Step: people.DeletionLook}} {
			if tell(r); r.Step == people.DeletionRows {
				if _, err := st.DeleteUser(ctx, user); err != nil {
					return nil, err
				}
			}
		}
		return st.Remains(ctx, user)
	}
	s, err := seal.New(rand.Reader, "secret")
	if err != nil {
		t.Fatal(err)
	}
	f.models = &fakeModels{users: st, sealer: s}
	m := &memory.Memory{Store: st, Signals: signals{st}, Embed: f.models.Name}
	o.Memory, o.Items = m, m
	p := o.People.(*people.People)
	o.Prices = Prices{Prompt: 1, Cached: 0.1, Completion: 4, Currency: "EUR"}
	exporter := &export.Exporter{Store: st, Media: os.DirFS(o.MediaDir), Zone: paris(), Now: o.Now}
	o.Settings = &Settings{Store: st, NewCode: p.NewLinkCode, Embeddings: f.models, Agents: f.agents,
		Capabilities: capable, TokensPerDay: 5000, Apps: func(context.Context) []core.App {
			return []core.App{{Channel: "telegram", Name: "@thread_bot",
				Link: func(text string) string { return "https://t.me/thread_bot?text=" + text }},
				{Channel: "matrix", Name: "x", Link: func(string) string { return "javascript:alert(1)" }}}
		},
		Export: func(ctx context.Context, w io.Writer, user core.UserID) error {
			return exporter.Write(ctx, w, user, nil)
		},
		Delete: func(ctx context.Context, user core.UserID, tell func(people.Deletion)) ([]string, error) {
			f.gone = append(f.gone, user)
			return f.leaves(ctx, user, tell)
		},
		Traces: func(ctx context.Context, user core.UserID, text string) ([]core.Trace, bool, error) {
			found, err := st.Traces(ctx, user, text)
			return slices.DeleteFunc(found, func(t core.Trace) bool { return strings.HasPrefix(t.Where, "file ") }), false, err
		}}
	o.Admin = &Admin{Store: st, Health: func() map[string]error { return f.health },
		Check: func(context.Context) []core.Finding { return f.found },
		NewWebLink: func(user core.UserID) (string, core.Code, error) {
			code, stored, err := p.NewWebCode(user, 10*time.Minute)
			return "http://127.0.0.1:8080/signin?code=" + code, stored, err
		}}
}

func capable(channel string) (core.Capabilities, bool) {
	switch channel {
	case "telegram", "matrix":
		return core.Capabilities{Push: true}, true
	case "whatsapp":
		return core.Capabilities{Push: true, Window: 24 * time.Hour}, true
	case "web", "api":
		return core.Capabilities{}, true
	}
	return core.Capabilities{}, false
}

// signals finds items that hold a text.
type signals struct{ *sqlite.Store }

func (s signals) Items(ctx context.Context, user core.UserID, query string) (core.ItemSignals, error) {
	out := core.ItemSignals{Mode: "fts"}
	all, err := s.Store.Items(ctx, core.ItemQuery{User: user, Limit: 1000})
	for _, i := range all {
		if strings.Contains(strings.ToLower(i.Content), strings.ToLower(query)) {
			out.Signals = append(out.Signals, core.ItemSignal{ID: i.ID, FTS: true, Lexical: 1})
		}
	}
	return out, err
}

// fakeModels opens real embedders.
type fakeModels struct {
	users interface {
		User(ctx context.Context, id core.UserID) (core.User, error)
	}
	sealer  *seal.Sealer
	system  string
	private bool // addresses of this machine are allowed
	mu      sync.Mutex
	opened  []core.OwnEmbeddings
}

func (f *fakeModels) System() string { return f.system }

func (f *fakeModels) Name(ctx context.Context, user core.UserID) (string, error) {
	if f.system != "" {
		return f.system, nil
	}
	u, err := f.users.User(ctx, user)
	c := u.Settings.Embeddings
	if err != nil || c.Provider == "" {
		return "", err
	}
	return embed.Config(c.Provider, c.Model, c.Dimensions), nil
}

func (f *fakeModels) Open(c core.OwnEmbeddings) (core.Embedder, error) {
	f.mu.Lock()
	f.opened = append(f.opened, c)
	f.mu.Unlock()
	key := ""
	if c.Sealed != "" {
		var err error
		if key, err = f.sealer.Open("key", c.Sealed); err != nil {
			return nil, err
		}
	}
	return embed.New(embed.Options{Provider: c.Provider, BaseURL: c.BaseURL, APIKey: key, Model: c.Model,
		Dimensions: c.Dimensions, Timeout: 5 * time.Second, Way: egress.New(egress.Options{AllowPrivate: f.private})})
}

func (f *fakeModels) Seal(key string) (string, error) { return f.sealer.Seal("key", key) }

// fakeAgents takes keys that begin with good.
type fakeAgents struct {
	mu   sync.Mutex
	all  []Agent
	keys map[int64]string
	of   []core.UserID
}

func (f *fakeAgents) List(_ context.Context, user core.UserID) ([]Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Agent
	for i, a := range f.all {
		if f.of[i] == user {
			out = append(out, a)
		}
	}
	return out, nil
}

func (f *fakeAgents) Check(_ context.Context, key string) error {
	if !strings.HasPrefix(key, "good") {
		return errors.New("WhatsApp does not know it; make a new one")
	}
	return nil
}

func (f *fakeAgents) Add(_ context.Context, user core.UserID, name, key string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := int64(len(f.keys) + 1)
	f.keys[id] = key
	f.all, f.of = append(f.all, Agent{ID: id, Name: name, Since: now}), append(f.of, user)
	return nil
}

func (f *fakeAgents) Remove(_ context.Context, user core.UserID, id int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range f.all {
		if a.ID == id && f.of[i] == user {
			f.all, f.of = slices.Delete(f.all, i, i+1), slices.Delete(f.of, i, i+1)
			return nil
		}
	}
	return core.ErrNotFound
}

// keeps stores an item of the person's.
func (p *person) keeps(theme string, kind core.ItemType, text string, more ...func(*core.Item)) core.ItemID {
	p.t.Helper()
	i := core.Item{User: p.user.ID, Theme: theme, Type: kind, Content: text}
	for _, f := range more {
		f(&i)
	}
	add, _, err := p.page.Memory.Keep(p.ctx, i, p.clock.now())
	p.must(err)
	_, err = p.store.Note(p.ctx, core.Note{User: p.user.ID, Effects: []core.Effect{*add}, Now: p.clock.now()})
	p.must(err)
	return add.Item.ID
}

// settings are the person's as they are stored.
func (p *person) settings() core.User {
	p.t.Helper()
	u, err := p.store.User(p.ctx, p.user.ID)
	p.must(err)
	return u
}

// at has an identity on a channel.
func (p *person) on(channel, name string) core.Identity {
	p.t.Helper()
	i, err := p.store.AddIdentity(p.ctx, core.Identity{User: p.user.ID,
		Address: core.Address{Channel: channel, Account: "1", External: rand.Text()}, Name: name, LastUsed: p.clock.now()})
	p.must(err)
	return i
}

// spends stores what the person used on a day.
func (p *person) spends(day string, u core.Usage) {
	p.t.Helper()
	p.must(p.store.Spend(p.ctx, p.user.ID, day, u))
}

// apiKey stores a key of the person's.
func (p *person) apiKey(name string) core.APIKey {
	p.t.Helper()
	k, _, err := client.NewKey(rand.Reader, p.user, name, []string{"chat"}, p.clock.now())
	p.must(err)
	k, err = p.store.AddAPIKey(p.ctx, k)
	p.must(err)
	return k
}

// asks has a stranger ask to be let in, and returns the code.
func (f *office) asks(name string) string {
	f.t.Helper()
	code := rand.Text()[:8]
	a := core.Address{Channel: "telegram", Account: "1", External: code}
	e := core.Inbound{Address: a, EventID: code, Kind: core.InMessage, Text: "secret of a stranger", Name: name,
		SentAt: f.clock.now(), ReceivedAt: f.clock.now()}
	_, err := f.store.Hold(f.ctx, core.Hold{Event: e, Keep: true, Now: f.clock.now(), MaxCodes: 100,
		Code: &core.Code{Kind: core.CodePair, Hash: trust.CodeHash(code), Hint: code, Address: a, Name: name,
			Created: f.clock.now(), Expires: f.clock.now().Add(time.Hour)}})
	f.must(err)
	return code
}

// dies has a job give up, and returns it.
func (p *person) dies(why string) core.Job {
	p.t.Helper()
	now := p.clock.now()
	p.must(p.store.Enqueue(p.ctx, core.NewJob{User: p.user.ID, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: now}))
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueEmbed}, now, 100)
	p.must(err)
	for _, ref := range refs {
		if ref.User == p.user.ID {
			j, err := p.store.Claim(p.ctx, ref, core.Claim{Worker: "test", Now: now, Until: now.Add(time.Minute)})
			p.must(err)
			p.must(p.store.Finish(p.ctx, p.user.ID, j.Lease, why))
			return *j
		}
	}
	p.t.Fatal("no job is due")
	return core.Job{}
}

// found is what stands behind a text on a page, up to another.
func (a answer) between(t *testing.T, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.body, from)
	out, _, also := strings.Cut(rest, to)
	if !ok || !also {
		t.Fatalf("%q … %q is not in the page", from, to)
	}
	return out
}

func sprint(id any) string { return fmt.Sprint(id) }

// elsewhere is where an action led.
func (a answer) elsewhere(t *testing.T, path string) {
	t.Helper()
	if a.status != http.StatusSeeOther || a.header.Get("Location") != path {
		t.Errorf("got %d to %q, want %q: %s", a.status, a.header.Get("Location"), path, short(a.body, 300))
	}
}

// TestTheOfficeIsAsItWas compares the pages with those in testdata.
func TestTheOfficeIsAsItWas(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.says("I sit on the aisle.")
	p.keeps("Travel", core.ItemPreference, "Prefers aisle seats", func(i *core.Item) { i.SourceMessage = 1 })
	f.clock.pass(time.Minute)
	p.keeps("", core.ItemFact, "Lives in Lyon")
	p.on("whatsapp", "+33 6 12")
	p.spends("2026-01-31", core.Usage{Prompt: 3000, Cached: 1000, Completion: 500})
	f.bob.spends("2026-01-30", core.Usage{Prompt: 900, Completion: 100})
	p.apiKey("Open WebUI")
	f.bob.dies("the model answered 400")
	f.clock.pass(time.Hour)
	for name, path := range map[string]string{"memory": "/memory", "settings": "/settings", "admin": "/admin"} {
		a := p.get(path)
		for pattern, with := range map[string]string{`<option value="[A-Z][A-Za-z_]+/[^"]*">`: "",
			`<option value="(UTC|GMT|Etc/[^"]*|[A-Z][A-Za-z0-9-]+)">`: "", `et_[A-Za-z0-9]{4}`: "et_HINT"} {
			a.body = regexp.MustCompile(pattern).ReplaceAllString(a.body, with)
		}
		golden(t, name, a.body)
	}
}
