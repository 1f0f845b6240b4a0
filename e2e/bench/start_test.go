//go:build e2e && bench

package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestBenchStart measures the time until the gateway is ready, with little data and with two
// gigabytes, after an orderly end and after a crash.
func TestBenchStart(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.Telegram.Say(e2etest.Ada, "hello")
		w.Sent(e2etest.Ada, 1)
		l := w.Ledger()
		for size, users := range [][]int{nil, {90, 91}} {
			for _, user := range users {
				w.FillGigabyte(l, user)
			}
			for end, stop := range map[string]func(){"ended": func() { g.Stop() }, "killed": func() { g.Kill() }} {
				var took []time.Duration
				for n := range 7 {
					w.Telegram.Say(e2etest.Ada, fmt.Sprint(end, size, n))
					w.Settle(l, g)
					stop()
					begin := time.Now()
					g = w.Start()
					took = append(took, time.Since(begin).Round(time.Millisecond))
				}
				slices.Sort(took)
				t.Logf("%d GB, after it was %s: p50 %s, most %s", 2*size, end, took[len(took)/2], took[len(took)-1])
			}
		}
	})
}
