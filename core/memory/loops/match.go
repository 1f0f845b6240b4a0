package loops

import (
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Match returns the open loop that text names again, if there is one. It is pure. Two texts name the same loop if they
// have the same content words: those that remain without small words, compared by the terms of a; or if one
// contains all of at least three content words of the other, and few more. They differ if each has a word that the
// other lacks. Of several loops it returns the one that shares most, of equals the one mentioned last.
//
// It prefers opening a loop twice to losing one in another.
func Match(a core.Analyzer, text string, open []core.Loop) (core.LoopID, bool) {
	wanted := topicOf(a, text)
	var best core.Loop
	most := 0.0
	for _, l := range open {
		share := wanted.share(topicOf(a, l.Text))
		if share > most || share == most && share > 0 && l.Mentioned.After(best.Mentioned) {
			best, most = l, share
		}
	}
	return best.ID, most > 0
}

// meant returns the open loops that contain all content words of text.
func meant(a core.Analyzer, text string, open []core.Loop) []core.Loop {
	wanted := topicOf(a, text)
	var exact, out []core.Loop
	for _, l := range open {
		t := topicOf(a, l.Text)
		if len(wanted.words) > 0 && wanted.common(t) == len(wanted.words) {
			out = append(out, l)
		}
		if wanted.plain == t.plain && wanted.plain != "" {
			exact = append(exact, l)
		}
	}
	if len(exact) == 1 {
		return exact
	}
	return out
}

// topic is the content of a loop's text.
type topic struct {
	plain string // the text, folded
	words []word
}

// word is a content word by its terms, of which two forms of a word share one.
type word map[string]int

func (w word) same(x word) bool {
	for term := range w {
		if x[term] > 0 {
			return true
		}
	}
	return false
}

// Bounds from which a text with all words of another, and more, names the same loop.
const (
	withinWords = 3    // content words of the shorter one
	withinShare = 0.60 // shared part of the words of both
)

// share returns how much two topics share, 0 to 1; 0 if they differ.
func (t topic) share(other topic) float64 {
	if t.plain == other.plain && t.plain != "" {
		return 1
	}
	less, more := min(len(t.words), len(other.words)), max(len(t.words), len(other.words))
	common := t.common(other)
	if common == 0 || common < less || t.negated() != other.negated() {
		return 0
	}
	share := float64(2*common) / float64(less+more)
	if less < more && (less < withinWords || share < withinShare) {
		return 0
	}
	return min(share, 0.99)
}

// common counts the words of t that other has too.
func (t topic) common(other topic) int {
	left := slices.Clone(other.words)
	n := 0
	for _, w := range t.words {
		i := slices.IndexFunc(left, w.same)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
			n++
		}
	}
	return n
}

// negated reports whether a text says that something must not be done. Something not done yet is open, and not negated.
func (t topic) negated() bool {
	return slices.ContainsFunc(strings.Fields(t.plain), negation)
}

var negation = text.OneOf("loops", "negations")

func topicOf(a core.Analyzer, said string) topic {
	fields := text.Words(said)
	t := topic{plain: strings.Join(fields, " ")}
	if t.plain == "" {
		t.plain = strings.TrimSpace(said)
	}
	for _, f := range fields {
		switch {
		case small(f):
		case strings.ContainsFunc(f, unicode.IsDigit), strings.ContainsFunc(f, gapless):
			t.words = append(t.words, word{f: 1})
		default:
			if w := word(a.Index(f)); !slices.ContainsFunc(t.words, w.same) {
				t.words = append(t.words, w)
			}
		}
	}
	return t
}

// gapless reports whether a letter is of a script without gaps between words, whose terms are not forms of a word.
func gapless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}
