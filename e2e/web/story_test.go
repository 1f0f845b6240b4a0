//go:build e2e

package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// visitor is a person with a browser; the test sets the browser's clock.
type visitor struct {
	*e2etest.Week
	g *e2etest.Gateway
	*e2etest.Tab
	l *e2etest.Ledger
}

// newVisitor starts a gateway for the first time, with a slow model, and opens the page
// with the link in its log.
func newVisitor(t *testing.T, database string, env ...string) *visitor {
	t.Helper()
	w := e2etest.NewClock(t, database)
	w.UseModel(e2etest.StartModel(t, 20*time.Millisecond))
	w.Env = append(w.Env, append([]string{"EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s",
		"EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_ALLOW_PRIVATE_URLS=true"}, env...)...)
	v := &visitor{Week: w, g: w.Start(), l: w.Ledger()}
	v.Tab = v.g.NewTab(t)
	v.SignIn(v.g.WebCode())
	return v
}

// The story of the web page from end to end: from the link in the log to the next day.
func TestWeb_story(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		v := newVisitor(t, database(t))
		v.linkWorksOnce()
		v.answerGrows()
		v.sameThreadEverywhere()
		v.fileIsSeen()
		v.whyIsShown()
		v.remembers()
		v.stopsAndRetries()
		v.twoTabs()
		v.nextDay()
		v.searches()
		v.embeds()
		v.letsIn()
		v.signsOut()
	})
}

// linkWorksOnce checks that a second browser cannot use the same link.
func (v *visitor) linkWorksOnce() {
	v.T.Helper()
	p := v.g.NewTab(v.T).Allow("403")
	p.Open("/signin?code=" + v.g.WebCode())
	p.Press("main", "Sign in")
	p.Sees("main", "This link has already been used")
	p.Allow("401").Open("/")
	p.Sees("main", "There is no password")
}

// growth records the number of visible words of the answer at each change.
const growth = `window.grown = []; new MutationObserver(() => {
	const n = document.querySelector('.writing .prose')?.innerText.split(/\s+/).length;
	if (n && n !== grown.at(-1)) grown.push(n);
}).observe(document.body, {subtree: true, childList: true, characterData: true})`

// answerGrows checks that an answer appears word by word.
func (v *visitor) answerGrows() {
	v.T.Helper()
	e2etest.Js[chromedp.Void](v.Tab, growth)
	v.Send("say 90 words about the harbour")
	v.Sees(".entry.user .prose", "say 90 words about the harbour")
	v.Send("say 90 words")
	v.Sees(".entry.agent:not(.writing) .prose", "word90")
	steps := e2etest.Js[[]int](v.Tab, "grown")
	if len(steps) < 5 || steps[0] > 60 {
		v.T.Errorf("the answer grew in steps of %v words", steps)
	}
	if !v.Is("document.querySelector('#text').value === ''") {
		v.T.Error("what was sent still stands in the field")
	}
}

// sameThreadEverywhere checks that the terminal, Telegram and the open page share the thread.
func (v *visitor) sameThreadEverywhere() {
	v.T.Helper()
	if got := v.MustRun("search", "--json", "harbour"); !strings.Contains(got, "about the harbour") {
		v.T.Errorf("the terminal finds %s", got)
	}
	cmd := exec.CommandContext(v.T.Context(), e2etest.Program, "chat")
	cmd.Dir, cmd.Env = v.Dir, append([]string{"HOME=" + v.Dir}, v.Env...)
	cmd.Stdin = strings.NewReader("said in the terminal\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "echo: said in the terminal") {
		v.T.Errorf("the terminal: %v %s", err, out)
	}
	v.Sees(".entry.user", "said in the terminal")
	v.Sees(".entry.user .badge", "Terminal")
	v.Sees(".entry.agent", "echo: said in the terminal")
	v.Ask("/start " + v.g.Logged(`/start ([A-Z0-9]{10})`)[1])
	if got := v.Ask("hello from my phone, Groix is lovely").Text; !strings.HasPrefix(got, "echo: hello from my phone") {
		v.T.Errorf("Telegram: %q", got)
	}
	v.Sees(".entry.user", "hello from my phone")
	v.Sees(".entry.user .badge", "Telegram")
}

// fileIsSeen sends a picture with the form, and checks that the timeline shows it.
func (v *visitor) fileIsSeen() {
	v.T.Helper()
	path := filepath.Join(v.T.TempDir(), "sail.png")
	e2etest.Must(v.T, os.WriteFile(path, aPicture(v.T), 0o600))
	v.Do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
	v.Sees("#picked", "sail.png")
	v.Send("what is on this picture?")
	v.Comes("[...document.querySelectorAll('.entry .picture img')].some((x) => x.complete && x.naturalWidth > 0)")
	v.Sees(".entry.agent", "echo: what is on this picture?")
}

