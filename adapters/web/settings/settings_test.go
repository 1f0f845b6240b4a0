package settings

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

func TestProfile_isSet(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/settings").Wants(t, 200, `value="Ana"`, "It is 14:40 on Saturday 31 January 2026 in Europe/Paris.",
		"You have not chosen one", `<option value="Pacific/Auckland">`, `aria-current="page"`)
	cases := []struct {
		name, path string
		form       url.Values
		status     int
		want       string // on the page; empty: a redirect
	}{
		{"a name and a city", "/settings/profile", url.Values{"name": {"  Ana \u202e María "}, "zone": {"new york"}},
			303, ""},
		{"no name", "/settings/profile", url.Values{"name": {" \t"}, "zone": {"Asia/Tokyo"}}, 422, "Write a name."},
		{"a name too long", "/settings/profile", url.Values{"name": {strings.Repeat("é", 81)}}, 422,
			"at most 80 characters"},
		{"a zone nearly", "/settings/profile", url.Values{"name": {"Zoë"}, "zone": {"Pariss"}, "language": {"de"}}, 422,
			"<b>Europe/Paris</b>"},
		{"all that was written stays", "/settings/profile", url.Values{"name": {"Zoë"}, "zone": {"Pariss"},
			"language": {"de"}}, 422, `value="Zoë"`},
		{"the language, too", "/settings/profile", url.Values{"name": {"Zoë"}, "zone": {"Pariss"}, "language": {"de"}}, 422,
			`value="de" selected`},
		{"a zone that is a path", "/settings/profile", url.Values{"name": {"A"}, "zone": {"../../etc/passwd"}}, 422,
			"No time zone has this name"},
		{"a language that is none", "/settings/profile", url.Values{"name": {"A"}, "language": {"xx"}}, 400,
			"could not be read"},
		{"summaries nowhere known", "/settings/assistant", url.Values{"summaries": {"x"}, "strategy": {"truncate"}}, 400,
			"could not be read"},
		{"a strategy that is none", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"x"}}, 400,
			"could not be read"},
		{"memory neither on nor off", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"},
			"memory": {"x"}}, 400, "could not be read"},
		{"memory off", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"}, "memory": {"off"}}, 303,
			""},
		{"a voice that is none", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"},
			"voice": {"loud"}}, 400, "could not be read"},
		{"a voice", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"}, "voice": {"on"}}, 303, ""},
		{"choices", "/settings/assistant", url.Values{"summaries": {"all"}, "strategy": {"truncate"}}, 303, ""},
	}
	for _, c := range cases {
		a := p.Post(c.path, c.form)
		a.Wants(t, c.status, c.want)
	}
	u := p.Settings()
	if u.Name != "Ana María" || u.Settings.Zone != "America/New_York" || u.Settings.Summaries != "all" ||
		u.Settings.Strategy != "truncate" || !u.Settings.MemoryOff || u.Settings.Voice != core.VoiceOn {
		t.Errorf("got %q %+v", u.Name, u.Settings)
	}
	p.Get("/settings").Wants(t, 200, "It is 08:40 on Saturday 31 January 2026 in America/New_York.")
	p.Get("/settings/assistant").Wants(t, 200, `value="all" checked`, `value="truncate" checked`,
		`name="memory" value="off" checked`)
	p.Post("/settings/profile", url.Values{"name": {"Ana María"}, "zone": {""}, "language": {"fr"}}).Elsewhere(t,
		"/settings/profile")
	p.Get("/settings").Wants(t, 200, `lang="fr"`, "Réglages", "Enregistré. Il est 14:40",
		`value="fr" selected`)
	if u := p.Settings(); u.Settings.Zone != "" || u.Settings.Language != "fr" {
		t.Errorf("got %+v", u.Settings)
	}
	p.Get("/settings/zone").Wants(t, http.StatusNotFound)
	p.Get("/settings/profile").Wants(t, 200, `value="Ana María"`, `aria-current="page">Profil`)
}

