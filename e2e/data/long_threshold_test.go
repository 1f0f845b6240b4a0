//go:build e2e

package data

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// With a small budget the strategy long works as with a large one. Messages are compressed when a
// prompt passes the threshold, not when the budget is full, and the next prompt contains the
// result. All that the user wrote is kept, code byte for byte, while answers get shorter.
func TestLong_compressesAtTheThreshold(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, budget := range []int{16_000, 20_000} {
			w := e2etest.NewTown(t, database(t))
			w.Env = append(w.Env, "EVERTHREAD_CONTEXT_STRATEGY=long", fmt.Sprint("EVERTHREAD_CONTEXT_LONG_BUDGET=", budget))
			g := w.Start()
			l := w.Ledger()
			threshold, most, shorter, before := budget*8/10, 0, 0, 0
			var said []string
			user := ""
			for n := range budget / 200 {
				text := fmt.Sprintf("On day %d we rowed %d miles to the island and Marie paid %d euros. %s", n, n+3, n+40,
					strings.Repeat("The sea was calm and the sky was wide. ", 8))
				if n%5 == 2 {
					text += fmt.Sprintf(
						"\n```go\nfunc row%d(tide int) error {\n\tif tide < %d {\n\t\treturn errLow\n\t}\n\treturn nil\n}\n```", n, n)
				}
				said = append(said, text)
				w.Telegram.Say(e2etest.Ada, text)
				w.Sent(e2etest.Ada, n+1)
				if user == "" {
					user = w.Member()
				}
				if n < 30 {
					continue
				}
				turn := w.LastTurn(l, user)
				s := turn.Snapshot
				if s.Total > s.Cap || s.Cap > budget || s.NewEpoch == "full" {
					t.Fatalf("turn %d of budget %d: %+v", n, budget, s)
				}
				if s.NewEpoch == "shorter" {
					shorter++
					if before < threshold || s.Total >= threshold || s.History.Pages == 0 {
						t.Errorf("turn %d of budget %d: %d tokens after %d, history %+v", n, budget, s.Total, before, *s.History)
					}
					whole(t, turn, said)
				}
				before, most = s.Total, max(most, s.Total)
				l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
			}
			t.Logf("budget %d: at most %d tokens, %d prompts began shorter", budget, most, shorter)
			if shorter == 0 || shorter > 12 || most > threshold+1500 {
				t.Errorf("budget %d: at most %d tokens, %d prompts began shorter", budget, most, shorter)
			}
			g.Stop()
		}
	})
}

// whole checks that a prompt contains the user's facts and all of their code.
func whole(t *testing.T, turn e2etest.ShownTurn, said []string) {
	t.Helper()
	var all strings.Builder
	for _, m := range turn.Prompt {
		all.WriteString(m.Content + "\n")
	}
	for _, text := range said {
		fact, _, _ := strings.Cut(text, ".")
		_, code, _ := strings.Cut(text, "\n```go\n")
		if !strings.Contains(all.String(), fact) || !strings.Contains(all.String(), code) {
			t.Errorf("turn %d has no %q, or its code is gone", turn.ID, fact)
		}
	}
}
