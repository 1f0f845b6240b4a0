package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
)

// TestRememberTooMuch: a text, and a message, of more than an item holds.
func TestRememberTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	long := strings.Repeat("é", 2001)
	w.talk(w.ada, long)
	for _, quote := range []*core.Quote{nil, {NativeID: "m1", Text: long}} {
		text := "/remember"
		if w.quote = quote; quote == nil {
			text += " " + long
		}
		if out, _ := w.ask(w.ada, text); len(out.Effects) != 0 || !strings.Contains(out.Text, "at most 2,000 characters") {
			t.Errorf("got %+v", out)
		}
	}
}

// TestRememberAnAnswer: what a command answered is no message to keep.
func TestRememberAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/usage")
	for _, native := range []string{fmt.Sprint("m", w.n), fmt.Sprint("n", w.n), fmt.Sprint("m", w.n-1), fmt.Sprint("n", w.n-1)} {
		w.quote = &core.Quote{NativeID: native, Text: "Used today"}
		if out, _ := w.ask(w.ada, "/remember"); len(out.Effects) != 0 || !strings.Contains(out.Text, "cannot find that message") {
			t.Errorf("%s: %+v", native, out)
		}
	}
}

// TestOthersNumbers: items and reminders of another person are not found, in the
// same words as those that never were.
func TestOthersNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.keep(w.ada, "Ada's item", "")
	w.send(w.ada, "/remind tomorrow 9 call Ana")
	_, u := w.identify(w.ada)
	for text, name := range map[string]string{"/memory archive %s": "ITEM", "/remind cancel %s": "REMINDER"} {
		theirs := w.named(u.ID, name)
		out, _ := w.ask(w.bo, fmt.Sprintf(text, theirs))
		none, _ := w.ask(w.bo, fmt.Sprintf(text, "777"))
		if len(out.Effects) != 0 || theirs == name || strings.ReplaceAll(out.Text, theirs, "777") != none.Text {
			t.Errorf("%s: %+v, %+v", name, out, none)
		}
	}
}

// TestAnswersFail: what the store or recall cannot do is no answer.
func TestAnswersFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	i, u := w.identify(w.ada)
	must(t, w.Close())
	for _, text := range []string{"/search tea", "/memory", "/memory tea", "/memory archive 7", "/remember tea", "/remind", "/remind tomorrow tea", "/remind cancel 7", "/loops"} {
		out, ok, err := command.New(w.options).Command(w.ctx, u, i, w.event(w.ada, text), w.now)
		if err == nil || !ok || out.Text != "" {
			t.Errorf("%s: %+v, %v, %v", text, out, ok, err)
		}
	}
}
