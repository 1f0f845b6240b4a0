package settings

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestAdmin_requestsAreDecided(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/admin").Wants(t, 200, "Nobody is waiting for approval.")
	theo, zoe, eve := f.asks("Theo"), f.asks("Zoe"), f.asks("Eve")
	f.Clock.Pass(7 * time.Minute)
	page := p.Get("/admin")
	page.Wants(t, 200, theo, "Theo", "Telegram", "asked 7 minutes ago", "valid until 15:40",
		`<option value="`+fmt.Sprint(f.Bob.User.ID)+`">Bob`)
	page.Lacks(t, "secret of a stranger")
	for _, path := range []string{"/settings", "/memory", "/admin"} { // on every page, for the owner alone
		p.Get(path).Wants(t, 200, `<span class="count" aria-hidden="true">3</span>`, "3 people wait to be let in")
		f.Bob.SignedIn().Get(path).Lacks(t, `class="count"`)
	}
	hash := func(code string) string {
		codes, err := f.Store.Codes(f.Context, effect.CodePair, f.Clock.Now())
		f.Must(err)
		for _, c := range codes {
			if c.Hint == code {
				return c.Hash
			}
		}
		return ""
	}
	stale := hash(theo)
	p.Post("/admin/requests", url.Values{"code": {stale}, "do": {"approve"}, "name": {"Theodor"}}).Elsewhere(t,
		"/admin#requests")
	_, u, err := f.Store.Identify(f.Context, core.Address{Channel: "telegram", Account: "1", External: theo})
	f.Must(err)
	if u.Name != "Theodor" || u.Role != core.RoleMember {
		t.Errorf("got %+v", u)
	}
	p.Get("/admin").Wants(t, 200, "They are let in.", "Theodor", "2 people wait to be let in")
	p.Post("/admin/requests", url.Values{"code": {hash(zoe)}, "do": {"approve"},
		"user": {fmt.Sprint(f.Bob.User.ID)}}).Elsewhere(t, "/admin#requests")
	if _, u, err = f.Store.Identify(f.Context, core.Address{Channel: "telegram", Account: "1", External: zoe}); err !=
		nil || u.ID != f.Bob.User.ID {
		t.Errorf("got %+v, %v", u, err)
	}
	p.Post("/admin/requests", url.Values{"code": {hash(eve)}, "do": {"approve"}, "user": {"999"}}).Wants(t,
		http.StatusNotFound)
	p.Post("/admin/requests", url.Values{"code": {hash(eve)}, "do": {"deny"}}).Elsewhere(t, "/admin#requests")
	for _, code := range []string{stale, "", "x"} {
		p.Post("/admin/requests", url.Values{"code": {code}, "do": {"approve"}}).Wants(t, http.StatusConflict,
			"Nobody is waiting with this code any more")
	}
}

func TestAdmin_seesWorkAndNoWords(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, bob := f.Ana.SignedIn(), f.Bob
	p.Get("/admin").Wants(t, 200, "Everything was delivered.", "Nothing failed.",
		"Nothing was used in January 2026.")
	bob.Talks("secret question", "secret answer")
	bob.Deliver(core.DeliveryFailed, "the bot was blocked")
	bob.Keeps("secret theme", core.ItemFact, "secret item")
	bob.Sums("## Summary\nsecret summary", false)
	dead := bob.Dies("the model answered 400")
	bob.Spends("2026-01-31", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 2_000_000, Completion: 500_000}))
	p.Spends("2026-01-30", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 100}))
	f.health = map[string]error{"telegram": nil, "whatsapp_agent:7": errors.New("the key is dead; make a new one")}
	f.Clock.Pass(3 * time.Hour)
	a := p.Get("/admin")
	a.Wants(t, 200, "Bob", "answer · Telegram", "failed", "the bot was blocked", "3 hours ago", "Vectors",
		"the model answered 400", "fine", "the key is dead; make a new one", "2,500,000", "4.00", "EUR",
		`<span class="dot c0"></span><bdi>Bob</bdi>`, `<span class="dot c1"></span><bdi>Ana</bdi>`,
		fmt.Sprintf(`<a href="/admin/users/%d/usage"><bdi>Bob</bdi></a>`, bob.User.ID), "no address yet"[:2])
	a.Lacks(t, "secret")
	failed, err := f.Store.Deliveries(f.Context, store.DeliveryQuery{User: bob.User.ID, Limit: 10})
	f.Must(err)
	at := fmt.Sprint(bob.User.ID) + "/" + fmt.Sprint(failed[0].ID)
	p.Post("/admin/deliveries/"+at+"/retry", nil).Elsewhere(t, "/admin#deliveries")
	if failed, err = f.Store.Deliveries(f.Context, store.DeliveryQuery{User: bob.User.ID, Limit: 10}); err != nil ||
		failed[0].State != core.DeliveryPending {
		t.Errorf("got %+v, %v", failed, err)
	}
	p.Post("/admin/jobs/"+fmt.Sprint(bob.User.ID)+"/"+fmt.Sprint(dead.ID)+"/retry", nil).Elsewhere(t, "/admin#jobs")
	if jobs, err := f.Store.DeadJobs(f.Context, 10); err != nil || len(jobs) > 0 {
		t.Errorf("got %+v, %v", jobs, err)
	}
	for _, path := range []string{"/admin/deliveries/" + at + "/retry", "/admin/deliveries/x/1/retry",
		"/admin/deliveries/1/999/retry", "/admin/jobs/1/999/retry", "/admin/jobs/1/x/retry"} {
		if s := p.Post(path, nil).Status; s != http.StatusNotFound && s != http.StatusConflict {
			t.Errorf("%s answered %d", path, s)
		}
	}
}

