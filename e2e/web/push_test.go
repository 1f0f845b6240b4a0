//go:build e2e

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// subscriber is a visitor whose browser a push service of the test notifies.
type subscriber struct {
	*visitor
	pushes *e2etest.Pushes

	mu           sync.Mutex
	registration serviceworker.RegistrationID
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
	e2etest.Must(t, chromedp.Listen(s.Ctx, func(event any) {
		if e, ok := event.(*serviceworker.EventWorkerRegistrationUpdated); ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, r := range e.Registrations {
				s.registration = r.RegistrationID
			}
		}
	}))
	s.Do(e2etest.Command(serviceworker.Enable, cdp.Empty{}), e2etest.Command(page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: s.pushes.Stub()}))
	s.SignIn(s.g.WebCode())
	s.Comes("navigator.serviceWorker.controller")
	s.turnsOn()
	return s
}

func (s *subscriber) turnsOn() {
	s.T.Helper()
	s.Open("/settings")
	s.Click("#notifications form[data-push] .button")
	s.Sees("#notifications .rows", "only says that there is a message")
}

// goesAway leaves the page, so that none is open.
func (s *subscriber) goesAway() {
	s.T.Helper()
	s.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Navigate("about:blank")(ctx, t)
	})
}

// reminded sets a reminder on the page and leaves, and moves the clock until it is due.
func (s *subscriber) reminded(what string) {
	s.T.Helper()
	s.Open("/")
	s.Send("/remind in 2 hours " + what)
	s.Sees("#promises", what)
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
			if got, want := s.pushes.Next(2, s.g), (e2etest.Pushed{Body: "You have a new message.", Path: "m/" + id, Tag: "m" + id,
				TTL: "43200", Urgency: "high", Topic: "m" + id}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			s.Open("/settings")
			s.Click("#notifications form[action$=texts] input")
			s.Click("#notifications form[action$=texts] .button")
			s.Sees("#notifications .rows", "shows the text")
			s.Open("/")
			s.Send("hello to an open page")
			s.Sees(".entry.agent .prose", "hello to an open page")
			s.Send("say 60 words about the harbour")
			s.Comes("document.querySelector('.writing .prose:not(:empty)')")
			s.goesAway()
			if got := s.pushes.Next(3, s.g); !strings.Contains(got.Body, "harbour") || len([]rune(got.Body)) > 120 {
				t.Errorf("the answer is %+v", got)
			}

			s.pushes.Answer(http.StatusGone)
			s.reminded("feed the cat")
			if got := s.pushes.Next(4, s.g); !strings.Contains(got.Body, "feed the cat") {
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
			if got := s.pushes.Got(); len(got) != 4 {
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

// The service worker shows a notification while no page is looked at, and a later one of the same message replaces it.
func TestPush_isShownByTheServiceWorker(t *testing.T) {
	t.Parallel()
	s := newSubscriber(t, "")
	for _, body := range []string{"a first text", "a second text"} {
		data, err := json.Marshal(map[string]string{"body": body, "path": "m/1", "tag": "test"})
		e2etest.Must(t, err)
		s.mu.Lock()
		registration := s.registration
		s.mu.Unlock()
		s.Do(e2etest.Command(serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: s.Base,
			RegistrationID: registration, Data: string(data)}))
		s.Comes(fmt.Sprintf(`(navigator.serviceWorker.ready.then(async (x) => { window.notes = await x.getNotifications(); }),
			window.notes?.length === 1 && window.notes[0].body === %q && window.notes[0].title === "Everthread" && window.notes[0].data === "m/1")`, body))
	}
}

// Notifications are offered once, when the first reminder has been set on the page.
func TestPush_isOfferedOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewClock(t, "")
	w.Env = append(w.Env, "EVERTHREAD_ALLOW_PRIVATE_URLS=true")
	g, pushes := w.Start(), e2etest.NewPushes(t)
	p := g.NewTab(t)
	p.Do(e2etest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: pushes.Stub()}))
	p.SignIn(g.WebCode())
	p.Comes("navigator.serviceWorker.controller && document.querySelector('#offer').hidden")
	p.Send("/remind in 2 hours water the plants")
	p.Comes("document.querySelector('#offer')?.checkVisibility()")
	p.Click("#offer input")
	p.Click("#offer .button.primary")
	p.Sees("#toast", "Notifications are on")
	p.Comes("!document.querySelector('#offer')")
	p.Open("/settings")
	p.Sees("#notifications .rows", "shows the text")
	p.Click("#notifications form[action$=off] button")
	p.Comes("!document.querySelector('#notifications .rows')")
	p.Open("/")
	p.Send("/remind in 3 hours feed the cat")
	p.Sees("#promises", "feed the cat")
	p.Comes("document.querySelector('#offer').hidden && !localStorage.subscribed")
}
