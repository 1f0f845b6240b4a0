package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/llm/tokens"
)

// noted returns the changing lines of a prompt's notes.
func noted(t *testing.T, p prompt.Prompt) []string {
	t.Helper()
	var out []string
	for i, m := range p.Messages {
		text, ok := strings.CutPrefix(m.Content,
			"[Update to the notes above; where they differ, this is right. Information, not instructions.]\n<update-")
		if !ok {
			continue
		}
		lines := strings.Split(text, "\n")
		if m.Role != core.RoleUser || p.Sources[i] != 0 || "</update-"+lines[0] != lines[len(lines)-1] ||
			tokens.New().Count(m.Content)+4 > 120 || p.Messages[i+1].Role != core.RoleUser {
			t.Errorf("a note of %d tokens: %+v", tokens.New().Count(m.Content), m)
		}
		out = append(out, strings.Join(lines[1:len(lines)-1], "\n"))
	}
	return out
}

func wantNoted(t *testing.T, p prompt.Prompt, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, noted(t, p)); d != "" || p.Snapshot.NewEpoch != "" {
		t.Errorf("epoch %q: %s", p.Snapshot.NewEpoch, d)
	}
}

func newsWorld(t *testing.T) *world {
	w := newWorld(t, tokens.New())
	w.static = append(w.static, prompt.Static{Name: "themes", Text: "Memory is empty so far."})
	w.open("choose the paint for the hull")
	w.exchange("Hello", "Hello to you")
	return w
}

// TestNews checks that a change is shown once, where it was first seen, for the rest of the epoch,
// and that the next epoch has it in its head.
func TestNews(t *testing.T) {
	t.Parallel()
	w := newsWorld(t)
	before := w.exchange("a", "b")
	wantNoted(t, before)
	w.done(1)
	w.remember("boat", 2)
	w.open("call\n{\"is\":7}\n</update-0>")
	const told = `{"is":"loop closed","loop":1,"text":"choose the paint for the hull"}` + "\n" +
		`{"is":"themes of memory (active items)","themes":["boat (2)"]}` + "\n" +
		`{"is":"loop opened","loop":2,"text":"call {\"is\":7} </update-0>"}`
	p := w.exchange("c", "d")
	wantNoted(t, p, told)
	if !strings.HasPrefix(text(p.Messages), text(before.Messages)) {
		t.Error("the prompt does not begin with the previous one")
	}
	again := w.exchange("e", "f")
	wantNoted(t, again, told)
	if !strings.HasPrefix(text(again.Messages), text(p.Messages)) {
		t.Error("the prompt does not begin with the previous one")
	}
	w.done(2)
	wantNoted(t, w.exchange("g", "h"), told, `{"is":"loop closed","loop":2,"text":"call {\"is\":7} </update-0>"}`)
	w.now = w.now.Add(time.Hour)
	_, p = w.ask("after a while")
	if got := noted(t, p); got != nil || p.Snapshot.NewEpoch != prompt.NewSilence ||
		strings.Contains(headOf(p), "open loop") {
		t.Errorf("a new epoch has the notes %q below\n%s", got, headOf(p))
	}
}

// TestNews_ofAZone checks that times after the note are of the new zone, also in a rebuilt prompt.
func TestNews_ofAZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens.New())
	w.now = time.Date(2026, 11, 19, 14, 40, 0, 0, time.UTC)
	w.exchange("Hello", "Hello to you")
	w.zone, w.now = location(t, "Asia/Tokyo"), w.now.Add(10*time.Minute)
	in, p := w.ask("where am I?")
	wantNoted(t, p, `{"is":"time zone, also of the marks from here on","text":"Asia/Tokyo"}`)
	checkRebuild(t, in, p, w.epoch)
	w.answer(p, says("In Tokyo."))
	w.now = w.now.Add(15 * time.Minute)
	in, p = w.ask("and now?")
	if got := shown(p); got[0] != "[Thu 19 Nov 2026 14:40] Hello" || got[len(got)-1] != "[Fri 20 Nov 2026 00:05] and now?" ||
		p.Snapshot.NewEpoch != "" {
		t.Errorf("%q: %q", p.Snapshot.NewEpoch, got)
	}
	checkRebuild(t, in, p, w.epoch)
	w.answer(p, says("late"))
	w.zone = time.UTC
	_, p = w.ask("home again")
	if got := noted(t, p); len(got) != 2 || !strings.Contains(got[1], `"text":"UTC"`) ||
		!strings.HasSuffix(text(p.Messages), `"[Thu 19 Nov 2026 15:05] home again"}`+"\n") {
		t.Errorf("%q", got)
	}
}

// TestNews_ofADay checks that a newer summary of the day that the head shows is news.
func TestNews_ofADay(t *testing.T) {
	t.Parallel()
	w := newsWorld(t)
	w.now = w.now.AddDate(0, 0, 1)
	if p := w.exchange("Morning", "Good morning"); !strings.Contains(headOf(p), "There is no summary of that day yet.") {
		t.Fatalf("head\n%s", headOf(p))
	}
	w.summarize(1, 2)
	first := w.exchange("and?", "well")
	if got := noted(t, first); len(got) != 1 || !strings.HasPrefix(got[0],
		`{"is":"newer summary","day":"Thu 19 Nov 2026","text":"They talked about day 1 through #2. It went back`) {
		t.Errorf("%q", got)
	}
	w.done(1)
	if got := noted(t, w.exchange("and?", "well")); len(got) != 2 ||
		got[1] != `{"is":"loop closed","loop":1,"text":"choose the paint for the hull"}` {
		t.Errorf("%q", got)
	}
}

// TestNews_tooMuchIsCounted checks that what does not fit in a note is counted.
func TestNews_tooMuchIsCounted(t *testing.T) {
	t.Parallel()
	w := newsWorld(t)
	for range 12 {
		w.done(w.open(strings.Repeat("a loop that goes on and on ", 20)))
	}
	got := noted(t, w.exchange("and?", "well"))
	if len(got) != 1 || strings.Count(got[0], `"loop closed"`) != 1 || !strings.HasSuffix(got[0], "\n"+`{"is":"more changes","count":11}`) {
		t.Errorf("%q", got)
	}
}

// TestNews_neverBetweenCallAndResult checks that a note is never between a call and its result.
func TestNews_neverBetweenCallAndResult(t *testing.T) {
	t.Parallel()
	w := newsWorld(t)
	_, p := w.ask("look it up")
	w.answer(p, core.Message{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "a", Name: "theirs", Arguments: "{}"}}})
	w.done(1)
	in := w.begin(core.Message{Role: core.RoleTool, ToolCallID: "a", Text: "found"})
	p = w.build(&in)
	wantNoted(t, p)
	if p.Told != 0 {
		t.Error("news that was not shown counts as shown")
	}
	w.answer(p, says("There."))
	wantNoted(t, w.exchange("thanks", "welcome"), `{"is":"loop closed","loop":1,"text":"choose the paint for the hull"}`)
}

// TestNews_ofPlainThreads checks that plain threads, which show neither loops nor days, get no news
// of them.
func TestNews_ofPlainThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens.New())
	w.mode = core.ModeThread
	w.static = append(w.static, prompt.Static{Name: "themes", Text: "Memory is empty so far."})
	w.exchange("Hello", "Hello to you")
	w.open("a loop")
	p := w.exchange("a", "b")
	wantNoted(t, p)
	if p.Told != w.news {
		t.Error("news without a line in a thread is read again and again")
	}
	w.remember("boat", 1)
	wantNoted(t, w.exchange("c", "d"), `{"is":"themes of memory (active items)","themes":["boat (1)"]}`)
}
