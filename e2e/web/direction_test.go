//go:build e2e

package web

import (
	"fmt"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// People's words have the direction of their script, wherever they stand; the page around them keeps its own.
func TestDirection_followsTheScript(t *testing.T) {
	v := newVisitor(t, "", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
	v.Look(1280, "light", "en")
	runs := func(selector, text, want string) {
		t.Helper()
		find := fmt.Sprintf("[...document.querySelectorAll(%s)].findLast((x) => (x.value ?? x.innerText).includes(%s))",
			e2etest.Quote(selector), e2etest.Quote(text))
		v.Comes(find)
		if got := e2etest.Js[string](v.Tab, "getComputedStyle("+find+").direction"); got != want {
			t.Errorf("%q in %s is %s, want %s", text, selector, got, want)
		}
	}
	texts := []struct{ text, direction string }{
		{"שלום, מה שלומך?", "rtl"}, {"كيف حالك اليوم؟", "rtl"}, {"שלום Ana, how are you?", "rtl"},
		{"Ana said שלום to me.", "ltr"}, {"plain words", "ltr"},
	}
	for _, one := range texts {
		v.Open("/")
		v.Fill("#text", one.text)
		runs("#text", one.text, one.direction)
		v.keys("Enter")
		v.Sees(answer, "echo: "+one.text)
		v.Comes(gone(".writing"))
		runs(".entry.user .prose", one.text, one.direction)
		v.Press(own, "Edit")
		runs(".panel-here textarea", one.text, one.direction)
		v.Open("/threads")
		v.Fill("#title", one.text)
		runs("#title", one.text, one.direction)
		v.keys("Enter")
		runs("h1", one.text, one.direction)
		v.Open("/threads")
		runs(".cards b", one.text, one.direction)
		v.Open("/memory")
		v.Press("details.add", "Remember something")
		v.Fill("#add-text", one.text)
		runs("#add-text", one.text, one.direction)
		v.Press("details.add form", "Remember")
		runs(".statement", one.text, one.direction)
		v.Fill("#wish", one.text)
		v.Press("#standing .form", "Add")
		runs("#standing b", one.text, one.direction)
		v.Open("/search?kind=message&who=me&q=" + one.text)
		runs("#q", one.text, one.direction)
		runs(".snippet", one.text, one.direction)
	}
	// Each paragraph of a message has its own, and a list begins on its side.
	v.Open("/")
	v.Send("שלום\n\nin English again.\n\n`code`")
	v.Sees(own+" .prose", "in English again.")
	const left = `((p) => { const r = document.createRange(); r.selectNodeContents(p);
		return r.getBoundingClientRect().left - p.getBoundingClientRect().left < 2; })`
	const paragraph = "document.querySelectorAll(" + `"#entries > .entry.user.said:nth-last-child(1 of .user.said) .prose p"` + ")"
	if v.Is(left+"("+paragraph+"[0])") || !v.Is(left+"("+paragraph+"[1])") {
		t.Error("a Hebrew paragraph begins on the left, or an English one on the right")
	}
	if got := e2etest.Js[string](v.Tab, "getComputedStyle(document.documentElement).direction"); got != "ltr" {
		t.Errorf("the page is %s", got)
	}
}
