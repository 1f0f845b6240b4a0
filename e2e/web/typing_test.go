//go:build e2e

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// types presses the keys of a text, one after the other, with whatever has the focus.
func (v *visitor) types(text string) {
	v.T.Helper()
	for _, letter := range text {
		v.stroke(strings.Replace(string(letter), "\n", "Enter", 1))
	}
}

// Typing writes a message, wherever the focus is: no letter asks the model, changes, copies or sends anything.
func TestTyping_onlyWrites(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v.Look(1280, "light", "en")
	v.Send("hi")
	v.Sees(answer, "echo: hi")
	v.Comes(gone(".writing"))
	e2etest.Js[chromedp.Void](v.Tab, "localStorage.clear()")
	const written = "document.querySelector('#text').value"
	for name, one := range map[string]struct{ path, first, text string }{
		"after loading":             {"/", "if (document.activeElement.id !== 'text') throw new Error('no focus')", "and what about Ana?"},
		"a word of many shortcuts":  {"/", "0", "hello"},
		"a question mark":           {"/", "0", "?"},
		"a slash":                   {"/", "0", "/today"},
		"brackets and what stops":   {"/", "0", "[x], c."},
		"Hebrew":                    {"/", "0", "שלום"},
		"with the focus nowhere":    {"/", "document.activeElement.blur()", "and what about Ana?"},
		"with a message focused":    {"/", "document.querySelector('.entry.agent').tabIndex = -1, document.querySelector('.entry.agent').focus()", "a reply"},
		"with an open menu":         {"/", "document.querySelector('.acts summary').click(), document.querySelector('.acts summary').focus()", "each"},
		"with a panel without text": {"/", "document.querySelector('.why').click()", "because"},
		"an earlier day":            {"/day/2020-02-02", "0", "recap"},
	} {
		t.Run(name, func(t *testing.T) {
			v.Tab.T = t
			defer func() { v.Tab.T = v.T }()
			v.Open(one.path)
			e2etest.Js[chromedp.Void](v.Tab, one.first)
			if strings.Contains(one.first, "why") {
				v.Comes("document.querySelector('.panel-here')")
			}
			v.types(one.text)
			v.Comes(written + " === " + e2etest.Quote(one.text))
			if v.Is("document.querySelector('#shortcuts').open || document.querySelector('.variants')") {
				t.Error("a letter did something else")
			}
			e2etest.Js[chromedp.Void](v.Tab, "localStorage.clear()")
		})
	}
	v.Tab.T = t
	v.Open("/")
	v.Press(own, "Edit")
	v.Comes("document.activeElement.matches('.panel-here textarea')")
	v.types(" and hello a?")
	v.Comes("document.querySelector('.panel-here textarea').value === 'hi and hello a?' && " + written + " === ''")
	if n := v.l.Lines(`SELECT COUNT(*) FROM turns`)[0]; n != "1" {
		t.Errorf("typing began %s turns", n)
	}
}

// A long paste arrives whole, is folded, and search leads to the place that it found.
func TestComposer_longPasteIsWhole(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v.Look(1280, "light", "en")
	pasted := func(n int) string {
		return strings.Repeat("word ", n/10) + "\n\nthe needle lies here\n\n" + strings.Repeat("word ", n/10) + "THE-END."
	}
	v.Fill("#text", pasted(200_000))
	v.Comes("!document.querySelector('#long').hidden && document.querySelector('#text').value.endsWith('THE-END.')")
	v.Click("#send")
	v.Sees(own, "long-text.txt")
	v.Sees(answer, "echo")
	v.Comes(gone(".writing"))
	href := e2etest.Js[string](v.Tab, "document.querySelector("+e2etest.Quote(own+" a.file")+").pathname")
	v.Comes("document.querySelector('#text').value === ''")
	if got := e2etest.Js[int](v.Tab, "fetch("+e2etest.Quote(href)+").then((r) => r.text()).then((x) => x.endsWith('THE-END.') ? x.length : 0)"); got != len(pasted(200_000)) {
		t.Errorf("%d characters of %d are saved", got, len(pasted(200_000)))
	}

	v.Send(pasted(30_000))
	v.Sees(answer, "left out")
	v.Comes(gone(".writing"))
	v.Sees(own+" .whole", "Show all")
	v.Comes("document.querySelector(" + e2etest.Quote(own) + ").offsetHeight < 600")
	v.Click(own + " .whole summary")
	v.Comes("document.querySelector(" + e2etest.Quote(own) + ").offsetHeight > 2000")
	v.Send("a small word below")
	v.Sees(answer, "a small word below")
	for range 3 { // on every visit
		for query, within := range map[string]string{"needle": "the needle lies here", "small": "a small word below"} {
			v.Open("/search?who=me&kind=message&q=" + query)
			v.Press(".hit", "Open")
			v.Comes("document.querySelector('.entry.found')")
			v.Comes(fmt.Sprintf(`((t) => { const p = [...document.querySelectorAll(".entry.found .prose > *, .entry.found .prose")]
				.filter((x) => x.innerText.trim().endsWith(t)).pop(); const b = p?.getBoundingClientRect();
				return b && b.top >= 0 && b.bottom <= innerHeight; })(%s)`, e2etest.Quote(within)))
		}
	}
}

