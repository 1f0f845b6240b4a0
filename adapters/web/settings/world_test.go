package settings

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/trust/secret"
)

var again = flag.Bool("update", false, "write the golden files again")

// office is the world of the memory, settings and administration pages.
type office struct {
	*webtest.World
	room   *Room
	engine *fakeEngine
	models *fakeModels
	agents *fakeAgents
	health map[string]error
	found  []core.Finding
	setup  fakeSetup
	push   *fakePush
	gone   []core.UserID
	leaves func(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error)
}

func newOffice(t *testing.T, change ...func(o *Options)) *office {
	t.Helper()
	f := &office{agents: &fakeAgents{keys: map[int64]string{}}, health: map[string]error{"telegram": nil},
		found: []core.Finding{{Check: "llm", OK: true, Detail: "the model answers"}}}
	f.World = webtest.New(t, func(w *webtest.World) []web.Room {
		o := f.options(t, w)
		for _, one := range change {
			one(&o)
		}
		f.room = New(o)
		return []web.Room{f.room, chat.New(chat.Options{Store: w.Store, MediaDir: w.Media, Now: w.Clock.Now})} // links lead there
	})
	return f
}

// options returns the pages' options over the store of a world.
func (f *office) options(t *testing.T, w *webtest.World) Options {
	st, p := w.Store, w.People
	p.Channels = known{}
	o := Options{Store: st, People: agreed{p, w}, Gateway: w.Gate, MediaDir: w.Media, Log: w.Log, Now: w.Clock.Now,
		PublicURL: "http://127.0.0.1:8080", Rand: rand.Reader, TokensPerDay: 5000, Agents: f.agents, Inspector: f, Setup: &f.setup}
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
	s, err := secret.New(rand.Reader, "secret")
	if err != nil {
		t.Fatal(err)
	}
	f.models = &fakeModels{users: st, sealer: s}
	w.Memory = &items.Memory{Store: st, Signals: webtest.Signals{Store: st}, Embed: f.models}
	o.Memory = w.Memory
	o.Standing = &standing.Standing{Store: st, Tokens: tokens.New(),
		Settings: standing.Settings{MaxActive: 10, MaxTokens: 200}}
	o.Prices = core.PriceList{{Model: "large", Prices: core.Prices{Prompt: 1, Cached: 0.1, Completion: 4, Currency: "EUR"}}}
	o.Embeddings = f.models
	exporter := &export.Exporter{Store: st, Media: os.DirFS(o.MediaDir), Zone: webtest.Paris(), Now: o.Now}
	f.engine = &fakeEngine{office: f, people: p,
		export: func(ctx context.Context, w io.Writer, user core.UserID) error {
			return exporter.Write(ctx, w, user, nil)
		},
		resume: func(context.Context) error { return nil },
		traces: func(ctx context.Context, user core.UserID, text string) ([]store.Trace, bool, error) {
			found, err := st.Traces(ctx, user, text)
			return slices.DeleteFunc(found, func(t store.Trace) bool { return strings.HasPrefix(t.Where, "file ") }), false, err
		}}
	o.Engine = f.engine
	o.Services = connecting(w)
	f.push = &fakePush{Store: st}
	o.Push = f.push
	return o
}

// known has the capabilities of channels.
type known struct{}

func (known) Capabilities(channel string) core.Capabilities {
	can, _ := capable(channel)
	return can
}

// agreed confirms every account change immediately.
type agreed struct {
	*people.People
	w *webtest.World
}

func (a agreed) Sure(ctx context.Context, u core.User, s store.Session, c effect.AccountSubject,
	effects ...core.Effect) (core.Identity, bool, error) {
	return a.w.Yes(ctx, u, s, c, effects...)
}

// fakeEngine is an engine with replaceable parts.
type fakeEngine struct {
	office *office
	people *people.People
	export func(ctx context.Context, w io.Writer, user core.UserID) error
	resume func(ctx context.Context) error
	traces func(ctx context.Context, user core.UserID, text string) ([]store.Trace, bool, error)
}

func (e *fakeEngine) Running(channel string) (core.Capabilities, bool) { return capable(channel) }

func (e *fakeEngine) Health() map[string]error { return e.office.health }

func (e *fakeEngine) Apps(context.Context) []core.App {
	return []core.App{{Channel: "telegram", Name: "@thread_bot",
		Link: func(text string) string { return "https://t.me/thread_bot?text=" + text }},
		{Channel: "matrix", Name: "x", Link: func(string) string { return "javascript:alert(1)" }}}
}

func (e *fakeEngine) WebLink(user core.UserID) (string, effect.Code, error) {
	code, stored, err := e.people.NewWebCode(user, 10*time.Minute)
	return "http://127.0.0.1:8080/signin?code=" + code, stored, err
}

