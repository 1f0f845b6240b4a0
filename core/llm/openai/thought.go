package openai

import "strings"

// thought takes the thinking off the front of an answer, which some local
// models write into it between <think> and </think>.
type thought struct {
	held  string // not yet known to be text or thinking
	state thinking
}

type thinking int

const (
	mayThink thinking = iota
	thinks
	answers
)

const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
)

// strip takes a piece and returns what of the answer is certain by now.
func (t *thought) strip(s string) string {
	if t.state == answers {
		return s
	}
	t.held += s
	if t.state == mayThink {
		t.begin()
	}
	if t.state == thinks {
		t.end()
	}
	if t.state != answers {
		return ""
	}
	s, t.held = t.held, ""
	return s
}

func (t *thought) begin() {
	start := strings.TrimLeft(t.held, " \r\n\t")
	switch {
	case strings.HasPrefix(start, thinkStart):
		t.state = thinks
	case !strings.HasPrefix(thinkStart, start):
		t.state = answers
	}
}

func (t *thought) end() {
	before, after, ended := strings.Cut(t.held, thinkEnd)
	if ended {
		t.held, t.state = strings.TrimLeft(after, " \r\n\t"), answers
		return
	}
	t.held = before[max(0, len(before)-len(thinkEnd)):]
}

// rest returns what was held back at the end of an answer, unless it is thinking.
func (t *thought) rest() string {
	if t.state == thinks {
		return ""
	}
	return t.held
}