// A field with a limit says so when more is typed or pasted, keeps all of it, and sends nothing.
func TestFields_keepWhatIsTooLong(t *testing.T) {
	v := newVisitor(t, "")
	for _, one := range []struct {
		path, field string
		most        int
	}{{"/search", "#q", 500}, {"/threads", "#title", 200}, {"/memory", "#wish", 1000}, {"/settings", "#name", 80},
		{"/settings/data", "#trace", 500}} {
		v.Open(one.path)
		v.Fill(one.field, strings.Repeat("é", one.most+7))
		v.keys("Enter")
		field := "document.querySelector(" + e2etest.Quote(one.field) + ")"
		v.Comes(fmt.Sprintf("%s.value.length === %d && %[1]s.validationMessage.includes('%[3]d')", field, one.most+7,
			one.most%1000+7))
		if v.Is("location.pathname !== " + e2etest.Quote(one.path)) {
			t.Errorf("%s of %s was sent", one.field, one.path)
		}
		v.Fill(one.field, "é")
		v.Comes(field + ".validationMessage === ''")
	}
}

// A message sent while an answer is written stays below it, also after a reload; a stopped answer says so; a notice of
// a failure stays with its question.
func TestMessages_stayInOrder(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_TURN_JOIN=0s", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s",
		"EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000")
	v.Look(1280, "light", "en")
	order := func(texts ...string) string { // the texts of entries, one after the other
		return `((want) => { const all = [...document.querySelectorAll("#entries > .entry")].map((x) => x.innerText);
			let at = -1; return want.every((t) => (at = all.findIndex((x, i) => i > at && x.includes(t))) >= 0); })(` +
			"[" + strings.Join(quoted(texts), ",") + "])"
	}
	v.Send("say 900 words")
	v.Comes("document.querySelector('.writing .prose')?.innerText.length > 40")
	v.Send("and then a second thing?")
	v.Comes("document.querySelector('#text').value === ''")
	const below = `((w, m) => w && m && !!(w.compareDocumentPosition(m) & Node.DOCUMENT_POSITION_FOLLOWING))(
		document.querySelector(".writing"), [...document.querySelectorAll(".entry.user")].pop())`
	v.Comes(says(".entry.user", "a second thing"))
	if !v.Is(below) {
		t.Errorf("the second message stands above the answer that is being written:\n%s", v.Shown())
	}
	v.Open("/")
	v.Comes("document.querySelector('.writing')")
	if !v.Is(below) {
		t.Errorf("after a reload, the second message stands above:\n%s", v.Shown())
	}
	v.Click("#status .stop-button")
	v.Sees(".unfinished", "Stopped.")
	v.Sees(answer, "echo: and then a second thing?")
	v.Comes(order("say 900 words", "Stopped.", "and then a second thing?", "echo: and then a second thing?"))

	v.Control("/__aimock/chaos", `{"dropRate": 1}`)
	v.Send("are you there?")
	v.Sees("#status", "Your last message was not answered")
	v.Comes(order("are you there?", "saved"))
	v.Send("and for a second time?")
	v.Comes(order("are you there?", "saved", "and for a second time?", "saved"))
	v.Control("/__aimock/chaos", "")
	v.Sees("#status", "Your last message was not answered")
	v.Press("#status", "Retry")
	v.Sees(answer, "for a second time?")
	v.Comes(order("are you there?", "saved", "and for a second time?", "echo: "))
	v.Open("/")
	v.Comes(order("are you there?", "saved", "and for a second time?", "echo: "))
}

func quoted(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, e2etest.Quote(text))
	}
	return out
}

// The list of commands closes when a command is sent; a picture in the composer is small and seen; the calendar knows
// the first message of a day; too many files are all kept until some are removed.
func TestComposer_showsWhatItHolds(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s")
	v.Look(1280, "light", "en")
	v.Press(".days", "Pick date")
	v.Sees(".calendar", "No messages in this month.")
	v.Press(".days", "Pick date")
	v.types("/usage")
	v.Sees("#suggest", "/usage")
	v.keys("Enter")
	v.Sees(".entry.command", "/usage")
	v.Comes("!document.querySelector('#suggest') && document.querySelector('#text').value === ''")
	v.Send("hi")
	v.Sees(answer, "echo: hi")
	v.Press(".days", "Pick date")
	v.Comes("document.querySelector('.calendar a.day-cell')")

	var paths []string
	for n := range 11 {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("sail-%d.png", n))
		e2etest.Must(t, os.WriteFile(path, aPicture(t), 0o600))
		paths = append(paths, path)
	}
	v.Do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), paths))
	v.Comes("document.querySelectorAll('.picked li').length === 11 && document.querySelector('.picked img').naturalWidth > 0")
	v.Sees("#unsent", "at most 10")
	v.Click("#send")
	v.Comes("document.querySelectorAll('.picked li').length === 11")
	v.Click(".picked li:last-child button")
	v.Comes("document.querySelector('#unsent').hidden")
	v.Click("#send")
	v.Comes("document.querySelectorAll('.entry.user .picture').length === 10 && document.querySelector('#picked').hidden")
}
