package openai

import "strings"

// thought removes the thinking that some local models write at the beginning of an
// answer, between <think> and </think>.
type thought struct {
	held  string // text that may be thinking
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

// strip adds a piece and returns the text that certainly belongs to the answer.
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

// rest returns the held text at the end of an answer, unless it is thinking.
func (t *thought) rest() string {
	if t.state == thinks {
		return ""
	}
	return t.held
}
