//go:build e2e

package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A phone opens the page at the newest message, or at the first unread one; earlier
// messages are loaded by scrolling up; no summary hides any.
func TestReading_resumesAtTheUnread(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		v := newVisitor(t, database(t), "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
		v.Open("/threads") // so that nothing counts as read
		v.Ask("/start " + v.g.Logged(`/start ([A-Z0-9]{10})`)[1])
		for n := range 30 {
			v.Ask(fmt.Sprintf("line %d of a long day", n))
		}
		v.Look(360, "light", "en")
		v.Open("/")
		v.Comes("document.querySelector('#entries').innerText.includes('line 29 of')")
		v.Comes("document.querySelectorAll('#entries > .entry').length >= 50")
		const atEnd = "document.documentElement.scrollHeight - innerHeight - scrollY < 20"
		v.Comes(atEnd)
		if !v.Is("!document.querySelector('.unread-mark')") {
			t.Error("whoever opens the page for the first time has unread messages")
		}
		v.chromeOfAPhone()
		before := e2etest.Js[int](v.Tab, "document.querySelectorAll('#entries > .entry').length")
		e2etest.Js[chromedp.Void](v.Tab, "scrollTo(0, 0)")
		v.Comes(fmt.Sprintf("document.querySelectorAll('#entries > .entry').length > %d", before))
		v.Comes("document.querySelector('#entries').innerText.includes('line 0 of')")

		v.Open("/threads")
		v.Ask("say 300 words") // asking marks what was shown before as read
		v.l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'running'`, 0, v.g)
		v.Open("/")
		v.Comes("(() => { const m = document.querySelector('.unread-mark'); return m && m.getBoundingClientRect().top >= 0 && " +
			"m.getBoundingClientRect().top < innerHeight })()")
		v.Comes("!document.querySelector('#to-newest').hidden")
		v.Click("#to-newest")
		v.Comes(atEnd)
		v.Comes("document.title.startsWith('Today') && document.querySelector('#to-newest').hidden")
		v.Open("/")
		v.Comes(atEnd)
		if !v.Is("!document.querySelector('.unread-mark')") {
			t.Error("what was read is unread")
		}
		v.counts()
		v.keepsADraft()
	})
}

// chromeOfAPhone checks that everything but the conversation takes less than a fifth of the screen.
func (v *visitor) chromeOfAPhone() {
	v.T.Helper()
	share := e2etest.Js[float64](v.Tab,
		"(document.querySelector('.top').offsetHeight + document.querySelector('#write').offsetHeight) / innerHeight")
	if share >= .2 {
		v.T.Errorf("the head of the page and the field take %.0f %% of a phone", 100*share)
	}
	if !v.Is("[...document.querySelectorAll('.entry.said .when')].every((x) => getComputedStyle(x).display !== 'none')") {
		v.T.Error("a phone shows no times")
	}
}

// counts checks that the title counts messages that arrive while the page is hidden.
func (v *visitor) counts() {
	v.T.Helper()
	e2etest.Js[chromedp.Void](v.Tab, "document.hasFocus = () => false")
	v.Ask("and this?")
	v.Comes("document.title.startsWith('(1) Today')")
	e2etest.Js[chromedp.Void](v.Tab, "document.hasFocus = () => true; dispatchEvent(new Event('focus'))")
	v.Comes("document.title.startsWith('Today')")
}

// keepsADraft checks that a draft is in another tab, and gone after signing out.
func (v *visitor) keepsADraft() {
	v.T.Helper()
	v.Fill("#text", "not finished yet")
	other := v.Another()
	other.Open("/")
	other.Comes("document.querySelector('#text').value === 'not finished yet'")
	v.Click(".account summary")
	v.Press(".account .pop", "Sign out")
	v.Sees("main", "You are signed out")
	if kept := e2etest.Js[string](v.Tab, "Object.keys(localStorage).join(' ')"); strings.Contains(kept, "draft:") ||
		strings.Contains(kept, "read:") {
		v.T.Errorf("after signing out this browser keeps %s", kept)
	}
}
