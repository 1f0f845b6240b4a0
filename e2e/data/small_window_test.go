//go:build e2e

package data

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/e2e/e2etest"
)

// narrow is a model that refuses prompts beyond its window, and searches three times before
// it answers a question that begins with "find".
type narrow struct {
	window int
	count  interface{ Count(text string) int }

	mu       sync.Mutex
	largest  int
	refused  []string
	searches int
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		Tools     json.RawMessage
		MaxTokens int `json:"max_tokens"`
		Most      int `json:"max_completion_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	size, results, asked := n.count.Count(string(q.Tools))+q.MaxTokens+q.Most, 0, ""
	for _, m := range q.Messages {
		size += 4 + n.count.Count(string(m.Content)) + n.count.Count(string(m.ToolCalls))
		switch m.Role {
		case "user":
			results, asked = 0, string(m.Content)
		case "tool":
			results++
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.largest = max(n.largest, size)
	if size > n.window {
		n.refused = append(n.refused, fmt.Sprintf("%d tokens after %d results", size, results))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": {"code": "context_length_exceeded", "message": "%d tokens are more than %d"}}`, size, n.window)
		return
	}
	delta, finish := map[string]any{"content": "I found it."}, "stop"
	if strings.Contains(asked, "find") && results < 3 {
		n.searches++
		delta, finish = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("c%d", n.searches),
			"type": "function", "function": map[string]any{"name": "conversation_search",
				"arguments": `{"query": "greenhouse boiler harbour ` + strings.Repeat("x", results) + `", "limit": 20}`}}}}, "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": struct{}{}, "finish_reason": finish}} {
		b, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{choice}}) // it consists of strings
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// A model with a window of 8,192 tokens and default settings otherwise: a long history and many
// searches in a turn lead to no request that it refuses.
func TestSmallWindow_refusesNoRequest(t *testing.T) {
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		n := &narrow{window: 8192, count: tokens.New()}
		model := httptest.NewServer(n)
		defer model.Close()
		w := e2etest.NewClock(t, database(t))
		w.UseModel(model.URL + "/v1")
		w.Env = append(w.Env, "EVERTHREAD_LLM_CONTEXT_WINDOW=8192", "EVERTHREAD_TURN_DEBOUNCE=0s",
			"EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0")
		past := filepath.Join(t.TempDir(), "past.jsonl")
		var lines strings.Builder
		begin := time.Now().AddDate(0, 0, -40)
		for i := range 600 {
			role := []string{"user", "assistant"}[i%2]
			line, err := json.Marshal(map[string]any{"id": i + 1, "role": role, "sent_at": begin.Add(time.Duration(i) * 90 * time.Minute),
				"text": strings.Repeat(fmt.Sprintf("The greenhouse, the boiler and the harbour, note %d. ", i), 12)})
			e2etest.Must(t, err)
			lines.Write(append(line, '\n'))
		}
		e2etest.Must(t, os.WriteFile(past, []byte(lines.String()), 0o600))
		w.Start()
		w.MustRun("import", "jsonl", past)
		for i := range 12 {
			said := fmt.Sprintf("find the boiler, question %d. %s", i, strings.Repeat("It stood beside the greenhouse at the harbour. ", 10))
			if got := w.Ask(said).Text; got != "I found it." {
				t.Fatalf("question %d is answered with %q; refused: %q", i, got, n.refused)
			}
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.refused) > 0 {
			t.Errorf("refused: %q", n.refused)
		}
		if n.searches < 30 || n.largest < 5000 {
			t.Errorf("%d searches, at most %d tokens: this proves little", n.searches, n.largest)
		}
		t.Logf("at most %d of %d tokens", n.largest, n.window)
	})
}
