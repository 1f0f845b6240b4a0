//go:build e2e

package web

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/everthread/everthread/e2e/e2etest"
)

// keyboard is a hand that only has keys.
type keyboard struct{}

// Everything on the page works with keys alone; the focus is always visible, moves in
// reading order, and is trapped nowhere.
func TestWeb_everythingByKeys(t *testing.T) {
	v := newHouse(t, keyboard{}, "")
	v.hand.holds(v)
	v.livesHere(t)
	for _, left := range leaves(t, v.done, v.met) {
		t.Errorf("not done by keys: %s", left)
	}
}

// Each listed key works, and each working key is listed.
func TestKeys_listIsTrue(t *testing.T) {
	v := newHouse(t, keyboard{}, "")
	v.Click("#signin button")
	v.Comes("document.querySelector('#write')")
	v.shortcuts(t)
}

// holds prepares a desktop screen.
func (keyboard) holds(v *house) { v.Look(1280, "light", "en") }

// show does nothing: the focus brings up what it reaches.
func (keyboard) show(*house, string) {}

// press moves to a target with Tab, and presses the key that operates it.
func (k keyboard) press(v *house, target string) {
	v.T.Helper()
	k.reach(v, target)
	kind := e2etest.Js[string](v.Tab, "document.activeElement.tagName + (document.activeElement.type || '')")
	if kind == "BODY" { // the page was updated, and what had the focus was replaced
		k.press(v, target)
		return
	}
	switch kind {
	case "INPUTradio":
		for range 10 { // only one element of a group is reached by Tab, and arrows lead to the others
			if v.Is("document.activeElement.checked && hand.has(" + e2etest.Quote(target) + ")") {
				return
			}
			v.keys(kb.ArrowDown)
		}
		v.T.Fatalf("%s is not chosen by arrows", target)
	case "BUTTONsubmit", "BUTTONbutton", "INPUTcheckbox":
		v.keys(" ")
	default:
		v.keys("Enter")
	}
}

// reach presses Tab, or Shift and Tab, until a target has the focus.
func (k keyboard) reach(v *house, target string) {
	v.T.Helper()
	quoted := e2etest.Quote(target)
	for range 40 {
		if v.Is("hand.arrived(" + quoted + ")") {
			return
		}
		n := e2etest.Js[int](v.Tab, "hand.way("+quoted+")")
		for range max(1, abs(n)) {
			v.tab(n < 0)
		}
	}
	v.T.Fatalf("Tab does not lead to %s:\n%s", target, v.Shown())
}

func abs(n int) int { return max(n, -n) }

// tab presses Tab.
func (v *visitor) tab(back bool) {
	v.T.Helper()
	p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Tab", Code: "Tab",
		WindowsVirtualKeyCode: 9}
	if back {
		p.Modifiers = 8
	}
	v.Do(e2etest.Command(input.DispatchKeyEvent, p))
}

// fill goes to a field and writes, or chooses.
func (k keyboard) fill(v *house, target, text string) {
	v.T.Helper()
	k.reach(v, target)
	const at = "document.activeElement"
	switch kind := e2etest.Js[string](v.Tab, at+".tagName + "+at+".type"); kind {
	case "SELECTselect-one":
		n := e2etest.Js[int](v.Tab, fmt.Sprintf(
			"[...%[1]s.options].findIndex((x) => x.value === %[2]s) - %[1]s.selectedIndex", at, e2etest.Quote(text)))
		for range abs(n) {
			v.keys(map[bool]string{true: kb.ArrowDown, false: kb.ArrowUp}[n > 0])
		}
	case "INPUTdate": // it has parts, of which the month is the first
		for v.Is("hand.arrived(" + e2etest.Quote(target) + ")") {
			v.tab(true)
		}
		v.tab(false)
		v.keys(text[5:7] + text[8:] + text[:4])
	default:
		v.Do(e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown,
			Key: "a", Code: "KeyA", Modifiers: 2, WindowsVirtualKeyCode: 65, Commands: []string{"selectAll"}}))
		v.Do(e2etest.Command(input.InsertText, input.InsertTextParams{Text: text}))
	}
	if got := e2etest.Js[string](v.Tab, at+".value"); got != text {
		v.T.Fatalf("%s contains %q, want %q", target, got, text)
	}
}

// look moves through a page with Tab from beginning to end, and opens folded parts on the way.
func (k keyboard) look(v *house) {
	v.T.Helper()
	v.Comes("document.readyState === 'complete'")
	e2etest.Js[chromedp.Void](v.Tab, "hand.begin()")
	var wrong []string
	for n := 0; ; n++ {
		v.tab(false)
		var at struct {
			End, Same, Folded bool
			Control           control
			Wrong             []string
		}
		e2etest.Must(v.Tab.T, json.Unmarshal([]byte(e2etest.Js[string](v.Tab, "JSON.stringify(hand.stop())")), &at))
		if at.End {
			break
		}
		if !at.Same {
			v.met, wrong = append(v.met, at.Control), append(wrong, at.Wrong...)
		}
		if at.Folded {
			v.keys("Enter")
		}
		if n == 1500 {
			v.Tab.T.Errorf("the focus is caught: %s", e2etest.Js[string](v.Tab, "hand.name(document.activeElement)"))
			break
		}
	}
	for _, text := range append(wrong, e2etest.Js[[]string](v.Tab, "hand.missed()")...) {
		v.Tab.T.Error(text)
	}
}

// shortcut is a listed key, or a sequence of keys.
type shortcut struct{ page, keys, sees string }

