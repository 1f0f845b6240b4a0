package prompt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestBuild_anyConversation simulates turns, days, silence, tools, summaries, edits, outages and new
// settings. What each turn stores is the input of the next. Within an epoch each prompt begins with
// the previous one, byte for byte.
func TestBuild_anyConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, bytes4{})
		w.strategy = rapid.SampledFrom([]string{"continuous", "truncate"}).Draw(t, "strategy")
		if rapid.IntRange(0, 3).Draw(t, "plain thread") == 0 {
			w.mode = core.ModeThread
		}
		last := ""
		for range rapid.IntRange(1, fulltest.Size(8, 40)).Draw(t, "turns") {
			happen(t, w)
			in, p, err := anyTurn(t, w)
			if err != nil {
				t.Fatal(err)
			}
			now := text(p.Messages)
			switch {
			case p.Snapshot.Total > p.Snapshot.Cap || cost(p.Messages, w.tokens) > p.Snapshot.Total:
				t.Fatalf("%d tokens, %d in the snapshot, cap %d", cost(p.Messages, w.tokens), p.Snapshot.Total, p.Snapshot.Cap)
			case p.Epoch == nil && !strings.HasPrefix(now, last):
				t.Fatalf("within the epoch the prompt changed at byte %d:\n%s\nwas\n%s", common(now, last), now, last)
			case (p.Epoch == nil) != (p.Snapshot.NewEpoch == ""):
				t.Fatalf("epoch and reason %q do not match", p.Snapshot.NewEpoch)
			case !consistent(in, p.Snapshot):
				t.Fatalf("inconsistent snapshot %+v of %d messages", p.Snapshot, len(in.Window.Messages))
			case in.Strategy == "truncate" && p.Snapshot.Included > 50:
				t.Fatalf("%d messages are included, want at most 50", p.Snapshot.Included)
			}
			last = now
			w.answer(p, anyAnswer(t)...)
			checkRebuild(t, in, p, w.epoch)
		}
	})
}

// consistent reports whether the counts of a snapshot add up.
func consistent(in prompt.Input, s store.Snapshot) bool {
	return s.Included <= s.Loaded && s.Loaded <= len(loaded(in)) && s.Shortened <= s.Included &&
		s.Truncated <= s.Thread && s.LeftOut == max(s.Truncated-s.Dropped, 0)
}

func anyTurn(t *rapid.T, w *world) (prompt.Input, prompt.Prompt, error) {
	var ms []core.Message
	for range rapid.IntRange(1, 3).Draw(t, "inputs") {
		m := core.Message{Role: core.RoleUser, Text: anyText(t, "question")}
		if rapid.IntRange(0, 9).Draw(t, "quotes") == 0 {
			m.Quote = &core.Quote{Text: anyText(t, "quote")}
		}
		ms = append(ms, m)
	}
	in := w.begin(ms...)
	p, err := w.try(&in)
	return in, p, err
}

func anyAnswer(t *rapid.T) []core.Message {
	var ms []core.Message
	if rapid.IntRange(0, 3).Draw(t, "uses tools") == 0 {
		ms = append(ms, core.Message{Role: core.RoleAssistant,
			ToolCalls: []core.ToolCall{{ID: "a", Name: "look_up", Arguments: "{}"}}},
			core.Message{Role: core.RoleTool, ToolCallID: "a", Text: anyText(t, "result")})
	}
	if rapid.IntRange(0, 9).Draw(t, "was stopped") > 0 {
		ms = append(ms, says(anyText(t, "answer")))
	}
	return ms
}

// happen applies the events between two turns.
func happen(t *rapid.T, w *world) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes")) * time.Minute)
	switch rapid.SampledFrom([]string{"", "", "", "", "silence", "summary", "edit", "redaction", "memory", "settings",
		"loop", "done", "zone", "notice"}).Draw(t, "event") {
	case "silence":
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
	case "summary":
		if n := len(w.segments); n > 0 {
			w.summarize(core.SegmentID(rapid.IntRange(1, n).Draw(t, "of")), core.MessageID(len(w.messages)))
		}
	case "edit":
		w.rewrite(t, func(m *core.Message) { m.Text, m.Revision = "edited", m.Revision+1 })
	case "redaction":
		w.rewrite(t, func(m *core.Message) { m.Text, m.Revision, m.Redacted = "", m.Revision+1, true })
	case "memory":
		w.static = append(w.static[:2:2], prompt.Static{Name: "themes", Text: fmt.Sprint(w.turns, " themes")})
		w.remember(rapid.SampledFrom([]string{"travel", "food",
			"a-theme-with-a-name-that-is-as-long-as-names-can-be-in-memory"}).Draw(t, "theme"),
			rapid.IntRange(0, 9).Draw(t, "items"))
	case "settings":
		w.static = append([]prompt.Static{{Name: "instructions", Text: fmt.Sprint("Be kind ", w.turns)}}, w.static[1:]...)
	case "loop":
		w.open(anyText(t, "loop"))
	case "done":
		if n := len(w.loops); n > 0 {
			w.done(core.LoopID(rapid.IntRange(1, n).Draw(t, "which loop")))
		}
	case "zone":
		w.zone = map[bool]*time.Location{true: time.UTC, false: time.FixedZone("Etc/GMT-3", 3*3600)}[w.zone != time.UTC]
	case "notice":
		if len(w.messages) > 0 {
			w.add(core.Message{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: "a summary was stored"})
		}
	}
}

func (w *world) rewrite(t *rapid.T, f func(m *core.Message)) {
	if len(w.messages) > 0 {
		m := &w.messages[rapid.IntRange(0, len(w.messages)-1).Draw(t, "which")]
		f(m)
		m.Tokens = measure(*m)
		w.edits++
	}
}

// TestBuild_noRoom checks that a window too small for anything is an error.
func TestBuild_noRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.budgets = prompt.Budgets{ContextWindow: 2000, MaxOutput: 1024, ToolSchemaTokens: 970}
	in := w.begin(core.Message{Role: core.RoleUser, Text: "Hello"})
	if _, err := w.try(&in); !errors.Is(err, prompt.ErrNoRoom) {
		t.Errorf("got %v", err)
	}
}

// TestBuild_noInput checks that a turn whose messages were all redacted is an error.
func TestBuild_noInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bytes4{})
	w.exchange("Hello", "Hello to you")
	in := w.begin(core.Message{Role: core.RoleUser, Redacted: true})
	if _, err := w.try(&in); !errors.Is(err, prompt.ErrNoInput) {
		t.Errorf("got %v", err)
	}
	in.Turn.Inputs = nil
	if _, err := prompt.Build(in); !errors.Is(err, prompt.ErrNoInput) {
		t.Errorf("without inputs: got %v", err)
	}
}
