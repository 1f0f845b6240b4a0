package recall

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// found calls conversation_search as a model does in a turn, and returns the messages that it finds.
func (w *world) found(query string, use core.ToolUse) []core.MessageID {
	w.t.Helper()
	arguments, err := json.Marshal(map[string]any{"query": query, "limit": 20})
	if err != nil {
		w.t.Fatal(err)
	}
	use.User, use.Now, use.Arguments = me, saturday, arguments
	got, err := Tools(w.searcher(), nil)[0].Use(context.Background(), use)
	var out search.View
	if err == nil {
		err = json.Unmarshal([]byte(got.Text), &out)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []core.MessageID
	for _, r := range out.Results {
		ids = append(ids, r.Message)
	}
	return ids
}

// TestSearch_findsNoEchoes asks for the plumber again and again, as a person does who got no answer.
func TestSearch_findsNoEchoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	told := w.say("2026-10-02", core.RoleUser, "The plumber is called Ruiz and takes 80 euros")
	w.say("2026-10-02", core.RoleAssistant, "Noted.")
	aside := w.say("2026-11-21", core.RoleUser, "The plumber rang")
	for turn := range core.TurnID(3) {
		asked := w.say("2026-11-21", core.RoleUser, "What does the plumber take?")
		called := w.say("2026-11-21", core.RoleAssistant, "")
		w.message(called).ToolCalls = []core.ToolCall{{ID: "1", Name: "conversation_search"}}
		answered := w.say("2026-11-21", core.RoleAssistant, "I could not find what the plumber takes.")
		for _, id := range []core.MessageID{asked, called, answered} {
			w.message(id).Turn = turn + 1
		}
	}
	seen := w.say("2026-11-21", core.RoleUser, "And the plumber of my neighbours?")
	today := w.day(me, "2026-11-21")
	for name, c := range map[string]struct {
		use  core.ToolUse
		want []core.MessageID
	}{
		"the searches of the day": {core.ToolUse{Segment: today}, []core.MessageID{told, aside, seen}},
		"and the prompt":          {core.ToolUse{Segment: today, Seen: core.NewIDSet(aside, seen)}, []core.MessageID{told}},
		"on a later day": {core.ToolUse{Segment: w.day(me, "2026-11-22")},
			[]core.MessageID{told, aside, seen, 4, 6, 7, 9, 10, 12}},
	} {
		got := w.found("plumber take", c.use)
		got = slices.DeleteFunc(got, func(id core.MessageID) bool { return id == told+1 }) // a neighbour
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("without %s: found %v, want %v", name, got, c.want)
		}
	}
}
