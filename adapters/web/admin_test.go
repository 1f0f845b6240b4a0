package web

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

func TestRequestsAreDecided(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/admin").wants(t, 200, "Nobody asks to be let in.")
	theo, zoe, eve := f.asks("Theo"), f.asks("Zoe"), f.asks("Eve")
	f.clock.pass(7 * time.Minute)
	page := p.get("/admin")
	page.wants(t, 200, theo, "Theo", "Telegram", "asked 7 minutes ago", "valid until 15:40",
		`<option value="`+sprint(f.bob.user.ID)+`">Bob`)
	page.lacks(t, "secret of a stranger")
	hash := func(code string) string {
		codes, err := f.store.Codes(f.ctx, core.CodePair, f.clock.now())
		f.must(err)
		for _, c := range codes {
			if c.Hint == code {
				return c.Hash
			}
		}
		return ""
	}
	stale := hash(theo)
	p.post("/admin/requests", url.Values{"code": {stale}, "do": {"approve"}, "name": {"Theodor"}}).elsewhere(t,
		"/admin#requests")
	_, u, err := f.store.Identify(f.ctx, core.Address{Channel: "telegram", Account: "1", External: theo})
	f.must(err)
	if u.Name != "Theodor" || u.Role != core.RoleMember {
		t.Errorf("got %+v", u)
	}
	p.get("/admin").wants(t, 200, "They are let in.", "Theodor")
	p.post("/admin/requests", url.Values{"code": {hash(zoe)}, "do": {"approve"},
		"user": {sprint(f.bob.user.ID)}}).elsewhere(t, "/admin#requests")
	if _, u, err = f.store.Identify(f.ctx, core.Address{Channel: "telegram", Account: "1", External: zoe}); err != nil ||
		u.ID != f.bob.user.ID {
		t.Errorf("got %+v, %v", u, err)
	}
	p.post("/admin/requests", url.Values{"code": {hash(eve)}, "do": {"approve"}, "user": {"999"}}).wants(t,
		http.StatusNotFound)
	p.post("/admin/requests", url.Values{"code": {hash(eve)}, "do": {"deny"}}).elsewhere(t, "/admin#requests")
	for _, code := range []string{stale, "", "x"} {
		p.post("/admin/requests", url.Values{"code": {code}, "do": {"approve"}}).wants(t, http.StatusConflict,
			"Nobody waits with this code any more")
	}
}

func TestTheOwnerSeesWorkAndNoWords(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, bob := f.ana.signedIn(), f.bob
	p.get("/admin").wants(t, 200, "Everything was delivered.", "Nothing gave up.",
		"Nothing was used in the last thirty days.")
	bob.talks("secret question", "secret answer")
	bob.deliver(core.DeliveryFailed, "the bot was blocked")
	bob.keeps("secret theme", core.ItemFact, "secret item")
	bob.sums("## Summary\nsecret summary", false)
	dead := bob.dies("the model answered 400")
	bob.spends("2026-01-31", core.Usage{Prompt: 2_000_000, Completion: 500_000})
	p.spends("2026-01-30", core.Usage{Prompt: 100})
	f.health = map[string]error{"telegram": nil, "whatsapp_agent:7": errors.New("the key is dead; make a new one")}
	f.clock.pass(3 * time.Hour)
	a := p.get("/admin")
	a.wants(t, 200, "Bob", "answer · Telegram", "failed", "the bot was blocked", "3 hours ago", "Vectors",
		"the model answered 400", "fine", "the key is dead; make a new one", "2,500,000", "4.00", "EUR",
		`<span class="dot c0"></span>Bob`, `<span class="dot c1"></span>Ana`, "no address yet"[:2])
	a.lacks(t, "secret")
	failed, err := f.store.Deliveries(f.ctx, core.DeliveryQuery{User: bob.user.ID, Limit: 10})
	f.must(err)
	at := sprint(bob.user.ID) + "/" + sprint(failed[0].ID)
	p.post("/admin/deliveries/"+at+"/retry", nil).elsewhere(t, "/admin#deliveries")
	if failed, err = f.store.Deliveries(f.ctx, core.DeliveryQuery{User: bob.user.ID, Limit: 10}); err != nil ||
		failed[0].State != core.DeliveryPending {
		t.Errorf("got %+v, %v", failed, err)
	}
	p.post("/admin/jobs/"+sprint(bob.user.ID)+"/"+sprint(dead.ID)+"/retry", nil).elsewhere(t, "/admin#jobs")
	if jobs, err := f.store.DeadJobs(f.ctx, 10); err != nil || len(jobs) > 0 {
		t.Errorf("got %+v, %v", jobs, err)
	}
	for _, path := range []string{"/admin/deliveries/" + at + "/retry", "/admin/deliveries/x/1/retry",
		"/admin/deliveries/1/999/retry", "/admin/jobs/1/999/retry", "/admin/jobs/1/x/retry"} {
		if s := p.post(path, nil).status; s != http.StatusNotFound && s != http.StatusConflict {
			t.Errorf("%s answered %d", path, s)
		}
	}
}

