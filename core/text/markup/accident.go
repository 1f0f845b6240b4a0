package markup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// lookAlikes look like the delimiters of WhatsApp but are none. They may have more bytes.
var lookAlikes = map[byte]rune{'*': '∗', '_': 'ˍ', '~': '∼', '`': 'ˋ'}

// withoutAccidents returns t with look-alikes for the characters that WhatsApp would
// read as markup, and with a moved copy of its spans.
func withoutAccidents(t Text) Text {
	hits := accidents(t)
	if len(hits) == 0 {
		return t
	}
	var b strings.Builder
	moved := make([]int, 0, len(hits)) // shift of the text after each hit
	pos, shift := 0, 0
	for _, at := range hits {
		alike := lookAlikes[t.Text[at]]
		b.WriteString(t.Text[pos:at])
		b.WriteRune(alike)
		pos = at + 1
		shift += utf8.RuneLen(alike) - 1
		moved = append(moved, shift)
	}
	b.WriteString(t.Text[pos:])
	spans := make([]core.Span, len(t.Spans))
	for i, s := range t.Spans {
		s.Start, s.End = move(s.Start, hits, moved), move(s.End, hits, moved)
		spans[i] = s
	}
	return Text{Text: b.String(), Spans: spans}
}

// move returns a byte offset after the hits before it have grown.
func move(at int, hits, moved []int) int {
	n := 0
	for n < len(hits) && hits[n] < at {
		n++
	}
	if n == 0 {
		return at
	}
	return at + moved[n-1]
}

// accidents returns the offsets of the characters of t that would pair up as markup, in order: those outside code and
// URLs, on a line with a second one or with a span of the same delimiter; and fences within code.
func accidents(t Text) []int {
	var out []int
	for start := 0; start < len(t.Text); {
		end := len(t.Text)
		if n := strings.IndexByte(t.Text[start:], '\n'); n >= 0 {
			end = start + n
		}
		if strings.ContainsAny(t.Text[start:end], "*_~`") {
			out = append(out, accidentsOnLine(t, start, end)...)
		}
		start = end + 1
	}
	return out
}

func accidentsOnLine(t Text, start, end int) []int {
	protected := protectedAt(t, start, end)
	pairs := map[byte]bool{}
	opened := map[byte]int{}
	var candidates []int
	for i := start; i < end; i++ {
		d := t.Text[i]
		if !strings.ContainsRune("*_~`", rune(d)) || protected(i) {
			continue
		}
		opens, closes := role(t.Text[start:end], i-start)
		if !opens && !closes {
			continue
		}
		candidates = append(candidates, i)
		if at, ok := opened[d]; closes && ok && i > at+1 {
			pairs[d] = true
		}
		if _, ok := opened[d]; opens && !ok {
			opened[d] = i
		}
	}
	for _, s := range t.Spans {
		if s.Start < end && s.End > start {
			notePairs(pairs, s)
		}
	}
	var out []int
	for _, i := range candidates {
		if pairs[t.Text[i]] {
			out = append(out, i)
		}
	}
	return out
}

// notePairs sets the delimiters that the markup of s adds to a line.
func notePairs(pairs map[byte]bool, s core.Span) {
	switch d := delimiters[s.Kind]; {
	case d != "":
		pairs[d[0]] = true
	case s.Kind == core.SpanCode, s.Kind == core.SpanPre:
		pairs['`'] = true
	}
}

// role reports whether the delimiter line[i] can open and close. An asterisk or back-tick can do so within a word too.
func role(line string, i int) (opens, closes bool) {
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	after, _ := utf8.DecodeRuneInString(line[i+1:])
	space := func(r rune, border bool) bool { return border || unicode.IsSpace(r) }
	inWord := line[i] == '*' || line[i] == '`'
	opens = !space(after, i+1 == len(line)) && (inWord || i == 0 || !isWord(before))
	closes = !space(before, i == 0) && (inWord || i+1 == len(line) || !isWord(after))
	return opens, closes
}

// protectedAt returns a function that reports whether an offset of a line is in
// code or in a URL, where only the back-ticks of a fence are replaced.
func protectedAt(t Text, start, end int) func(int) bool {
	var ranges [][2]int
	for _, s := range t.Spans {
		if (s.Kind == core.SpanCode || s.Kind == core.SpanPre) && s.Start < end && s.End > start {
			ranges = append(ranges, [2]int{s.Start, s.End})
		}
	}
	for at := start; at < end; {
		n := strings.IndexFunc(t.Text[at:end], unicode.IsSpace)
		if n < 0 {
			n = end - at
		}
		if strings.Contains(t.Text[at:at+n], "://") {
			ranges = append(ranges, [2]int{at, at + n})
		}
		at += n + 1
	}
	return func(i int) bool {
		inside := slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= i && i < r[1] })
		return inside && (t.Text[i] != '`' || !inFence(t, i))
	}
}

// inFence reports whether the back-tick at i is one of three or more in a row, which would end a block of code.
func inFence(t Text, i int) bool {
	from, to := i, i+1
	for from > 0 && t.Text[from-1] == '`' {
		from--
	}
	for to < len(t.Text) && t.Text[to] == '`' {
		to++
	}
	return to-from >= 3
}
