//go:build e2e

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// rich is a message with all kinds of special content.
const rich = "so $a^2$ is\n\n```go\nx := 1 // one\n```\n\n\\[\n\\frac{1}{2}\n\\]\n\n- [x] done\n\n|n|\n|-:|\n|1|\n\nand $5 or $6"

// answer selects the newest answer on a page.
const answer = "#entries > .entry.agent.said:nth-last-child(1 of .agent.said)"

// What every chat page has: contents of messages, and actions on them.
func TestWeb_actsOnMessages(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		v := newVisitor(t, database(t), "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
		v.isSet()
		v.copies()
		v.repliesWithAQuote()
		v.choosesAnAnswer()
		v.editsAndUndoes()
		v.usesKeys()
		v.looksAtAPicture()
		v.writesOnAPhone()
		v.forgetsByAReply()
	})
}

// keys presses keys in order.
func (v *visitor) keys(all ...string) {
	v.T.Helper()
	for _, key := range all {
		if key != "Enter" {
			v.Do(chromedp.KeyEvent(key))
			continue
		}
		// Like a keyboard: preventing the key prevents the new line.
		v.Do(e2etest.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown,
			Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}))
	}
}

// isSet checks that code is coloured, mathematics is typeset, and prices are not mathematics.
func (v *visitor) isSet() {
	v.T.Helper()
	v.Send(rich)
	v.Sees(".entry.agent .codeblock .language", "Go")
	v.Comes("document.querySelectorAll('.entry.agent .math > math').length === 2")
	v.Comes("document.querySelector('.entry.agent .math.wide > math')")
	v.Sees(".entry.agent .prose", "and $5 or $6")
	v.Comes("document.querySelector('.entry.agent td.right') && document.querySelector('.entry.agent .box')")
	code, ink := "getComputedStyle(document.querySelector('.entry.agent pre .c')).color",
		"getComputedStyle(document.querySelector('.entry.agent pre')).color"
	if v.Is(code + " === " + ink) {
		v.T.Error("a comment has the colour of everything")
	}
}

// copies copies a block of code and a message, with the clipboard, or without one by a selection.
func (v *visitor) copies() {
	v.T.Helper()
	e2etest.Js[chromedp.Void](v.Tab,
		"Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (x) => { window.copied = x; }}})")
	v.Click(".entry.agent .copy-code")
	v.Comes(`window.copied === "x := 1 // one"`)
	v.Sees("#toast", "Copied.")
	v.Click(answer + " .copy")
	v.Comes("window.copied.startsWith('echo: so $a^2$ is') && window.copied.includes('```go')")
	e2etest.Js[chromedp.Void](v.Tab, `window.copied = ""; Object.defineProperty(navigator, "clipboard", {value: undefined});
		document.addEventListener("copy", () => { window.copied = document.activeElement.value; })`)
	v.Click(answer + " .copy")
	v.Comes("window.copied.startsWith('echo: so $a^2$ is')")
}

func (v *visitor) repliesWithAQuote() {
	v.T.Helper()
	v.Press(answer, "Reply")
	v.Sees("#replying", "In reply to the assistant")
	v.Click("#replying .unquote")
	v.Comes("document.querySelector('#replying').hidden && document.activeElement.id === 'text'")
	v.Press(answer, "Reply")
	v.Send("what of the second?")
	v.Sees(".entry.user .quoted", "echo: so")
	v.Comes("document.querySelector('#replying').hidden && !document.querySelector('#write').elements.reply.value")
	v.Sees(".entry.agent .prose", "what of the second?")
}

// forgetsByAReply removes a message by replying /forget to it, on a phone: a tap shows its actions.
func (v *visitor) forgetsByAReply() {
	v.T.Helper()
	v.Send("the number of my card is 4711")
	v.Sees(answer, "4711")
	v.Comes(gone(answer + " .quick"))
	v.Comes("!document.querySelector('.writing')")
	// The page may scroll meanwhile, so the tap is on the element and not on a spot.
	e2etest.Js[chromedp.Void](v.Tab, fmt.Sprintf("document.querySelector(%q).click()", answer+" .prose > :first-child"))
	v.Press(answer, "Reply")
	v.Send("/forget")
	v.Sees("#entries", "Removed for good")
	v.Comes("![...document.querySelectorAll('.entry.agent .prose')].some((x) => x.innerText.includes('4711'))")
}

