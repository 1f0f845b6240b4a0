package prompt

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// middle returns s if it has at most limit tokens, else its beginning and end around
// mark(tokens left out), at most limit tokens in all. If nothing of s fits it returns the
// mark, or nothing. total is the number of tokens of s.
func middle(s string, total, limit int, t core.Tokenizer, mark func(tokens int) string) string {
	if total <= limit || s == "" {
		return s
	}
	frame := t.Count(mark(total)) + 2
	room := limit - frame
	// Begin with twice the length of the room at the mean length of a token, so that the
	// loop approaches the bound from above.
	keep := min(len(s)-1, (len(s)/max(total, 1)+1)*room*2)
	for ; room > 0 && keep > 0; keep = keep * 7 / 8 {
		first := s[:text.RuneStart(s, keep*2/3)]
		last := s[text.RuneStart(s, len(s)-keep/3):]
		if kept := t.Count(first) + t.Count(last); kept <= room {
			return first + mark(max(1, total-kept)) + last
		}
	}
	if t.Count(mark(total)) <= limit {
		return mark(total)
	}
	return ""
}

// Middle returns s in at most limit tokens: whole, or with a mark in place of its middle.
func Middle(s string, limit int, t core.Tokenizer) string {
	return middle(s, t.Count(s), limit, t, leftOutMark)
}

func leftOutMark(tokens int) string { return fmt.Sprintf("\n[… %d tokens left out]\n", tokens) }

func toolMark(tokens int) string {
	return fmt.Sprintf("\n[… %d tokens of tool output trimmed]\n", tokens)
}

func textMark(id core.MessageID) func(tokens int) string {
	return func(tokens int) string {
		return fmt.Sprintf("\n[… %d tokens of this message, #%d, left out]\n", tokens, id)
	}
}

// clip returns the longest beginning of s, up to a space if there is one near, that has at
// most limit tokens with a final … if it was cut.
func clip(s string, limit int, t core.Tokenizer) string {
	s = strings.TrimSpace(s)
	if limit <= 0 {
		return ""
	}
	if len(s) <= limit || len(s) <= 16*limit && t.Count(s) <= limit {
		return s
	}
	for keep := min(len(s)-1, 16*limit); keep > 0; keep = keep * 7 / 8 {
		head := s[:text.RuneStart(s, keep)]
		if space := strings.LastIndexAny(head, " \n"); space > len(head)*3/4 {
			head = head[:space]
		}
		head = strings.TrimRight(head, " \n,;:") + "…"
		if t.Count(head) <= limit {
			return head
		}
	}
	return ""
}
