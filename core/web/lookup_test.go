package web

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// transcript is a thread with these messages.
type transcript []core.Message

func (ms transcript) Timeline(_ context.Context, q store.TimelineQuery) ([]core.Message, bool, error) {
	if q.User != 1 || q.Thread != 4 || q.After != 9 {
		return nil, false, core.ErrNotFound
	}
	return ms, false, nil
}

// TestLookups_ofOneTurn checks that the searches and pages of a turn are listed in order, with those of its helpers, and
// nothing of failed calls, of redacted results and of other turns.
func TestLookups_ofOneTurn(t *testing.T) {
	t.Parallel()
	result := func(turn core.TurnID, tool, text string) core.Message {
		return core.Message{Turn: turn, Role: core.RoleTool, ToolName: tool, Text: text}
	}
	search := `{"query":"weather","provider":"Brave","results":[{"title":"W","url":"https://w.example/"}]}`
	page := `{"title":"W","url":"https://w.example/","text":"rain"}`
	ms := transcript{result(7, "web_search", search), result(7, "web_search", "Error: Brave does not accept the key"),
		result(7, "web_read", page), result(7, "web_read", ""), result(8, "web_search", search), result(7, "memory_search", search),
		result(7, "delegate", "It rains.\n\n"+`{"looked_up":[`+searchTool{}.Trace(search)+","+readTool{}.Trace(page)+"]}"),
		result(7, "delegate", "It rains.")}
	got, err := Lookups(t.Context(), ms, core.Turn{ID: 7, User: 1, Thread: 4, Inputs: []core.MessageID{8, 9}})
	want := []Lookup{{Query: "weather", Provider: "Brave"}, {URL: "https://w.example/", Title: "W"},
		{Query: "weather", Provider: "Brave"}, {URL: "https://w.example/", Title: "W"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, turn := range []core.Turn{{ID: 7, User: 1, Thread: 4}, {ID: 7, User: 2, Thread: 4, Inputs: []core.MessageID{9}}} {
		if got, err := Lookups(t.Context(), ms, turn); got != nil || err != nil {
			t.Errorf("%+v: %v, %v", turn, got, err)
		}
	}
}
