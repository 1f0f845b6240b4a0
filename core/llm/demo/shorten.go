package demo

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

// shortenRequest is how the system message of a request to shorten old messages
// begins.
const shortenRequest = "You shorten what was said long ago in a conversation"

// compress answers with a JSON object in a line for each message: its sentences that
// tell something, word for word.
func compress(messages []core.ModelMessage) string {
	var lines []string
	for _, l := range dataLines(messages) {
		if l.ID != "" {
			lines = append(lines, core.DataLine(struct {
				ID   json.Number `json:"id"`
				Text string      `json:"text"`
			}{l.ID, telling(l.Text, l.Most)}))
		}
	}
	return strings.Join(lines, "\n")
}

// fenced is code, which tells nothing.
var fenced = regexp.MustCompile("(?ms)^\\s*```.*?(^\\s*```[^\n]*$|\\z)")

// telling returns the sentences of text that tell something, of about so many tokens.
func telling(text string, tokens int) string {
	var kept []string
	for _, s := range sentences(fenced.ReplaceAllString(text, "")) {
		// About three letters of a sentence are a token, at the worst.
		if need := len(s)/3 + 1; need <= tokens && tells(s) {
			kept, tokens = append(kept, s), tokens-need
		}
	}
	return strings.Join(kept, " ")
}

// tells reports whether a sentence shows a fact: a digit, a capital within, a word of
// decisions and plans.
func tells(sentence string) bool {
	for i, word := range strings.Fields(sentence) {
		if strings.ContainsFunc(word, unicode.IsDigit) || i > 0 && unicode.IsUpper([]rune(word)[0]) && word != "I" {
			return true
		}
	}
	return sectionOf(sentence) != ""
}
