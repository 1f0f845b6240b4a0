package web

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/trust"
)

func TestTheProfileIsSet(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/settings").wants(t, 200, `value="Ana"`, "It is 14:40 on Saturday 31 January 2026 in Europe/Paris.",
		"You chose none", `<option value="Pacific/Auckland">`, `aria-current="page"`)
	cases := []struct {
		name, path string
		form       url.Values
		status     int
		want       string // on the page; empty: it led back
	}{
		{"a name", "/settings/name", url.Values{"name": {"  Ana \u202e María "}}, 303, ""},
		{"no name", "/settings/name", url.Values{"name": {" \t"}}, 422, "Write a name."},
		{"a name too long", "/settings/name", url.Values{"name": {strings.Repeat("é", 81)}}, 422, "at most 80 characters"},
		{"a city", "/settings/zone", url.Values{"zone": {"new york"}}, 303, ""},
		{"a zone nearly", "/settings/zone", url.Values{"zone": {"Pariss"}}, 422, "<b>Europe/Paris</b>"},
		{"a zone that is a path", "/settings/zone", url.Values{"zone": {"../../etc/passwd"}}, 422,
			"No time zone has this name"},
		{"a language that is none", "/settings/language", url.Values{"language": {"xx"}}, 400, "could not be read"},
		{"summaries nowhere known", "/settings/assistant", url.Values{"summaries": {"x"}, "strategy": {"truncate"}}, 400,
			"could not be read"},
		{"a strategy that is none", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"x"}}, 400,
			"could not be read"},
		{"memory neither on nor off", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"},
			"memory": {"x"}}, 400, "could not be read"},
		{"memory off", "/settings/assistant", url.Values{"summaries": {"off"}, "strategy": {"long"}, "memory": {"off"}}, 303,
			""},
		{"choices", "/settings/assistant", url.Values{"summaries": {"all"}, "strategy": {"truncate"}}, 303, ""},
	}
	for _, c := range cases {
		a := p.post(c.path, c.form)
		a.wants(t, c.status, c.want)
	}
	u := p.settings()
	if u.Name != "Ana María" || u.Settings.Zone != "America/New_York" || u.Settings.Summaries != "all" ||
		u.Settings.Strategy != "truncate" || !u.Settings.MemoryOff {
		t.Errorf("got %q %+v", u.Name, u.Settings)
	}
	p.get("/settings").wants(t, 200, "It is 08:40 on Saturday 31 January 2026 in America/New_York.", `value="all" checked`,
		`value="truncate" checked`, `name="memory" value="off" checked`)
	p.post("/settings/zone", url.Values{"zone": {""}}).elsewhere(t, "/settings#profile")
	p.post("/settings/language", url.Values{"language": {"fr"}}).elsewhere(t, "/settings#profile")
	p.get("/settings").wants(t, 200, `lang="fr"`, "Réglages", "Il est 14:40", "sont en français désormais",
		`value="fr" selected`)
	if u := p.settings(); u.Settings.Zone != "" || u.Settings.Language != "fr" {
		t.Errorf("got %+v", u.Settings)
	}
	p.get("/settings/zone").wants(t, http.StatusNotFound)
	p.get("/settings/profile").elsewhere(t, "/settings#profile")
}

