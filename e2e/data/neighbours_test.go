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
		Snippet string
		Signals struct{ FTS, Semantic, Neighbour bool }
	}
}

// Neighbours of a hit are shown to people as its context, and to the model as neighbours, ranked
// below it.
func TestNeighboursAreContextForPeople(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.Start("EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000")
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
		if got := w.Ask(`call conversation_search {"query":"boiler","limit":20}`).Text; strings.Contains(got, "snippet") {
			t.Errorf("the model found what it sees: %s", got)
		}
		w.Set(w.Now().AddDate(0, 0, 3))
		model := result[modelJSON](t, w.Ask(`call conversation_search {"query":"boiler","limit":20}`).Text)
		for i, r := range model.Results {
			holds := strings.Contains(r.Snippet, "boiler")
			if r.Signals.FTS != holds || r.Signals.Neighbour == holds || i == 0 && !holds {
				t.Errorf("%d: %+v", i, r)
			}
		}
	})
}
