package text

import "strings"

// stemLength is the most characters of Stem.
const stemLength = 6

// Stem cuts a word to its first letters, which the words of one family mostly share.
func Stem(word string) string {
	n := 0
	for i := range word {
		if n == stemLength {
			return word[:i]
		}
		n++
	}
	return word
}

var (
	elision     = Pattern(`^(?i:l|d|j|m|t|s|n|c|qu|jusqu|lorsqu|puisqu|quoiqu|quelqu|presqu)'`)
	contraction = Pattern(`^(?i:s|re|ve|ll|d|m|t|)$`)
)

// Unelided returns a word without French elisions: qu'est is est, but I'd and can't stay.
func Unelided(word string) string {
	for strings.Contains(word, "'") && elision().MatchString(word) {
		_, rest, _ := strings.Cut(word, "'")
		if contraction().MatchString(rest) {
			return word
		}
		word = rest
	}
	return word
}

// Words returns the words of a text, folded, without French elisions. A possessive stays: Ana's.
func Words(s string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(Fold(s), func(r rune) bool { return !IsWord(r) && r != '\'' }) {
		if w = Unelided(strings.Trim(w, "'")); w != "" {
			out = append(out, w)
		}
	}
	return out
}
