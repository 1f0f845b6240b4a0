//go:build e2e

package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Without network the page opens, says so, and stores messages: they are sent once, in
// order, when the network is back, and signing out leaves nothing.
func TestOffline_messagesAreSentOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 0))
	g := w.Start()
	l, net := w.Ledger(), g.NewRelay(t)
	p := g.NewTab(t).Allow("net::ERR").Allow("Failed to load resource")
	p.Base = net.URL
	p.SignIn(g.WebCode())
	p.Comes("navigator.serviceWorker.controller")
	p.Send("said before")
	p.Sees(".entry.agent", "said before")

	net.Set(e2etest.Mute) // the message arrives, and the browser gets no answer
	p.Send("one, perhaps")
	p.Sees("#outbox", "Not sent")
	l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'one, perhaps'`, 1, g)
	net.Set(e2etest.Cut)
	p.Send("two, on the open page")
	p.Sees("#outbox li:nth-child(2)", "two, on the open page")
	p.Sees("#outbox", "No contact with Everthread since")
	p.Open("/")
	p.Sees("h1", "No connection")
	p.Sees("#offline", fmt.Sprintf("No contact with Everthread since %s", e2etest.Js[string](p,
		"new Date(Number(everthread.local.get('seen'))).toTimeString().slice(0, 5)")))
	if text := p.Shown(); strings.Contains(text, "said before") {
		t.Errorf("the page without network shows the conversation:\n%s", text)
	}
	p.Fill("#later", "three, without a page")
	p.Press("#offline", "Send when")
	p.Open("/settings") // whatever is opened
	p.Sees("#outbox li:nth-child(3)", "three, without a page")

	net.Set(e2etest.Whole)
	p.Comes("document.querySelector('.office')") // the page opens by itself
	p.Comes("document.querySelector('#outbox').hidden")
	p.Open("/")
	p.Sees(".entry.user", "three, without a page")
	l.Quiet(30*time.Second, g.Log)
	got := l.Lines(`SELECT body FROM messages WHERE role = 'user' ORDER BY id`)
	want := []string{"said before", "one, perhaps", "two, on the open page", "three, without a page"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}

	net.Set(e2etest.Cut)
	p.Send("never to be sent")
	p.Sees("#outbox", "Not sent")
	net.Set(e2etest.Whole)
	p.Comes("document.querySelector('#outbox').hidden")
	p.Click(".account summary")
	p.Press(".account", "Sign out")
	p.Sees("h1", "signed out")
	p.Comes(`window.left === 0 || (navigator.serviceWorker.getRegistrations().then(async (x) =>
		{ window.left = x.length + localStorage.length + (await caches.keys()).length }), false)`)
}

// A person's stored messages are neither shown to another user nor sent for them.
func TestOffline_messagesBelongToOnePerson(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	l, net := w.Ledger(), g.NewRelay(t)
	w.MustRun("users", "add", "Bob")
	p := g.NewTab(t).Allow("net::ERR").Allow("Failed to load resource").Allow("401")
	p.Base = net.URL
	p.SignIn(g.WebCode())
	p.Comes("navigator.serviceWorker.controller")
	net.Set(e2etest.Cut)
	p.Send("a secret of the owner")
	p.Sees("#outbox", "a secret of the owner")
	_, err := l.DB.Exec(`DELETE FROM sessions`)
	e2etest.Must(t, err)
	net.Set(e2etest.Whole)
	p.Open("/")
	p.Sees("main", "There is no password")
	net.Set(e2etest.Cut)
	p.Open("/")
	p.Sees("#offline", "You are signed out on this device")
	if text := p.Shown(); strings.Contains(text, "secret") {
		t.Errorf("waiting messages are shown without a user:\n%s", text)
	}
	net.Set(e2etest.Whole)
	p.SignIn(regexp.MustCompile(`code=([A-Z0-9]+)`).FindStringSubmatch(w.MustRun("users", "link", "Bob"))[1])
	p.Comes("document.querySelector('#outbox').hidden")
	if n := l.Count(`SELECT COUNT(*) FROM messages WHERE body LIKE '%secret%'`); n > 0 {
		t.Errorf("it was sent %d times", n)
	}
}

// conditions simulates a browser's network.
type conditions struct {
	Offline  bool `json:"offline"`
	Latency  int  `json:"latency"`
	Download int  `json:"downloadThroughput"`
	Upload   int  `json:"uploadThroughput"`
}

// An open page reports a lost network as soon as the browser notices.
func TestOffline_openPageSaysSo(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	p := g.NewTab(t).Allow("net::ERR").Allow("Failed to load resource")
	p.SignIn(g.WebCode())
	offline := func(is bool) {
		p.Do(e2etest.Command(cdp.Command[conditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"},
			conditions{Offline: is, Download: -1, Upload: -1}))
	}
	offline(true)
	p.Sees("#outbox", "No contact with Everthread since")
	p.Comes("document.dispatchEvent(new CustomEvent('connection', { detail: true }))") // live updates that began before
	p.Sees("#outbox", "No contact with Everthread since")
	p.Send("kept")
	p.Sees("#outbox", "Not sent")
	offline(false)
	p.Comes("document.querySelector('#outbox').hidden")
	p.Sees(".entry.user", "kept")
}

// What is typed while a message is on its way is neither sent twice nor lost.
func TestComposer_typedMeanwhileIsTheNextMessage(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	l, p := w.Ledger(), g.NewTab(t)
	p.SignIn(g.WebCode())
	e2etest.Js[chromedp.Void](p, `(() => {
		const real = window.fetch, slow = new Promise((arrive) => { window.arrive = arrive; });
		window.fetch = async (url, options) => {
			if (options?.method === "POST") await slow;
			return real(url, options);
		};
	})()`)
	p.Send("the first")
	p.Comes("document.querySelector('#send').disabled")
	p.Do(e2etest.Command(input.InsertText, input.InsertTextParams{Text: "the second"}))
	e2etest.Js[chromedp.Void](p, "window.arrive()")
	p.Comes("!document.querySelector('#send').disabled")
	if got := e2etest.Js[string](p, "document.querySelector('#text').value"); got != "the second" {
		t.Errorf("the field has %q", got)
	}
	p.Open("/") // as a draft
	p.Comes("document.querySelector('#text').value === 'the second'")
	p.Click("#send")
	p.Comes("document.querySelector('#text').value === ''")
	l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, 2, g)
	if got := l.Lines(`SELECT body FROM messages WHERE role = 'user' ORDER BY id`); !slices.Equal(got,
		[]string{"the first", "the second"}) {
		t.Errorf("got %q", got)
	}
}

// A message that was stored although the browser saw an error, and was changed before it was
// sent again, is not lost.
func TestOffline_messageChangedAfterAnError(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	l, p := w.Ledger(), g.NewTab(t)
	p.SignIn(g.WebCode())
	e2etest.Js[chromedp.Void](p, `(() => {
		const real = window.fetch;
		window.fetch = async (url, options) => {
			const r = await real(url, options);
			if (options?.method !== "POST") return r;
			window.fetch = real;
			return new Response("", { status: 504 }); // of a proxy
		};
	})()`)
	p.Send("one")
	p.Sees("#unsent", "504")
	p.Send("one and two")
	p.Comes("document.querySelector('#text').value === ''")
	l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'one and two'`, 1, g)
	if n := l.Count(`SELECT COUNT(*) FROM messages WHERE body = 'one'`); n != 1 {
		t.Errorf("the first is stored %d times", n)
	}
}

// The first sign-in asks for the time zone, and stores the answer.
func TestSignIn_asksTheTimeZone(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Env = append(w.Env, "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris")
	g := w.Start()
	p := g.NewTab(t)
	p.Do(e2etest.Command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}))
	p.Open("/signin?code=" + g.WebCode())
	p.Sees(".sheet", "The link works once, until ")
	p.Sees("#clocks label:nth-of-type(1)", "– Asia/Tokyo")
	p.Sees("#clocks label:nth-of-type(2)", "– Europe/Paris")
	p.Click("#clocks label:nth-of-type(2)")
	p.Click("#signin button")
	p.Comes("document.querySelector('#write')")
	if got := w.Ledger().Lines(`SELECT settings FROM users WHERE id > 0`); !strings.Contains(got[0], "Europe/Paris") {
		t.Errorf("got %s", got)
	}
}