func TestASignInLinkIsShownOnceAndWorks(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	a := p.post("/admin/users/"+sprint(f.bob.user.ID)+"/link", nil)
	a.wants(t, 200, "It signs Bob in to this page, once, within 10 minutes.", "Send it to them alone")
	link := a.between(t, `<output id="secret">`, "<")
	p.get("/admin").lacks(t, "/signin?code=")
	f.bob.post("/signin", url.Values{"code": {link[strings.Index(link, "code=")+5:]}}).wants(t, http.StatusSeeOther)
	f.bob.get("/settings").wants(t, 200, `value="Bob"`)
	for _, id := range []string{"999", "x", "-1", "0"} {
		p.post("/admin/users/"+id+"/link", nil).wants(t, http.StatusNotFound)
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.post("/admin/check", nil).wants(t, 200, "Everything is in order.", "the model answers", "ok")
	f.found = append(f.found, core.Finding{Check: "telegram", Detail: "telegram refuses the token; get a new one"})
	p.post("/admin/check", nil).wants(t, 200, "1 thing wants your attention.", "refuses the token", "problem")
	f.page.checks <- struct{}{}
	p.post("/admin/check", nil).wants(t, http.StatusTooManyRequests, "A check is under way already")
}

func TestAdministrationIsTheOwnersOnly(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	bob := f.bob.signedIn()
	f.asks("Theo")
	bob.get("/settings").lacks(t, `href="/admin"`)
	f.ana.signedIn().get("/settings").wants(t, 200, `href="/admin"`)
	n := 0
	for _, r := range f.page.adminRoutes() {
		n++
		if !r.Owner {
			t.Errorf("%s is for everybody", r.Pattern)
		}
		method, path := concrete(r.Pattern, map[string]string{"id": sprint(bob.user.ID), "user": sprint(bob.user.ID),
			"section": "users"})
		a := bob.do(bob.request(method, path, strings.NewReader("do=approve")))
		a.wants(t, http.StatusNotFound, "There is nothing here")
		a.lacks(t, "Theo", "Ana")
	}
	if n < 7 || len(f.gate.acted) > 0 {
		t.Errorf("%d routes, %v done", n, f.gate.acted)
	}
}

// TestNobodyChangesAnothersThings asks for everything of Bob's, as Ana, who runs the
// gateway.
func TestNobodyChangesAnothersThings(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	bob, ana := f.bob.signedIn(), f.ana.signedIn()
	item := bob.keeps("", core.ItemFact, "secret item")
	key := bob.apiKey("secret key")
	for range 20 { // ids of each user are counted apart: beyond those that Ana has
		item, key = bob.keeps("", core.ItemFact, "secret "+strconv.Itoa(int(item))), bob.apiKey("secret key")
	}
	other := bob.on("matrix", "secret name")
	sessions, err := f.store.Sessions(f.ctx, bob.user.ID, f.clock.now())
	f.must(err)
	f.must(f.agents.Add(f.ctx, bob.user.ID, "secret agent", "good", f.clock.now()))
	ids := map[string]string{"memory": sprint(item), "channels": sprint(other.ID), "agents": "1", "keys": sprint(key.ID),
		"sessions": sprint(sessions[0].ID)}
	seen := map[string]bool{}
	for _, r := range append(f.page.memoryRoutes(), f.page.settingsRoutes()...) {
		what := regexp.MustCompile(`memory|channels|agents|keys|sessions`).FindString(r.Pattern)
		if !strings.Contains(r.Pattern, "{id}") {
			continue
		}
		seen[what] = true
		method, path := concrete(r.Pattern, map[string]string{"id": ids[what]})
		a := ana.do(ana.request(method, path, strings.NewReader("how=keep")))
		a.wants(t, http.StatusNotFound, "There is nothing here")
		a.lacks(t, "secret")
	}
	ana.post("/settings/home", url.Values{"identity": {ids["channels"]}}).wants(t, http.StatusNotFound)
	for _, path := range []string{"/memory?archived=1", "/memory?q=item", "/settings", "/admin"} {
		ana.get(path).lacks(t, "secret")
	}
	if len(seen) != len(ids) || len(f.gate.acted) > 0 {
		t.Errorf("asked for %v, done: %v", seen, f.gate.acted)
	}
	bob.get("/settings").wants(t, 200, "secret key", "secret agent", "secret name")
	bob.get("/memory").wants(t, 200, "secret")
}

// TestTheOfficeIsGuarded: headers, no inline script, and changes from our own pages only.
func TestTheOfficeIsGuarded(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	values := map[string]string{"id": "1", "user": "1", "section": "profile"}
	for _, r := range append(append(f.page.memoryRoutes(), f.page.settingsRoutes()...), f.page.adminRoutes()...) {
		method, path := concrete(r.Pattern, values)
		if method == http.MethodPost {
			for _, foreign := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}} {
				req := p.request(method, path, strings.NewReader("do=approve&word=DELETE&name=x&identity=1"))
				req.Header.Del("Origin")
				for k, v := range foreign {
					req.Header[k] = v
				}
				p.do(req).wants(t, http.StatusForbidden, "another page than ours")
			}
			big := p.do(p.request(method, path, strings.NewReader("name="+strings.Repeat("x", formBody+1))))
			if big.status < 300 && !strings.Contains(path, "link") && path != "/admin/check" &&
				path != "/settings/sessions/end" {
				t.Errorf("%s takes a body of any size: %d", path, big.status)
			}
			f.clock.pass(time.Minute)
			p.signedIn()
		}
		stranger := &person{world: f.world, user: p.user, client: f.browser()}
		stranger.do(stranger.request(method, path, nil)).wants(t, http.StatusUnauthorized, "There is no password")
		if method == http.MethodGet {
			a := p.get(path)
			if a.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(a.header.Get("Content-Security-Policy"),
				"default-src 'none'") || strings.Contains(a.body, " style=") || strings.Contains(a.body, "<script>") {
				t.Errorf("%s: %v", path, a.header)
			}
		}
	}
}