func TestSettings_modelsAndAllowedTools(t *testing.T) {
	t.Parallel()
	f := newOffice(t, func(o *Options) {
		o.Models = func(core.UserID) []core.ModelChoice {
			return []core.ModelChoice{{Model: "large", Prices: core.Prices{Prompt: 2.5, Completion: 10, Currency: "USD"}}, {Name: "home", Model: "qwen"}}
		}
	})
	p := f.Ana.SignedIn()
	p.Get("/settings/assistant").Wants(t, 200, "Default: large", "2.5 for a million tokens read, 10 written (USD)", "home: qwen")
	form := url.Values{"summaries": {"off"}, "strategy": {"long"}, "model": {"none"}}
	p.Post("/settings/assistant", form).Wants(t, 400)
	form.Set("model", "home")
	p.Post("/settings/assistant", form).Wants(t, 303)
	p.Get("/settings/assistant").Wants(t, 200, `name="model" value="home" checked`)

	s := p.Settings().Settings.Allow("shop_mail", f.Clock.Now().Add(core.AllowLife), f.Clock.Now())
	if _, err := f.Gate.Act(f.Context, p.User.ID, effect.SetSettings{Settings: s}); err != nil {
		t.Fatal(err)
	}
	p.Get("/settings/assistant").Wants(t, 200, "<code>shop_mail</code>", "until Monday 2 March")
	p.Post("/settings/allowed", url.Values{"tool": {"other"}}).Wants(t, 400)
	p.Post("/settings/allowed", url.Values{"tool": {"shop_mail"}}).Wants(t, 303)
	if s := p.Settings().Settings; len(s.Allowed) > 0 || s.Model != "home" {
		t.Errorf("got %+v", s)
	}
}

func TestChannels_seenAndChanged(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/settings/channels").Wants(t, 200, "Telegram", "can receive messages", "You have not chosen a home",
		"only app the assistant knows you by", "You also use: Web.")
	wa, off, blocked := p.On("whatsapp", "+15550001"), p.On("signal", "Ana S."), p.On("matrix", "@ana")
	f.Must(f.Store.SetBlocked(f.Context, p.User.ID, blocked.ID, true, f.Clock.Now()))
	f.Clock.Pass(2 * time.Hour)
	page := p.Get("/settings/channels")
	page.Wants(t, 200, "15550001", "needs a message from you first", "this channel is turned off on the gateway",
		"cannot receive messages until you write again", "2 hours ago")
	page.Lacks(t, "only app the assistant knows you by")
	const out = "also signs out the browsers" // the person's came through one of the apps
	if n := strings.Count(page.Body, out); n != 1 {
		t.Errorf("%d apps warn of browsers that are signed out, want 1", n)
	}
	f.Must(f.Store.PutCode(f.Context, effect.Code{Kind: effect.CodeWeb, Hash: "cli", User: p.User.ID, Created: f.Clock.Now(),
		Expires: f.Clock.Now().Add(time.Hour)}))
	_, err := f.Store.SignIn(f.Context, "cli", store.Session{Hash: "cli", CreatedAt: f.Clock.Now(), UsedAt: f.Clock.Now(),
		Expires: f.Clock.Now().Add(time.Hour)}, f.Clock.Now())
	f.Must(err)
	if n := strings.Count(p.Get("/settings/channels").Body, out); n != 4 {
		t.Errorf("%d apps warn of browsers that are signed out, want all 4", n)
	}

	p.Post("/settings/home", url.Values{"identity": {fmt.Sprint(p.Chat.ID)}}).Elsewhere(t, "/settings/channels")
	p.Get("/settings/channels").Wants(t, 200, "Telegram is your home now.", `<span class="tag">Home</span>`)
	p.Post("/settings/home", url.Values{"identity": {fmt.Sprint(p.Door.ID)}}).Wants(t, http.StatusConflict,
		"cannot be your home")
	p.Post("/settings/home", url.Values{"identity": {fmt.Sprint(off.ID)}}).Wants(t, http.StatusConflict)
	for _, bad := range []string{"", "x", "-1", "999"} {
		p.Post("/settings/home", url.Values{"identity": {bad}}).Wants(t, http.StatusNotFound)
	}
	p.Post("/settings/channels/"+fmt.Sprint(wa.ID)+"/unlink", nil).Elsewhere(t, "/settings/channels")
	after := p.Get("/settings/channels")
	after.Wants(t, 200, "Disconnected: WhatsApp (")
	after.Lacks(t, `action="/settings/channels/`+fmt.Sprint(wa.ID)+"/")
}

