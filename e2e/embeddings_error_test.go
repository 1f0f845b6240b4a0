//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

const (
	failed = `SELECT COUNT(*) FROM embeddings WHERE state = 'error'`
	// soon is how long something takes that is done at once, on a busy machine: much
	// less than the 30 seconds after which it is looked for.
	soon = 12 * time.Second
)

// within waits for a count, and says if that took long.
func (l *ledger) within(query string, n int, g *gateway) {
	l.t.Helper()
	begin := time.Now()
	l.until(query, n, g)
	if took := time.Since(begin); took > soon {
		l.t.Errorf("%s: %d after %s", query, n, took.Round(time.Second))
	}
}

// What cannot be embedded says why, where it is looked for, and is embedded as soon
// as that was mended.
func TestWhatCannotBeEmbeddedSaysWhy(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := newTown(t, database(t)), newVectorServer(t)
		vectors.is("large")
		w.env = append(append(w.env, vectors.env("first")...), "EVERTHREAD_EMBEDDINGS_API_KEY=wrong", "EVERTHREAD_EMBEDDINGS_DIMENSIONS=0")
		g := w.start()
		l := w.ledger()
		w.telegram.Say(ada, "/remember I keep bees behind the shed")
		w.sent(ada, 1)
		l.within(failed, 1, g)
		w.says("1536 dimensions, and at most 1024 can be stored")
		g.stop()

		for fault, why := range map[string]string{"refused": "embeddings.api_key", "unknown": "The model does not exist"} {
			vectors.is(fault)
			g = w.start("EVERTHREAD_EMBEDDINGS_MODEL=" + fault) // another model: tried again at once
			l.within(`SELECT COUNT(*) FROM embeddings WHERE state = 'error' AND config LIKE '%/`+fault+`@%'`, 1, g)
			w.says(why)
			g.stop()
		}

		vectors.is("refused")
		g = w.start()
		l.within(`SELECT COUNT(*) FROM embeddings WHERE state = 'error' AND config LIKE '%/first@%'`, 1, g)
		g.stop()
		w.env = append(w.env, "EVERTHREAD_EMBEDDINGS_API_KEY=right") // the key alone
		g = w.start()
		l.within(ready, 1, g)
		w.telegram.Say(ada, "/remember The lake is frozen in January")
		w.sent(ada, 2)
		l.within(ready, 2, g)
		if out := w.mustRun("embeddings", "status"); strings.Contains(out, "no vector") {
			t.Errorf("got %s", out)
		}
	})
}

// says checks that a reason is told by the commands that tell such things.
func (w *town) says(why string) {
	w.t.Helper()
	if out := w.mustRun("embeddings", "status"); !strings.Contains(out, "1 text has no vector: ") || !strings.Contains(out, why) {
		w.t.Errorf("status says %s, want %q", out, why)
	}
	out, _ := w.run("doctor")
	if _, vectors, _ := strings.Cut(out, "vectors"); !strings.Contains(vectors, why) {
		w.t.Errorf("doctor says %s, want %q", out, why)
	}
}
