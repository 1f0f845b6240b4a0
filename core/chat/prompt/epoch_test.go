package prompt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
)

// TestEpochs checks which changes begin an epoch.
func TestEpochs(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, want string
		change     func(w *world)
	}{
		{"nothing", "", func(*world) {}},
		{"29 minutes", "", func(w *world) { w.now = w.now.Add(29 * time.Minute) }},
		{"silence", prompt.NewSilence, func(w *world) { w.now = w.now.Add(30 * time.Minute) }},
		{"an edit", prompt.NewEdited, func(w *world) { w.edits++ }},
		{"other instructions", prompt.NewSettings, func(w *world) {
			w.static = []prompt.Static{{Name: "instructions",
				Text: "Be brief."}}
		}},
		{"another strategy", prompt.NewSettings, func(w *world) { w.strategy = prompt.Truncate }},
		{"another model", prompt.NewSettings, func(w *world) { w.budgets.ContextWindow = 32000 }},
		{"a default written out", "", func(w *world) { w.budgets.Cap = 6150 }},
		{"another zone", "", func(w *world) { w.zone = time.FixedZone("Etc/GMT-1", 3600) }},
		{"memory removed", prompt.NewSettings, func(w *world) { w.static = w.static[:2] }},
		{"themes of memory", "", func(w *world) { w.static[2].Text = "travel (2)" }},
		{"a loop", "", func(w *world) { w.open("new") }},
		{"a summary", "", func(w *world) { w.summarize(1, 2) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bytes4{})
			w.static = append(w.static, prompt.Static{Name: "themes", Text: "travel (1)"})
			first := w.exchange("Hello", "Hello to you")
			if first.Snapshot.NewEpoch != prompt.NewFirst || first.Epoch == nil || first.Snapshot.Epoch != 1 {
				t.Fatalf("the first turn: %+v", first.Snapshot)
			}
			c.change(w)
			_, p := w.ask("And now?")
			if p.Snapshot.NewEpoch != c.want || (p.Epoch == nil) != (c.want == "") {
				t.Errorf("new epoch: %q", p.Snapshot.NewEpoch)
			}
			if c.want == "" && p.Snapshot.Epoch != 1 || c.want != "" && p.Snapshot.Epoch != 2 {
				t.Errorf("epoch %d", p.Snapshot.Epoch)
			}
		})
	}
}

// TestFresh_fullEpochReadsAgain checks that an epoch that would exceed the cap needs a new window.
func TestFresh_fullEpochReadsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.exchange(strings.Repeat("long ", 2000), strings.Repeat("answer ", 1500))
	in := w.begin(core.Message{Role: core.RoleUser, Text: strings.Repeat("more ", 1000)})
	q := prompt.Query(in)
	in.Window = w.window(in.Turn, q)
	if _, err := prompt.Build(in); !errors.Is(err, prompt.ErrStale) {
		t.Fatalf("got %v", err)
	}
	in.Window = w.window(in.Turn, prompt.Fresh(q))
	p, err := prompt.Build(in)
	if err != nil || p.Snapshot.NewEpoch != prompt.NewFull {
		t.Fatalf("new epoch %q, %v", p.Snapshot.NewEpoch, err)
	}
}

// TestBuild_truncatesTheMiddle checks that the first and the newest messages are kept, and that the start of the
// rest does not move at every turn.
func TestBuild_truncatesTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.mode, w.strategy = core.ModeThread, prompt.Continuous
	epochs, most := 0, 0
	for n := range 100 {
		p := w.exchange(fmt.Sprint("question ", n), fmt.Sprint("answer ", n))
		got := shown(p)
		most = max(most, p.Snapshot.Included)
		if p.Epoch != nil {
			epochs++
		}
		if p.Snapshot.Strategy != prompt.Truncate || !strings.HasSuffix(got[len(got)-1], fmt.Sprint("question ", n)) {
			t.Fatalf("turn %d: %s, %q", n, p.Snapshot.Strategy, got)
		}
		if n > 50 && got[len(got)-11] != fmt.Sprint("question ", n-5) {
			t.Fatalf("turn %d: %q", n, got)
		}
		if mark := slices.Index(got, "[Earlier messages truncated]"); n > 26 && (mark != 1 || p.Pressure) {
			t.Fatalf("turn %d: the mark is message %d of %q", n, mark, got)
		}
		if s := p.Snapshot; s.LeftOut != 0 || s.Dropped != s.Truncated {
			t.Fatalf("turn %d: %d of %d left out are said to be covered", n, s.LeftOut, s.Truncated)
		}
		if got[0] != "[Thu 19 Nov 2026 08:10] question 0" {
			t.Fatalf("turn %d: the thread begins with %q", n, got[0])
		}
	}
	if most != 50 || epochs > 12 {
		t.Errorf("%d epochs, at most %d messages", epochs, most)
	}
}

