package agent

import (
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Truncate returns s if it has at most maxTokens, else its beginning and end around
// [… N tokens of tool output trimmed], at most maxTokens in all. If not even the mark fits,
// it returns nothing.
func Truncate(s string, maxTokens int, t core.Tokenizer) string {
	if len(s) <= maxTokens { // a token has at least one byte
		return s
	}
	total := t.Count(s)
	if total <= maxTokens {
		return s
	}
	// Begin with twice the length of the room at the mean length of a token, so that the
	// loop approaches the bound from above, in small steps.
	room := maxTokens - t.Count(trimmed(total)) - 2
	for keep := len(s) / total * room * 2; room > 0 && keep > 0; keep = keep * 7 / 8 {
		keep = min(keep, len(s)-1)
		first := s[:text.RuneStart(s, keep*2/3)]
		last := s[text.RuneStart(s, len(s)-keep/3):]
		kept := t.Count(first) + t.Count(last)
		if kept > room {
			continue
		}
		if short := first + trimmed(total-kept) + last; t.Count(short) <= maxTokens {
			return short
		}
	}
	if mark := trimmed(total); t.Count(mark) <= maxTokens {
		return mark
	}
	return ""
}

func trimmed(tokens int) string {
	return fmt.Sprintf("\n[… %d tokens of tool output trimmed]\n", tokens)
}

// shrink shortens results, oldest first, until all of the turn fit into ToolTokens. Each
// keeps a little, so that the model knows what it saw.
func (r *run) shrink() {
	over := -r.ToolTokens
	for _, res := range r.results {
		over += r.out.Messages[res.message].Tokens
	}
	for _, res := range r.results {
		if over <= 0 {
			return
		}
		over -= r.shorten(res, over)
	}
}

// shorten cuts up to over tokens from a result, and returns how many it cut.
func (r *run) shorten(res result, over int) int {
	const least = 64
	before := r.out.Messages[res.message].Tokens
	return before - r.shortenTo(res, max(before-over, min(least, r.ToolTokens/len(r.results))))
}

// shortenTo shortens a result to at most keep tokens, and returns how many it has.
func (r *run) shortenTo(res result, keep int) int {
	stored := &r.out.Messages[res.message]
	if keep >= stored.Tokens {
		return stored.Tokens
	}
	stored.Text = Truncate(res.full, keep, r.Tokenizer)
	if stored.Text == "" {
		stored.Text = "[trimmed]"
	}
	stored.Tokens = r.Tokenizer.Count(stored.Text)
	r.prompt[res.shown].Content = stored.Text
	r.weigh(res.shown)
	return stored.Tokens
}
