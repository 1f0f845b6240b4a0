//go:build e2e

package data

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

type modelJSON struct {
	Results []struct {
		Kind, Snippet string
		Signals       struct{ FTS, Semantic, Neighbour bool }
	}
}

// Neighbours of a hit are shown to people as its context, and to the model as neighbours, ranked
// below it.
func TestSearch_neighboursAreContext(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000", "EVERTHREAD_CONTEXT_MIN_TURNS=1")
		for _, text := range []string{"the boiler is loud again", "x", "y", "a new boiler costs two thousand", "well",
			"nothing of that sort"} {
			w.Ask(text)
		}
		var got struct {
			Results []struct {
				Snippet       string
				Before, After *struct{ Snippet string }
			}
		}
		e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("search", "--user", "Ada", "--limit", "20", "--json", "boiler")),
			&got))
		if len(got.Results) != 4 {
			t.Errorf("got %d hits", len(got.Results))
		}
		beside := ""
		for _, r := range got.Results {
			if !strings.Contains(r.Snippet, "boiler") {
				t.Errorf("found %q", r.Snippet)
			}
			if r.Before != nil {
				beside += r.Before.Snippet + "\n"
			}
			if r.After != nil {
				beside += r.After.Snippet + "\n"
			}
		}
		if !strings.Contains(beside, "x\n") || !strings.Contains(beside, "echo: y\n") || !strings.Contains(beside, "well\n") {
			t.Errorf("neighbours %q", beside)
		}
		if out := w.MustRun("search", "--user", "Ada", "boiler"); !strings.Contains(out, "(user: x)") {
			t.Errorf("got %s", out)
		}
		if out := w.Ask("/search boiler").Text; !strings.Contains(out, "after: you: x") ||
			strings.Contains(out, "nothing of that sort") {
			t.Errorf("got %s", out)
		}
		if got := w.Ask(`call conversation_search {"query":"loud","limit":20}`).Text; strings.Contains(got, "snippet") {
			t.Errorf("the model found what it sees: %s", got)
		}
		w.Set(w.Now().AddDate(0, 0, 3))
		w.Ledger().Until(`SELECT COUNT(*) FROM segments WHERE version = 0`, 0, g) // the prompt has the summary instead
		model := result[modelJSON](t, w.Ask(`call conversation_search {"query":"boiler","limit":20}`).Text)
		neighbours := 0
		for i, r := range model.Results {
			if r.Kind == "summary" {
				continue
			}
			holds := strings.Contains(r.Snippet, "boiler")
			if r.Signals.FTS != holds || r.Signals.Neighbour == holds || i == 0 && !holds {
				t.Errorf("%d: %+v", i, r)
			}
			if !holds {
				neighbours++
			}
		}
		if neighbours == 0 {
			t.Error("the model got no neighbour")
		}
	})
}
