//go:build e2e

package road

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A task runs at its time, once, even if the process dies before the model was called,
// after it answered, or while the answer was being sent.
func TestTasks_runOnceThroughKills(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.Start()
		w.Ask("hello")
		set := w.Ask("/task in 10 minutes say 3 words").Text
		if !strings.Contains(set, "I'll do this") || !strings.Contains(set, "say 3 words") {
			t.Fatalf("got %q", set)
		}
		for n, step := range []string{"prompt:1", "model:1"} {
			g.Stop()
			g = w.Launch("EVERTHREAD_CRASH_AT=" + step) // the second process continues the task before it is ready
			if n == 0 {
				g.Ready()
				w.Set(w.Now().Add(10*time.Minute + time.Second))
			}
			if !g.Wait(20 * time.Second) {
				t.Fatalf("it did not crash at %s\n%s", step, g.Log)
			}
		}
		g = w.Start()
		if got := w.Receive().Text; got != "word1 word2 word3" {
			t.Errorf("got %q", got)
		}
		l := w.Ledger()
		w.Settle(l, g)
		l.Until(`SELECT COUNT(*) FROM plan_runs WHERE state = 'done' AND turn_id > 0`, 1, g)
		l.Until(`SELECT COUNT(*) FROM usage WHERE task_tokens > 0 AND task_reserved = 0`, 1, g)
		if got := w.Ask("/usage").Text; !strings.Contains(got, "Tasks took ") {
			t.Errorf("what it took: %q", got)
		}
		list := w.Ask("/task").Text
		if !strings.Contains(list, "There are no tasks") {
			t.Errorf("the task is still listed: %q", list)
		}
		if got := w.Ask(`call task_set {"do":"tell the news","cron":"30 7 * * 1-5"}`).Text; !strings.Contains(got,
			`"status":"set"`) || !strings.Contains(got, "/task cancel ") {
			t.Errorf("got %q", got)
		}
		if got := w.Ask("/task").Text; !strings.Contains(got, "tell the news") || !strings.Contains(got, "every weekday") {
			t.Errorf("got %q", got)
		}
		w.Ask(`/task in 10 minutes call task_set {"do":"more","when":"tomorrow at 9"}`)
		w.Set(w.Now().Add(10*time.Minute + time.Second))
		if got := w.Receive().Text; !strings.Contains(got, "a task cannot set tasks") {
			t.Errorf("a task set one: %q", got)
		}
		turn := l.Lines(`SELECT 'turn ' || id FROM turns WHERE task_id > 0 ORDER BY id DESC LIMIT 1`)[0]
		out, err := w.Run("turns", "show", strings.TrimPrefix(turn, "turn "), "--user", "Ada", "--prompt")
		if err != nil || !strings.Contains(out, "A task that the user set before, due Sat 24 Oct") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// A run that was missed for too long is skipped and reported once. A failure is reported
// once, with the cause, and after three failures the person decides.
func TestTasks_missedAndFailed(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		w.Ask("hello")
		number := regexp.MustCompile(`/task cancel (\d+)`).FindStringSubmatch(
			w.Ask("/task every day at 15:30 fail 401").Text)[1]
		g.Stop()
		w.Set(time.Date(2026, 10, 26, 18, 0, 0, 0, time.UTC)) // two days later, and too late
		g = w.Start()
		want := func(what string, parts ...string) {
			t.Helper()
			got := w.Receive().Text
			for _, part := range parts {
				if !strings.Contains(got, part) {
					t.Fatalf("%s: got %q, want %q\n%s", what, got, part, g.Log)
				}
			}
		}
		want("late", "Task "+number+" was skipped", "Monday 26 October 2026 at 15:30", "2 more runs were skipped",
			"The next run is on Tuesday 27 October 2026 at 15:30")
		for day := 27; day < 30; day++ {
			w.Set(time.Date(2026, 10, day, 15, 30, 1, 0, time.UTC))
			parts := []string{fmt.Sprintf("Task %s wasn't done. It was due on", number),
				fmt.Sprintf("%d October 2026 at 15:30", day), "A setting of the language model needs fixing"}
			if day == 29 {
				parts = append(parts, "It failed 3 times in a row", "Should I resume it?")
			}
			want("failed", parts...)
		}
		w.Set(time.Date(2026, 10, 29, 15, 40, 0, 0, time.UTC))
		if got := w.Ask("/task").Text; !strings.Contains(got, "paused; ") || !strings.Contains(got, "failed") {
			t.Errorf("got %q", got)
		}
		if got := w.Ask("/yes " + w.Ledger().Lines(`SELECT code FROM approvals WHERE state = 'open'`)[0]).Text; !strings.Contains(got, "Resumed:") {
			t.Fatalf("got %q\n%s", got, g.Log)
		}
		w.Set(time.Date(2026, 10, 30, 15, 30, 1, 0, time.UTC))
		want("went on", "Task "+number+" wasn't done")
		if got := w.Ask("/task cancel " + number).Text; !strings.Contains(got, "Cancelled") {
			t.Errorf("got %q", got)
		}
		l := w.Ledger()
		w.Settle(l, g)
		l.Until(`SELECT COUNT(*) FROM plan_runs WHERE state = 'failed'`, 4, g)
	})
}