func TestLink_codeIsShownOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	a := p.Post("/settings/channels/link", nil)
	a.Wants(t, 200, "Valid once, for 10 minutes, until 14:50", "Do not give the code to anyone else",
		`href="https://t.me/thread_bot?text=/link%20`, "@thread_bot", `<svg class="qr"`, "Open Telegram")
	a.Lacks(t, "javascript:")
	code := a.Between(t, `<output id="secret">/link `, "<")
	l, err := f.Store.LinkCode(f.Context, trust.CodeHash(code), core.Address{Channel: "matrix", Account: "1",
		External: "@new"}, f.Clock.Now())
	f.Must(err)
	if l.State != store.LinkValid || l.User != p.User.ID {
		t.Errorf("got %+v", l)
	}
	p.Get("/settings").Lacks(t, code)
	if l, _ = f.Store.LinkCode(f.Context, trust.CodeHash(code), core.Address{Channel: "matrix", External: "@new"},
		f.Clock.Now().Add(linkLife+time.Second)); l.State != store.LinkWrong {
		t.Errorf("after its time: got state %s", l.State)
	}
}

func TestAgents_areTriedFirst(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	for key, want := range map[string]string{"": "This is not a key", "two words": "This is not a key",
		"bad": "The key does not work: WhatsApp does not know it"} {
		p.Post("/settings/agents", url.Values{"name": {"Mine"}, "key": {key}}).Wants(t, http.StatusUnprocessableEntity,
			want, `value="Mine"`)
	}
	p.Post("/settings/agents", url.Values{"name": {""}, "key": {" good-key "}}).Elsewhere(t, "/settings/channels")
	page := p.Get("/settings/channels")
	page.Wants(t, 200, "WhatsApp agent", "since 31 January 2026, 14:40")
	page.Lacks(t, "good-key")
	if f.agents.keys[1] != "good-key" {
		t.Errorf("kept %q", f.agents.keys[1])
	}
	f.Bob.SignedIn().Post("/settings/agents/1/remove", nil).Wants(t, http.StatusNotFound)
	p.Post("/settings/agents/1/remove", nil).Elsewhere(t, "/settings/channels")
	p.Post("/settings/agents/1/remove", nil).Wants(t, http.StatusNotFound)
	p.Get("/settings/channels").Lacks(t, "since 31 January 2026")
	f.told(p, "added the WhatsApp agent")
}

// told checks that a delivery to an app of a person says something.
func (f *office) told(p *webtest.Person, want string) {
	f.T.Helper()
	all, err := f.Store.Deliveries(f.Context, store.DeliveryQuery{User: p.User.ID, Limit: 10})
	f.Must(err)
	if !slices.ContainsFunc(all, func(d core.Delivery) bool {
		return strings.Contains(d.Parts[0].Part.Text, want)
	}) {
		f.T.Errorf("none of %+v says %q", all, want)
	}
}

func TestAPIKeys_shownOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Bob.SignedIn()
	for _, bad := range []url.Values{{"scope": {"chat"}}, {"name": {strings.Repeat("x", 101)}, "scope": {"chat"}},
		{"name": {"x"}}} {
		p.Post("/settings/keys", bad).Wants(t, http.StatusUnprocessableEntity)
	}
	p.Post("/settings/keys", url.Values{"name": {"x"}, "scope": {"admin"}}).Wants(t, http.StatusBadRequest)
	p.Post("/settings/keys", url.Values{"name": {"x"}, "scope": {"nonsense"}}).Wants(t, http.StatusBadRequest)
	p.Get("/settings/keys").Lacks(t, "do what only the owner may")
	f.Ana.SignedIn().Get("/settings/keys").Wants(t, 200, "do what only the owner may")
	a := p.Post("/settings/keys", url.Values{"name": {"Open WebUI"}, "scope": {"read", "chat"}})
	a.Wants(t, 200, "This is the key for “Open WebUI”", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/mcp")
	secret := a.Between(t, `<output id="secret">`, "<")
	f.told(p, "created the API key Open WebUI")
	k, u, err := f.Store.APIKey(f.Context, client.Hash(secret))
	f.Must(err)
	if u.ID != p.User.ID || !k.Allows(core.CanTalk) || !k.Allows(core.CanRead) || k.Allows(core.CanMemory) {
		t.Errorf("got %+v of %d", k, u.ID)
	}
	page := p.Get("/settings/keys")
	page.Wants(t, 200, "Open WebUI", k.Hint+"…", "write messages, read and search the conversation", "last used never")
	page.Lacks(t, secret)
	p.Post("/settings/keys/"+fmt.Sprint(k.ID)+"/revoke", nil).Elsewhere(t, "/settings/keys")
	if _, _, err := f.Store.APIKey(f.Context, client.Hash(secret)); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	p.Post("/settings/keys/"+fmt.Sprint(k.ID)+"/revoke", nil).Wants(t, http.StatusNotFound)
}