func TestChannelsAreSeenAndChanged(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/settings").wants(t, 200, "Telegram", "can be written to", "None is your home",
		"only app that the assistant knows you by", "You also use: Web.")
	wa, off, blocked := p.on("whatsapp", "+15550001"), p.on("signal", "Ana S."), p.on("matrix", "@ana")
	f.must(f.store.SetBlocked(f.ctx, p.user.ID, blocked.ID, true, f.clock.now()))
	f.clock.pass(2 * time.Hour)
	page := p.get("/settings")
	page.wants(t, 200, "15550001", "has to hear from you first", "this channel is turned off on the gateway",
		"cannot be written to until you write again", "2 hours ago")
	page.lacks(t, "only app that the assistant knows you by")

	p.post("/settings/home", url.Values{"identity": {sprint(p.chat.ID)}}).elsewhere(t, "/settings#channels")
	p.get("/settings").wants(t, 200, "Telegram is your home now.", `<span class="tag">Home</span>`)
	p.post("/settings/home", url.Values{"identity": {sprint(p.door.ID)}}).wants(t, http.StatusConflict,
		"cannot be your home")
	p.post("/settings/home", url.Values{"identity": {sprint(off.ID)}}).wants(t, http.StatusConflict)
	for _, bad := range []string{"", "x", "-1", "999"} {
		p.post("/settings/home", url.Values{"identity": {bad}}).wants(t, http.StatusNotFound)
	}
	p.post("/settings/channels/"+sprint(wa.ID)+"/unlink", url.Values{"how": {"keep"}}).elsewhere(t, "/settings#channels")
	after := p.get("/settings")
	after.wants(t, 200, "Disconnected: WhatsApp (")
	after.lacks(t, `action="/settings/channels/`+sprint(wa.ID)+"/")
	p.post("/settings/channels/"+sprint(blocked.ID)+"/unlink", url.Values{"how": {"split"}}).elsewhere(t,
		"/settings#channels")
	f.gate.mu.Lock()
	last := f.gate.acted[len(f.gate.acted)-1]
	f.gate.mu.Unlock()
	if e, ok := last.(core.Split); !ok || e.Identity != blocked.ID {
		t.Errorf("got %+v", last)
	}
	p.get("/settings").wants(t, 200, "gets a conversation of its own.")
}

func TestALinkCodeIsShownOnceAndWorks(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	a := p.post("/settings/channels/link", nil)
	a.wants(t, 200, "Valid for 10 minutes, until 14:50", "Give the code to nobody else",
		`href="https://t.me/thread_bot?text=/link%20`, "@thread_bot", `<svg class="qr"`, "Open Telegram")
	a.lacks(t, "javascript:")
	code := a.between(t, `<output id="secret">/link `, "<")
	l, err := f.store.LinkCode(f.ctx, trust.CodeHash(code), core.Address{Channel: "matrix", Account: "1",
		External: "@new"}, f.clock.now())
	f.must(err)
	if l.State != core.LinkValid || l.User != p.user.ID {
		t.Errorf("got %+v", l)
	}
	p.get("/settings").lacks(t, code)
	if l, _ = f.store.LinkCode(f.ctx, trust.CodeHash(code), core.Address{Channel: "matrix", External: "@new"},
		f.clock.now().Add(linkLife+time.Second)); l.State != core.LinkWrong {
		t.Errorf("after its time it is %s", l.State)
	}
}

func TestAgentsAreTriedFirst(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	for key, want := range map[string]string{"": "This is no key", "two words": "This is no key",
		"bad": "The key does not work: WhatsApp does not know it"} {
		p.post("/settings/agents", url.Values{"name": {"Mine"}, "key": {key}}).wants(t, http.StatusUnprocessableEntity,
			want, `value="Mine"`)
	}
	p.post("/settings/agents", url.Values{"name": {""}, "key": {" good-key "}}).elsewhere(t, "/settings#channels")
	page := p.get("/settings")
	page.wants(t, 200, "WhatsApp agent", "since 31 January 2026, 14:40")
	page.lacks(t, "good-key")
	if f.agents.keys[1] != "good-key" {
		t.Errorf("kept %q", f.agents.keys[1])
	}
	f.bob.signedIn().post("/settings/agents/1/remove", nil).wants(t, http.StatusNotFound)
	p.post("/settings/agents/1/remove", nil).elsewhere(t, "/settings#channels")
	p.post("/settings/agents/1/remove", nil).wants(t, http.StatusNotFound)
	p.get("/settings").lacks(t, "since 31 January 2026")
}

func TestAPIKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.bob.signedIn()
	for _, bad := range []url.Values{{"scope": {"chat"}}, {"name": {strings.Repeat("x", 101)}, "scope": {"chat"}},
		{"name": {"x"}}} {
		p.post("/settings/keys", bad).wants(t, http.StatusUnprocessableEntity)
	}
	p.post("/settings/keys", url.Values{"name": {"x"}, "scope": {"admin"}}).wants(t, http.StatusBadRequest)
	p.post("/settings/keys", url.Values{"name": {"x"}, "scope": {"nonsense"}}).wants(t, http.StatusBadRequest)
	p.get("/settings").lacks(t, "do what only the owner may")
	f.ana.signedIn().get("/settings").wants(t, 200, "do what only the owner may")
	a := p.post("/settings/keys", url.Values{"name": {"Open WebUI"}, "scope": {"read", "chat"}})
	a.wants(t, 200, "This is the key of “Open WebUI”", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/mcp")
	secret := a.between(t, `<output id="secret">`, "<")
	k, u, err := f.store.APIKey(f.ctx, client.Hash(secret))
	f.must(err)
	if u.ID != p.user.ID || !k.Allows(core.CanTalk) || !k.Allows(core.CanRead) || k.Allows(core.CanMemory) {
		t.Errorf("got %+v of %d", k, u.ID)
	}
	page := p.get("/settings")
	page.wants(t, 200, "Open WebUI", k.Hint+"…", "write messages, read and search the conversation", "last used never")
	page.lacks(t, secret)
	p.post("/settings/keys/"+sprint(k.ID)+"/revoke", nil).elsewhere(t, "/settings#keys")
	if _, _, err := f.store.APIKey(f.ctx, client.Hash(secret)); !missing(err) {
		t.Errorf("got %v", err)
	}
	p.post("/settings/keys/"+sprint(k.ID)+"/revoke", nil).wants(t, http.StatusNotFound)
}

func TestSessionsAreSeenAndEnded(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	phone := &person{world: f.world, user: p.user, door: p.door, chat: p.chat, client: f.browser()}
	r := phone.request(http.MethodPost, "/signin", strings.NewReader(url.Values{"code": {phone.code()}}.Encode()))
	r.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2) AppleWebKit/605 Version/18.2 Safari/604")
	phone.do(r).wants(t, http.StatusSeeOther)
	p.get("/settings").wants(t, 200, "Safari on iPhone", "this one", "Sign out everywhere")
	all, err := f.store.Sessions(f.ctx, p.user.ID, f.clock.now())
	f.must(err)
	i := slices.IndexFunc(all, func(s core.Session) bool { return strings.Contains(s.Browser, "iPhone") })
	f.bob.signedIn().post("/settings/sessions/"+sprint(all[i].ID)+"/end", nil).wants(t, http.StatusNotFound)
	phone.get("/settings").wants(t, 200)
	p.post("/settings/sessions/"+sprint(all[i].ID)+"/end", nil).elsewhere(t, "/settings#sessions")
	phone.get("/settings").wants(t, http.StatusUnauthorized)
	p.get("/settings").lacks(t, "iPhone")
	p.post("/settings/sessions/end", nil).wants(t, 200, "You are signed out")
	p.get("/settings").wants(t, http.StatusUnauthorized)
	f.bob.get("/settings").wants(t, 200)
}

func TestUsageIsShownAgainstTheBudget(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/settings").wants(t, 200, "Nothing was used in the last thirty days.", "Today: 0 of 5,000 tokens.")
	p.spends("2026-01-31", core.Usage{Prompt: 3000, Cached: 1000, Completion: 500})
	p.spends("2026-01-02", core.Usage{Prompt: 1000})
	p.spends("2026-01-01", core.Usage{Prompt: 777777}) // too long ago
	f.bob.spends("2026-01-31", core.Usage{Prompt: 999999})
	a := p.get("/settings")
	a.wants(t, 200, "Today: 3,500 of 5,000 tokens.", "2 January", "31 January",
		`<td class="n">3,000</td><td class="n">1,000</td><td class="n">500</td>`, "0.01", "EUR",
		"<title>Today: 3,500</title>", `class="limit" d="M0 0.00h300"`,
		`<rect class="c0" x="291" y="30.00" width="8" height="70.00">`)
	a.lacks(t, "777,777", "999,999")
	f.page.Settings.TokensPerDay = 0
	p.get("/settings").wants(t, 200, "Today: 3,500 tokens.")
}

