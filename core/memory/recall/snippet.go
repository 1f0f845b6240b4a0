package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// mark is a place of a text that holds a word of the query.
type mark struct {
	start, end int // bytes
	word       int
}

// snippet returns the passage of about n characters with the most important words; see around.
func (a *Analyzer) snippet(text string, words []ranked, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	start, end := passage(a.marks(text, words), words, bytesOf(text, n))
	return around(text, start, end, n)
}

// bytesOf returns the approximate size of n characters of a text.
func bytesOf(text string, n int) int { return n * len(text) / max(1, utf8.RuneCountInString(text)) }

// around returns the passage of about n characters around a stretch of a text, cut between words, or at least between
// characters as people see them. Where it omits text, it has "…". A short text stays whole.
func around(text string, start, end, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	size := max(bytesOf(text, n), end-start)
	start = max(0, start-(size-(end-start))/2)
	end = min(len(text), start+size)
	start = max(0, min(start, end-size))
	slack := min(mostSlack, size/4)
	start, end = cutBefore(text, start, slack), cutAfter(text, end, slack)
	end = max(start, end)
	out := strings.TrimSpace(text[start:end])
	if start > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}

// maxMarks bounds the work for one snippet.
const maxMarks = 1000

// marks finds the words of the query in a text.
func (a *Analyzer) marks(text string, words []ranked) []mark {
	of := map[string]int{}
	for i, w := range words {
		for _, t := range w.Terms {
			of[t] = i
		}
	}
	var out []mark
	pieces(text, func(run string, c class, at int) bool {
		if c == dense || c == thai {
			out = append(out, denseMarks(run, c, at, of)...)
			return len(out) < maxMarks
		}
		for _, t := range a.termsOf(run, c) {
			if i, ok := of[t]; ok {
				out = append(out, mark{at, at + len(run), i})
			}
		}
		return len(out) < maxMarks
	})
	return out
}

// Marks returns the places of words of a query in a text, as pairs of offsets in bytes, in
// order and disjoint. Words that match by their stem are marked too, such as "cats" for "cat".
func (a *Analyzer) Marks(text, query string) [][2]int {
	var words []ranked
	q := a.Query(query)
	for _, w := range q.asked() {
		words = append(words, ranked{Word: w})
	}
	all := a.marks(text, words)
	for i, m := range all {
		word := text[m.start:m.end]
		all[i].start += len(word) - len(strings.TrimLeftFunc(word, unicode.IsPunct))
		all[i].end -= len(word) - len(strings.TrimRightFunc(word, unicode.IsPunct))
	}
	slices.SortFunc(all, func(x, y mark) int { return cmp.Or(x.start-y.start, y.end-x.end) })
	var out [][2]int
	for _, m := range all {
		if n := len(out); n > 0 && m.start <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m.end)
			continue
		}
		out = append(out, [2]int{m.start, m.end})
	}
	return out
}

// denseMarks finds characters and pairs of them.
func denseMarks(run string, c class, at int, of map[string]int) []mark {
	var out []mark
	var starts []int
	for i, r := range run {
		if c != thai || !unicode.IsMark(r) || len(starts) == 0 {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(run))
	for i := 0; i+1 < len(starts); i++ {
		for _, k := range []int{i + 1, i + 2} {
			if k >= len(starts) {
				continue
			}
			if w, ok := of[fold(run[starts[i]:starts[k]])]; ok {
				out = append(out, mark{at + starts[i], at + starts[k], w})
			}
		}
	}
	return out
}

// passage returns the bounds of the marks within size bytes that weigh the most, each
// word counted once; 0 and 0 if there are none.
func passage(marks []mark, words []ranked, size int) (start, end int) {
	best := 0.0
	for i, first := range marks {
		seen := map[int]bool{}
		weight := 0.0
		for _, m := range marks[i:] {
			if m.end-first.start > size {
				break
			}
			if !seen[m.word] {
				seen[m.word] = true
				weight += words[m.word].idf
			}
			if weight > best {
				best, start, end = weight, first.start, m.end
			}
		}
	}
	return start, end
}

// mostSlack is the most that an end moves to be between words, in bytes.
const mostSlack = 24

func between(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// cutBefore moves the beginning of a passage forward to a gap, or back to a boundary between characters.
func cutBefore(text string, at, slack int) int {
	if at == 0 || between(text[at-1]) {
		return at
	}
	if i := strings.IndexAny(text[at:min(len(text), at+slack)], " \n\t"); i >= 0 {
		return at + i + 1
	}
	return boundary(text, at)
}

// cutAfter moves the end of a passage back to a gap, or to a boundary between characters.
func cutAfter(text string, at, slack int) int {
	if at == len(text) || between(text[at]) {
		return at
	}
	if i := strings.LastIndexAny(text[max(0, at-slack):at], " \n\t"); i >= 0 {
		return max(0, at-slack) + i
	}
	return boundary(text, at)
}

// maxCharacter is the longest character that is never cut in a text without gaps, in bytes.
const maxCharacter = 100

// boundary returns the last place up to at that is between two characters.
func boundary(text string, at int) int {
	from := max(0, strings.LastIndexAny(text[:at], " \n\t"))
	if from < at-maxCharacter { // no gap near: begin where a rune does
		for from = at - maxCharacter; from > 0 && !utf8.RuneStart(text[from]); {
			from--
		}
	}
	state := -1
	for from < at {
		_, rest, _, next := uniseg.FirstGraphemeClusterInString(text[from:], state)
		state = next
		if end := len(text) - len(rest); end > at {
			return from
		}
		from = len(text) - len(rest)
	}
	return from
}
