package recall

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// Sizes of windows, in tokens.
const (
	windowMin = 400
	windowMax = 800
)

// Windows cuts messages into windows and passages, which are found by their meaning.
type Windows struct{}

// Cut cuts the messages of one day, in order, into windows. A window is full with 400
// tokens and has at most 800, unless one message is longer: that message is a window of
// its own. Each window begins with the last message of the one before, unless that does
// not fit with the next message. The last run of messages, if not full, becomes a window
// only if closed. Through is the last message that is in a window, 0: none. To continue,
// pass the messages from that one on.
func (Windows) Cut(messages []core.Message, closed bool) (windows []core.TextWindow, through core.MessageID) {
	for start := 0; start < len(messages); {
		n, tokens, full := fill(messages[start:])
		if !full && !closed {
			break
		}
		end := start + n
		windows = append(windows, window(messages[start:end], tokens))
		through = messages[end-1].ID
		if start = end; end < len(messages) && beside(messages[end-1], messages[end]) {
			start--
		}
	}
	return windows, through
}

// fill returns how many messages the first window takes and their tokens. Full
// reports whether no more may join it. An earlier window may hold the first message
// already, so a second one that fits is always taken.
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

func window(messages []core.Message, tokens int) core.TextWindow {
	first, last := messages[0], messages[len(messages)-1]
	return core.TextWindow{User: first.User, Segment: first.Segment, First: first.ID, Last: last.ID, Tokens: tokens}
}

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
