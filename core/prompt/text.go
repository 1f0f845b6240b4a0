package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// middle returns text if it has at most limit tokens, else its head and tail
// around mark(tokens left out), at most limit in all. Where nothing of it fits
// it is the mark, or nothing. total is how many tokens text has, so that a long
// one need not be counted.
func middle(text string, total, limit int, t core.Tokenizer, mark func(tokens int) string) string {
	if total <= limit || text == "" {
		return text
	}
	frame := t.Count(mark(total)) + 2
	room := limit - frame
	// Twice as long as the room is at the mean length of a token, so that the loop
	// comes down to the bound from above.
	keep := min(len(text)-1, (len(text)/max(total, 1)+1)*room*2)
	for ; room > 0 && keep > 0; keep = keep * 7 / 8 {
		first := text[:runeStart(text, keep*2/3)]
		last := text[runeStart(text, len(text)-keep/3):]
		if kept := t.Count(first) + t.Count(last); kept <= room {
			return first + mark(max(1, total-kept)) + last
		}
	}
	if t.Count(mark(total)) <= limit {
		return mark(total)
	}
	return ""
}

// Middle returns text in at most limit tokens: whole, or without its middle, which a mark
// says.
func Middle(text string, limit int, t core.Tokenizer) string {
	return middle(text, t.Count(text), limit, t, leftOutMark)
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

// runeStart returns the start of the rune that i is in.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := range utf8.UTFMax {
		if i-back >= 0 && utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

// clip returns the longest head of text, between two words where it has some,
// that has at most limit tokens with the … that says it was cut.
func clip(text string, limit int, t core.Tokenizer) string {
	text = strings.TrimSpace(text)
	if limit <= 0 {
		return ""
	}
	if len(text) <= limit || len(text) <= 16*limit && t.Count(text) <= limit {
		return text
	}
	for keep := min(len(text)-1, 16*limit); keep > 0; keep = keep * 7 / 8 {
		head := text[:runeStart(text, keep)]
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
