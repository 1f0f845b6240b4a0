//go:build e2e

package data

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/chat/compress/compresstest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// An imported year is compressed in the background, and all of it is in the prompt: what the user
// wrote takes most of the room, quotes and pasted text are unchanged, and facts can still be read.
func TestLong_yearInOnePrompt(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_LLM_CONTEXT_WINDOW=200000",
			"EVERTHREAD_CONTEXT_SILENCE=1ms")
		g := w.Start()
		w.Telegram.Say(e2etest.Ada, "hello")
		w.Sent(e2etest.Ada, 1)
		user := w.Member()
		begin := time.Now()
		w.MustRun("import", "jsonl", e2etest.AYear(t), "--user", user, "--no-summaries")
		t.Logf("%d messages were imported in %s", compresstest.Messages, time.Since(begin).Round(time.Millisecond))
		l := w.Ledger()
		w.Telegram.Say(e2etest.Ada, "here I am again")
		w.Sent(e2etest.Ada, 2)
		first := w.LastTurn(l, user)
		if s := first.Snapshot; s.Strategy != "long" || s.Total > s.Cap || s.Included < 100 {
			t.Errorf("before anything is compressed: %+v", s)
		}
		begin = time.Now()
		for _, pages := range []int{150, 300} { // of more than 400, which take long on a busy machine
			l.Until(fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM pages LIMIT %d) AS first`, pages), pages, g)
		}
		l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
		t.Logf("%d pages were made in %s", l.Count(`SELECT COUNT(*) FROM pages`), time.Since(begin).Round(time.Millisecond))
		w.Telegram.Say(e2etest.Ada, "and now?")
		if got := w.Sent(e2etest.Ada, 3)[2].Text; got != "echo: and now?" {
			t.Errorf("answered %q", got)
		}
		w.WholeYear(w.LastTurn(l, user))
	})
}

// A forgotten message also leaves the pages of long prompts, as do repeats of it.
func TestLong_forgottenLeavesThePages(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_CONTEXT_LONG_BUDGET=12000",
			"EVERTHREAD_CONTEXT_LONG_RAW_RECENT_TOKENS=600", "EVERTHREAD_CONTEXT_SILENCE=1ms",
			"EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_TURN_DEBOUNCE=0s",
			"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0")
		g := w.Start()
		l := w.Ledger()
		recipe := strings.Repeat("Stir the xylophone sauce with forty grams of butter and wait for nine minutes. ", 4)
		said := 0
		say := func(text string) {
			said++
			w.Telegram.Say(e2etest.Ada, text)
			w.Sent(e2etest.Ada, said)
		}
		say("My recipe: " + recipe)
		for n := range 6 {
			say(fmt.Sprintf("On day %d we rowed %d miles and ate %d fish. %s", n, n+3, n+5,
				strings.Repeat("The sea was calm and the sky was wide. ", 12)))
		}
		say("Once more: " + strings.Replace(recipe, "nine", "ten", 1))
		for n := range 45 {
			say(fmt.Sprintf("Later, on day %d, we walked %d miles. %s", n, n+7,
				strings.Repeat("The path was dry and the hills were green. ", 12)))
		}
		l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
		say("what was the recipe?")
		user := w.Member()
		text := func() string {
			l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
			say("and now?")
			turn := w.LastTurn(l, user)
			if h := turn.Snapshot.History; h == nil || h.Pages == 0 || turn.Snapshot.Total > turn.Snapshot.Cap {
				t.Fatalf("got snapshot %+v", turn.Snapshot)
			}
			raw, err := json.Marshal(turn.Prompt)
			e2etest.Must(t, err)
			return string(raw)
		}
		if got := text(); !strings.Contains(got, "xylophone") || !strings.Contains(got, "3 miles") {
			t.Errorf("the prompt is %s", got)
		}
		for _, id := range l.Lines(`SELECT id FROM messages WHERE body LIKE '%xylophone%' ORDER BY id`) {
			w.MustRun("forget", "--message", id, "--user", user, "--yes")
		}
		if got := text(); strings.Contains(got, "xylophone") || !strings.Contains(got, "3 miles") {
			t.Errorf("the prompt is %s", got)
		}
		if out, err := w.Run("forget", "--verify", "xylophone", "--user", user); err != nil {
			t.Errorf("traces are left: %v\n%s", err, out)
		}
	})
}
