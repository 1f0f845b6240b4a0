package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/search"
)

// use calls a tool in the world as a model does.
func (w *world) use(name, arguments string) (string, error) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		w.t.Fatal(err)
	}
	names := func(context.Context, core.UserID) map[string]core.Role { return w.names }
	for _, tool := range Tools(w.searcher(), names) {
		if tool.Spec().Name == name {
			got, err := tool.Use(context.Background(), core.ToolUse{User: me, Now: saturday, Location: paris,
				Arguments: json.RawMessage(arguments)})
			if len(got.Effects) > 0 {
				w.t.Errorf("%s has effects", name)
			}
			return got.Text, err
		}
	}
	w.t.Fatalf("no tool %s", name)
	return "", nil
}

// TestTools_answers compares the JSON for models with testdata/tools.txt, which has each call with
// its result or error below it.
func TestTools_answers(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.summarize("2026-05-08", "## Summary\nThe boiler showed <ERR-42> & was topped up.")
	w.message(4).Covered = true
	w.day(9, "2026-01-01") // segment of another user
	w.day(me, "2026-07-07")
	w.say("2026-08-08", core.RoleUser, "a secret")
	w.message(10).Redacted, w.message(10).Text = true, ""
	w.say("2026-08-08", core.RoleUser, "in a plain thread")
	w.message(11).Segment = 0
	w.say("2026-08-08", core.RoleSystem, "a system entry")
	golden(t, "testdata/tools.txt", func(call string) string {
		name, arguments, _ := strings.Cut(call, " ")
		got, err := w.use(name, arguments)
		if err != nil {
			return "error: " + err.Error()
		}
		return got
	})
}

// golden runs every line of a file that does not start with =, and compares the result with the =
// line below it.
func golden(t *testing.T, file string, run func(string) string) {
	t.Helper()
	var in string
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSuffix(line, "\n")
		want, ok := strings.CutPrefix(line, "= ")
		if !ok {
			in = line
			continue
		}
		if diff := cmp.Diff(want, run(in)); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

func TestTools_descriptionsAreShort(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tool := range Tools(newWorld(t).searcher(), nil) {
		spec := tool.Spec()
		var schema map[string]any
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		total += tokens.New().Count(spec.Name + spec.Description + string(spec.Schema))
	}
	if total > 250 {
		t.Errorf("got %d tokens, want at most 250", total)
	}
}

func TestRange_pages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 120 {
		w.say("2026-01-01", core.RoleUser, fmt.Sprintf("message %d", i+1))
	}
	w.message(7).Redacted = true
	var got []core.MessageID
	pages := 0
	for from := core.MessageID(3); from > 0; pages++ {
		page, err := w.searcher().Range(t.Context(), me, w.day(me, "2026-01-01"), from, 110)
		if err != nil || len(page.Messages) > 50 {
			t.Fatal(len(page.Messages), err)
		}
		for _, m := range page.Messages {
			got = append(got, m.ID)
		}
		from = page.Next
	}
	if pages != 3 || len(got) != 107 || !slices.IsSorted(got) || got[0] != 3 || got[106] != 110 ||
		slices.Contains(got, 7) {
		t.Errorf("got %d pages and %v", pages, got)
	}
}

func TestRange_keepsToItsTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 5 {
		w.say("2026-01-01", core.RoleUser, strings.Repeat("long words here ", 500))
	}
	w.say("2026-01-01", core.RoleUser, strings.Repeat("très long 👩‍👩‍👧 ", 9000))
	s := w.searcher()
	for from := core.MessageID(1); from > 0; {
		page, err := s.Range(t.Context(), me, w.day(me, "2026-01-01"), from, 100)
		if err != nil || len(page.Messages) == 0 {
			t.Fatal(page, err)
		}
		n := 0
		for _, m := range page.Messages {
			n += s.Tokens.Count(m.Text)
		}
		if n > 4000 {
			t.Errorf("from %d: %d tokens", from, n)
		}
		if from == 6 && !strings.HasSuffix(page.Messages[0].Text, "… (the rest is too long)") {
			t.Errorf("got %q", page.Messages[0].Text[:40])
		}
		from = page.Next
	}
}

func TestGet_hiddenSummariesAreNotShown(t *testing.T) {
	t.Parallel()
	w := household(t)
	id := w.summarize("2026-05-08", "rests on what is redacted")
	for i := range w.segments {
		w.segments[i].Hidden = w.segments[i].ID == id
	}
	got, err := w.use("conversation_get", fmt.Sprintf(`{"day_segment_id":%d}`, id))
	if err != nil || strings.Contains(got, "rests on") || !strings.Contains(got, `"summary_markdown":""`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestGet_passesFailuresOn(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.failing = errors.New("disk on fire")
	for _, arguments := range []string{`{"message_id":1}`, `{"day_segment_id":100}`,
		`{"day_segment_id":100,"from_message_id":1,"to_message_id":3}`} {
		if _, err := w.use("conversation_get", arguments); !errors.Is(err, w.failing) {
			t.Errorf("%s: got %v", arguments, err)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"query":"cat","limit":"6"}`, `{"limit":1e400}`, `[]`, `{"message_id":"#1"}`,
		`{"day_segment_id":100,"from_message_id":-1,"to_message_id":9e15}`, ``} {
		f.Add(s)
	}
	w := household(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, tool := range []string{"conversation_search", "conversation_get"} {
			got, err := w.use(tool, s)
			if err == nil && !json.Valid([]byte(got)) || strings.Contains(got, "another person") {
				t.Fatalf("%s %q: got %q", tool, s, got)
			}
		}
	})
}

// TestSearch_questionDoesNotFindItself checks that neither the input of a turn nor later messages are
// found.
func TestSearch_questionDoesNotFindItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.say("2026-05-08", core.RoleUser, "The spare key lies under the blue flowerpot.")
	asked := w.say("2026-05-09", core.RoleUser, "Where does the spare key lie?")
	w.say("2026-05-09", core.RoleUser, "The spare key, I mean.")
	tool := Tools(w.searcher(), nil)[0]
	for inputs, want := range map[core.MessageID]core.MessageID{asked: first, first: 0} {
		got, err := tool.Use(t.Context(), core.ToolUse{User: me, Now: saturday, Location: time.UTC,
			Inputs: []core.MessageID{inputs}, Arguments: json.RawMessage(`{"query":"where does the spare key lie?"}`)})
		if err != nil {
			t.Fatal(err)
		}
		var out search.View
		if err := json.Unmarshal([]byte(got.Text), &out); err != nil {
			t.Fatal(err)
		}
		if want == 0 && len(out.Results) != 0 || want != 0 && (len(out.Results) != 1 || out.Results[0].Message != want) {
			t.Errorf("in the turn of #%d: got %s", inputs, got.Text)
		}
	}
}
