//go:build e2e && bench

package bench

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// The cost of a prompt of the strategy long with a year in it: not a test but a
// measurement, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBenchLong -v ./e2e/`.
func TestBenchLong(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = e2etest.NewStore(t)
			}
			w := e2etest.NewTown(t, database)
			w.Env = append(w.Env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_LLM_CONTEXT_WINDOW=200000",
				"EVERTHREAD_CONTEXT_SILENCE=1ms", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
			g := w.Start()
			w.Telegram.Say(e2etest.Ada, "hello")
			w.Sent(e2etest.Ada, 1)
			user := w.Member()
			w.MustRun("import", "jsonl", e2etest.AYear(t), "--user", user, "--no-summaries")
			w.Telegram.Say(e2etest.Ada, "compress it")
			w.Sent(e2etest.Ada, 2)
			l := w.Ledger()
			begin := time.Now()
			l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
			t.Logf("a year was compressed after %s", time.Since(begin).Round(time.Millisecond))
			for _, silence := range []string{"1ms", "30m"} {
				g.Stop()
				g = w.Start("EVERTHREAD_CONTEXT_SILENCE=" + silence)
				for n := range 60 {
					before := len(w.Telegram.Sent(e2etest.Ada))
					w.Telegram.Say(e2etest.Ada, fmt.Sprint("message ", n))
					w.Sent(e2etest.Ada, before+1)
				}
				_, metrics := g.Get("/metrics")
				t.Logf("context built, an epoch over after %s:\n%s", silence, stages(metrics))
			}
		})
	}
}

// stages returns the metrics about building contexts.
func stages(metrics string) string {
	return strings.Join(
		regexp.MustCompile(`everthread_turn_seconds_(?:bucket|sum|count)\{[^}]*stage="context"[^\n]*`).FindAllString(metrics,
			-1), "\n")
}
