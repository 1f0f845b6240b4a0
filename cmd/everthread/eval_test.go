package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/core/eval"
	"github.com/everthread/everthread/core/fulltest"
	"github.com/everthread/everthread/core/recall"
)

// seer is a model that searches for every question and then repeats everything it was
// shown: what it does not say was not in its prompt.
func seer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
		Tools []any `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := in.Messages[len(in.Messages)-1]
	message := map[string]any{"role": "assistant"}
	finish := "stop"
	if question := fmt.Sprint(last.Content); len(in.Tools) > 0 && last.Role == "user" && strings.HasSuffix(question, "?") {
		arguments, _ := json.Marshal(map[string]string{"query": question[strings.LastIndex(question, "]")+1:]})
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": "1", "type": "function",
			"function": map[string]any{"name": "conversation_search", "arguments": string(arguments)}}}
		finish = "tool_calls"
	} else {
		var all []string
		for _, m := range in.Messages {
			if m.Role != "assistant" { // its own words hold everything
				all = append(all, fmt.Sprint(m.Content))
			}
		}
		text := strings.Join(all, "\n")
		if len(in.Tools) == 0 {
			text = "## Summary\nThey talked.\n"
			if _, after, found := strings.Cut(strings.Join(all, "\n"), `{"id":`); found {
				id, _, _ := strings.Cut(after, ",")
				text += "## Decisions\n- They talked. [#" + id + "]\n"
			}
		}
		message["content"] = text
	}
	body, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion", "model": "seer",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// TestContinuityOfTheBuiltInScenes: everything that a person who comes back asks
// about is in the prompt or found by the search. The scenes mostly wait for each other's
// steps, so that groups of them run side by side.
func TestContinuityOfTheBuiltInScenes(t *testing.T) {
	t.Parallel()
	fulltest.Only(t)
	model := httptest.NewServer(http.HandlerFunc(seer))
	defer model.Close()
	var mu sync.Mutex
	var work sync.WaitGroup
	right := map[string]bool{} // scenes by name
	for _, group := range []string{"same day", "next morning", "after a", "another channel", "même jour", "lendemain",
		"après une", "autre canal", "two languages"} {
		work.Go(func() {
			var out, errs bytes.Buffer
			run([]string{"--json", "eval", "continuity", "--only", group}, strings.NewReader(""), &out, &errs, []string{
				"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL=" + model.URL + "/v1",
				"EVERTHREAD_LLM_MODEL=seer", "EVERTHREAD_LLM_API_KEY=x"})
			var report eval.Report
			if err := json.Unmarshal(out.Bytes(), &report); err != nil {
				t.Errorf("%s: %v\n%s\n%s", group, err, out.String(), errs.String())
			}
			mu.Lock()
			defer mu.Unlock()
			for _, s := range report.Scenes {
				right[s.Name] = s.Right
			}
		})
	}
	work.Wait()
	wrong := 0
	for name, ok := range right {
		if !ok {
			wrong++
			t.Logf("wrong: %s", name)
		}
	}
	if len(right) < 30 || wrong > len(right)*3/100 {
		t.Errorf("%d of %d scenes are wrong", wrong, len(right))
	}
}

// TestContinuityFailsWithoutMemory: a model that knows nothing fails the scenes.
func TestContinuityFailsWithoutMemory(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"Who knows."},"finish_reason":"stop"}]}`)
	}))
	defer model.Close()
	var out, errs bytes.Buffer
	code := run([]string{"eval", "continuity", "--only", fulltest.Size("same day: why", "same day")},
		strings.NewReader(""), &out, &errs, []string{
			"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL=" + model.URL + "/v1", "EVERTHREAD_LLM_MODEL=none",
			"EVERTHREAD_LLM_API_KEY=x"})
	if code != 1 || !strings.Contains(out.String(), "WRONG") ||
		!strings.Contains(errs.String(), "fewer than nine in ten") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

func TestEvalRecall(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := run([]string{"--json", "eval", "recall", "../../core/recall/testdata/friends.json"},
		strings.NewReader(""), &out, &errs, nil)
	var report recall.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	if code != 0 || report.All.Questions < 60 || report.All.Recall10 < 0.798 || report.All.People10 == 0 {
		t.Errorf("exit code %d: %+v", code, report.All)
	}
	if code := run([]string{"eval", "recall", "eval_test.go"}, strings.NewReader(""), &out, &errs, nil); code != 1 ||
		!strings.Contains(errs.String(), "eval_test.go: read samples") {
		t.Errorf("another file: exit code %d, %s", code, errs.String())
	}
}