func TestEverythingCanBeTakenAway(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.talks("my own words", "an answer")
	f.bob.talks("secret of Bob", "secret")
	a := p.get("/settings/export")
	a.wants(t, 200)
	if a.header.Get("Content-Disposition") != "attachment; filename=everthread-ana-2026-01-31.zip" ||
		a.header.Get("Content-Type") != "application/zip" {
		t.Errorf("got %v", a.header)
	}
	z, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
	f.must(err)
	var all bytes.Buffer
	for _, file := range z.File {
		r, err := file.Open()
		f.must(err)
		_, err = all.ReadFrom(r)
		f.must(err)
	}
	if !strings.Contains(all.String(), "my own words") || strings.Contains(all.String(), "secret") {
		t.Error("the export holds too little, or too much")
	}
	f.page.Settings.Export = func(_ context.Context, w io.Writer,
		_ core.UserID) error {
		return errors.New("the store is away")
	}
	broken := p.get("/settings/export")
	broken.wants(t, http.StatusInternalServerError, "Something broke")
	if broken.header.Get("Content-Disposition") != "" {
		t.Error("an error is sent as a file")
	}
	f.page.Settings.Export = func(_ context.Context, w io.Writer, _ core.UserID) error {
		_, err := w.Write([]byte("PK"))
		return errors.Join(err, errors.New("the store is away"))
	}
	if res, err := p.client.Do(p.request(http.MethodGet, "/settings/export", nil)); err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil {
			t.Error("a part of a file looks like the whole")
		}
	}
	for range exportsEach {
		f.page.exports.take(p.user.ID)
	}
	p.get("/settings/export").wants(t, http.StatusTooManyRequests, "Other exports are under way")
	if !f.page.exports.take(p.user.ID + 1) {
		t.Error("one person's exports take everybody's seats")
	}
}

func TestEverythingCanBeDeleted(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	f.ana.signedIn().post("/settings/delete", url.Values{"word": {"DELETE"}}).wants(t, http.StatusConflict,
		"You run this gateway")
	f.ana.get("/settings").wants(t, 200, "stop it and remove its data folder")
	p := f.bob.signedIn()
	p.get("/settings").wants(t, 200, "Type DELETE to confirm")
	for _, word := range []string{"", "yes", "DELETE ALL"} {
		p.post("/settings/delete", url.Values{"word": {word}}).wants(t, http.StatusUnprocessableEntity,
			"Type DELETE, then everything is deleted.")
	}
	if len(f.gone) > 0 {
		t.Fatal("somebody is gone")
	}
	a := p.post("/settings/delete", url.Values{"word": {" delete "}})
	a.wants(t, 200, "Everything is deleted")
	a.lacks(t, "Bob")
	if _, err := f.store.User(f.ctx, p.user.ID); !missing(err) || !slices.Equal(f.gone, []core.UserID{p.user.ID}) {
		t.Errorf("got %v, gone %v", err, f.gone)
	}
	p.get("/settings").wants(t, http.StatusUnauthorized)
}

func TestBrowsersHaveNames(t *testing.T) {
	t.Parallel()
	v := &visit{words: say("en")}
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0": "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36":                                  "Chrome on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.2 Safari/605.1.15": "Safari on macOS",
		"curl/8.5": "curl/8.5", "": "A browser that does not say what it is",
	} {
		if got := v.browser(agent); got != want {
			t.Errorf("%s is called %q, want %q", agent, got, want)
		}
	}
}
