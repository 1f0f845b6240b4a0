//go:build e2e

package web

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// person is a visitor whose actions are counted: a click or tap, a key, or a text that is
// written and sent.
type person struct {
	*visitor
	actions int
}

func (p *person) clicks(within, words string) {
	p.T.Helper()
	p.actions++
	p.Press(within, words)
}

func (p *person) taps(selector string) {
	p.T.Helper()
	p.actions++
	p.Click(selector)
}

// writes fills a field and submits it with a button, or with Enter if button is empty.
func (p *person) writes(field, text, button string) {
	p.T.Helper()
	p.actions++
	p.Fill(field, text)
	if button == "" {
		p.keys("Enter")
		return
	}
	p.Click(button)
}

// tasks are the tasks of docs/ten-tasks.md, by name.
var tasks = map[string]func(p *person){
	"find an address of yesterday": func(p *person) {
		p.actions++
		p.stroke("Alt+/")
		p.Comes("document.activeElement.id === 'q'")
		p.writes("#q", "address", "")
		p.Sees(".hit mark", "address")
		p.clicks(".hit:has(.hit-head > span)", "Open") // the message; a summary has no channel
		p.Sees(".entry.found", "12 Rue des Lilas")
	},
	"copy a code block": func(p *person) {
		e2etest.Js[chromedp.Void](p.Tab,
			"Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (x) => { window.copied = x; }}})")
		p.taps(".entry.agent .copy-code")
		p.Comes(`window.copied === "x := 1 // one"`)
	},
	"correct a memory": func(p *person) {
		p.clicks(".top", "Memory")
		p.clicks(".item", "Edit")
		p.writes(".item .edit textarea", "My sister Ana is allergic to almonds", ".item .edit .button.primary")
		p.Sees(".item .statement", "allergic to almonds")
	},
	"see what is promised": func(p *person) {
		p.onAPhone()
		p.taps("#promises > summary")
		p.Sees("#promises .promised", "water the plants")
	},
	"answer from a phone": func(p *person) {
		p.onAPhone()
		p.taps(answer + " .prose > :last-child")
		p.clicks(answer, "Reply")
		p.writes("#text", "and the second?", "#send")
		p.Sees(".entry.user .quoted", "echo: ")
		p.Sees(answer, "and the second?")
	},
	"undo a send": func(p *person) {
		p.taps(own + " .acts summary")
		p.clicks(own+" .acts", "Undo sending")
		p.clicks(".panel-here", "Forget both")
		p.Comes("![...document.querySelectorAll('.entry.user .prose')].some((x) => x.innerText.includes('and the second?'))")
		p.Sees(answer, "This message was deleted.")
		if p.Is("document.querySelector(" + e2etest.Quote(answer+" .why") + ")") {
			p.T.Error("an answer that is deleted still says why")
		}
	},
	"jump to a date": func(p *person) {
		p.clicks(".days", "Pick date")
		p.taps("a.day-cell:not([aria-current])")
		p.Sees("#entries", "12 Rue des Lilas")
	},
	"filter by person": func(p *person) {
		p.Open("/search?q=address")
		p.clicks(".searching", "Filters")
		p.actions++ // a choice in a list
		p.Comes("(document.querySelector('#f-who').value = 'me') === 'me'")
		p.clicks(".searching", "Go")
		p.Sees("main h2", "1 result")
		p.Sees(".hit-head", "You")
	},
	"read why it said that": func(p *person) {
		p.Send("tell me more")
		p.Sees(answer, "tell me more")
		p.clicks(answer, "Why did it say that?")
		p.Sees(".panel-here", "Parts of the prompt")
	},
	"take everything along": func(p *person) {
		p.clicks(".top", "Settings")
		p.clicks("#profile", "Download")
		p.Sees("main", "everything you've said in one file")
		folder := p.T.TempDir()
		p.Do(e2etest.Command(browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior:         browser.SetDownloadBehaviorBehaviorAllow,
			BrowserContextID: chromedp.FromContext(p.Ctx).BrowserContextID, DownloadPath: folder}))
		p.clicks("main", "Yes")
		p.gets(filepath.Join(folder, "everthread-*.zip"))
	},
}

// gets waits for a file that the browser saves.
func (p *person) gets(name string) {
	p.T.Helper()
	for deadline := time.Now().Add(e2etest.Patience); ; time.Sleep(20 * time.Millisecond) { // another process saves it
		if all, _ := filepath.Glob(name); len(all) > 0 {
			return
		}
		if time.Now().After(deadline) {
			p.T.Fatalf("there is no %s:\n%s", name, p.Shown())
		}
	}
}

func (p *person) onAPhone() {
	p.Look(360, "light", "en")
	p.touches(true)
	p.Open("/")
}

// touches makes the screen one that is touched, or not.
func (v *visitor) touches(on bool) {
	v.T.Helper()
	v.Do(e2etest.Command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: on}))
}

// The tasks of a chat page in docs/ten-tasks.md take at most three actions each.
func TestTenTasks_threeActionsAtMost(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v.Look(1280, "light", "en")
	v.Open("/")
	v.Send("My address is 12 Rue des Lilas in Lyon")
	v.Sees(answer, "Rue des Lilas")
	v.Send("/remember My sister Ana is allergic to nuts")
	v.Sees("#entries", "I'll remember")
	v.Send("/remind in 3 days water the plants")
	v.Sees("#promises", "water the plants")
	v.Set(v.At.Add(24 * time.Hour))
	v.Open("/")
	v.Send(rich)
	v.Sees(answer, "x := 1")

	text, err := os.ReadFile("../../docs/ten-tasks.md")
	e2etest.Must(t, err)
	rows := regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \|.*\| ([0-9]+) \|$`).FindAllStringSubmatch(string(text), -1)
	var named []string
	for _, row := range rows {
		named = append(named, row[1])
		do, known := tasks[row[1]]
		if !known {
			t.Errorf("nobody does %q", row[1])
			continue
		}
		v.Look(1280, "light", "en")
		v.touches(false)
		v.Open("/")
		p := &person{visitor: v}
		do(p)
		if want, _ := strconv.Atoi(row[2]); p.actions != want || want > 3 {
			t.Errorf("%s takes %d actions; docs/ten-tasks.md says %d, and three is the most", row[1], p.actions, want)
		}
	}
	slices.Sort(named)
	if all := slices.Sorted(maps.Keys(tasks)); !slices.Equal(named, all) {
		t.Errorf("docs/ten-tasks.md names %q, done are %q", named, all)
	}
}
