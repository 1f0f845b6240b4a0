//go:build e2e

package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// visitor is somebody with a browser, whose clock the test moves.
type visitor struct {
	*week
	g *gateway
	*tab
	l *ledger
}

// newVisitor starts a gateway for the first time, with a model that takes its
// time, and opens the page by the link of its log.
func newVisitor(t *testing.T, database string, env ...string) *visitor {
	t.Helper()
	w := newClock(t, database)
	w.useModel(startModel(t, 20*time.Millisecond))
	w.env = append(w.env, append([]string{"EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s", "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_ALLOW_PRIVATE_URLS=true"}, env...)...)
	v := &visitor{week: w, g: w.start(), l: w.ledger()}
	v.tab = v.g.newTab(t)
	v.signIn(v.g.webCode())
	return v
}

// The story of the web page, whole: from the link in the log to the next day.
func TestAPersonSeesAndSteersTheConversationOnThePage(t *testing.T) {
	engines(t, func(t *testing.T, database func(*testing.T) string) {
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

// linkWorksOnce: a second browser gets nothing for the same link.
func (v *visitor) linkWorksOnce() {
	v.t.Helper()
	p := v.g.newTab(v.t).allow("403")
	p.open("/signin?code=" + v.g.webCode())
	p.press("main", "Sign in")
	p.sees("main", "This link was used already")
	p.allow("401").open("/")
	p.sees("main", "There is no password")
}

// growth notes how many words of the answer were seen, each time it changed.
const growth = `window.grown = []; new MutationObserver(() => {
	const n = document.querySelector('.writing .prose')?.innerText.split(/\s+/).length;
	if (n && n !== grown.at(-1)) grown.push(n);
}).observe(document.body, {subtree: true, childList: true, characterData: true})`

// answerGrows: an answer is seen word by word before it is whole.
func (v *visitor) answerGrows() {
	v.t.Helper()
	js[chromedp.Void](v.tab, growth)
	v.send("say 90 words about the harbour")
	v.sees(".entry.user .prose", "say 90 words about the harbour")
	v.send("say 90 words")
	v.sees(".entry.agent:not(.writing) .prose", "word90")
	steps := js[[]int](v.tab, "grown")
	if len(steps) < 5 || steps[0] > 60 {
		v.t.Errorf("the answer grew in steps of %v words", steps)
	}
	if !v.is("document.querySelector('#text').value === ''") {
		v.t.Error("what was sent still stands in the field")
	}
}

// sameThreadEverywhere: the terminal and Telegram, and the page that is open.
func (v *visitor) sameThreadEverywhere() {
	v.t.Helper()
	if got := v.mustRun("search", "--json", "harbour"); !strings.Contains(got, "about the harbour") {
		v.t.Errorf("the terminal finds %s", got)
	}
	cmd := exec.CommandContext(v.t.Context(), program, "chat")
	cmd.Dir, cmd.Env = v.dir, append([]string{"HOME=" + v.dir}, v.env...)
	cmd.Stdin = strings.NewReader("said in the terminal\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "echo: said in the terminal") {
		v.t.Errorf("the terminal: %v %s", err, out)
	}
	v.sees(".entry.user", "said in the terminal")
	v.sees(".entry.user .badge", "Terminal")
	v.sees(".entry.agent", "echo: said in the terminal")
	v.ask("/start " + v.g.logged(`/start ([A-Z0-9]{10})`)[1])
	if got := v.ask("hello from my phone, Groix is lovely").Text; !strings.HasPrefix(got, "echo: hello from my phone") {
		v.t.Errorf("Telegram: %q", got)
	}
	v.sees(".entry.user", "hello from my phone")
	v.sees(".entry.user .badge", "Telegram")
}

// fileIsSeen: a picture is sent with the form and shown in the timeline.
func (v *visitor) fileIsSeen() {
	v.t.Helper()
	path := filepath.Join(v.t.TempDir(), "sail.png")
	must(v.t, os.WriteFile(path, aPicture(v.t), 0o600))
	v.do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
	v.sees("#picked", "sail.png")
	v.send("what is on this picture?")
	v.comes("[...document.querySelectorAll('.entry .picture img')].some((x) => x.complete && x.naturalWidth > 0)")
	v.sees(".entry.agent", "echo: what is on this picture?")
}

// whyIsShown: what the model was shown, in place.
func (v *visitor) whyIsShown() {
	v.t.Helper()
	v.press("#entries > .entry.agent:nth-last-child(1 of .agent)", "Why did it say that?")
	v.sees(".panel-here", "This is all that the model was shown")
	v.press(".panel-here", "The exact prompt")
	v.sees(".panel-here pre", "what is on this picture?")
	if total := v.text(".panel-here tfoot .n"); len(total) < 3 {
		v.t.Errorf("the prompt took %q tokens", total)
	}
	v.press(".panel-here", "‹ Close")
	v.comes("!document.querySelector('.panel-here')")
}

// remembers: a message becomes an item of memory, in place.
func (v *visitor) remembers() {
	v.t.Helper()
	const entry = ".entry.user[data-remember]"
	js[chromedp.Void](v.tab, "[...document.querySelectorAll('.entry.user')].find((x) => x.innerText.includes('Groix')).setAttribute('data-remember', '')")
	v.click(entry + " .acts > summary")
	v.press(entry, "Remember this")
	v.fill(entry+" .panel-here textarea", "They love Groix.")
	v.press(entry+" .panel-here", "Remember")
	v.sees("#toast", "Remembered.")
	if n := v.l.count(`SELECT COUNT(*) FROM items WHERE content = 'They love Groix.' AND status = 'active'`); n != 1 {
		v.t.Errorf("%d items are stored", n)
	}
}

// stopsAndRetries: an answer is stopped while it is written; one that failed is
// tried again.
func (v *visitor) stopsAndRetries() {
	v.t.Helper()
	v.send("say 500 words")
	v.sees(".writing .prose", "word20")
	v.press("#status", "Stop")
	v.comes("!document.querySelector('.writing') && !document.querySelector('#status .stop')")
	v.l.quiet(patience, v.g.log)
	if v.is("document.body.innerText.includes('word500')") {
		v.t.Error("it was not stopped")
	}
	v.control("/__aimock/chaos", `{"dropRate": 1}`)
	v.send("are you there?")
	v.sees("#status", "No answer came to your last message.")
	v.control("/__aimock/chaos", "")
	v.press("#status", "Retry")
	v.sees(".entry.agent", "echo: are you there?")
	v.comes("!document.querySelector('#status button')")
}

// control tells the model emulator something: with a body by POST, else DELETE.
func (w *town) control(path, body string) {
	w.t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodDelete
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.model+path, strings.NewReader(body))
	must(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	must(w.t, err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		w.t.Fatalf("%s answers %s", path, resp.Status)
	}
}

// twoTabs: two tabs send at once; both show both, once, in the same order.
func (v *visitor) twoTabs() {
	v.t.Helper()
	p := v.another()
	p.open("/")
	v.fill("#text", "from the first tab")
	p.fill("#text", "from the second tab")
	js[chromedp.Void](v.tab, "document.querySelector('#send').click()")
	js[chromedp.Void](p, "document.querySelector('#send').click()")
	v.l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE 'from the % tab'`, 2, v.g)
	v.l.quiet(patience, v.g.log)
	const order = "[...document.querySelectorAll('#entries .entry')].map((x) => x.id + ' ' + x.dataset.who).join()"
	const both = "['from the first tab', 'from the second tab'].every((s) => [...document.querySelectorAll('.entry.user')].filter((x) => x.innerText.includes(s)).length === 1) && [...document.querySelectorAll('.entry.agent:not(.writing)')].at(-1).innerText.includes('from the')"
	v.comes(both)
	p.comes(both)
	third := v.another()
	third.open("/")
	fresh := js[string](third, order)
	p.comes(order + " === " + quote(fresh))
	v.comes("(" + order + ").endsWith(" + quote(fresh) + ")")
}

// nextDay: the next morning there is yesterday, with its summary.
func (v *visitor) nextDay() {
	v.t.Helper()
	v.set(v.at.Add(20 * time.Hour))
	v.comes("document.querySelector('.day-title')")
	v.l.until(`SELECT COUNT(*) FROM segments WHERE state = 'final' AND version > 0`, 1, v.g)
	v.open("/")
	v.sees(".timeline", "Nothing said yet today")
	v.press(".segments", "Yesterday")
	v.sees(".summary", "Day Summary (Yesterday)")
	v.sees(".summary .prose", "say 90 words about the harbour")
	v.press("#older", "Older messages folded")
	v.sees("#older .entry.user", "hello from my phone")
}

// searches: a search is opened at the very message.
func (v *visitor) searches() {
	v.t.Helper()
	v.open("/")
	v.fill("#q", "lovely Groix")
	js[chromedp.Void](v.tab, "document.querySelector('.scope select').value = 'all'")
	v.press(".search", "Go")
	v.sees(".hit mark", "Groix")
	js[chromedp.Void](v.tab, "[...document.querySelectorAll('.hit')].find((x) => x.innerText.includes('hello from my phone')).querySelector('a.button').setAttribute('data-hit', '')")
	v.click("[data-hit]")
	v.sees(".entry.found", "hello from my phone")
	v.comes("(b => b.top >= 0 && b.bottom <= innerHeight)(document.querySelector('.entry.found').getBoundingClientRect())")
}

// embeds: an embedding endpoint is tried, and taken once the person knows how much
// it will embed.
func (v *visitor) embeds() {
	v.t.Helper()
	v.allow("422").open("/settings")
	v.fill("#model", "emulated-embeddings")
	v.fill("#base_url", "http://127.0.0.1:1/v1")
	v.fill("#dimensions", "256")
	v.press("#embeddings", "Test endpoint")
	v.sees("#embeddings .note.bad", "It could not be reached")
	v.fill("#base_url", v.model+"/v1")
	v.press("#embeddings", "Test endpoint")
	v.sees("#embeddings .note.good", "It works: vectors of 256 dimensions")
	v.press("#embeddings", "Save")
	v.sees("#embeddings .ask", "embedded again with this model")
	if n := v.l.count(`SELECT COUNT(*) FROM users WHERE settings LIKE '%emulated-embeddings%'`); n != 0 {
		v.t.Error("it was saved before it was confirmed")
	}
	v.press("#embeddings .ask", "Save and embed again")
	v.sees("#toast", "embedded again")
	v.l.until(`SELECT CASE WHEN COUNT(*) > 1 AND SUM(CASE WHEN state = 'ready' THEN 0 ELSE 1 END) = 0 THEN 1 ELSE 0 END FROM embeddings`, 1, v.g)
	v.open("/search?q=lovely+Groix&scope=all")
	v.sees("main", "by words and by meaning")
}

// letsIn: somebody who wrote on Telegram is let in on the page, and answered.
func (v *visitor) letsIn() {
	v.t.Helper()
	m := written(bob, 9001, "May I come in?")
	m["date"], m["from"] = v.now().Unix(), map[string]any{"id": bob, "is_bot": false, "first_name": "Bob", "language_code": "en"}
	v.telegram.Offer(map[string]any{"message": m})
	asked := v.town.sent(bob, 1)[0].Text
	v.open("/admin")
	v.sees(".request", "Bob")
	if code := v.text(".request .big-code"); !strings.Contains(asked, code) {
		v.t.Errorf("Bob was shown %q, the page shows %s", asked, code)
	}
	v.press(".request", "Let in")
	v.sees("#requests", "Nobody asks to be let in.")
	all := v.town.sent(bob, 2)
	if last := all[len(all)-1].Text; !strings.Contains(last, "echo: May I come in?") {
		v.t.Errorf("Bob got %q", last)
	}
	v.sees("#users", "Bob")
}

// signsOut: everywhere, and other browsers notice at once.
func (v *visitor) signsOut() {
	v.t.Helper()
	phone := v.g.newTab(v.t).allow("401")
	phone.signIn(v.webLink())
	v.allow("401").open("/settings")
	v.sees("#sessions", "this one")
	v.press("#sessions", "Sign out everywhere…")
	v.press("#sessions .sure-form", "Sign out everywhere")
	v.sees("main", "You are signed out")
	phone.sees("#toast", "You are signed out")
	phone.open("/")
	phone.sees("main", "There is no password")
	if n := v.l.count(`SELECT COUNT(*) FROM sessions`); n != 0 {
		v.t.Errorf("%d sessions are left", n)
	}
}

// aPicture is a PNG of a few pixels.
func aPicture(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 320, 180))
	for x := range 320 {
		for y := range 180 {
			img.Set(x, y, color.RGBA{uint8(40 + x/4), uint8(90 + y/2), 160, 255})
		}
	}
	var b bytes.Buffer
	must(t, png.Encode(&b, img))
	return b.Bytes()
}
