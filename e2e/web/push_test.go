//go:build e2e

package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// subscriber is a visitor whose browser a push service of the test notifies.
type subscriber struct {
	*visitor
	pushes *e2etest.Pushes
}

// newSubscriber signs the owner in, and turns notifications on in the settings.
func newSubscriber(t *testing.T, database string) *subscriber {
	t.Helper()
	w := e2etest.NewClock(t, database)
	w.UseModel(e2etest.StartModel(t, 20*time.Millisecond))
	w.Env = append(w.Env, "EVERTHREAD_ALLOW_PRIVATE_URLS=true")
	s := &subscriber{pushes: e2etest.NewPushes(t)}
	s.visitor = &visitor{Week: w, g: w.Start(), l: w.Ledger()}
	s.Tab = s.g.NewTab(t).Allow("net::ERR")
	takesNotifications(s.Tab, s.pushes)
	s.SignIn(s.g.WebCode())
	s.Comes("navigator.serviceWorker.controller")
	s.turnsOn()
	return s
}

// takesNotifications prepares a tab whose person allows notifications, and whose browser subscribes at a service.
func takesNotifications(p *e2etest.Tab, from *e2etest.Pushes) {
	p.T.Helper()
	p.Do(e2etest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: from.Stub()}))
}

func (s *subscriber) turnsOn() {
	s.T.Helper()
	s.Open("/settings/notifications")
	s.Click("#notifications form[data-push] .button")
	s.Sees("#notifications .rows", "only says that there is a message")
}

// promised waits until the list of promises, which may be folded, has a text.
func promised(p *e2etest.Tab, what string) {
	p.T.Helper()
	p.Comes("document.querySelector('#promises').textContent.includes(" + e2etest.Quote(what) + ")")
}

// goesAway leaves the page, and gives the gateway time to notice: nothing outside shows that it has.
func (s *subscriber) goesAway() {
	s.T.Helper()
	s.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Navigate("about:blank")(ctx, t)
	})
	time.Sleep(2 * time.Second)
}

// reminded sets a reminder on the page and leaves, and moves the clock until it is due.
func (s *subscriber) reminded(what string) {
	s.T.Helper()
	s.Open("/")
	s.Send("/remind in 2 hours " + what)
	promised(s.Tab, what)
	s.goesAway()
	s.Set(s.Now().Add(2*time.Hour + time.Minute))
	s.l.Until(`SELECT COUNT(*) FROM messages WHERE kind = 'reminder' AND body LIKE '%`+what+`%'`, 1, s.g)
}

