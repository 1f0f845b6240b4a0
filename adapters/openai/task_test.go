package openai_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/store"
)

// TestTasks reads real requests of chat programs from testdata/tasks. The names of the files say
// their kind: task-* never enter the thread, chat-* do.
func TestTasks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/tasks/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(file)
			check(t, err)
			w := newWorld(t)
			out := w.ok(string(body))
			task := strings.HasPrefix(filepath.Base(file), "task-")
			if got := len(w.directly) == 1 && len(w.questions()) == 0; got != task {
				t.Fatalf("asked the model directly %d times, the road %d times", len(w.directly), len(w.questions()))
			}
			if !task {
				return
			}
			if content(t, out) != `{"title": "Boats"}` || out["usage"].(map[string]any)["total_tokens"] != 34. {
				t.Errorf("%v", out)
			}
			ms, _, err := w.Store.Timeline(t.Context(), store.TimelineQuery{User: w.user.ID, Limit: 5})
			if err != nil || len(ms) != 0 {
				t.Errorf("stored %v, %v", ms, err)
			}
		})
	}
}

// TestDirect checks that the model gets the request's own messages.
func TestDirect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(
		`{"model":"everthread-task","max_tokens":9,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
	want := []core.ModelRequest{{User: w.user.ID, MaxTokens: 9, Messages: []core.ModelMessage{
		{Role: core.RoleSystem, Content: "s"}, {Role: core.RoleUser, Content: "a"}, {Role: core.RoleAssistant, Content: "b"},
		{Role: core.RoleUser, Content: "c"}}}}
	if d := cmp.Diff(want, w.directly); d != "" {
		t.Error(d)
	}
	if got := w.events(
		`{"model":"everthread-task","stream":true,"messages":[{"role":"user","content":"c"}]}`).text(); got != `{"title": "Boats"}` {
		t.Errorf("streamed %q", got)
	}
	w.direct = func(core.ModelRequest) (core.Delta, error) { return core.Delta{}, &live.OverBudget{} }
	if res, _ := w.chat(`{"model":"everthread-task","messages":[{"role":"user","content":"c"}]}`); res.StatusCode != 429 {
		t.Errorf("without budget: %d", res.StatusCode)
	}
	w.direct = func(core.ModelRequest) (core.Delta, error) {
		return core.Delta{}, &core.ModelError{Kind: core.ModelDown, Err: os.ErrDeadlineExceeded}
	}
	if res, text := w.chat(
		`{"model":"everthread-task","messages":[{"role":"user","content":"c"}]}`); res.StatusCode != 502 ||
		!strings.Contains(readError(t, text).Message, "timeout") {
		t.Errorf("without model: %d %s", res.StatusCode, text)
	}
	if res, _ := w.chat(`{"model":"everthread-task","messages":[{"role":"user","content":""}]}`); res.StatusCode != 400 {
		t.Errorf("an empty request: status %d", res.StatusCode)
	}
}

// FuzzComplete checks that the answer to any input is JSON and never a 500.
func FuzzComplete(f *testing.F) {
	for _, s := range []string{hello, streaming,
		`{"model":"everthread/a","messages":[{"role":"tool","tool_call_id":"x","content":[]}]}`,
		`{"model":"everthread","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}],"tools":[{}],"tool_choice":{}}`, `{"model":"everthread","messages":[{"role":"user","content":"### Task:\n<chat_history></chat_history>"}],"metadata":{"task":7}}`} {
		f.Add(s)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body string) {
		w.t = t
		res, text := w.chat(body)
		if res.StatusCode == 200 && strings.HasPrefix(text, "data: ") {
			return
		}
		if res.StatusCode >= 500 || !json.Valid([]byte(text)) {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	})
}