// drawn is a page without the pictures that we draw, and the links to apps.
func (a answer) drawn() answer {
	ours := regexp.MustCompile(
		`<svg (class="qr" viewBox="[0-9 ]+"|viewBox="0 0 300 100") |href="https://t\.me/thread_bot\?text=/link%20[0-9A-Z]+"`)
	a.body = ours.ReplaceAllString(a.body, "<p ")
	return a
}

// TestNamesOfThingsRunNowhere puts hostile text everywhere that people name things.
func TestNamesOfThingsRunNowhere(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, bob := f.ana.signedIn(), f.bob
	for n, x := range payloads(t) {
		if len(x) > 300 {
			continue
		}
		x = strings.ToValidUTF8(strings.ReplaceAll(x, "\x00", ""), "")
		name := short(x, 90)
		i := core.Item{User: p.user.ID, Theme: name, Type: core.ItemFact, Content: x + " " + strconv.Itoa(n),
			Tags: []string{short(x, 40)}}
		if add, _, err := f.page.Memory.Keep(f.ctx, i, f.clock.now()); err == nil && add != nil {
			_, err = f.store.Note(f.ctx, core.Note{User: p.user.ID, Effects: []core.Effect{*add}, Now: f.clock.now()})
			f.must(err)
		}
		p.on("telegram", x)
		p.apiKey("k " + name)
		f.must(f.agents.Add(f.ctx, p.user.ID, x, "good", f.clock.now()))
		f.agents.all[len(f.agents.all)-1].Err = errors.New(x)
		f.asks(name)
		_, err := f.store.AddUser(f.ctx, core.User{Name: x, Role: core.RoleMember, CreatedAt: f.clock.now()})
		f.must(err)
		f.health["telegram:"+x] = errors.New(x)
		f.found = append(f.found, core.Finding{Check: x, Detail: x})
		bob.dies(x)
		p.get("/memory?q="+url.QueryEscape(x)+"&theme="+url.QueryEscape(x)).harmless(t, "a filter")
		if n%5 > 0 {
			continue
		}
		p.post("/settings/keys", url.Values{"name": {name}, "scope": {"chat"}}).harmless(t, "a new key")
		p.post("/settings/name", url.Values{"name": {x + strings.Repeat("x", 100)}}).harmless(t, "a name")
		p.post("/settings/zone", url.Values{"zone": {x}}).harmless(t, "a zone")
		p.post("/settings/agents", url.Values{"name": {x}, "key": {x}}).harmless(t, "an agent")
		p.post("/settings/embeddings", url.Values{"provider": {"custom_http"}, "base_url": {x}, "model": {x},
			"dimensions": {x}, "sealed": {x}}).harmless(t, "an endpoint")
		p.post("/memory", url.Values{"text": {x}, "new": {x}, "type": {x}}).harmless(t, "an item")
	}
	_, err := f.gate.Act(f.ctx, p.user.ID, core.SetName{Name: `"><img src=x onerror=alert(1)>`})
	f.must(err)
	bob.says("hello")
	bob.answers("hello")
	bob.deliver(core.DeliveryFailed, `<img src=x onerror=alert(1)>`)
	for _, path := range []string{"/memory", "/memory?archived=1&page=2", "/settings", "/admin"} {
		p.get(path).drawn().harmless(t, path)
	}
	p.post("/admin/check", nil).harmless(t, "the check")
	p.post("/settings/channels/link", nil).drawn().harmless(t, "a code")
	p.post("/admin/users/"+sprint(p.user.ID)+"/link", nil).harmless(t, "a link")
}