// choosesAnAnswer regenerates an answer and goes back to the first one, on every open page.
func (v *visitor) choosesAnAnswer() {
	v.T.Helper()
	other := v.Another()
	other.Open("/")
	v.Press(answer, "Answer again")
	v.Sees(answer+" .variants", "Answer 2 of 2")
	other.Sees(answer+" .variants", "Answer 2 of 2")
	v.Click(answer + " .variants button")
	v.Sees(answer+" .variants", "Answer 1 of 2")
	other.Sees(answer+" .variants", "Answer 1 of 2")
	const shown = "[...document.querySelectorAll('.entry.agent .prose')].filter((x) => x.innerText.includes('what of the second?')).length"
	if n := e2etest.Js[int](other, shown); n != 1 {
		v.T.Errorf("another page shows %d of the answers", n)
	}
}

// editsAndUndoes edits the newest message, then undoes it with its answer.
func (v *visitor) editsAndUndoes() {
	v.T.Helper()
	own := "#entries > .entry.user.said:nth-last-child(1 of .user.said)"
	v.Press(own, "Edit")
	v.Fill(".panel-here textarea", "what of the third?")
	v.Press(".panel-here", "Save and send")
	v.Sees(own+" .prose", "what of the third?")
	v.Sees(answer+" .variants", "Answer 3 of 3")
	v.Sees(answer+" .prose", "what of the third?")
	v.Click(own + " .acts summary")
	v.Press(own+" .acts", "Undo sending")
	v.Sees(".panel-here", "And the answer:")
	v.Press(".panel-here", "Forget both")
	v.Comes("!document.querySelector('#entries').innerText.includes('what of the third?')")
}

// usesKeys finds and copies a message, regenerates an answer, and completes a command.
func (v *visitor) usesKeys() {
	v.T.Helper()
	v.Send("by keys alone")
	v.Sees(".entry.agent .prose", "echo: by keys alone")
	v.Comes("!document.querySelector('.writing')")
	e2etest.Js[chromedp.Void](v.Tab, "document.activeElement.blur(); window.copied = ''")
	v.stroke("Alt+k")
	v.stroke("Alt+c")
	v.Comes("window.copied === 'echo: by keys alone'")
	v.stroke("Alt+a")
	v.Sees(answer+" .variants", "Answer 2 of 2")
	v.stroke("Alt+,")
	v.Sees(answer+" .variants", "Answer 1 of 2")
	v.stroke("Alt+r")
	v.Sees("#replying", "by keys alone")
	v.Click("#replying .unquote")
	v.Fill("#text", "/to")
	v.Sees("#suggest [aria-selected=true]", "/today")
	v.Comes("document.querySelector('#text').getAttribute('aria-activedescendant') === 'suggest-0'")
	v.keys("Enter")
	v.Comes("document.querySelector('#text').value === '/today ' && !document.querySelector('#suggest')")
	v.Fill("#text", "say 400 words")
	v.keys("Enter")
	v.Comes("document.querySelector('#status .stop-button')")
	v.stroke("Alt+x")
	v.Comes("!document.querySelector('#status .stop-button')")
}

// looksAtAPicture opens a picture at full size and closes it with Escape.
func (v *visitor) looksAtAPicture() {
	v.T.Helper()
	path := filepath.Join(v.T.TempDir(), "sail.png")
	e2etest.Must(v.T, os.WriteFile(path, aPicture(v.T), 0o600))
	v.Do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
	v.Sees("#picked", "sail.png")
	v.Send("look at this sail")
	v.Comes("document.querySelector('.picture img[alt=\"sail.png\"][loading=lazy]')?.naturalWidth > 0")
	v.Sees(".entry.agent .prose", "look at this sail")
	v.Click(".picture img")
	v.Comes("document.querySelector('dialog.viewer[open] img')?.naturalWidth > 0")
	v.keys("\x1b")
	v.Comes("!document.querySelector('.viewer') && document.activeElement.matches('.picture')")
}

// writesOnAPhone checks that Enter starts a new line on touch screens.
func (v *visitor) writesOnAPhone() {
	v.T.Helper()
	v.Look(360, "light", "en")
	v.Do(e2etest.Command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	v.Open("/")
	v.Fill("#text", "one")
	if !v.Is("matchMedia('(pointer: coarse)').matches") {
		v.T.Fatal("the browser is not a phone")
	}
	v.keys("Enter")
	v.Comes(`document.querySelector("#text").value === "one\n" && document.querySelector("#text").enterKeyHint === "enter"`)
	v.Comes(gone(".quick"))
}