// TestWindow_mayReachFurtherBack checks that in a plain thread an epoch continues with any window
// that contains its start.
func TestWindow_mayReachFurtherBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.mode = core.ModeThread
	for n := range 60 {
		if n == 45 {
			w.now = w.now.Add(time.Hour)
		}
		w.exchange(fmt.Sprint("question ", n), "answer")
	}
	in, p := w.ask("And now?")
	if p.Epoch != nil {
		t.Fatal("got a new epoch")
	}
	in.Window.Messages = slices.Clone(w.messages)
	wide, err := prompt.Build(in)
	if err != nil || text(wide.Messages) != text(p.Messages) {
		t.Errorf("the wider window changes the prompt, %v:\n%q", err, shown(wide))
	}
}

func TestRebuild_afterChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.exchange("my secret", "noted")
	in, p := w.ask("and this is wrnog")
	w.answer(p, says("ok"))
	ms := slices.Clone(in.Window.Messages)
	ms[0].Text, ms[0].Redacted, ms[0].Revision = "", true, 1
	ms[2].Text, ms[2].Revision = "and this is wrong", 1
	got := prompt.Rebuild(*w.epoch, p.Snapshot, ms, nil, prompt.Budgets{}, w.tokens)
	want := slices.Clone(p.Messages)
	want[2].Content = "[Thu 19 Nov 2026 08:10] "
	want[4].Content = "[edited since] and this is wrong"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	in := prompt.Input{Now: time.Date(2026, 11, 19, 8, 10, 0, 0, time.UTC), Turn: core.Turn{Mode: core.ModeContinuous}}
	q := prompt.Query(in)
	if q.Tokens != 12300 || q.Limit < 500 || !q.Stale.Equal(in.Now.Add(-30*time.Minute)) ||
		q.Budgets != in.Budgets.Fingerprint(prompt.Continuous, nil) {
		t.Errorf("got %+v", q)
	}
	if f := prompt.Fresh(q); f.Budgets == q.Budgets || f.Tokens != q.Tokens || f.Limit != q.Limit {
		t.Errorf("fresh: %+v", f)
	}
	in.Turn.Mode = core.ModeThread
	if q := prompt.Query(in); q.Limit != 50 || q.Budgets != in.Budgets.Fingerprint(prompt.Truncate, nil) {
		t.Errorf("a plain thread: %+v", q)
	}
}

// TestPressure checks that a summary is requested only above 80 % of the cap, and only while there
// are messages that a summary would free.
func TestPressure(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		words     int // of each of 50 messages
		uncovered int // number of newest messages not covered
		want      bool
	}{
		{"a small prompt", 50, 50, false},
		{"covered", 93, 0, false},
		{"only what is always kept", 93, 3, false},
		{"a few before what is always kept", 93, 8, true},
		{"all of it", 93, 50, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bytes4{})
			for range 25 {
				w.exchange(strings.Repeat("ask ", c.words), strings.Repeat("say ", c.words))
			}
			w.summarize(1, core.MessageID(len(w.messages)-c.uncovered))
			if _, p := w.ask("And now?"); p.Pressure != c.want || p.Epoch != nil {
				t.Errorf("at %d of %d tokens: pressure %v", p.Snapshot.Total, p.Snapshot.Cap, p.Pressure)
			}
		})
	}
}

// TestPressure_fewLongMessages checks that a summary is also requested when the newest messages,
// which are always kept, exceed the room that is left.
func TestPressure_fewLongMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.exchange(strings.Repeat("ask ", 2000), strings.Repeat("say ", 3000))
	if _, p := w.ask("And now?"); !p.Pressure || p.Epoch != nil {
		t.Errorf("at %d of %d tokens: pressure %v", p.Snapshot.Total, p.Snapshot.Cap, p.Pressure)
	}
}

// TestSnapshot_trueWithinAnEpoch checks that later snapshots of an epoch report what its first
// prompt left out and cut.
func TestSnapshot_trueWithinAnEpoch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	for n := range 60 {
		_, p := w.ask(strings.Repeat("ask ", 40))
		if n == 12 {
			w.answer(p, core.Message{Role: core.RoleAssistant,
				ToolCalls: []core.ToolCall{{ID: "a", Name: "look_up", Arguments: "{}"}}},
				core.Message{Role: core.RoleTool, ToolCallID: "a", Text: strings.Repeat("word ", 7000)})
		}
		w.answer(p, says(strings.Repeat("say ", 40)))
	}
	w.summarize(1, core.MessageID(len(w.messages)))
	for i := range w.messages[20:30] {
		w.messages[20+i].Covered = false // arrived late
	}
	w.now = w.now.Add(time.Hour)
	first := w.exchange("And now?", "Well.").Snapshot
	said := len(w.messages)
	if first.LeftOut < 40 || first.LeftOut != first.Truncated || first.Dropped != 0 || first.Shortened != 1 ||
		first.Thread != said-3 {
		t.Fatalf("first snapshot %+v", first)
	}
	second := w.exchange("And then?", "Well.").Snapshot
	want := first
	want.Loaded, want.Included, want.Thread = second.Loaded, first.Included+2, first.Thread+2
	for _, s := range []*store.Snapshot{&want, &second} {
		s.Messages, s.Parts, s.Total, s.NewEpoch, s.Yesterday = core.IDSet{}, nil, 0, "", false
	}
	if d := cmp.Diff(want, second, cmp.AllowUnexported(core.IDSet{})); d != "" {
		t.Error(d)
	}
}
