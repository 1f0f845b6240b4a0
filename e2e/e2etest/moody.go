//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core/chat/summary"
)

// Mood is how a Moody model behaves.
type Mood string

// Moods of a model.
const (
	MoodGood     Mood = "good"
	MoodRefusing Mood = "refusing" // it apologises and does nothing
	MoodCut      Mood = "cut"      // its answers reach a limit halfway
	MoodThinking Mood = "thinking" // it thinks aloud before it answers
	MoodAway     Mood = "away"     // 503
	MoodKeyless  Mood = "keyless"  // 401
)

// Moody is a model server with OpenAI's interface that answers by a script, in the mood of the hour.
type Moody struct {
	URL string

	mu        sync.Mutex
	chat      Mood
	summaries Mood
	latency   time.Duration
	script    []MoodyAnswer
	prompts   []string // of chats, with role before each message
}

// MoodyAnswer answers a prompt whose last message of the user ends with To.
type MoodyAnswer struct {
	To, Text   string
	Tool, Args string // a call before the answer, whose result the answer quotes at %s
}

// NewMoody starts a model with a script.
func NewMoody(t *testing.T, script ...MoodyAnswer) *Moody {
	m := &Moody{chat: MoodGood, summaries: MoodGood, script: script}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Feel sets the moods of answers and of summaries, and how long an answer takes to begin.
func (m *Moody) Feel(chat, summaries Mood, latency time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chat, m.summaries, m.latency = chat, summaries, latency
}

// Prompts returns the prompts of chats so far.
func (m *Moody) Prompts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

type moodyMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
	Calls   []struct {
		Function struct{ Name, Arguments string } `json:"function"`
	} `json:"tool_calls"`
}

// ServeHTTP answers a request, always as a stream.
func (m *Moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r) // it lists no models
		return
	}
	var req struct {
		Messages []moodyMessage `json:"messages"`
	}
	_ = json.NewDecoder(r.Body).Decode(&req)
	m.mu.Lock()
	mood, latency := m.chat, m.latency
	about := len(req.Messages) > 0 && strings.HasPrefix(fmt.Sprint(req.Messages[0].Content), summary.FirstLine)
	if about {
		mood, latency = m.summaries, 0
	} else {
		m.prompts = append(m.prompts, told(req.Messages))
	}
	m.mu.Unlock()
	switch mood {
	case MoodAway:
		http.Error(w, `{"error":{"message":"overloaded","type":"server_error"}}`, http.StatusServiceUnavailable)
		return
	case MoodKeyless:
		http.Error(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`,
			http.StatusUnauthorized)
		return
	}
	select {
	case <-time.After(latency):
	case <-r.Context().Done():
		return
	}
	var text, tool, args string
	if about {
		text = summaryOf(req.Messages)
	} else {
		text, tool, args = m.reply(req.Messages)
	}
	m.stream(w, mood, text, tool, args)
}

// told returns a prompt as text.
func told(ms []moodyMessage) string {
	var b strings.Builder
	for _, x := range ms {
		fmt.Fprintf(&b, "──── %s\n%v\n", x.Role, x.Content)
		for _, c := range x.Calls {
			fmt.Fprintf(&b, "[calls %s %s]\n", c.Function.Name, c.Function.Arguments)
		}
	}
	return b.String()
}

func (m *Moody) stream(w http.ResponseWriter, mood Mood, text, tool, args string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta any, finish any) {
		b, _ := json.Marshal(map[string]any{"model": "moody", "choices": []any{map[string]any{"delta": delta,
			"finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	finish := "stop"
	switch mood {
	case MoodRefusing:
		text, tool = "I'm sorry, but I can't help with that.", ""
	case MoodThinking:
		send(map[string]string{"reasoning_content": "The user wants something. "}, nil)
		send(map[string]string{"content": "<think>Let me think about every single word of it.</think>\n\n"}, nil)
	case MoodCut:
		text, finish = text[:len(text)/2], "length"
	}
	if tool != "" {
		send(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "call_1", "type": "function",
			"function": map[string]string{"name": tool, "arguments": args}}}}, "tool_calls")
	} else {
		for _, word := range strings.SplitAfter(text, " ") {
			send(map[string]string{"content": word}, nil)
		}
		send(map[string]string{}, finish)
	}
	fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":50}}\n\ndata: [DONE]\n\n")
}

// reply answers by the script; what is not in it is only acknowledged.
func (m *Moody) reply(ms []moodyMessage) (text, tool, args string) {
	last := ms[len(ms)-1]
	asked := fmt.Sprint(last.Content)
	if last.Role == "tool" {
		for _, x := range slices.Backward(ms) {
			if x.Role == "user" {
				asked = fmt.Sprint(x.Content)
				break
			}
		}
	}
	for _, a := range m.script {
		if !strings.HasSuffix(strings.TrimSpace(asked), a.To) {
			continue
		}
		if a.Tool != "" && last.Role != "tool" {
			return "", a.Tool, a.Args
		}
		if strings.Contains(a.Text, "%s") {
			return fmt.Sprintf(a.Text, last.Content), "", ""
		}
		return a.Text, "", ""
	}
	return "Noted.", "", ""
}

// soFar takes a summary apart.
func soFar(markdown string) (first string, said, open []string) {
	heading := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			heading = line
		case strings.HasPrefix(line, "They talked about this: "):
			first = strings.TrimPrefix(line, "They talked about this: ")
		case heading == "## Decisions" && line != "":
			said = append(said, line)
		case heading == "## Open loops" && line != "":
			open = append(open, line)
		}
	}
	return first, said, open
}

// summaryOf summarises the lines of a request: what the user said are its decisions, what is awaited is open, and what
// is done settles a loop with a word in common.
func summaryOf(ms []moodyMessage) string {
	var said, open, settled []string
	var loops []struct {
		Number int64
		Text   string
	}
	first := ""
	for n, line := range strings.Split(fmt.Sprint(ms[len(ms)-1].Content), "\n") {
		var l struct {
			ID      int64           `json:"id"`
			Role    string          `json:"role"`
			Speaker string          `json:"speaker"`
			Text    string          `json:"text"`
			SoFar   string          `json:"summary_so_far"`
			Loops   json.RawMessage `json:"open_loops"`
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		if n == 0 {
			_ = json.Unmarshal(l.Loops, &loops)
			first, said, open = soFar(l.SoFar)
		}
		if l.Role != "user" || l.Text == "" {
			continue
		}
		text := strings.Join(strings.Fields(l.Text), " ")
		if _, name, ok := strings.Cut(l.Speaker, " "); ok {
			text = name + " said: " + text
		}
		if first == "" {
			first = text
		}
		switch {
		case strings.Contains(text, "waiting for"):
			open = append(open, fmt.Sprintf("- %s [#%d]", text, l.ID))
		default:
			said = append(said, fmt.Sprintf("- %s [#%d]", text, l.ID))
		}
		for _, x := range loops {
			if word := "quote"; strings.Contains(text, "sent the "+word) && strings.Contains(x.Text, word) {
				settled = append(settled, fmt.Sprintf("- (%d) %s [#%d]", x.Number, text, l.ID))
			}
		}
	}
	out := "## Summary\nThey talked about this: " + first
	for _, s := range []struct {
		heading string
		lines   []string
	}{{"Decisions", said[:min(len(said), 14)]}, {"Open loops", open}, {"Settled", settled}} {
		if len(s.lines) > 0 {
			out += "\n\n## " + s.heading + "\n" + strings.Join(s.lines, "\n")
		}
	}
	return out
}
