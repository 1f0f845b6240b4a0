//go:build e2e && bench

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What a prompt of the strategy long costs with a year in it: not a test, but a
// measurement, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBenchLong -v ./e2e/`.
func TestBenchLong(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = newSchema(t)
			}
			w := newTown(t, database)
			w.env = append(w.env, "EVERTHREAD_CONTEXT_STRATEGY=long", "EVERTHREAD_LLM_CONTEXT_WINDOW=200000", "EVERTHREAD_CONTEXT_SILENCE=1ms", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
			g := w.start()
			w.telegram.Say(ada, "hello")
			w.sent(ada, 1)
			user := w.member()
			w.mustRun("import", "jsonl", aYear(t), "--user", user, "--no-summaries")
			w.telegram.Say(ada, "compress it")
			w.sent(ada, 2)
			l := w.ledger()
			begin := time.Now()
			l.until(`SELECT COUNT(*) FROM jobs WHERE queue = 'compress'`, 0, g)
			t.Logf("a year was compressed after %s", time.Since(begin).Round(time.Millisecond))
			for _, silence := range []string{"1ms", "30m"} {
				g.stop()
				g = w.start("EVERTHREAD_CONTEXT_SILENCE=" + silence)
				for n := range 60 {
					before := len(w.telegram.Sent(ada))
					w.telegram.Say(ada, fmt.Sprint("message ", n))
					w.sent(ada, before+1)
				}
				_, metrics := g.get("/metrics")
				t.Logf("context built, an epoch over after %s:\n%s", silence, stages(metrics))
			}
		})
	}
}

// stages are the lines of the metrics about building contexts.
func stages(metrics string) string {
	return strings.Join(regexp.MustCompile(`everthread_turn_seconds_(?:bucket|sum|count)\{[^}]*stage="context"[^\n]*`).FindAllString(metrics, -1), "\n")
}
