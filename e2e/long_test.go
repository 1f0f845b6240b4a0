//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/long/longtest"
)

// aYear writes a year of conversation as JSON Lines.
func aYear(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	f, err := os.Create(file)
	must(t, err)
	out := json.NewEncoder(f)
	for _, m := range longtest.Year(1, nil) {
		must(t, out.Encode(map[string]any{"role": m.Role, "text": m.Text, "sent_at": m.SentAt}))
	}
	must(t, f.Close())
	return file
}

// shownTurn is what `everthread turns show --json --prompt` says.
type shownTurn struct {
	ID       int64               `json:"turn_id"`
	Snapshot core.Snapshot       `json:"context"`
	Prompt   []core.ModelMessage `json:"prompt"`
}

// lastTurn is the newest turn of somebody, with its prompt.
func (w *town) lastTurn(l *ledger, user string) (out shownTurn) {
	w.t.Helper()
	id := l.count(`SELECT MAX(id) FROM turns WHERE state = 'done'`)
	must(w.t, json.Unmarshal([]byte(w.mustRun("turns", "show", fmt.Sprint(id), "--user", user, "--prompt", "--json")), &out))
	return out
}

// A year comes in from elsewhere, is compressed behind the person's back, and all
// of it stands in the prompt: what the user said in most of the room, nothing of
// what they quoted or pasted changed, and facts can still be read.
func TestAYearStandsInOnePrompt(t *testing.T) {
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.env = append(w.env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_LLM_CONTEXT_WINDOW=200000", "EVERTHREAD_CONTEXT_SILENCE=1ms")
		g := w.start()
		w.telegram.Say(ada, "hello")
		w.sent(ada, 1)
		user := w.member()
		begin := time.Now()
		w.mustRun("import", "jsonl", aYear(t), "--user", user, "--no-summaries")
		t.Logf("%d messages were imported in %s", longtest.Messages, time.Since(begin).Round(time.Millisecond))
		l := w.ledger()
		w.telegram.Say(ada, "here I am again")
		w.sent(ada, 2)
		first := w.lastTurn(l, user)
		if s := first.Snapshot; s.Strategy != "long" || s.Total > s.Cap || s.Included < 100 {
			t.Errorf("before anything is compressed: %+v", s)
		}
		begin = time.Now()
		l.until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
		t.Logf("%d pages were made in %s", l.count(`SELECT COUNT(*) FROM pages`), time.Since(begin).Round(time.Millisecond))
		w.telegram.Say(ada, "and now?")
		if got := w.sent(ada, 3)[2].Text; got != "echo: and now?" {
			t.Errorf("answered %q", got)
		}
		w.wholeYear(w.lastTurn(l, user))
	})
}

// wholeYear says what a prompt holds of the year.
func (w *town) wholeYear(turn shownTurn) {
	w.t.Helper()
	s := turn.Snapshot
	counter, total, text := tokens.New(), 0, strings.Builder{}
	for _, m := range turn.Prompt {
		total += counter.Count(m.Content)
		text.WriteString(m.Content + "\n")
	}
	if s.History == nil || s.History.Pages == 0 || s.Total > s.Cap || total > s.Total {
		w.t.Fatalf("%d tokens; the snapshot says %+v", total, s)
	}
	h := s.History
	w.t.Logf("prompt of %d tokens of at most %d; history %+v", s.Total, s.Cap, *h)
	for _, p := range s.Parts {
		w.t.Logf("%-12s %6d", p.Name, p.Tokens)
	}
	if share := float64(h.UserTotal) / float64(s.Total); share < 0.6 {
		w.t.Errorf("the user's words are %.0f %% of the prompt", 100*share)
	}
	found, of := map[core.Role]int{}, map[core.Role]int{}
	for _, n := range longtest.Needles() {
		of[n.Role]++
		if strings.Contains(text.String(), n.Words) {
			found[n.Role]++
		}
	}
	w.t.Logf("facts: %d of %d of the user's, %d of %d of the assistant's", found[core.RoleUser], of[core.RoleUser], found[core.RoleAssistant], of[core.RoleAssistant])
	if found[core.RoleUser]*100 < 95*of[core.RoleUser] || found[core.RoleAssistant]*100 < 80*of[core.RoleAssistant] {
		w.t.Error("too few facts can be read")
	}
}

// What is forgotten leaves the pages of long prompts too, and what repeats it.
func TestWhatIsForgottenLeavesLongPrompts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.env = append(w.env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_CONTEXT_LONG_BUDGET=12000", "EVERTHREAD_CONTEXT_LONG_RAW_RECENT_TOKENS=600",
			"EVERTHREAD_CONTEXT_SILENCE=1ms", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0")
		g := w.start()
		l := w.ledger()
		recipe := strings.Repeat("Stir the xylophone sauce with forty grams of butter and wait for nine minutes. ", 4)
		said := 0
		say := func(text string) {
			said++
			w.telegram.Say(ada, text)
			w.sent(ada, said)
		}
		say("My recipe: " + recipe)
		for n := range 6 {
			say(fmt.Sprintf("On day %d we rowed %d miles and ate %d fish. %s", n, n+3, n+5, strings.Repeat("The sea was calm and the sky was wide. ", 12)))
		}
		say("Once more: " + strings.Replace(recipe, "nine", "ten", 1))
		for n := range 45 {
			say(fmt.Sprintf("Later, on day %d, we walked %d miles. %s", n, n+7, strings.Repeat("The path was dry and the hills were green. ", 12)))
		}
		l.until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
		say("what was the recipe?")
		user := w.member()
		text := func() string {
			l.until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
			say("and now?")
			turn := w.lastTurn(l, user)
			if h := turn.Snapshot.History; h == nil || h.Pages == 0 || turn.Snapshot.Total > turn.Snapshot.Cap {
				t.Fatalf("the snapshot says %+v", turn.Snapshot)
			}
			raw, err := json.Marshal(turn.Prompt)
			must(t, err)
			return string(raw)
		}
		if got := text(); !strings.Contains(got, "xylophone") || !strings.Contains(got, "3 miles") {
			t.Errorf("the prompt is %s", got)
		}
		for _, id := range l.lines(`SELECT id FROM messages WHERE body LIKE '%xylophone%' ORDER BY id`) {
			w.mustRun("forget", "--message", id, "--user", user, "--yes")
		}
		if got := text(); strings.Contains(got, "xylophone") || !strings.Contains(got, "3 miles") {
			t.Errorf("the prompt is %s", got)
		}
		if out, err := w.run("forget", "--verify", "xylophone", "--user", user); err != nil {
			t.Errorf("traces are left: %v\n%s", err, out)
		}
	})
}
