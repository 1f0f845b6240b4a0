package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

// shortenRequest is how the system message of a request to shorten old messages
// begins.
const shortenRequest = "You shorten what was said long ago in a conversation"

// compress answers with a JSON object in a line for each message: its sentences
// that say most, word for word.
func compress(messages []core.ModelMessage) string {
	var lines []string
	for _, m := range messages {
		if m.Role != core.RoleUser {
			continue
		}
		for line := range strings.Lines(m.Content) {
			var v struct {
				ID   core.MessageID `json:"id"`
				Most int            `json:"max_tokens"`
				Text string         `json:"text"`
			}
			if json.Unmarshal([]byte(line), &v) == nil && v.ID > 0 {
				lines = append(lines, shortened(v.ID, v.Text, v.Most))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// shortened is the line for one message.
func shortened(id core.MessageID, text string, tokens int) string {
	return core.DataLine(struct {
		ID   core.MessageID `json:"id"`
		Text string         `json:"text"`
	}{id, strings.Join(telling(text, tokens), " ")})
}

// telling returns the sentences of text that tell most, in their order, of about
// so many tokens. Code tells nothing.
func telling(text string, tokens int) []string {
	said := sentences(withoutCode(text))
	order := make([]int, len(said))
	for i := range said {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return facts(said[b]) - facts(said[a]) })
	var kept []int
	for _, i := range order {
		// About three letters of a sentence are a token, at the worst.
		if need := len(said[i])/3 + 1; need <= tokens && facts(said[i]) > 0 {
			kept, tokens = append(kept, i), tokens-need
		}
	}
	slices.Sort(kept)
	out := make([]string, len(kept))
	for i, k := range kept {
		out[i] = said[k]
	}
	return out
}

// withoutCode takes the lines between fences out of a text.
func withoutCode(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}

// facts counts the signs of a fact in a sentence: digits, capitals within, words
// of decisions and plans.
func facts(sentence string) int {
	n := 0
	for i, word := range strings.Fields(sentence) {
		first := []rune(word)[0]
		if strings.ContainsFunc(word, unicode.IsDigit) || i > 0 && unicode.IsUpper(first) && word != "I" {
			n++
		}
	}
	for _, sign := range signs {
		if sign.MatchString(sentence) {
			n++
		}
	}
	return n
}