func (e *fakeEngine) Export(ctx context.Context, w io.Writer, user core.UserID) error {
	return e.export(ctx, w, user)
}

func (e *fakeEngine) Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) ([]string, error) {
	e.office.gone = append(e.office.gone, user)
	return e.office.leaves(ctx, user, tell)
}

func (e *fakeEngine) Resume(ctx context.Context) error { return e.resume(ctx) }

func (e *fakeEngine) Traces(ctx context.Context, user core.UserID, text string) ([]store.Trace, bool, error) {
	return e.traces(ctx, user, text)
}

// fakeSetup has a model, the channel telegram and a list of choices. It takes the key "right".
type fakeSetup struct {
	asked  []string
	linked string // by a code
}

func (f *fakeSetup) Parts(string) []Part {
	fields := []Field{{Key: "url", Label: "Address", Help: "Where it is."}, {Key: "key", Label: "Key", Secret: true, Set: true}}
	return []Part{
		{Key: "model", Title: "Model", Fields: []Field{{Key: "llm.provider", Label: "Kind", Options: []string{"demo", "openai"},
			Value: "demo"}, {Key: "llm.base_url", Label: "Address"}, {Key: "llm.api_key", Label: "Key", Secret: true},
			{Key: "llm.model", Label: "Model", Value: "fixed-model", From: "everthread.yaml"}}},
		{Key: "channel-telegram", Title: "Telegram", Channel: "telegram", Optional: true, On: true,
			Fields: []Field{{Key: "token", Label: "Token", Secret: true, Set: true}}},
		{Key: "channel-signal", Title: "Signal", Channel: "signal", Optional: true, Scan: true, Scanned: f.linked,
			Fields: []Field{{Key: "address", Label: "Address"}}},
		{Key: "choices", Title: "Choices", Items: []Item{{Name: "<big>", Fields: fields}}, New: fields},
		{Key: "tools", Title: "Tools", New: fields, Fixed: "EVERTHREAD_AGENT_MCP_SERVERS"},
	}
}

func (*fakeSetup) Nearby(context.Context) []Found {
	return []Found{{Name: "Ollama", URL: "http://127.0.0.1:11434/v1", Models: []string{"qwen3", "mistral"}}}
}

func (f *fakeSetup) Test(_ context.Context, a Answers) Tested {
	f.asked = append(f.asked, fmt.Sprint("test ", a))
	if a.Values["llm.api_key"]+a.Values["key"]+a.Values["token"] != "right" {
		return Tested{Wrong: "<refused>", Offers: map[string][]string{"llm.base_url": {"https://offered.example"}}}
	}
	return Tested{Said: "It is <some_bot>."}
}

func (f *fakeSetup) Save(ctx context.Context, a Answers, force bool) (Tested, error) {
	if t := f.Test(ctx, a); !force {
		return t, nil
	}
	return Tested{}, errors.New("llm.model is empty")
}

func (f *fakeSetup) Remove(_ context.Context, user core.UserID, part, item string) error {
	f.asked = append(f.asked, fmt.Sprint("remove ", user, " ", part, " ", item))
	return nil
}

func (f *fakeSetup) Scan(_ context.Context, a Answers) (Scan, error) {
	if a.Values["address"] == "" {
		return Scan{}, errors.New("<no address>")
	}
	return Scan{ID: "7", Code: "sgnl://<code>", Help: "<Scan> it."}, nil
}

func (f *fakeSetup) Scanned(id string) bool { return id == "6" }

func (*fakeSetup) Seal(part string, secrets map[string]string) (string, error) {
	b, err := json.Marshal(secrets)
	return part + hex.EncodeToString(b), err
}

func (*fakeSetup) Unseal(part, sealed string) (out map[string]string) {
	if b, err := hex.DecodeString(strings.TrimPrefix(sealed, part)); err != nil || json.Unmarshal(b, &out) != nil {
		return nil
	}
	return out
}

func (*fakeSetup) Settings() []Field {
	return []Field{{Key: "llm.provider", Value: "<demo>"}, {Key: "llm.model", Value: "m", From: "everthread.yaml"}}
}

func (*fakeSetup) Fault() string { return "the <last> one" }

func (*fakeSetup) File(context.Context) ([]byte, error) {
	return []byte("llm:\n  provider: demo\n"), nil
}

func (f *office) Check(context.Context, string) []core.Finding { return f.found }

func (f *office) CheckChannel(_ context.Context, channel, _ string) ([]core.Finding, error) {
	if channel != "telegram" {
		return nil, core.ErrNotFound
	}
	return []core.Finding{{Check: "telegram", Detail: "the token is refused"}}, nil
}

func (f *office) Kept(context.Context, string) []core.Finding {
	return []core.Finding{{Check: "backups", OK: true, Detail: "the newest is of today"}}
}

