//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A model that would make tool calls forever is stopped by the day's budget, which is not
// exceeded, and the person gets an answer.
func TestBudget_stopsATurnWithTools(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for limit, want := range map[int]struct {
			answer      string
			least, most int // calls of tools
		}{
			12_000:  {"I can use no tools now.", 0, 0},
			40_000:  {"That is all I could find out.", 1, 20},
			200_000: {"That is all I could find out.", 5, 49},
		} {
			t.Run(fmt.Sprint(limit), func(t *testing.T) {
				t.Parallel()
				w := e2etest.NewClock(t, database(t))
				g := w.Start(fmt.Sprint("EVERTHREAD_LIMITS_TOKENS_PER_DAY=", limit), "EVERTHREAD_AGENT_MAX_STEPS=50")
				if got := w.Ask(`keep calling time_now {}`).Text; got != want.answer {
					t.Errorf("got %q\n%s", got, g.Log)
				}
				l := w.Ledger()
				w.Settle(l, g)
				used, reserved := l.Count(`SELECT SUM(prompt + completion) FROM usage`), l.Count(`SELECT SUM(reserved) FROM usage`)
				steps := l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'tool'`)
				if used > limit || used == 0 || reserved != 0 || steps < want.least || steps > want.most {
					t.Errorf("%d of %d tokens were used in %d steps, %d are reserved", used, limit, steps, reserved)
				}
				if got := w.Ask("/usage").Text; !strings.Contains(got, "%") {
					t.Errorf("got %q", got)
				}
			})
		}
	})
}