func TestAdmin_usageOfOnePerson(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, bob := f.Ana.SignedIn(), f.Bob
	bob.Talks("secret question", "secret answer")
	bob.Spends("2026-01-31", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 2_000_000, Completion: 500_000}))
	bob.Spends("2025-12-02", core.SpentOn(core.ForEmbedding, "vectors", core.Usage{Prompt: 60}))
	p.Spends("2026-01-30", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 123_456}))
	at := fmt.Sprintf("/admin/users/%d/usage", bob.User.ID)
	a := p.Get(at)
	a.Wants(t, 200, "Usage of Bob", "2,500,000", "4.00\u00a0EUR", `href="`+at+`?month=2025-12#usage"`)
	a.Lacks(t, "secret", "123,456")
	p.Get(at+"?month=2025-12").Wants(t, 200, "60 tokens in 1 call: price unknown", "Search by meaning", "vectors")
	for _, id := range []string{"999", "x", "-1", "0"} {
		p.Get("/admin/users/"+id+"/usage").Wants(t, http.StatusNotFound)
	}
	f.Bob.SignedIn().Get(at).Wants(t, http.StatusNotFound)
}

func TestAdmin_signInLinkIsShownOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	a := p.Post("/admin/users/"+fmt.Sprint(f.Bob.User.ID)+"/link", nil)
	a.Wants(t, 200, "It signs Bob in to this page, once, within 10 minutes.", "Send it only to them")
	link := a.Between(t, `<output id="secret">`, "<")
	p.Get("/admin").Lacks(t, "/signin?code=")
	f.Bob.Post("/signin", url.Values{"code": {link[strings.Index(link, "code=")+5:]}}).Wants(t, http.StatusSeeOther)
	f.Bob.Get("/settings").Wants(t, 200, `value="Bob"`)
	for _, id := range []string{"999", "x", "-1", "0"} {
		p.Post("/admin/users/"+id+"/link", nil).Wants(t, http.StatusNotFound)
	}
}

func TestAdmin_checksTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Post("/admin/check", nil).Wants(t, 200, "Everything is in order.", "the model answers", "ok")
	f.found = append(f.found, core.Finding{Check: "telegram", Detail: "telegram refuses the token; get a new one"})
	p.Post("/admin/check", nil).Wants(t, 200, "1 thing needs your attention.", "refuses the token", "problem")
	f.room.checks.take(0)
	p.Post("/admin/check", nil).Wants(t, http.StatusTooManyRequests, "A check is already running")
}

func TestAdmin_isTheOwnersOnly(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	bob := f.Bob.SignedIn()
	f.asks("Theo")
	bob.Get("/settings").Lacks(t, `href="/admin"`)
	f.Ana.SignedIn().Get("/settings").Wants(t, 200, `href="/admin"`)
	n := 0
	for _, r := range f.room.adminRoutes() {
		n++
		if !r.Owner {
			t.Errorf("%s is for everybody", r.Pattern)
		}
		method, path := webtest.Concrete(r.Pattern, map[string]string{"id": fmt.Sprint(bob.User.ID),
			"user": fmt.Sprint(bob.User.ID), "section": "users"})
		a := bob.Do(bob.Request(method, path, strings.NewReader("do=approve")))
		a.Wants(t, http.StatusNotFound, "There is nothing here")
		a.Lacks(t, "Theo", "Ana")
	}
	if n < 7 || len(f.Gate.Acted) > 0 {
		t.Errorf("%d routes, %v done", n, f.Gate.Acted)
	}
}