func (f *office) DatabaseSize() int64 { return 3 << 20 }

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

// fakeModels opens real embedders.
type fakeModels struct {
	users interface {
		User(ctx context.Context, id core.UserID) (core.User, error)
	}
	sealer   *secret.Sealer
	system   string
	outdated int
	private  bool // allows addresses of this machine
	mu       sync.Mutex
	opened   []core.OwnEmbeddings
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

// Outdated and RebuildOutdated are those of a gateway whose model was changed if outdated is not 0.
func (f *fakeModels) Outdated(context.Context) (int, error) { return f.outdated, nil }

func (f *fakeModels) RebuildOutdated(context.Context) (int, error) {
	n := f.outdated
	f.outdated = 0
	return n, nil
}

func (f *fakeModels) Seal(key string) (string, error) { return f.sealer.Seal("key", key) }

// fakeAgents accepts keys that begin with good.
type fakeAgents struct {
	mu   sync.Mutex
	all  []store.PersonalAgent
	keys map[int64]string
	of   []core.UserID
}

func (f *fakeAgents) List(_ context.Context, user core.UserID) ([]store.PersonalAgent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []store.PersonalAgent
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
	f.all, f.of = append(f.all, store.PersonalAgent{ID: id, Name: name, Since: now}), append(f.of, user)
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

// asks makes a stranger's request for access, and returns the code.
func (f *office) asks(name string) string {
	f.T.Helper()
	code := rand.Text()[:8]
	a := core.Address{Channel: "telegram", Account: "1", External: code}
	e := core.Inbound{Address: a, EventID: code, Kind: core.InMessage, Text: "secret of a stranger", Name: name,
		SentAt: f.Clock.Now(), ReceivedAt: f.Clock.Now()}
	_, err := f.Store.Hold(f.Context, store.Hold{Event: e, Keep: true, Now: f.Clock.Now(), MaxCodes: 100,
		Code: &effect.Code{Kind: effect.CodePair, Hash: trust.CodeHash(code), Hint: code, Address: a, Name: name,
			Created: f.Clock.Now(), Expires: f.Clock.Now().Add(time.Hour)}})
	f.Must(err)
	return code
}

// whole returns all sections of an area as one answer, or the only page of it.
func whole(t *testing.T, p *webtest.Person, area string) webtest.Answer {
	t.Helper()
	all := p.Get(area)
	for _, m := range regexp.MustCompile(`<li><a href="(/[a-z]+/[a-z]+)">`).FindAllStringSubmatch(all.Body, -1) {
		one := p.Get(m[1])
		one.Wants(t, 200)
		_, main, _ := strings.Cut(one.Body, `<div class="office-main">`)
		main, _, _ = strings.Cut(main, "</main>")
		all.Body = strings.Replace(all.Body, "</main>", main+"</main>", 1)
	}
	return all
}

// TestPages_golden compares the pages with those in testdata.
func TestPages_golden(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Says("I sit on the aisle.")
	p.Keeps("Travel", core.ItemPreference, "Prefers aisle seats", func(i *core.Item) { i.SourceMessage = 1 })
	f.Clock.Pass(time.Minute)
	p.Keeps("", core.ItemFact, "Lives in Lyon")
	p.On("whatsapp", "+33 6 12")
	p.Spends("2026-01-31", core.SpentOn(core.ForAnswer, "large-2025-08-06", core.Usage{Prompt: 3000, Cached: 1000, Completion: 500}))
	p.Spends("2026-01-31", core.SpentOn(core.ForSummary, "mini", core.Usage{Prompt: 800, Completion: 200}))
	spoken := core.SpentOn(core.ForSpoken, "voice", core.Usage{Prompt: 50, Completion: 100})
	spoken[0].Amount = 210
	p.Spends("2026-01-30", spoken)
	f.Bob.Spends("2026-01-30", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 900, Completion: 100}))
	p.APIKey("Open WebUI")
	f.Bob.Dies("the model answered 400")
	f.Clock.Pass(time.Hour)
	for name, path := range map[string]string{"memory": "/memory", "settings": "/settings", "admin": "/admin",
		"usage": "/admin/users/1/usage"} {
		a := whole(t, p, path)
		for pattern, with := range map[string]string{`<option value="[A-Z][A-Za-z_]+/[^"]*">`: "",
			`<option value="(UTC|GMT|Etc/[^"]*|[A-Z][A-Za-z0-9-]+)">`: "", `et_[A-Za-z0-9]{4}`: "et_HINT",
			`/sessions/[0-9]+/end`: "/sessions/ID/end", `#[0-9]{6,}`: "#ID"} {
			a.Body = regexp.MustCompile(pattern).ReplaceAllString(a.Body, with)
		}
		webtest.Golden(t, *again, name, a.Body)
	}
}
