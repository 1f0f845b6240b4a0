package recall

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/everthread/everthread/core"
)

const (
	passageSize  = 200 // characters of a passage at most, as of a snippet
	mostPassages = 256 // of a window
)

// Passages cuts the messages of the user and the assistant in a window into the
// stretches that are compared with a query one by one: whole sentences of one message,
// of up to 200 characters together, or pieces of a longer sentence.
func (Windows) Passages(messages []core.Message) []core.Passage {
	var out []core.Passage
	for _, m := range messages {
		if !inWindow(m) {
			continue
		}
		for from := 0; from < len(m.Text) && len(out) < mostPassages; {
			to := endOfPassage(m.Text, from)
			if text := strings.TrimSpace(m.Text[from:to]); text != "" {
				at := from + strings.Index(m.Text[from:to], text)
				out = append(out, core.Passage{Message: m.ID, From: at, To: at + len(text), Text: text})
			}
			from = to
		}
	}
	return out
}

// inWindow reports whether a message has a part in the text of its window.
func inWindow(m core.Message) bool {
	return !m.Redacted && m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
}

// endOfPassage returns where the passage that begins at a byte ends.
func endOfPassage(text string, from int) int {
	end, size, state := from, 0, -1
	for rest := text[from:]; rest != ""; {
		var sentence string
		sentence, rest, state = uniseg.FirstSentenceInString(rest, state)
		n := utf8.RuneCountInString(sentence)
		if size+n > passageSize {
			break
		}
		end, size = end+len(sentence), size+n
	}
	if end > from {
		return end
	}
	// One sentence is longer than a passage.
	for size = 0; size < passageSize && end < len(text); size++ {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	if gap := cutAfter(text, end, mostSlack); gap > from {
		return gap
	}
	return end
}
