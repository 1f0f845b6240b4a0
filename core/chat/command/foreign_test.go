package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// Whatever an answer to a command shows of words that others wrote, it has their mark, as later prompts show it.
func TestAnswer_marksForeignWords(t *testing.T) {
	t.Parallel()
	const word = "xylophone"
	w := newWorld(t, "en")
	i, u := w.identify(w.ada)
	note := func(effects ...core.Effect) {
		t.Helper()
		_, err := w.Note(w.ctx, store.Note{User: u.ID, Effects: effects, Now: w.now})
		must(t, err)
	}
	forwarded := w.say(w.ada, "a "+word+" for sale", true)
	_, err := w.Commit(w.ctx, store.Reply{Turn: forwarded.Turn, State: core.TurnDone, Now: w.now, Day: "2026-11-19",
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "A " + word + ".", Tainted: true,
			SentAt: w.now}}}, nil)
	must(t, err)
	answer := forwarded.Messages[0] + 1
	w.talk(w.ada, "the garden")
	for n := range 2 { // one to list, one to end
		text := fmt.Sprint(word, n)
		note(effect.AddItem{Item: core.Item{Theme: "a " + word, Content: text, Type: core.ItemFact, Tainted: true},
			Theme: core.Theme{Name: "a " + word, Tainted: true}},
			effect.OpenLoop{Loop: core.Loop{Text: text, OpenedAt: w.now, Mentioned: w.now, Tainted: true}},
			effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, Text: text, DueAt: w.now.Add(time.Hour), Zone: "UTC",
				Tainted: true},
				At: w.now},
			effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, Text: text, DueAt: w.now.Add(time.Hour), Zone: "UTC",
				Tainted: true}})
	}
	note(effect.Taint(effect.OpenThread{Title: word, At: w.now}))
	loops, err := w.Loops(w.ctx, u.ID, 10)
	must(t, err)
	reminders, err := w.OpenPlans(w.ctx, u.ID, core.PlanReminder, 10)
	must(t, err)
	tasks, err := w.OpenPlans(w.ctx, u.ID, core.PlanTask, 10)
	must(t, err)
	items, err := w.Items(w.ctx, store.ItemQuery{User: u.ID, Limit: 10})
	must(t, err)
	ask := func(text string, quote *core.Quote, program bool) core.Outcome {
		t.Helper()
		e := w.event(w.ada, text)
		e.Quote, e.Program, e.Grants = quote, program, []core.Capability{core.CanTalk, core.CanRead, core.CanMemory}
		out, ok, err := command.New(w.options).Command(w.ctx, u, i, e, w.now)
		if !ok || err != nil {
			t.Fatalf("%s: %t, %v", text, ok, err)
		}
		return out
	}
	for _, c := range []string{"/memory", "/memory xylophone", "/loops", "/remind", "/task", "/threads", "/search garden",
		fmt.Sprint("/memory archive ", items[0].ID), fmt.Sprint("/done ", loops[0].ID),
		fmt.Sprint("/remind cancel ", reminders[0].ID), fmt.Sprint("/task cancel ", tasks[0].ID)} {
		if out := ask(c, nil, false); !strings.Contains(out.Text, word) || !out.Tainted {
			t.Errorf("%s: marked %t: %s", c, out.Tainted, out.Text)
		}
	}
	if out := ask("/remember", &core.Quote{Message: answer}, false); !strings.Contains(out.Text, word) || !out.Tainted {
		t.Errorf("/remember: marked %t: %s", out.Tainted, out.Text)
	}
	for _, c := range []string{"/usage " + word, "/search " + word, "/threads"} {
		if out := ask(c, nil, true); !out.Tainted {
			t.Errorf("%s of a program has no mark: %s", c, out.Text)
		}
	}
	if out := ask("/usage", nil, false); out.Tainted {
		t.Error("/usage is marked, though it shows nothing of others")
	}
}