func TestSessions_seenAndEnded(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	phone := &webtest.Person{World: f.World, User: p.User, Door: p.Door, Chat: p.Chat, Client: f.Browser()}
	r := phone.Request(http.MethodPost, "/signin", strings.NewReader(url.Values{"code": {phone.Code()}}.Encode()))
	r.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2) AppleWebKit/605 Version/18.2 Safari/604")
	phone.Do(r).Wants(t, http.StatusSeeOther)
	p.Get("/settings/sessions").Wants(t, 200, "Safari on iPhone", "this one", "Sign out everywhere")
	all, err := f.Store.Sessions(f.Context, p.User.ID, f.Clock.Now())
	f.Must(err)
	i := slices.IndexFunc(all, func(s store.Session) bool { return strings.Contains(s.Browser, "iPhone") })
	f.Bob.SignedIn().Post("/settings/sessions/"+fmt.Sprint(all[i].ID)+"/end", nil).Wants(t, http.StatusNotFound)
	phone.Get("/settings/sessions").Wants(t, 200)
	p.Post("/settings/sessions/"+fmt.Sprint(all[i].ID)+"/end", nil).Elsewhere(t, "/settings/sessions")
	phone.Get("/settings/sessions").Wants(t, http.StatusUnauthorized)
	p.Get("/settings/sessions").Lacks(t, "Safari on iPhone")
	p.Get("/settings/sessions").Lacks(t, "created in a browser")
	operators, _, err := client.NewKey(rand.Reader, p.User, "of the command line", []string{"read"}, f.Clock.Now())
	f.Must(err)
	operators, err = f.Store.AddAPIKey(f.Context, operators)
	f.Must(err)
	for range 2 {
		p.Post("/settings/keys", url.Values{"name": {"of a thief"}, "scope": {"read"}}).Wants(t, 200)
	}
	p.Get("/settings/sessions").Wants(t, 200, "created in a browser: of a thief, of a thief</span>")
	p.Post("/settings/sessions/end", url.Values{"keys": {"1"}}).Wants(t, 200, "You are signed out")
	left, err := f.Store.APIKeys(f.Context, p.User.ID)
	if f.Must(err); len(left) != 1 || left[0].ID != operators.ID {
		t.Errorf("%+v are left", left)
	}
	p.Get("/settings/sessions").Wants(t, http.StatusUnauthorized)
	f.Bob.Get("/settings/sessions").Wants(t, 200)
}

func TestUsage_againstTheBudget(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/settings/usage").Wants(t, 200, "Nothing was used in January 2026.", "Today: 0 of 5,000 tokens.")
	p.Spends("2026-01-31", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 3000, Cached: 1000, Completion: 500}))
	p.Spends("2026-01-02", core.SpentOn(core.ForSummary, "small", core.Usage{Prompt: 1000}))
	p.Spends("2025-12-31", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 777777})) // of another month
	f.Bob.Spends("2026-01-31", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 999999}))
	a := p.Get("/settings/usage")
	a.Wants(t, 200, "Today: 3,500 of 5,000 tokens.", "1 January", "31 January", "4,500 tokens in 2 calls: &lt; 0.01\u00a0EUR, in part unknown.",
		`<td class="n">1</td><td class="n">3,000</td><td class="n">1,000</td><td class="n">500</td></tr>`, "price unknown",
		"<title>Today, Answers: 3,500</title>", `class="limit" d="M0 0.00h310"`,
		`<rect class="c0" x="301" y="30.00" width="8" height="70.00">`, `<rect class="c2" x="11" `)
	a.Lacks(t, "777,777", "999,999")
	f.room.TokensPerDay = 0
	p.Get("/settings/usage").Wants(t, 200, "Today: 3,500 tokens.")
}

