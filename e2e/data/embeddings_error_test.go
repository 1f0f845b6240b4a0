//go:build e2e

package data

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A message that cannot be embedded is reported with its reason where an operator looks, and is
// embedded as soon as the cause is removed.
func TestEmbeddings_failureSaysWhy(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := e2etest.NewTown(t, database(t)), e2etest.NewVectorServer(t)
		vectors.Is("large")
		w.Env = append(append(w.Env, vectors.Env("first")...), "EVERTHREAD_EMBEDDINGS_API_KEY=wrong",
			"EVERTHREAD_EMBEDDINGS_DIMENSIONS=0")
		g := w.Start()
		l := w.Ledger()
		w.Telegram.Say(e2etest.Ada, "/remember I keep bees behind the shed")
		w.Sent(e2etest.Ada, 1)
		l.Within(e2etest.Failed, 1, g)
		w.Says("1536 dimensions, and at most 1024 can be stored")
		g.Stop()

		for fault, why := range map[string]string{"refused": "embeddings.api_key", "unknown": "The model does not exist"} {
			vectors.Is(fault)
			g = w.Start("EVERTHREAD_EMBEDDINGS_MODEL=" + fault) // another model: tried again at once
			l.Within(`SELECT COUNT(*) FROM embeddings WHERE state = 'error' AND config LIKE '%/`+fault+`@%'`, 1, g)
			w.Says(why)
			g.Stop()
		}

		vectors.Is("refused")
		g = w.Start()
		l.Within(`SELECT COUNT(*) FROM embeddings WHERE state = 'error' AND config LIKE '%/first@%'`, 1, g)
		g.Stop()
		w.Env = append(w.Env, "EVERTHREAD_EMBEDDINGS_API_KEY=right") // the key alone
		g = w.Start()
		l.Within(e2etest.Ready, 1, g)
		w.Telegram.Say(e2etest.Ada, "/remember The lake is frozen in January")
		w.Sent(e2etest.Ada, 2)
		l.Within(e2etest.Ready, 2, g)
		if out := w.MustRun("embeddings", "status"); strings.Contains(out, "no vector") {
			t.Errorf("got %s", out)
		}
	})
}
