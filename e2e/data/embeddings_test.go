//go:build e2e

package data

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestEmbeddings_findAParaphrase(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := e2etest.NewClock(t, database(t)), e2etest.NewVectorServer(t)
		w.Env = append(append(w.Env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_CONTEXT_MIN_TURNS=1"),
			vectors.Env("first")...)
		g := w.Start()
		l := w.Ledger()
		w.Ask("/remember I keep bees behind the shed")
		w.ThreeDays(l, g, e2etest.Towed, e2etest.Soup, e2etest.Tax)
		l.Until(e2etest.Ready, 4, g)
		for query, want := range map[string]string{"breakdown of the automobile": e2etest.Towed,
			"vegetable broth": e2etest.Soup, "levy filed": e2etest.Tax} {
			got := w.Search(query)
			if got.Mode != "hybrid" || got.First() != want {
				t.Errorf("%s: got %+v", query, got)
			}
		}
		vectors.Is("down")
		if got := w.Search("towed"); got.Mode != "fts" || got.First() != e2etest.Towed || got.Note == "" {
			t.Errorf("while the server is down: got %+v", got)
		}
		vectors.Is("base64")
		g.Stop()
		w.Env = append(w.Env, vectors.Env("second")...)
		g = w.Start()
		if got := w.Search("towed"); got.Mode != "fts" || got.First() != e2etest.Towed {
			t.Errorf("with another model: got %+v", got)
		}
		w.Rebuild(t)
		l.Until(e2etest.Waiting, 0, g)
		if got := w.Search("breakdown of the automobile"); got.Mode != "hybrid" || got.First() != e2etest.Towed {
			t.Errorf("after the rebuild: got %+v", got)
		}
		if got := result[e2etest.SearchJSON](t,
			w.Ask(`call conversation_search {"query":"trouble with a vehicle"}`).Text); got.Mode != "hybrid" ||
			got.First() != e2etest.Towed {
			t.Errorf("the model got %+v", got)
		}
		if got := w.Ask(`call memory_search {"query":"hives"}`).Text; !strings.Contains(got, "behind the shed") ||
			!strings.Contains(got, `"mode":"hybrid"`) {
			t.Errorf("got %q", got)
		}
		usageAddsUp(t, w, l, g)
	})
}

// usageAddsUp checks that an answer, a summary, a task and vectors each stand under their purpose in what calls took,
// and that the parts of each day add up to its tokens.
func usageAddsUp(t *testing.T, w *e2etest.Week, l *e2etest.Ledger, g *e2etest.Gateway) {
	t.Helper()
	w.Ask("/task in 10 minutes say 3 words")
	w.Set(w.Now().Add(10*time.Minute + time.Second))
	if got := w.Receive().Text; got != "word1 word2 word3" {
		t.Errorf("the task said %q", got)
	}
	w.Settle(l, g)
	for purpose, model := range map[string]string{"answer": "emulated", "summary": "emulated", "task": "emulated", "embedding": "second"} {
		l.Until(`SELECT COUNT(*) FROM (SELECT purpose FROM usage_parts WHERE calls > 0 AND prompt > 0 AND purpose = '`+purpose+
			`' AND model = '`+model+`' GROUP BY purpose) one`, 1, g)
	}
	if n := l.Count(`SELECT COUNT(*) FROM usage u WHERE u.prompt + u.cached + u.completion <> (SELECT COALESCE(SUM(p.prompt + p.cached + p.completion), 0)
		FROM usage_parts p WHERE p.user_id = u.user_id AND p.day = u.day)`); n != 0 {
		t.Errorf("the parts of %d days do not add up to their tokens", n)
	}
	if got := w.Ask("/usage").Text; !strings.Contains(got, "Search by meaning ") || !strings.Contains(got, "price unknown") {
		t.Errorf("what the month took: %q", got)
	}
}

// Invalid vectors affect only the search by meaning for their texts, never an answer or the search
// by words.
func TestEmbeddings_badVectorsCostNoAnswer(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := e2etest.NewClock(t, database(t)), e2etest.NewVectorServer(t)
		vectors.Is("short")
		w.Env = append(append(w.Env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off"), vectors.Env("first")...)
		g := w.Start()
		l := w.Ledger()
		w.ThreeDays(l, g, e2etest.Towed, "That cursed printer is broken for the third time in one week", e2etest.Tax)
		l.Until(`SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM windows`, 1, g)
		if got := w.Search("towed"); got.Mode != "fts" || got.First() != e2etest.Towed {
			t.Errorf("vectors of a wrong length: got %+v", got)
		}
		g.Logged("embeddings.dimensions")
		if n := l.Count(e2etest.Ready); n != 0 {
			t.Errorf("%d vectors of a wrong length are stored", n)
		}
		vectors.Is("cursed")
		w.Set(w.Now().Add(20 * time.Minute)) // retried after a while
		l.Until(`SELECT COUNT(*) FROM windows`, 3, g)
		l.Until(e2etest.Ready, 2, g)
		l.Until(`SELECT COUNT(*) FROM embeddings WHERE state = 'error'`, 1, g)
		if got := w.Search("breakdown of the automobile"); got.Mode != "hybrid" || got.First() != e2etest.Towed {
			t.Errorf("got %+v", got)
		}
		if got := w.Search("printer"); got.First() != "That cursed printer is broken for the third time in one week" {
			t.Errorf("got %+v", got)
		}
	})
}