func TestUsage_ofAnotherMonth(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Spends("2025-12-31", core.SpentOn(core.ForTask, "large", core.Usage{Prompt: 1_000_000, Completion: 500_000}))
	p.Spends("2026-01-01", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 777_777}))
	a := p.Get("/settings/usage?month=2025-12")
	a.Wants(t, 200, "1,500,000 tokens in 1 call", "3.00\u00a0EUR", `rel="prev" href="/settings/usage?month=2025-11"`,
		`rel="next" href="/settings/usage?month=2026-01"`, "<b>December 2025</b>")
	a.Lacks(t, "777,777")
	p.Get("/settings/usage?month=2025-11").Wants(t, 200, "Nothing was used in November 2025.")
	for _, wrong := range []string{"2026-02", "1999-01", "x"} { // the current month instead
		a := p.Get("/settings/usage?month=" + wrong)
		a.Wants(t, 200, "777,777", `rel="prev" href="/settings/usage?month=2025-12"`)
		a.Lacks(t, `rel="next"`)
	}
}

func TestUsage_withOtherModels(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	f.room.Models = func(core.UserID) []core.ModelChoice {
		return []core.ModelChoice{{Model: "large", Prices: core.Prices{Prompt: 1, Cached: 0.1, Completion: 4, Currency: "EUR"}},
			{Name: "cheap", Model: "mini", Prices: core.Prices{Prompt: 0.25, Completion: 2, Currency: "USD"}},
			{Name: "home", Model: "qwen"}}
	}
	p := f.Ana.SignedIn()
	p.Spends("2026-01-30", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 4_000_000, Cached: 3_000_000, Completion: 500_000}))
	p.Spends("2026-01-30", core.SpentOn(core.ForSummary, "mini", core.Usage{Prompt: 8_000_000}))
	p.Get("/settings/usage").Wants(t, 200, "With another model",
		`<bdi>large</bdi></th><td class="n">3.30`+"\u00a0EUR</td>",        // 1 + 0.3 + 2
		`<bdi>mini (cheap)</bdi></th><td class="n">2.00`+"\u00a0USD</td>", // 1 + 1; no price for the cache of its own
		`<bdi>qwen (home)</bdi></th><td class="n">price unknown</td>`)
}

func TestExport_allCanBeTakenAway(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Talks("my own words", "an answer")
	f.Bob.Talks("secret of Bob", "secret")
	a := p.Get("/settings/export")
	a.Wants(t, 200)
	if a.Header.Get("Content-Disposition") != "attachment; filename=everthread-ana-2026-01-31.zip" ||
		a.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("got %v", a.Header)
	}
	z, err := zip.NewReader(strings.NewReader(a.Body), int64(len(a.Body)))
	f.Must(err)
	var all bytes.Buffer
	for _, file := range z.File {
		r, err := file.Open()
		f.Must(err)
		_, err = all.ReadFrom(r)
		f.Must(err)
	}
	if !strings.Contains(all.String(), "my own words") || strings.Contains(all.String(), "secret") {
		t.Error("the export contains too little, or too much")
	}
	f.engine.export = func(_ context.Context, w io.Writer,
		_ core.UserID) error {
		return errors.New("the store is away")
	}
	broken := p.Get("/settings/export")
	broken.Wants(t, http.StatusInternalServerError, "Something broke")
	if broken.Header.Get("Content-Disposition") != "" {
		t.Error("an error is sent as a file")
	}
	f.engine.export = func(_ context.Context, w io.Writer, _ core.UserID) error {
		_, err := w.Write([]byte("PK"))
		return errors.Join(err, errors.New("the store is away"))
	}
	if res, err := p.Client.Do(p.Request(http.MethodGet, "/settings/export", nil)); err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil {
			t.Error("a part of a file looks like the whole")
		}
	}
	for range 1 {
		f.room.exports.take(p.User.ID)
	}
	p.Get("/settings/export").Wants(t, http.StatusTooManyRequests, "Other exports are running")
	if !f.room.exports.take(p.User.ID + 1) {
		t.Error("one person's exports take everybody's seats")
	}
}

