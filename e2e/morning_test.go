//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// contextJSON is what a turn says of its prompt.
type contextJSON struct {
	Thread   int    `json:"messages_in_thread"`
	Loaded   int    `json:"messages_loaded"`
	Included int    `json:"messages_included"`
	LeftOut  int    `json:"messages_left_out_covered"`
	Dropped  int    `json:"messages_dropped_uncovered"`
	NewEpoch string `json:"new_epoch"`
	Total    int    `json:"total_tokens"`
	Cap      int    `json:"cap_tokens"`
}

// context has Ada say something and returns what the snapshot says of the prompt.
func (w *week) context(text string) contextJSON {
	w.t.Helper()
	w.ask(text)
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun("turns", "list", "--user", "Ada", "--json")), &turns))
	var shown struct {
		Context contextJSON `json:"context"`
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun("turns", "show", fmt.Sprint(turns[0].ID), "--user", "Ada", "--json")), &shown))
	return shown.Context
}

// The morning after a day of 40 turns, "yes" has the last 30 turns of the evening
// as its referent, and what each prompt says of itself is true.
func TestTheMorningAfterALongDay(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		w.useModel(startModel(t, 0))
		g := w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		for n := range 40 {
			w.ask(fmt.Sprintf("turn %d: %s", n, strings.Repeat("the boat and the paint and the harbour ", 5)))
		}
		w.set(time.Date(2026, 10, 25, 3, 5, 0, 0, w.zone))
		w.until("2026-10-24", func(d dayJSON) bool { return d.State == "final" })
		w.set(time.Date(2026, 10, 25, 8, 5, 0, 0, w.zone))
		first := w.context("yes")
		if first.NewEpoch != "silence" || first.Included < 55 || first.Total > 4100 || first.Thread != 81 || first.Dropped != 0 || first.Loaded != first.Included+first.LeftOut {
			t.Errorf("the first prompt of the day: %+v", first)
		}
		second := w.context("why?")
		if second.NewEpoch != "" || second.Included != first.Included+2 || second.Loaded != second.Included+second.LeftOut || second.Thread != 83 || second.Dropped != 0 {
			t.Errorf("the second: %+v after %+v", second, first)
		}
		logged := fmt.Sprintf(`"in_thread": 83, "loaded": %d, "included": %d, "truncated": 0, "left_out_covered": %d, "dropped_uncovered": 0`, second.Loaded, second.Included, second.LeftOut)
		if !strings.Contains(g.log.String(), logged) {
			t.Errorf("the log does not say %s\n%s", logged, g.log)
		}
	})
}
