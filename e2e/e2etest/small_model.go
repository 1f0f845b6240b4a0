//go:build e2e

package e2etest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/chat/summary"
	"github.com/everthread/everthread/core/llm/tokens"
)

// SmallModel is a model with a small window, behind OpenAI's interface. It counts the
// tokens of every request, refuses a request that does not fit together with its answer,
// and behaves like small models: it makes several tool calls at a time, with invalid JSON,
// unknown names, or far too many words.
type SmallModel struct {
	Window int
	tokens interface{ Count(text string) int }

	mu      sync.Mutex
	random  *rand.Rand
	largest map[string]int // by kind of request
	asked   map[string]int
	called  map[string]int // tools
	refused []string
	counted map[string]int   // cached counts of texts
	wished  map[string][]any // the calls of the last answer with tools, by tool
}

// NewSmallModel starts the model. Its behaviour is the same for the same seed.
func NewSmallModel(t *testing.T, window int, seed uint64) (*SmallModel, string) {
	m := &SmallModel{Window: window, tokens: tokens.New(), random: rand.New(rand.NewPCG(seed, 8192)),
		largest: map[string]int{}, asked: map[string]int{}, called: map[string]int{}, counted: map[string]int{},
		wished: map[string][]any{}}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return m, s.URL
}

// Refused returns the requests that did not fit.
func (m *SmallModel) Refused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.refused)
}

// Report returns the number of requests of each kind, the largest of each, and the called
// tools.
func (m *SmallModel) Report() (asked, largest, called map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, m.largest, m.called
}

// smallRequest holds the counted parts of a request.
type smallRequest struct {
	Messages []smallMessage
	Tools    []struct {
		Function struct{ Name string }
	}
	MaxTokens int `json:"max_tokens"`
	Most      int `json:"max_completion_tokens"`
	Stream    bool
	raw       json.RawMessage // of the tools
}

type smallMessage struct {
	Role    string
	Content json.RawMessage
	Calls   json.RawMessage `json:"tool_calls"`
}

// text returns the content if it is a text, else its parts.
func (m smallMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	return string(m.Content)
}

// perMessage is the overhead of a chat template per message, and perPicture the size of a
// picture, in tokens.
const (
	perMessage = 4
	perPicture = 1000
)

// count returns the tokens of a text. Most of a request was in the previous one.
func (m *SmallModel) count(text string) int {
	n, ok := m.counted[text]
	if !ok {
		n = m.tokens.Count(text)
		m.counted[text] = n
	}
	return n
}

// pictures returns the number of pictures in a request.
func (q smallRequest) pictures() (n int) {
	for _, m := range q.Messages {
		n += strings.Count(string(m.Content), `"image_url":{`)
	}
	return n
}

// room returns the tokens that an answer may have; without a limit, those that it usually needs.
func (m *SmallModel) room(q smallRequest) int { return cmp.Or(q.MaxTokens+q.Most, m.Window/8) }

// size returns the tokens of a request with its answer.
func (m *SmallModel) size(q smallRequest) int {
	n := 3 + m.count(string(q.raw)) + m.room(q)
	for _, x := range q.Messages {
		n += perMessage + m.count(string(x.Calls))
		var parts []struct{ Type, Text string }
		if json.Unmarshal(x.Content, &parts) != nil {
			n += m.count(x.text())
			continue
		}
		for _, p := range parts {
			if p.Type == "image_url" {
				n += perPicture
			}
			n += m.count(p.Text)
		}
	}
	return n
}

// kind returns the kind of a request.
func (q smallRequest) kind() string {
	first := q.Messages[0].text()
	switch {
	case strings.HasPrefix(first, summary.FirstLine):
		return "summary"
	case strings.HasPrefix(first, agent.HelperFirstLine):
		return "helper"
	case strings.Contains(q.Messages[len(q.Messages)-1].text(), "### Task:"):
		return "direct"
	case q.results() > 0:
		return "round of tools"
	}
	return "turn"
}

// results returns the number of tool results since the person's last message.
func (q smallRequest) results() (n int) {
	for _, m := range slices.Backward(q.Messages) {
		switch m.Role {
		case "tool":
			n++
		case "user":
			return n
		}
	}
	return n
}

// ServeHTTP answers a request.
func (m *SmallModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q smallRequest
	var tools struct{ Tools json.RawMessage }
	var body json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil || json.Unmarshal(body, &q) != nil ||
		json.Unmarshal(body, &tools) != nil || len(q.Messages) == 0 {
		http.Error(w, `{"error": {"message": "no chat"}}`, http.StatusBadRequest)
		return
	}
	q.raw = tools.Tools
	m.mu.Lock()
	defer m.mu.Unlock()
	size, kind := m.size(q), q.kind()
	m.asked[kind]++
	m.largest[kind] = max(m.largest[kind], size)
	if size > m.Window {
		refused := fmt.Sprintf("%s: %d tokens, %d tools of %d, %d results:", kind, size, len(q.Tools), m.count(string(q.raw)),
			q.results())
		for _, x := range q.Messages {
			refused += fmt.Sprintf(" %s %d+%d", x.Role, m.count(x.text()), m.count(string(x.Calls)))
		}
		m.refused = append(m.refused, refused)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": {"message": "This model's maximum context length is %d tokens. However, you requested %d `+
			`tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}`, m.Window, size)
		return
	}
	if q.pictures() > 0 {
		if m.called["a picture"]++; m.called["a picture"]%2 == 0 { // sometimes it cannot see
			http.Error(w, `{"error": {"message": "image input is not supported", "type": "invalid_request_error"}}`,
				http.StatusBadRequest)
			return
		}
	}
	delta, finish := m.answer(kind, q)
	writeStream(w, delta, finish, size-m.room(q))
}

// writeStream writes an answer as a stream of two pieces.
func writeStream(w http.ResponseWriter, delta map[string]any, finish string, prompt int) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(v map[string]any) {
		v["id"], v["object"] = "x", "chat.completion.chunk"
		b, err := json.Marshal(v)
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
	}
	chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
	chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": struct{}{}, "finish_reason": finish}}})
	chunk(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": prompt, "completion_tokens": 20,
		"total_tokens": prompt + 20}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// words returns about n tokens of prose.
func (m *SmallModel) words(n int) string {
	list := []string{"harbour", "boiler", "garden", "ticket", "Thursday", "blue", "quiet", "seven", "letter", "roof",
		"train", "salt", "window", "Lyon", "budget", "apples"}
	var b strings.Builder
	for range n {
		b.WriteString(list[m.random.IntN(len(list))] + " ")
	}
	return strings.TrimSpace(b.String()) + "."
}
