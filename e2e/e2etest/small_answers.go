//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// answer returns the model's text, or its tool calls.
func (m *SmallModel) answer(kind string, q smallRequest) (delta map[string]any, finish string) {
	switch kind {
	case "summary":
		return map[string]any{"content": m.summary(q)}, "stop"
	case "direct":
		return map[string]any{"content": "A title"}, "stop"
	}
	if len(q.Tools) == 1 { // whether the call is the person's own wish
		if calls := m.wished[q.Tools[0].Function.Name]; len(calls) > 0 {
			return map[string]any{"tool_calls": calls}, "tool_calls"
		}
	}
	if len(q.Tools) > 0 && m.random.IntN(10) < 9-q.results() {
		return m.wishes(q), "tool_calls"
	}
	said := m.words(20 + m.random.IntN(200))
	switch m.random.IntN(12) {
	case 0:
		said = m.words(700) // long-winded
	case 1:
		said += " I will remind you tomorrow."
	}
	return map[string]any{"content": fmt.Sprintf("(%s) %s", q.mark(), said)}, "stop"
}

// marks identify the message that an answer is for.
var marks = regexp.MustCompile(`q\d+q`)

// unwise are tools whose calls end a turn with a question, wait, or return megabytes.
var unwise = regexp.MustCompile(`(mail|order|die|hang|flood)$`)

// mark returns the mark of the person's last message.
func (q smallRequest) mark() string {
	for _, m := range slices.Backward(q.Messages) {
		if found := marks.FindString(m.text()); m.Role == "user" && found != "" {
			return found
		}
	}
	return "none"
}

// summary returns a day's summary, sometimes without references, sometimes long.
func (m *SmallModel) summary(q smallRequest) string {
	ref := ""
	for line := range strings.Lines(q.Messages[len(q.Messages)-1].text()) {
		var v struct{ ID int64 }
		if json.Unmarshal([]byte(line), &v) == nil && v.ID > 0 {
			ref = fmt.Sprintf(" [#%d]", v.ID)
		}
	}
	if m.random.IntN(3) == 0 {
		ref = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Summary\n%s\n\n## Decisions\n", m.words(60))
	for range 2 + m.random.IntN(18) {
		fmt.Fprintf(&b, "- %s%s\n", m.words(25), ref)
	}
	fmt.Fprintf(&b, "\n## Open loops\n- %s%s\n", m.words(8), ref)
	return b.String()
}

// wishes returns one to three tool calls.
func (m *SmallModel) wishes(q smallRequest) map[string]any {
	var calls []any
	clear(m.wished)
	for i := range 1 + m.random.IntN(3) {
		name := q.Tools[m.random.IntN(len(q.Tools))].Function.Name
		if m.random.IntN(2) == 0 || unwise.MatchString(name) {
			name = "conversation_search" // a favourite of small models
		}
		if m.random.IntN(25) == 0 {
			name = "web_browser" // does not exist
		}
		m.called[name]++
		call := map[string]any{"index": i, "id": fmt.Sprintf("c%d", m.random.Uint32()), "type": "function",
			"function": map[string]any{"name": name, "arguments": m.arguments(name)}}
		calls, m.wished[name] = append(calls, call), append(m.wished[name], call)
	}
	delta := map[string]any{"tool_calls": calls}
	if m.random.IntN(6) == 0 {
		delta["content"] = m.words(m.random.IntN(400)) // thinks aloud
	}
	return delta
}

// arguments returns arguments of a call, mostly valid ones.
func (m *SmallModel) arguments(name string) string {
	switch m.random.IntN(20) {
	case 0:
		return `{"query": "the boil`
	case 1:
		return "null"
	case 2:
		return fmt.Sprintf(`{"query": %q, "text": "x", "limit": 20}`, m.words(900))
	}
	text, id := m.words(6), 1+m.random.IntN(40)
	v := map[string]any{}
	switch name {
	case "conversation_search":
		v = map[string]any{"query": text, "limit": 20}
	case "conversation_get":
		v = map[string]any{"message_id": id}
	case "memory_add":
		v = map[string]any{"type": "fact", "theme": "home", "content": fmt.Sprintf("Fact %d: %s", id, text)}
	case "memory_search":
		v = map[string]any{"query": text}
	case "memory_get", "memory_archive":
		v = map[string]any{"item_id": id}
	case "reminder_set":
		v = map[string]any{"text": text, "when": "tomorrow at 10"}
	case "task_set":
		v = map[string]any{"do": text, "when": "tomorrow at 9"}
	case "file_read":
		v = map[string]any{"attachment": fmt.Sprint(id), "from_page": 1, "to_page": 9}
	case "loops_open":
		v = map[string]any{"text": text}
	case "delegate":
		v = map[string]any{"task": m.words(40), "context": m.words(300)}
	case "instruction_propose":
		v = map[string]any{"text": text}
	case "tools_more":
		v = map[string]any{"names": []string{"task_set", "memory_get", "delegate", "loops_open"}}
	case "shop_flood", "shop_stock", "shop_letter":
		v = map[string]any{"item": text}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}