// TestGuard_nobodyChangesAnothersThings requests everything of Bob's as Ana, who runs the
// gateway.
func TestGuard_nobodyChangesAnothersThings(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	bob, ana := f.Bob.SignedIn(), f.Ana.SignedIn()
	item := bob.Keeps("", core.ItemFact, "secret item")
	key := bob.APIKey("secret key")
	for range 20 { // ids are counted per user: use ones that Ana does not have
		item, key = bob.Keeps("", core.ItemFact, "secret "+strconv.Itoa(int(item))), bob.APIKey("secret key")
	}
	other := bob.On("matrix", "secret name")
	sessions, err := f.Store.Sessions(f.Context, bob.User.ID, f.Clock.Now())
	f.Must(err)
	f.Must(f.agents.Add(f.Context, bob.User.ID, "secret agent", "good", f.Clock.Now()))
	ids := map[string]string{"memory": fmt.Sprint(item), "channels": fmt.Sprint(other.ID), "agents": "1",
		"keys": fmt.Sprint(key.ID), "sessions": fmt.Sprint(sessions[0].ID), "push": fmt.Sprint(sessions[0].ID)}
	seen := map[string]bool{}
	for _, r := range append(f.room.memoryRoutes(), f.room.settingsRoutes()...) {
		what := regexp.MustCompile(`memory|channels|agents|keys|sessions|push`).FindString(r.Pattern)
		if !strings.Contains(r.Pattern, "{id}") {
			continue
		}
		seen[what] = true
		method, path := webtest.Concrete(r.Pattern, map[string]string{"id": ids[what]})
		a := ana.Do(ana.Request(method, path, strings.NewReader("how=keep")))
		a.Wants(t, http.StatusNotFound, "There is nothing here")
		a.Lacks(t, "secret")
	}
	ana.Post("/settings/home", url.Values{"identity": {ids["channels"]}}).Wants(t, http.StatusNotFound)
	for _, path := range []string{"/memory?archived=1", "/memory?q=item", "/settings", "/admin"} {
		ana.Get(path).Lacks(t, "secret")
	}
	if len(seen) != len(ids) || len(f.Gate.Acted) > 0 {
		t.Errorf("asked for %v, done: %v", seen, f.Gate.Acted)
	}
	bob.Get("/settings").Wants(t, 200, "secret key", "secret agent", "secret name")
	bob.Get("/memory").Wants(t, 200, "secret")
}

// TestGuard_headersAndOrigins checks that pages have their headers and no inline script, and that
// changes are accepted from our own pages only.
func TestGuard_headersAndOrigins(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	values := map[string]string{"id": "1", "user": "1", "section": "profile"}
	for _, r := range append(append(f.room.memoryRoutes(), f.room.settingsRoutes()...), f.room.adminRoutes()...) {
		method, path := webtest.Concrete(r.Pattern, values)
		if method == http.MethodPost {
			for _, foreign := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}} {
				req := p.Request(method, path, strings.NewReader("do=approve&word=DELETE&name=x&identity=1"))
				req.Header.Del("Origin")
				for k, v := range foreign {
					req.Header[k] = v
				}
				p.Do(req).Wants(t, http.StatusForbidden, "from another site")
			}
			big := p.Do(p.Request(method, path, strings.NewReader("name="+strings.Repeat("x", web.FormBody+1))))
			if big.Status < 300 && !strings.Contains(path, "link") && path != "/admin/check" &&
				path != "/settings/sessions/end" {
				t.Errorf("%s takes a body of any size: %d", path, big.Status)
			}
			f.Clock.Pass(time.Minute)
			p.SignedIn()
		}
		stranger := &webtest.Person{World: f.World, User: p.User, Client: f.Browser()}
		stranger.Do(stranger.Request(method, path, nil)).Wants(t, http.StatusUnauthorized, "There is no password")
		if method == http.MethodGet {
			a := p.Get(path)
			if a.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(a.Header.Get("Content-Security-Policy"),
				"default-src 'none'") || strings.Contains(a.Body, " style=") || strings.Contains(a.Body, "<script>") {
				t.Errorf("%s: %v", path, a.Header)
			}
		}
	}
}

