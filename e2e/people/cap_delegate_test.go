//go:build e2e

package people

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// However many helpers the turns of one user start concurrently, all their calls use no more than
// the user's day allows, and each turn ends with an answer.
func TestAttack_helpersKeepToTheDay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		const limit = 150_000
		w := e2etest.NewTown(t, database(t))
		w.UseModel(e2etest.StartModel(t, 10*time.Millisecond)) // so that all begin before the day is used up
		g := w.Start(fmt.Sprint("EVERTHREAD_LIMITS_TOKENS_PER_DAY=", limit), "EVERTHREAD_AGENT_MAX_STEPS=30")
		w.AddOwner(g)
		key, _ := w.APIKey("", "chat")
		var wg sync.WaitGroup
		for n := range 5 { // each has a reservation of the day
			wg.Go(func() {
				status, body := g.Request(http.MethodPost, "/v1/chat/completions", key,
					map[string]any{"model": fmt.Sprint("everthread/plain", n),
						"messages": []any{map[string]any{"role": "user",
							"content": `keep calling delegate {"task":"keep calling time_now {}"}`}}})
				late := strings.Contains(body, "I can use no tools now") // the others used up the day before it began
				if status != http.StatusOK || !late && !strings.Contains(body, "all I could find out") {
					t.Errorf("%d: %.300s\n%s", status, body, g.Log)
				}
			})
		}
		wg.Wait()
		l := w.Ledger()
		w.Settle(l, g)
		used, reserved := l.Count(`SELECT SUM(prompt + completion) FROM usage`), l.Count(`SELECT SUM(reserved) FROM usage`)
		if used > limit || used < limit/2 || reserved != 0 {
			t.Errorf("%d of %d tokens were used, %d are reserved", used, limit, reserved)
		}
		if n := l.Count(
			`SELECT COUNT(*) FROM messages WHERE role = 'tool' AND body LIKE '%the user''s tokens of today are used up%'`); n == 0 {
			t.Error("no helper was refused")
		}
	})
}