func TestExport_onlyThePageCanConfirm(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	f.People.Channels = noChannels{}
	f.room.People = f.People
	yes := regexp.MustCompile(`name="yes" value="([^"]+)"`)
	p := f.Ana.SignedIn() // and on Telegram, where she is asked to confirm
	elsewhere := p.Get("/settings/export")
	elsewhere.Wants(t, 200, "Confirm first", "Telegram", "I said yes, continue")
	elsewhere.Lacks(t, `name="yes"`)
	all, err := f.Store.Approvals(f.Context, p.User.ID, 0, 1)
	f.Must(err)
	p.Post("/settings/export", url.Values{"yes": {all[0].Code}}).Wants(t, 200, "Confirm first") // an answer has to come from Telegram

	f.Clock.Pass(core.ApprovalLife + time.Minute)
	_, err = f.Gate.Act(f.Context, p.User.ID, effect.Unlink{Identity: p.Chat.ID})
	f.Must(err)
	p.SignedIn() // the browser that was signed in through it is signed out
	asked := p.Get("/settings/export")
	asked.Wants(t, 200, "Confirm first", "everything you&#39;ve said in one file", `method="post"`)
	code := yes.FindStringSubmatch(asked.Body)[1]
	p.Get("/settings/export?yes="+code).Wants(t, 200, "Confirm first") // a link is not a confirmation
	p.Post("/settings/export", url.Values{"yes": {"A00000000"}}).Wants(t, 200, "Confirm first", code)
	f.Bob.SignedIn().Post("/settings/export", url.Values{"yes": {code}}).Wants(t, 200, "Confirm first")
	got := p.Post("/settings/export", url.Values{"yes": {code}})
	if got.Status != 200 || got.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("after the yes: got status %d: %v", got.Status, got.Header)
	}
	again := p.Post("/settings/export", url.Values{"yes": {code}})
	again.Wants(t, 200, "Confirm first")
	f.Clock.Pass(core.ApprovalLife + time.Minute)
	late := yes.FindStringSubmatch(again.Body)[1]
	p.Post("/settings/export", url.Values{"yes": {late}}).Wants(t, 200, "Confirm first")
}

// noChannels are channels without capabilities.
type noChannels struct{ core.Channels }

// Capabilities returns none.
func (noChannels) Capabilities(string) core.Capabilities { return core.Capabilities{} }

func TestAccountDeletion_allIsDeleted(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	f.Ana.SignedIn().Post("/settings/delete", url.Values{"word": {"DELETE"}}).Wants(t, http.StatusConflict,
		"You run this gateway")
	f.Ana.Get("/settings/data").Wants(t, 200, "stop the gateway and delete its data folder")
	p := f.Bob.SignedIn()
	p.Get("/settings/data").Wants(t, 200, "Type DELETE to confirm")
	for _, word := range []string{"", "yes", "DELETE ALL"} {
		p.Post("/settings/delete", url.Values{"word": {word}}).Wants(t, http.StatusUnprocessableEntity,
			"Type DELETE to delete everything.")
	}
	if len(f.gone) > 0 {
		t.Fatal("a user is gone")
	}
	a := p.Post("/settings/delete", url.Values{"word": {" delete "}})
	a.Wants(t, 200, "Everything is deleted")
	a.Lacks(t, "Bob")
	if _, err := f.Store.User(f.Context, p.User.ID); !errors.Is(err, core.ErrNotFound) ||
		!slices.Equal(f.gone, []core.UserID{p.User.ID}) {
		t.Errorf("got %v, gone %v", err, f.gone)
	}
	p.Get("/settings/data").Wants(t, http.StatusUnauthorized)
}
