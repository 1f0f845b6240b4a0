//go:build e2e

package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A voice note is recorded in the composer, transcribed, answered, also by voice, and
// played; the answer is read out in its language. A discarded recording is not sent.
func TestVoice_onThePage(t *testing.T) {
	t.Parallel()
	scribe := e2etest.NewScribe(t)
	scribe.Words = "bring the red umbrella"
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 0))
	w.HearsWith(scribe)
	w.SpeaksWith(scribe)
	g := w.Start("EVERTHREAD_ALLOW_PRIVATE_URLS=true")
	l, p := w.Ledger(), g.NewTab(t)
	p.SignIn(g.WebCode())

	p.Click("#record")
	p.Sees("#recording", "Recording")
	p.Sees("#recorded", "0:01")
	p.Click("#record-discard")
	p.Comes("document.querySelector('#recording').hidden && document.activeElement.id === 'record'")
	p.Click("#record")
	p.Sees("#recorded", "0:02")
	p.Click("#record-stop")
	p.Comes("document.activeElement.id === 'record-send'")
	lasted := strings.TrimSpace(p.Text("#recorded"))
	time.Sleep(1200 * time.Millisecond) // the recording has stopped
	p.Sees("#recorded", lasted)
	p.Click("#record-send")
	p.Sees(".entry.user", "bring the red umbrella")
	p.Sees(".entry.agent", "bring the red umbrella")
	if got := l.Lines(`SELECT body FROM messages WHERE role = 'user'`); len(got) != 1 ||
		got[0] != "[voice "+lasted+": bring the red umbrella]" || scribe.Bytes < 1000 {
		t.Errorf("got %q of %d bytes", got, scribe.Bytes)
	}
	p.Comes("document.querySelector('.entry.user audio')")
	if got := e2etest.Js[string](p, `(async () => {
		const r = await fetch(document.querySelector('.entry.user audio').src, {headers: {Range: 'bytes=4-7'}});
		return r.status + ' ' + r.headers.get('Content-Type') + ' ' + (await r.arrayBuffer()).byteLength;
	})()`); got != "206 audio/webm 4" {
		t.Errorf("got part %s", got)
	}
	p.Comes("document.querySelector('.entry.agent audio')") // including the spoken answer
	for _, who := range []string{"user", "agent"} {
		if !e2etest.Js[bool](p, `new Promise((done) => { const a = document.querySelector('.entry.`+who+` audio');
			a.oncanplay = () => done(true); a.onerror = () => done(false); a.preload = 'auto'; a.load(); })`) {
			t.Errorf("what the %s said cannot be played", who)
		}
	}
	if got := e2etest.Js[float64](p, `document.querySelector('.entry.agent audio').duration`); got < 2.2 || got > 2.5 {
		t.Errorf("the answer takes %f s", got)
	}

	p.Send("le chat est dans la maison avec une souris")
	p.Sees(".entry.agent", "le chat est dans la maison")
	e2etest.Js[chromedp.Void](p, `window.said = []; speechSynthesis.speak = (u) => said.push(u.lang + ': ' + u.text)`)
	p.Click(".entries .entry.agent:last-child .acts summary")
	p.Press(".entries .entry.agent:last-child .acts", "Listen")
	p.Comes("window.said.length > 0")
	if got := e2etest.Js[string](p, "said.join('|')"); !strings.HasPrefix(got, "fr") ||
		!strings.Contains(got, "le chat est") {
		t.Errorf("it says %q", got)
	}
	p.Press(".entries .entry.agent:last-child .acts", "Stop reading")
	p.Sees(".entries .entry.agent:last-child .acts", "Listen")
}