// TestNames_runNowhere uses hostile text for every name that people choose.
func TestNames_runNowhere(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, bob := f.Ana.SignedIn(), f.Bob
	for n, x := range webtest.Payloads() {
		if len(x) > 300 || n%fulltest.Size(3, 1) > 0 {
			continue
		}
		x = strings.ToValidUTF8(strings.ReplaceAll(x, "\x00", ""), "")
		name := web.Short(x, 90)
		i := core.Item{User: p.User.ID, Theme: name, Type: core.ItemFact, Content: x + " " + strconv.Itoa(n),
			Tags: []string{web.Short(x, 40)}}
		if add, _, err := f.room.Memory.Keep(f.Context, i, f.Clock.Now()); err == nil && add != nil {
			_, err = f.Store.Note(f.Context, store.Note{User: p.User.ID, Effects: []core.Effect{*add}, Now: f.Clock.Now()})
			f.Must(err)
		}
		p.On("telegram", x)
		p.APIKey("k " + name)
		f.Must(f.agents.Add(f.Context, p.User.ID, x, "good", f.Clock.Now()))
		f.agents.all[len(f.agents.all)-1].Err = errors.New(x)
		f.asks(name)
		_, err := f.Store.AddUser(f.Context, core.User{Name: x, Role: core.RoleMember, CreatedAt: f.Clock.Now()})
		f.Must(err)
		f.health["telegram:"+x] = errors.New(x)
		f.found = append(f.found, core.Finding{Check: x, Detail: x})
		bob.Dies(x)
		p.Get("/memory?q="+url.QueryEscape(x)+"&theme="+url.QueryEscape(x)).Harmless(t, "a filter")
		if n%5 > 0 {
			continue
		}
		p.Post("/settings/keys", url.Values{"name": {name}, "scope": {"chat"}}).Harmless(t, "a new key")
		p.Post("/settings/profile", url.Values{"name": {x + strings.Repeat("x", 100)}}).Harmless(t, "a name")
		p.Post("/settings/profile", url.Values{"name": {"A"}, "zone": {x}}).Harmless(t, "a zone")
		p.Post("/settings/agents", url.Values{"name": {x}, "key": {x}}).Harmless(t, "an agent")
		p.Post("/settings/embeddings", url.Values{"provider": {"custom_http"}, "base_url": {x}, "model": {x},
			"dimensions": {x}, "sealed": {x}}).Harmless(t, "an endpoint")
		p.Post("/memory", url.Values{"text": {x}, "new": {x}, "type": {x}}).Harmless(t, "an item")
	}
	_, err := f.Gate.Act(f.Context, p.User.ID, effect.SetName{Name: `"><img src=x onerror=alert(1)>`})
	f.Must(err)
	bob.Says("hello")
	bob.Answers("hello")
	bob.Deliver(core.DeliveryFailed, `<img src=x onerror=alert(1)>`)
	for _, path := range []string{"/memory", "/memory?archived=1&page=2", "/settings", "/admin"} {
		p.Get(path).Drawn().Harmless(t, path)
	}
	p.Post("/admin/check", nil).Harmless(t, "the check")
	p.Post("/settings/channels/link", nil).Drawn().Harmless(t, "a code")
	p.Post("/admin/users/"+fmt.Sprint(p.User.ID)+"/link", nil).Harmless(t, "a link")
}

func TestAdmin_showsChannelsAndData(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	f.Must(os.WriteFile(filepath.Join(f.Media, "kept"), make([]byte, 2048), 0o600))
	p.Get("/admin").Wants(t, http.StatusOK, "The database takes up 3.0\u00a0MB, attachments 2.0\u00a0KB.",
		"the newest is of today", `href="/setup"`, `action="/admin/channels/telegram/check"`)
	p.Get("/admin").Lacks(t, `action="/admin/channels/matrix/check"`)
	p.Post("/admin/channels/telegram/check", nil).Wants(t, http.StatusOK, "the token is refused",
		"1 thing needs your attention", `action="/admin/channels/telegram/check"`)
	p.Post("/admin/channels/matrix/check", nil).Wants(t, http.StatusNotFound)
	f.Bob.SignedIn().Post("/admin/channels/telegram/check", nil).Wants(t, http.StatusNotFound)
}
