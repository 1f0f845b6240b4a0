package recall

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Sizes of windows, in tokens.
const (
	windowMin = 400
	windowMax = 800
)

// Windows cuts messages into windows and passages, which are found by their meaning.
type Windows struct{}

// Cut cuts the messages of one day, in order, into windows. A window is full with 400 tokens and has at most 800,
// unless one message is longer: that message is a window of its own. Each window begins with the last message of the
// one before, unless that does not fit with the next message. The last run of messages, if not full, becomes a window
// only if closed. Through is the last message that is in a window, 0: none. To continue, pass the messages from that
// one on, and its id as in.
func (Windows) Cut(messages []core.Message, in core.MessageID, closed bool) (windows []store.TextWindow,
	through core.MessageID) {
	start := 0
	if len(messages) > 1 && messages[0].ID == in && !beside(messages[0], messages[1]) {
		start = 1
	}
	for start < len(messages) {
		n, tokens, full := fill(messages[start:])
		if !full && !closed {
			break
		}
		end := start + n
		first, last := messages[start], messages[end-1]
		windows = append(windows, store.TextWindow{User: first.User, Segment: first.Segment, First: first.ID, Last: last.ID,
			Tokens: tokens})
		through = messages[end-1].ID
		if start = end; end < len(messages) && beside(messages[end-1], messages[end]) {
			start--
		}
	}
	return windows, through
}

// fill returns how many messages the first window takes and their tokens. Full reports whether no more may join it. An
// earlier window may hold the first message already, so a second one that fits is always taken.
func fill(messages []core.Message) (n, tokens int, full bool) {
	for i, m := range messages {
		if i > 0 && tokens+m.Tokens > windowMax {
			return i, tokens, true
		}
		tokens += m.Tokens
		if i > 0 && tokens >= windowMin || tokens > windowMax {
			return i + 1, tokens, true
		}
	}
	return len(messages), tokens, false
}

// beside reports whether two messages fit into one window.
func beside(a, b core.Message) bool { return a.Tokens+b.Tokens <= windowMax }

// Text returns the text of a window for embedding: a line of role and text for each
// message of the user and the assistant. Redacted messages are left out.
func (Windows) Text(messages []core.Message) string {
	var b strings.Builder
	for _, m := range messages {
		if !inWindow(m) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(m.Role) + ": " + m.Text)
	}
	return b.String()
}

const (
	passageSize  = 200 // characters of a passage at most, as of a snippet
	mostPassages = 256 // of a window
)

// Passages cuts the messages of the user and the assistant in a window into the stretches that are compared with a
// query one by one: whole sentences of one message, of up to 200 characters together, or pieces of a longer sentence.
func (Windows) Passages(messages []core.Message) []store.Passage {
	var out []store.Passage
	for _, m := range messages {
		if !inWindow(m) {
			continue
		}
		for from := 0; from < len(m.Text) && len(out) < mostPassages; {
			to := endOfPassage(m.Text, from)
			if text := strings.TrimSpace(m.Text[from:to]); text != "" {
				at := from + strings.Index(m.Text[from:to], text)
				out = append(out, store.Passage{Message: m.ID, From: at, To: at + len(text), Text: text})
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