// A reminder and an answer reach a device without an open page, without words unless they are wanted; an open page, an
// ended subscription and a sign-out keep it quiet.
func TestPush_reachesADeviceWithoutAPage(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) string{"sqlite": func(*testing.T) string { return "" },
		"postgres": e2etest.NewStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubscriber(t, open(t))
			s.Click("#notifications form[action$=test] button")
			s.Sees("#toast", "on its way")
			if got := s.pushes.Next(1, s.g); got.Body != "This is how a notification looks." {
				t.Errorf("the test is %+v", got)
			}
			s.reminded("water the plants")
			id := s.l.Lines(`SELECT id FROM messages WHERE kind = 'reminder'`)[0]
			if got, want := s.pushes.Next(2, s.g), (e2etest.Notification{Body: "You have a new message.", Path: "m/" + id, Tag: "m" + id,
				TTL: "43200", Urgency: "high", Topic: "m" + id}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			s.Open("/settings/notifications")
			s.Click("#notifications form[action$=texts] [name=texts]")
			s.Click("#notifications form[action$=texts] .button")
			s.Sees("#notifications .rows", "shows the text")
			s.Open("/")
			s.Send("hello") // it arrives live: the page is known to be open from here on
			s.Sees(".entry.agent .prose", "echo: hello")
			s.l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'push'`, 0, s.g)
			n := len(s.pushes.Got())
			s.Send("is anybody looking?")
			s.Sees(".entry.agent .prose", "echo: is anybody looking?")
			s.l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'push'`, 0, s.g)
			if got := s.pushes.Got(); len(got) != n {
				t.Errorf("an open page gets %+v", got[n:])
			}
			s.Send("say 150 words")
			s.Comes("document.querySelector('.writing .prose:not(:empty)')")
			s.goesAway()
			if got := s.pushes.Next(n+1, s.g); got.Body == "You have a new message." || len([]rune(got.Body)) > 120 || got.Path == "m/"+id {
				t.Errorf("the answer is %+v", got)
			}

			s.pushes.Answer(http.StatusGone)
			s.reminded("feed the cat")
			if got := s.pushes.Next(n+2, s.g); !strings.Contains(got.Body, "feed the cat") {
				t.Errorf("got %+v", got)
			}
			s.l.Until(`SELECT COUNT(*) FROM sessions WHERE push = ''`, 1, s.g)
			s.pushes.Answer(0)
			s.turnsOn()
			s.Click(".account summary")
			s.Press(".account", "Sign out")
			s.Sees("h1", "signed out")
			if n := s.l.Count(`SELECT COUNT(*) FROM sessions`); n > 0 {
				t.Errorf("%d sessions are left", n)
			}
			if got := s.pushes.Got(); len(got) != n+2 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Where a chat app rings for a reminder, no device is notified of it, and no offer is made.
func TestPush_staysQuietWhereAnAppRings(t *testing.T) {
	t.Parallel()
	s := newSubscriber(t, "")
	s.Ask("/start " + s.g.Logged(`/start ([A-Z0-9]{10})`)[1])
	s.RemindIn("in 2 hours", "water the plants")
	s.Set(s.Now().Add(2*time.Hour + time.Minute))
	s.l.Until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder' AND state = 'sent'`, 1, s.g)
	s.WantTold(s.g, "water the plants")
	if n := s.l.Count(`SELECT COUNT(*) FROM jobs WHERE queue = 'push'`); n > 0 || len(s.pushes.Got()) > 0 {
		t.Errorf("%d notifications wait, and %+v arrived", n, s.pushes.Got())
	}
}

// worker runs the service worker that is served, beside pages and a registration that only note what it does: a headless
// browser shows no notifications. It resolves to what the events led to.
const worker = `(async () => {
	const on = {}, did = [], page = { focused: false, visibilityState: "visible", focus: async () => did.push("focus"),
		navigate: async (to) => { did.push("navigate " + to); return page; } };
	let open = [];
	const self = { addEventListener: (name, f) => { on[name] = f; }, skipWaiting() {},
		clients: { matchAll: async () => open, claim: async () => {}, openWindow: async (to) => did.push("open " + to) },
		registration: { scope: "https://home.example/chat/", showNotification: async (title, o) => did.push([title, o.body, o.tag, o.data].join(" | ")),
			pushManager: { subscribe: async (o) => ({ toJSON: () => ({ endpoint: "https://push.example/" + o.applicationServerKey, keys: { p256dh: "p", auth: "a" } }) }) } } };
	const fetch = async (to, o) => { did.push([o?.method || "GET", to, o?.body || ""].join(" ")); return { json: async () => ({ key: "k" }) }; };
	((self, fetch) => { %s })(self, fetch);
	const event = async (name, e) => { let done; on[name]({ ...e, waitUntil: (p) => { done = p; } }); await done; };
	const push = (tag) => event("push", { data: { json: () => ({ body: "soup", path: "m/12", tag }) } });
	const click = () => event("notificationclick", { notification: { data: "m/12", close: () => did.push("close") } });
	await push("m12");
	await click();
	open = [page];
	await push("m13");
	await click();
	page.focused = true;
	await push("m14");
	await push("test");
	page.visibilityState = "hidden";
	await push("m15");
	page.navigate = async () => { throw new Error("not controlled"); };
	await click();
	await event("pushsubscriptionchange", {});
	return did.join("\n");
})()`

// The service worker shows a notification unless a page is looked at, leads to its message below any path, and renews a
// subscription.
func TestPush_isShownByTheServiceWorker(t *testing.T) {
	t.Parallel()
	g := e2etest.NewTown(t, "").Start()
	p := g.NewTab(t)
	p.SignIn(g.WebCode())
	p.Comes("navigator.serviceWorker.controller") // a browser takes it
	_, source := g.Get("/worker.js?lang=en")
	got := e2etest.Js[string](p, fmt.Sprintf(worker, source))
	const to = "https://home.example/chat/"
	want := strings.Join([]string{"Everthread | soup | m12 | m/12", "close", "open " + to + "m/12",
		"Everthread | soup | m13 | m/12", "close", "focus", "navigate " + to + "m/12",
		"Everthread | soup | test | m/12", "Everthread | soup | m15 | m/12", "close", "focus", "open " + to + "m/12",
		"GET " + to + "settings/push/key ", "POST " + to + "settings/push endpoint=https%3A%2F%2Fpush.example%2Fk&p256dh=p&auth=a&keep=1"}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Notifications are offered once, when the first reminder has been set on the page.
func TestPush_isOfferedOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewClock(t, "")
	w.Env = append(w.Env, "EVERTHREAD_ALLOW_PRIVATE_URLS=true")
	g, pushes := w.Start(), e2etest.NewPushes(t)
	p := g.NewTab(t)
	takesNotifications(p, pushes)
	p.SignIn(g.WebCode())
	p.Comes("navigator.serviceWorker.controller && document.querySelector('#offer').hidden")
	p.Send("/remind in 2 hours water the plants")
	p.Comes("document.querySelector('#offer')?.checkVisibility()")
	p.Click("#offer [name=texts]")
	p.Click("#offer .button.primary")
	p.Sees("#toast", "Notifications are on")
	p.Comes("!document.querySelector('#offer')")
	p.Open("/settings/notifications")
	p.Sees("#notifications .rows", "shows the text")
	p.Click("#notifications form[action$=off] button")
	p.Comes("!document.querySelector('#notifications .rows') && !everthread.local.get('subscribed')")
	p.Open("/")
	p.Send("/remind in 3 hours feed the cat")
	promised(p, "feed the cat")
	p.Comes("document.querySelector('#offer').hidden")
}
