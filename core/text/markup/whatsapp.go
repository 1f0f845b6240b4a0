package markup

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// WhatsApp returns t with WhatsApp's markup, which is part of the text, in at most max UTF-16 units (0: no limit).
// Headings become bold, links "text (URL)", quotes lines with "> ". Markup that does not fit is left out: styles first,
// URLs last. The text is always complete, so only a text longer than max exceeds it.
//
// WhatsApp has no escape character. A character of the text that would pair up
// as markup is replaced by one that looks alike (2∗3∗4), outside code and URLs.
func WhatsApp(t Text, max int) string {
	t = withoutAccidents(t)
	marks := chatMarks(t.Text, t.Spans)
	if max > 0 {
		marks = affordable(marks, max-UTF16Len(t.Text))
	}
	return interleave(t.Text, marks)
}

// chatMark is one piece of markup.
type chatMark struct {
	rank    int // the lowest is left out last
	inserts []insert
}

type insert struct {
	at    int // byte offset
	order int // among those at the same offset
	text  string
}

const (
	linkRank = iota
	blockRank
	codeRank
	styleRank
)

// chatMarks returns the markup for spans over text.
func chatMarks(text string, spans []core.Span) []chatMark {
	var out []chatMark
	for i, s := range spans {
		switch s.Kind {
		case core.SpanLink:
			out = append(out, linkMark(text, s, i)...)
		case core.SpanQuote:
			out = append(out, quoteMark(text, s, spans))
		case core.SpanPre, core.SpanCode:
			out = append(out, codeMark(text, s, i)...)
		default:
			if d := delimiters[s.Kind]; d != "" && !within(spans[:i], s, d) {
				out = append(out, styleMarks(text, s, d, i)...)
			}
		}
	}
	return out
}

// delimiters stand on both sides of the spans that have one.
var delimiters = map[core.SpanKind]string{core.SpanBold: "*", core.SpanHeading: "*", core.SpanItalic: "_",
	core.SpanStrike: "~"}

// within reports whether one of outer has the same delimiter and holds s.
func within(outer []core.Span, s core.Span, d string) bool {
	return slices.ContainsFunc(outer, func(o core.Span) bool {
		return delimiters[o.Kind] == d && o.Start <= s.Start && s.End <= o.End
	})
}

// around returns a mark on both sides of text[start:end]. Closing marks come before opening ones, inner ones first.
func around(rank, start, end int, open, close string, index int) chatMark {
	return chatMark{rank: rank, inserts: []insert{{start, 1 + index, open}, {end, -1 - index, close}}}
}

// linkMark puts the URL after the text, unless the text is the URL.
func linkMark(text string, s core.Span, index int) []chatMark {
	scheme, rest, _ := strings.Cut(s.Value, ":")
	if !slices.Contains([]string{"http", "https", "mailto", "tel"}, strings.ToLower(scheme)) {
		return nil
	}
	shown := strings.TrimSpace(text[s.Start:s.End])
	rest = strings.TrimPrefix(rest, "//")
	if shown == s.Value || shown == rest || shown == strings.TrimSuffix(rest, "/") {
		return nil
	}
	return []chatMark{{rank: linkRank, inserts: []insert{{s.End, -1 - index, " (" + s.Value + ")"}}}}
}

// quoteMark puts "> " before each line except those of code.
func quoteMark(text string, s core.Span, spans []core.Span) chatMark {
	m := chatMark{rank: blockRank}
	for at := s.Start; at < s.End; {
		inCode := slices.ContainsFunc(spans, func(c core.Span) bool {
			return c.Kind == core.SpanPre && c.Start <= at && at < c.End
		})
		if !inCode && (at == 0 || text[at-1] == '\n') {
			m.inserts = append(m.inserts, insert{at, 0, "> "})
		}
		next := strings.IndexByte(text[at:s.End], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return m
}

// codeMark puts back-ticks around code.
func codeMark(text string, s core.Span, index int) []chatMark {
	start, end := trim(text, s.Start, s.End)
	if start == end {
		return nil
	}
	rank, fence := codeRank, "`"
	if s.Kind == core.SpanPre || strings.ContainsAny(text[start:end], "`\n") {
		rank, fence = blockRank, "```"
	}
	return []chatMark{around(rank, start, end, fence, fence, index)}
}

// styleMarks puts delimiters around each line of a span. WhatsApp does not show a style with a letter or digit
// right outside, so that is left out. Between digits it was arithmetic (2*3*4): its asterisks are restored as look-alikes.
func styleMarks(text string, s core.Span, d string, index int) []chatMark {
	if sign := arithmetic(text, s); sign != "" {
		return []chatMark{around(linkRank, s.Start, s.End, sign, sign, index)}
	}
	var out []chatMark
	for at := s.Start; at < s.End; {
		stop := s.End
		if n := strings.IndexByte(text[at:s.End], '\n'); n >= 0 {
			stop = at + n
		}
		start, end := trim(text, at, stop)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if start < end && !isWord(before) && !isWord(after) {
			out = append(out, around(styleRank, start, end, d, d, index))
		}
		at = stop + 1
	}
	return out
}

// arithmetic returns the operator from which a span between digits was made, "" if it is none.
func arithmetic(text string, s core.Span) string {
	before, _ := utf8.DecodeLastRuneInString(text[:s.Start])
	after, _ := utf8.DecodeRuneInString(text[s.End:])
	if !unicode.IsDigit(before) || !unicode.IsDigit(after) {
		return ""
	}
	stars := map[core.SpanKind]int{core.SpanItalic: 1, core.SpanBold: 2}[s.Kind]
	return strings.Repeat(string(lookAlikes['*']), stars)
}

func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// trim returns the bounds of text[start:end] without white space around it.
func trim(text string, start, end int) (int, int) {
	piece := text[start:end]
	left := len(piece) - len(strings.TrimLeftFunc(piece, unicode.IsSpace))
	return start + left, start + max(left, len(strings.TrimRightFunc(piece, unicode.IsSpace)))
}

// affordable returns the marks that cost at most budget UTF-16 units, those of low rank first.
func affordable(marks []chatMark, budget int) []chatMark {
	slices.SortStableFunc(marks, func(a, b chatMark) int { return cmp.Compare(a.rank, b.rank) })
	return slices.DeleteFunc(marks, func(m chatMark) bool {
		cost := 0
		for _, in := range m.inserts {
			cost += UTF16Len(in.text)
		}
		if cost > budget {
			return true
		}
		budget -= cost
		return false
	})
}

func interleave(text string, marks []chatMark) string {
	var all []insert
	for _, m := range marks {
		all = append(all, m.inserts...)
	}
	slices.SortStableFunc(all, func(a, b insert) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	pos := 0
	for _, in := range all {
		b.WriteString(text[pos:in.at])
		b.WriteString(in.text)
		pos = in.at
	}
	b.WriteString(text[pos:])
	return b.String()
}
