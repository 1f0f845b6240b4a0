//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	towed   = "My car would not start beside the lake this morning and it had to be towed"
	soup    = "Leek soup again, and nobody wanted to stir it while it came to the boil"
	tax     = "I declared the taxes at last, in the office, after two hours of waiting"
	waiting = `SELECT COUNT(*) FROM embeddings WHERE state <> 'ready'`
	ready   = `SELECT COUNT(*) FROM embeddings WHERE state = 'ready'`
)

// threeDays has Ada talk of something else on each of three days, and then it is
// the fourth: what is said on a day is embedded when the day is over.
func (w *week) threeDays(l *ledger, g *gateway, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.ask(text)
		w.ask("thank you")
		w.settle(l, g)
		w.set(w.now().AddDate(0, 0, 1))
		l.until(`SELECT COUNT(*) FROM segments WHERE state = 'open'`, 0, g)
	}
}

type searchJSON struct {
	Mode    string `json:"mode"`
	Note    string `json:"note"`
	Results []struct {
		Kind    string `json:"kind"`
		Snippet string `json:"snippet"`
	} `json:"results"`
}

// search searches from the command line, which leaves nothing behind to be found.
func (w *week) search(query string) (out searchJSON) {
	w.t.Helper()
	must(w.t, json.Unmarshal([]byte(w.mustRun("search", "--user", "Ada", "--json", query)), &out))
	return out
}

// first is the first message found, or what it is an echo of.
func (s searchJSON) first() string {
	for _, r := range s.Results {
		if r.Kind == "message" {
			return strings.TrimPrefix(r.Snippet, "echo: ")
		}
	}
	return ""
}

func TestAParaphraseIsFoundByItsMeaning(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := newClock(t, database(t)), newVectorServer(t)
		w.env = append(append(w.env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off"), vectors.env("first")...)
		g := w.start()
		l := w.ledger()
		w.ask("/remember I keep bees behind the shed")
		w.threeDays(l, g, towed, soup, tax)
		l.until(ready, 4, g)
		for query, want := range map[string]string{"breakdown of the automobile": towed, "vegetable broth": soup, "levy filed": tax} {
			got := w.search(query)
			if got.Mode != "hybrid" || got.first() != want {
				t.Errorf("%s: got %+v", query, got)
			}
		}
		vectors.is("down")
		if got := w.search("towed"); got.Mode != "fts" || got.first() != towed || got.Note == "" {
			t.Errorf("while the server is down: got %+v", got)
		}
		vectors.is("base64")
		g.stop()
		w.env = append(w.env, vectors.env("second")...)
		g = w.start()
		if got := w.search("towed"); got.Mode != "fts" || got.first() != towed {
			t.Errorf("with another model: got %+v", got)
		}
		w.rebuild(t)
		l.until(waiting, 0, g)
		if got := w.search("breakdown of the automobile"); got.Mode != "hybrid" || got.first() != towed {
			t.Errorf("after the rebuild: got %+v", got)
		}
		if got := result[searchJSON](t, w.ask(`call conversation_search {"query":"trouble with a vehicle"}`).Text); got.Mode != "hybrid" || got.first() != towed {
			t.Errorf("the model got %+v", got)
		}
		if got := w.ask(`call memory_search {"query":"hives"}`).Text; !strings.Contains(got, "behind the shed") || !strings.Contains(got, `"mode":"hybrid"`) {
			t.Errorf("got %q", got)
		}
	})
}

// rebuild has all vectors made again, after it was told how many they are.
func (w *week) rebuild(t *testing.T) {
	t.Helper()
	out, err := w.run("embeddings", "rebuild")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(err.Error(), " 4 vectors") {
		t.Errorf("not asked for a yes: %q, %v", out, err)
	}
	if n := w.ledger().count(waiting); n != 0 {
		t.Errorf("without a yes %d wait", n)
	}
	if out := w.mustRun("embeddings", "rebuild", "--yes"); !strings.Contains(out, "4 texts wait") {
		t.Errorf("got %q", out)
	}
}

// Vectors that are no use cost the meaning of what they are for, and never an
// answer or the search by words.
func TestBadVectorsCostNoAnswer(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w, vectors := newClock(t, database(t)), newVectorServer(t)
		vectors.is("short")
		w.env = append(append(w.env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off"), vectors.env("first")...)
		g := w.start()
		l := w.ledger()
		w.threeDays(l, g, towed, "That cursed printer is broken for the third time in one week", tax)
		l.until(`SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM windows`, 1, g)
		if got := w.search("towed"); got.Mode != "fts" || got.first() != towed {
			t.Errorf("vectors of a wrong length: got %+v", got)
		}
		g.logged("embeddings.dimensions")
		if n := l.count(ready); n != 0 {
			t.Errorf("%d vectors of a wrong length are stored", n)
		}
		vectors.is("cursed")
		w.set(w.now().Add(20 * time.Minute)) // it is tried again after a while
		l.until(`SELECT COUNT(*) FROM windows`, 3, g)
		l.until(ready, 2, g)
		l.until(`SELECT COUNT(*) FROM embeddings WHERE state = 'error'`, 1, g)
		if got := w.search("breakdown of the automobile"); got.Mode != "hybrid" || got.first() != towed {
			t.Errorf("got %+v", got)
		}
		if got := w.search("printer"); got.first() != "That cursed printer is broken for the third time in one week" {
			t.Errorf("got %+v", got)
		}
	})
}