// whyIsShown opens the prompt of an answer in place.
func (v *visitor) whyIsShown() {
	v.T.Helper()
	e2etest.Js[chromedp.Void](v.Tab, entryChangesMeanwhile)
	v.Press("#entries > .entry.agent:nth-last-child(1 of .agent)", "Why did it say that?")
	v.Sees(".panel-here", "This is everything the model was shown")
	v.Press(".panel-here", "The exact prompt")
	v.Sees(".panel-here pre", "what is on this picture?")
	if total := v.Text(".panel-here tfoot .n"); len(total) < 3 {
		v.T.Errorf("the prompt took %q tokens", total)
	}
	v.Press(".panel-here", "‹ Close")
	v.Comes("!document.querySelector('.panel-here')")
}

// entryChangesMeanwhile renders the entry of a panel again once before the panel appears,
// as when a summary covers its message at that moment.
const entryChangesMeanwhile = `{ const real = window.fetch; window.fetch = async (...a) => {
	window.fetch = real;
	const r = await real(...a);
	for (const e of document.querySelectorAll("#entries > .entry.agent")) e.replaceWith(e.cloneNode(true));
	return r;
} }`

// remembers turns a message into a memory item in place.
func (v *visitor) remembers() {
	v.T.Helper()
	const entry = ".entry.user[data-remember]"
	e2etest.Js[chromedp.Void](v.Tab,
		"[...document.querySelectorAll('.entry.user')].find((x) => x.innerText.includes('Groix')).setAttribute('data-remember', '')")
	v.Click(entry + " .acts > summary")
	v.Press(entry, "Remember this")
	v.Fill(entry+" .panel-here textarea", "They love Groix.")
	v.Press(entry+" .panel-here", "Remember")
	v.Sees("#toast", "Remembered.")
	if n := v.l.Count(`SELECT COUNT(*) FROM items WHERE content = 'They love Groix.' AND status = 'active'`); n != 1 {
		v.T.Errorf("%d items are stored", n)
	}
}

// stopsAndRetries stops an answer while it is written, and retries a failed one.
func (v *visitor) stopsAndRetries() {
	v.T.Helper()
	v.Send("say 500 words")
	v.Sees(".writing .prose", "word20")
	v.Press("#status", "Stop")
	v.Comes("!document.querySelector('.writing') && !document.querySelector('#status .stop')")
	v.l.Quiet(e2etest.Patience, v.g.Log)
	if v.Is("document.body.innerText.includes('word500')") {
		v.T.Error("it was not stopped")
	}
	v.Control("/__aimock/chaos", `{"dropRate": 1}`)
	v.Send("are you there?")
	v.Sees("#status", "Your last message was not answered.")
	v.Control("/__aimock/chaos", "")
	v.Press("#status", "Retry")
	v.Sees(".entry.agent", "echo: are you there?")
	v.Comes("!document.querySelector('#status button')")
}

