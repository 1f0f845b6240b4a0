package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// TestRemember_tooMuch checks a text and a message that exceed an item's size.
func TestRemember_tooMuch(t *testing.T) {
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

// TestRemember_neverAnAnswer checks that commands and their answers cannot be remembered.
func TestRemember_neverAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/usage")
	for _, native := range []string{fmt.Sprint("m", w.n), fmt.Sprint("n", w.n), fmt.Sprint("m", w.n-1),
		fmt.Sprint("n", w.n-1)} {
		w.quote = &core.Quote{NativeID: native, Text: "Used today"}
		if out, _ := w.ask(w.ada, "/remember"); len(out.Effects) != 0 ||
			!strings.Contains(out.Text, "can't find that message") {
			t.Errorf("%s: %+v", native, out)
		}
	}
}

// TestCommands_numbersOfOthersAreNotFound checks that another user's items and reminders are not found, with the same
// answer as for numbers that never existed.
func TestCommands_numbersOfOthersAreNotFound(t *testing.T) {
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

// TestAnswers_errorsAreReported checks that an error of the store or of the search is reported, not answered.
func TestAnswers_errorsAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	i, u := w.identify(w.ada)
	must(t, w.Close())
	for _, text := range []string{"/search tea", "/memory", "/memory tea", "/memory archive 7", "/remember tea", "/remind",
		"/remind tomorrow tea", "/remind cancel 7", "/loops"} {
		out, ok, err := command.New(w.options).Command(w.ctx, u, i, w.event(w.ada, text), w.now)
		if err == nil || !ok || out.Text != "" {
			t.Errorf("%s: %+v, %v, %v", text, out, ok, err)
		}
	}
}

func TestMemoryArchive_itemIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.keep(w.ada, "Ada's item", "")
	_, u := w.identify(w.ada)
	text := w.named(u.ID, "/memory archive ITEM")
	w.send(w.ada, text)
	if out, _ := w.send(w.ada, text); len(out.Effects) != 0 ||
		!strings.Contains(out.Text, "I don't remember anything with the number") {
		t.Errorf("got %+v", out)
	}
}

// propose stores a reply that proposes standing instructions, and returns the id of the message
// that led to it.
func (w *world) propose(a core.Address, code string, texts ...string) core.MessageID {
	w.t.Helper()
	turn := w.say(a, "please", true).Turn
	subject, err := json.Marshal(effect.StandingSubject{Texts: texts, Source: turn.Inputs[0]})
	must(w.t, err)
	_, err = w.Commit(w.ctx, store.Reply{Turn: turn, State: core.TurnDone, Now: w.now, Day: "2026-11-19",
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "Always?", Tokens: 5,
			SentAt: w.now}},
		Effects: []core.Effect{effect.AskApproval{Approval: effect.Approval{Code: code, Kind: effect.ApproveStanding,
			Identity: turn.Identity, Turn: turn.ID, Subject: string(subject), AskedAt: w.now,
			Expires: w.now.Add(core.ApprovalLife)}}}}, nil)
	must(w.t, err)
	return turn.Inputs[0]
}

// always returns the texts of a user's standing instructions.
func (w *world) always(a core.Address) string {
	w.t.Helper()
	_, u := w.identify(a)
	list, err := w.Instructions(w.ctx, u.ID)
	must(w.t, err)
	var out []string
	for _, i := range list {
		out = append(out, i.Text)
	}
	return strings.Join(out, ", ")
}

// TestProposal_countsAfterAYes checks that a proposal takes effect once, if its user approves it in
// time and where it was asked, and not after a no.
func TestProposal_countsAfterAYes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, said string
		prepare    func(w *world)
		want       string
		no         bool // it is not an answer
	}{
		{name: "yes", said: "yes", want: "be brief, be kind"},
		{name: "a button", said: "/yes S1", want: "be brief, be kind"},
		{name: "a language of one's own", said: "Oui !", want: "be brief, be kind"},
		{name: "no", said: "no", want: ""},
		{name: "something else", said: "yes, but later", want: "", no: true},
		{name: "a question", said: "yes?", want: "", no: true},
		{name: "after the answer to a command", said: "yes", prepare: func(w *world) { w.send(w.ada, "/help") }, want: "",
			no: true},
		{name: "no button, after the answer to a command", said: "/yes", want: "",
			prepare: func(w *world) { w.send(w.ada, "/help") }},
		{name: "another question", said: "/yes S2", want: ""},
		{name: "too late", said: "yes", prepare: func(w *world) { w.later(61 * time.Minute) }, want: "", no: true},
		{name: "after other words", said: "yes", prepare: func(w *world) { w.talk(w.ada, "and the weather?") }, want: "",
			no: true},
		{name: "a button, after other words", said: "/yes S1", prepare: func(w *world) { w.talk(w.ada, "the weather?") },
			want: "be brief, be kind"},
		{name: "no room any more", said: "/yes S1", prepare: func(w *world) {
			w.send(w.ada, "/always a")
			w.send(w.ada, "/always b")
		}, want: "a, b"},
		{name: "wanted meanwhile", said: "/yes S1", prepare: func(w *world) { w.send(w.ada, "/always be brief") },
			want: "be brief, be kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "en")
			w.propose(w.ada, "S1", "be brief", "be kind")
			if c.prepare != nil {
				c.prepare(w)
			}
			if got := w.always(w.bo); got != "" {
				t.Errorf("before the answer Bo's instructions are %s", got)
			}
			if _, ok := w.ask(w.bo, c.said); ok && !strings.HasPrefix(c.said, "/") {
				t.Error("another user's answer counts")
			}
			if _, ok := w.ask(w.ada, c.said); ok == c.no {
				t.Fatalf("an answer: %v", ok)
			}
			if !c.no {
				w.send(w.ada, c.said)
			}
			if got := w.always(w.ada); got != c.want {
				t.Errorf("instructions %q, want %q", got, c.want)
			}
			if _, ok := w.ask(w.ada, "yes"); ok && c.said != "/yes S2" &&
				c.said != "yes?" && !strings.HasPrefix(c.name, "something") {
				t.Error("a second yes counts as an answer")
			}
		})
	}
}

// TestProposal_restsOnWhatWasSaid checks that a proposed instruction is marked, and is
// removed with the message that led to it.
func TestProposal_restsOnWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	source := w.propose(w.ada, "S1", "be brief")
	w.send(w.ada, "yes")
	_, u := w.identify(w.ada)
	list, err := w.Instructions(w.ctx, u.ID)
	must(t, err)
	if len(list) != 1 || !list[0].Noted || list[0].Source != source {
		t.Errorf("got %+v, which rests on %d", list, source)
	}
	_, err = w.Note(w.ctx, store.Note{User: u.ID, Now: w.now,
		Effects: []core.Effect{effect.Redact{Message: source, At: w.now}}})
	must(t, err)
	if got := w.always(w.ada); got != "" {
		t.Errorf("instructions %q", got)
	}
}
