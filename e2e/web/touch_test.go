//go:build e2e

package web

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
	"github.com/everthread/everthread/internal/fulltest"
)

// touchScript judges the targets of a finger.
//
//go:embed testdata/touch.js
var touchScript string

// finger is a hand that taps on a phone's screen and cannot hover.
type finger struct{}

// notOnAPhone lists controls that a phone does not show, with the reason.
var notOnAPhone = map[string]string{
	`<a href="*" data-key="*"* class="wide"** aria-current="page"*>`: "the menu has the same link there, as .row.small",
}

// phone lists the deeds of a phone only: commands can be chosen by a tap.
var phone = []deed{
	{"/", "#text = /tod | #suggest-0", "document.querySelector('#text').value === '/today '", false},
	{"", "#text = first line", "document.querySelector('#text').value === 'first line'", false},
}

// Everything on the page works by touch alone on a small phone. Targets are visible, not
// covered, and large enough or far enough from others. Keys (the shortcuts that
// TestKeys_listIsTrue presses) are only another way to the same actions.
// One page on SQLite is enough, as the page knows nothing about the database. It is
// below a path, as in Home Assistant; the same by keys is not.
func TestWeb_everythingByTouch(t *testing.T) {
	if !fulltest.Asked() {
		t.Skip("it takes long beside the same by keys: EVERTHREAD_TEST_ALL=1 runs it, and so does CI=true make test")
	}
	v := newPhone(t, "/api/hassio_ingress/a1B2_c-3")
	v.livesHere(t)
	for _, left := range leaves(t, v.done, v.met) {
		if _, text, _ := strings.Cut(left, ": "); notOnAPhone[text] == "" {
			t.Errorf("nobody did this by touch: %s", left)
		}
	}
}

// On a phone Enter starts a new line, and the button sends the message.
func TestComposer_phoneSendsByTheButton(t *testing.T) {
	v := newPhone(t, "")
	v.run(t, signsIn)
	v.run(t, phone)
	v.keys("Enter")
	v.Do(e2etest.Command(input.InsertText, input.InsertTextParams{Text: "second line"}))
	v.Comes(`document.querySelector("#text").value === "first line\nsecond line"`)
	if !v.Is(gone(".entry.user")) {
		t.Error("Enter sends on a phone")
	}
	v.run(t, []deed{{"", "#send", says(".entry.agent .prose", "second line"), false}})
}

// The actions that a tap on the newest answer shows are seen, not behind the composer.
func TestActions_ofTheNewestAnswerAreSeen(t *testing.T) {
	v := newPhone(t, "")
	v.run(t, signsIn)
	v.run(t, phone)
	v.run(t, []deed{{"", "#send", says(".entry.agent .prose", "first line"), false}})
	const quick = `[...document.querySelectorAll(".entry.agent.said .quick")].at(-1).getBoundingClientRect()`
	v.Comes("!document.querySelector('.writing')")
	e2etest.Js[bool](v.Tab, `(scrollTo(0, document.body.scrollHeight), true)`)
	id := e2etest.Js[string](v.Tab, `[...document.querySelectorAll(".entry.agent.said")].at(-1).id`)
	v.hand.press(v, "#"+id+" .prose > :first-child")
	v.Comes(quick + `.height > 0`)
	v.Comes(quick + `.bottom <= document.querySelector(".composer .write, .composer").getBoundingClientRect().top + 1`)
}

// newPhone opens a house on a phone.
func newPhone(t *testing.T, root string) *house {
	t.Helper()
	v := newHouse(t, finger{}, root)
	v.Do(e2etest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: touchScript}))
	v.hand.holds(v)
	v.Open("/signin?code=" + v.g.WebCode())
	if !v.Is("matchMedia('(pointer: coarse)').matches && matchMedia('(hover: none)').matches") {
		t.Fatal("the browser is not a phone")
	}
	return v
}

// holds prepares a phone of 360 by 740.
func (finger) holds(v *house) {
	v.T.Helper()
	v.Look(360, "light", "en")
	v.turns(360, 740)
	v.Do(e2etest.Command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
}

// show taps on the message whose actions are hidden.
func (f finger) show(v *house, target string) {
	v.T.Helper()
	if id := e2etest.Js[string](v.Tab, "hand.message("+e2etest.Quote(target)+")"); id != "" {
		f.press(v, "#"+id+" .prose > :first-child")
	}
}

// press taps on a target. A problem with it must persist, as a page moves during updates.
// A miss is followed by another tap.
func (f finger) press(v *house, target string) {
	v.T.Helper()
	for range 5 {
		f.show(v, target) // a miss may have hidden it
		x, y := v.aims(target)
		v.Do(e2etest.Command(input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: x, Y: y}}}),
			e2etest.Command(input.DispatchTouchEvent, input.DispatchTouchEventParams{
				Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}}))
		for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if v.Is("!hand.aimed || hand.tapped") { // another page has not been aimed at yet
				return
			}
		}
	}
	v.T.Fatalf("a tap on %s has no effect:\n%s", target, v.Shown())
}

// aims returns the point at which to tap a target, once it does not move.
func (v *house) aims(target string) (x, y float64) {
	v.T.Helper()
	var at, last struct {
		X, Y  float64
		Wrong []string
	}
	for n := range 20 {
		said := e2etest.Js[string](v.Tab, "JSON.stringify(hand.aim("+e2etest.Quote(target)+"))")
		last, at.Wrong = at, nil
		e2etest.Must(v.Tab.T, json.Unmarshal([]byte(said), &at))
		if n > 0 && at.X == last.X && at.Y == last.Y && len(at.Wrong) == 0 {
			return at.X, at.Y
		}
		time.Sleep(20 * time.Millisecond) // the page may be moving
	}
	for _, wrong := range at.Wrong {
		v.Tab.T.Error(wrong)
	}
	return at.X, at.Y
}

// fill taps on a field and writes; values for which a phone has a wheel are chosen.
func (f finger) fill(v *house, target, text string) {
	v.T.Helper()
	if v.Is("hand.wheel(" + e2etest.Quote(target) + "," + e2etest.Quote(text) + ")") {
		return
	}
	f.press(v, target)
	v.Comes("hand.has(" + e2etest.Quote(target) + ")")
	e2etest.Js[chromedp.Void](v.Tab, "document.activeElement.select()")
	v.Do(e2etest.Command(input.InsertText, input.InsertTextParams{Text: text}))
	if got := e2etest.Js[string](v.Tab, "document.activeElement.value"); got != text {
		v.T.Fatalf("%s holds %q, not %q", target, got, text)
	}
}

// look unfolds a page, and judges all targets on a phone and on a tablet.
func (finger) look(v *house) {
	v.T.Helper()
	v.Comes("document.readyState === 'complete'")
	v.met = append(v.met, v.survey()...)
	v.turns(800, 1100)
	v.survey()
	v.turns(360, 740)
}

// survey judges the targets on a page, and lists them.
func (v *house) survey() []control {
	v.T.Helper()
	var seen struct {
		Controls []control
		Wrong    []string
	}
	e2etest.Must(v.Tab.T, json.Unmarshal(v.rootless(e2etest.Js[string](v.Tab, "JSON.stringify(hand.survey())")), &seen))
	for _, wrong := range seen.Wrong {
		v.Tab.T.Error(wrong)
	}
	return seen.Controls
}

// turns sets the size of the device.
func (v *house) turns(width, height int64) {
	v.T.Helper()
	v.Do(e2etest.Command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width,
		Height: height, DeviceScaleFactor: 1, Mobile: true}))
}