// twoTabs checks that messages sent from two tabs at once appear in both, once, in the same order.
func (v *visitor) twoTabs() {
	v.T.Helper()
	p := v.Another()
	p.Open("/")
	v.Fill("#text", "from the first tab")
	p.Fill("#text", "from the second tab")
	e2etest.Js[chromedp.Void](v.Tab, "document.querySelector('#send').click()")
	e2etest.Js[chromedp.Void](p, "document.querySelector('#send').click()")
	v.l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE 'from the % tab'`, 2, v.g)
	v.l.Quiet(e2etest.Patience, v.g.Log)
	const order = "[...document.querySelectorAll('#entries .entry')].map((x) => x.id + ' ' + x.dataset.who).join()"
	const both = "['from the first tab', 'from the second tab'].every((s) => [...document.querySelectorAll('.entry.user')].filter((x) => x.innerText.includes(s)).length === 1) && [...document.querySelectorAll('.entry.agent:not(.writing)')].at(-1).innerText.includes('from the')"
	v.Comes(both)
	p.Comes(both)
	third := v.Another()
	third.Open("/")
	fresh := e2etest.Js[string](third, order)
	p.Comes(order + " === " + e2etest.Quote(fresh))
	v.Comes("(" + order + ").endsWith(" + e2etest.Quote(fresh) + ")")
}

// nextDay checks that the next morning shows yesterday with its summary.
func (v *visitor) nextDay() {
	v.T.Helper()
	v.Set(v.At.Add(20 * time.Hour))
	v.Comes("document.querySelector('.day-title')")
	v.l.Until(`SELECT COUNT(*) FROM segments WHERE state = 'final' AND version > 0`, 1, v.g)
	v.Open("/")
	v.Sees(".timeline", "Nothing said yet today")
	v.Press(".segments", "Yesterday")
	v.Sees(".summary", "Summary · Yesterday")
	v.Sees(".summary .prose", "say 90 words about the harbour")
	v.Sees("#entries .entry.user", "hello from my phone")
}

// searches checks that a search result opens at its message.
func (v *visitor) searches() {
	v.T.Helper()
	v.Open("/")
	v.Fill("#q", "lovely Groix")
	v.Press(".search", "Go")
	v.Sees(".hit mark", "Groix")
	e2etest.Js[chromedp.Void](v.Tab,
		"[...document.querySelectorAll('.hit')].find((x) => x.innerText.includes('hello from my phone')).querySelector('a.button').setAttribute('data-hit', '')")
	v.Click("[data-hit]")
	v.Sees(".entry.found", "hello from my phone")
	v.Comes("(b => b.top >= 0 && b.bottom <= innerHeight)(document.querySelector('.entry.found').getBoundingClientRect())")
}

// embeds tries an embedding endpoint, and saves it once the page has shown how much it will embed.
func (v *visitor) embeds() {
	v.T.Helper()
	v.Allow("422").Open("/settings/embeddings")
	v.Fill("#model", "emulated-embeddings")
	v.Fill("#base_url", "http://127.0.0.1:1/v1")
	v.Fill("#dimensions", "256")
	v.Press("#embeddings", "Test endpoint")
	v.Sees("#embeddings .note.bad", "It could not be reached")
	v.Fill("#base_url", v.Model+"/v1")
	v.Press("#embeddings", "Test endpoint")
	v.Sees("#embeddings .note.good", "It works: vectors of 256 dimensions")
	v.Press("#embeddings", "Save")
	v.Sees("#embeddings .ask", "embedded again with this model")
	if n := v.l.Count(`SELECT COUNT(*) FROM users WHERE settings LIKE '%emulated-embeddings%'`); n != 0 {
		v.T.Error("it was saved before it was confirmed")
	}
	v.Press("#embeddings .ask", "Save and embed again")
	v.Sees("#toast", "embedded again")
	v.l.Until(
		`SELECT CASE WHEN COUNT(*) > 1 AND SUM(CASE WHEN state = 'ready' THEN 0 ELSE 1 END) = 0 THEN 1 ELSE 0 END FROM embeddings`, 1, v.g)
	v.Open("/search?q=lovely+Groix&scope=all")
	v.Sees("main", "by words and by meaning")
}

// letsIn approves a stranger from Telegram on the page, and checks that they are answered.
func (v *visitor) letsIn() {
	v.T.Helper()
	m := e2etest.Written(e2etest.Bob, 9001, "May I come in?")
	m["date"], m["from"] = v.Now().Unix(), map[string]any{"id": e2etest.Bob, "is_bot": false, "first_name": "Bob",
		"language_code": "en"}
	v.Telegram.Offer(map[string]any{"message": m})
	asked := v.Town.Sent(e2etest.Bob, 1)[0].Text
	v.Open("/admin") // where what needs attention is first
	v.Sees(".request", "Bob")
	if code := v.Text(".request .big-code"); !strings.Contains(asked, code) {
		v.T.Errorf("Bob was shown %q, the page shows %s", asked, code)
	}
	v.Press(".request", "Let in")
	v.Sees("#requests", "Nobody is waiting for approval.")
	all := v.Town.Sent(e2etest.Bob, 2)
	if last := all[len(all)-1].Text; !strings.Contains(last, "echo: May I come in?") {
		v.T.Errorf("Bob got %q", last)
	}
	v.Open("/admin/users")
	v.Sees("#users", "Bob")
}

// signsOut signs out everywhere, and checks that other browsers notice immediately.
func (v *visitor) signsOut() {
	v.T.Helper()
	phone := v.g.NewTab(v.T).Allow("401")
	phone.SignIn(v.WebLink())
	v.Allow("401").Open("/settings/sessions")
	v.Sees("#sessions", "this one")
	v.Press("#sessions", "Sign out everywhere…")
	v.Press("#sessions .sure-form", "Sign out everywhere")
	v.Sees("main", "You are signed out")
	phone.Sees("#toast", "You are signed out")
	phone.Open("/")
	phone.Sees("main", "There is no password")
	if n := v.l.Count(`SELECT COUNT(*) FROM sessions`); n != 0 {
		v.T.Errorf("%d sessions are left", n)
	}
}

// aPicture returns a PNG with the resolution of a phone's screen.
func aPicture(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 1280, 720))
	for x := range 1280 {
		for y := range 720 {
			img.Set(x, y, color.RGBA{uint8(40 + x/16), uint8(90 + y/8), 160, 255})
		}
	}
	var b bytes.Buffer
	e2etest.Must(t, png.Encode(&b, img))
	return b.Bytes()
}