var shortcuts = []shortcut{
	{"/", "Alt+/", "document.activeElement.id === 'q'"},
	{"/", "Alt+p", says("h1", "Yesterday")},
	{"", "Alt+n", says("h1", "Today")},
	{"/", "Alt+t", "location.pathname === '/threads'"},
	{"", "Alt+m", "location.pathname === '/memory'"},
	{"", "Alt+s", "location.pathname === '/settings'"},
	{"", "Alt+g", "location.pathname === '/admin'"},
	{"", "Alt+u", "location.pathname === '/setup'"},
	{"", "Alt+h", "location.pathname === '/'"},
	{"", "Alt+?", "document.querySelector('#shortcuts').open"},
	{"", "Esc", "!document.querySelector('#shortcuts').open"},
	{"/", "Esc", "document.activeElement.id !== 'text'"},
	{"", "Alt+i", "document.activeElement.id === 'text'"},
	{"", "h i Shift+Enter", `document.querySelector("#text").value === "hi\n"`},
	{"", "Enter", "document.querySelector('#text').value === '' && " + says(".entry.agent .prose", "echo: hi") + "&&" + gone(".writing")},
	{"", "Alt+k", "document.activeElement.matches('.entry.agent')"},
	{"", "Alt+k", "document.activeElement.matches('.entry.user')"},
	{"", "Alt+j", "document.activeElement.matches('.entry.agent')"},
	{"", "Alt+c", "window.copied === 'echo: hi'"},
	{"", "Alt+r", "!document.querySelector('#replying').hidden && document.activeElement.id === 'text'"},
	{"/", "Alt+a", says(answer+" .variants", "Answer 2 of 2")},
	{"", "Alt+,", says(answer+" .variants", "Answer 1 of 2")},
	{"", "Alt+.", says(answer+" .variants", "Answer 2 of 2")},
	{"", "Alt+e", "document.activeElement.matches('.panel-here textarea')"},
	{"", "Esc", "!document.querySelector('.panel-here')"},
	{"", "/ t o", "document.querySelector('#suggest')"},
	{"", "Esc", "document.querySelector('#text').value === '/to' && !document.querySelector('#suggest')"},
	{"", "d", "document.querySelector('#text').value === '/tod' && document.querySelector('#suggest-0')?.dataset.name === '/today'"},
	{"", "Tab", "document.querySelector('#text').value === '/today '"},
}

// shortcuts presses each listed key.
func (v *house) shortcuts(t *testing.T) {
	v.Send("said the day before")
	v.Sees(".entry.agent .prose", "said the day before")
	v.Comes(gone(".writing"))
	v.Set(v.At.Add(24 * time.Hour))
	pressed := map[string]bool{"Shift": true, "Alt": true, "x": true}
	for _, one := range shortcuts {
		t.Run(one.keys, func(t *testing.T) {
			if v.Tab.T = t; one.page != "" {
				v.Open(one.page)
			}
			for _, key := range strings.Fields(one.keys) {
				pressed[strings.TrimPrefix(key, "Alt+")] = true
				v.stroke(key)
			}
			v.Comes("document.readyState === 'complete' && " + one.sees)
		})
		v.Tab.T = t
	}
	v.Fill("#text", "say 900 words")
	v.keys("Enter")
	v.Comes("document.querySelector('#status .stop-button')")
	v.stroke("Alt+x")
	v.Comes(gone("#status .stop-button"))
	for _, path := range []string{"/", "/day/2026-10-24", "/threads", "/memory"} {
		v.Open(path)
		for _, key := range e2etest.Js[[]string](v.Tab, "[...document.querySelectorAll('#shortcuts kbd')].map((x) => x.textContent)") {
			if !pressed[key] || path == "/memory" && strings.Contains("pnijkcrea,.x", key) {
				t.Errorf("%s lists %q, which does nothing", path, key)
			}
		}
	}
	v.listsAll(t)
}

// listsAll checks that every key in the scripts is listed.
func (v *house) listsAll(t *testing.T) {
	v.Open("/")
	listed := e2etest.Js[string](v.Tab, "[...document.querySelectorAll('#shortcuts kbd')].map((x) => x.textContent).join(' ')")
	known := regexp.MustCompile(`(?m)^    "?([a-z,./?])"?: \(\) => `)
	n := 0
	for _, file := range []string{"static/app.js", "chat/static/chat.js"} {
		b, err := os.ReadFile("../../adapters/web/" + file)
		e2etest.Must(t, err)
		for _, m := range known.FindAllStringSubmatch(string(b), -1) {
			if n++; !strings.Contains(" "+listed+" ", " "+m[1]+" ") {
				t.Errorf("the page listens to %q and does not say so", m[1])
			}
		}
	}
	if n < 14 {
		t.Errorf("the scripts listen to %d keys only", n)
	}
}

// stroke presses a key as a keyboard does.
func (v *visitor) stroke(key string) {
	v.T.Helper()
	if letter, with := strings.CutPrefix(key, "Alt+"); with {
		v.Do(e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeRawKeyDown, Key: letter, Modifiers: 1}))
		return
	}
	switch key {
	case "Shift+Enter":
		v.Do(e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown,
			Key: "Enter", Code: "Enter", Text: "\r", Modifiers: 8, WindowsVirtualKeyCode: 13}))
	case "Esc":
		v.keys(kb.Escape)
	case "Tab":
		v.tab(false)
	case "Enter":
		v.keys(key)
	default: // preventing the key also prevents its letter
		v.Do(e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}),
			e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{
				Type: input.DispatchKeyEventTypeKeyUp, Key: key}))
	}
}
