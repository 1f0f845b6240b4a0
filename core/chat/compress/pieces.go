package compress

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

type kind uint8

const (
	prose    kind = iota // a paragraph
	line                 // a list item, a heading, or a row of a table
	quote                // lines that begin with >
	fenced               // code between fences
	indented             // code by its indentation
)

func (k kind) isCode() bool { return k == fenced || k == indented }

// piece is a part of a text, from start to end in bytes, without white space around it. Only white space is between pieces.
type piece struct {
	kind       kind
	start, end int
}

func (p piece) of(text string) string { return text[p.start:p.end] }

// split cuts a text into pieces. Prints and repeats count them from 0.
func split(text string) []piece {
	var out []piece
	open := false // a next line of its kind continues the last piece
	last := prose
	for at := 0; at < len(text); {
		start, end := at, lineEnd(text, at)
		at = end + 1
		if strings.TrimSpace(text[start:end]) == "" {
			open = open && last == indented
			continue
		}
		k := kindOf(text[start:end], last, open)
		switch {
		case k == fenced:
			end = blockEnd(text, at, fenceOf(text[start:end]))
			at = end + 1
		case open && joins(last, k, text[start]):
			out[len(out)-1].end = trimmedEnd(text, start, end)
			continue
		case k != indented:
			start += len(text[start:end]) - len(strings.TrimLeftFunc(text[start:end], unicode.IsSpace))
		}
		out = append(out, piece{k, start, trimmedEnd(text, start, end)})
		last, open = k, k != fenced
	}
	return out
}

// joins reports whether a line of kind k that begins with a byte continues a piece of kind last.
func joins(last, k kind, begins byte) bool {
	if last == line {
		return k == prose && (begins == ' ' || begins == '\t')
	}
	return k == last
}

// ownLine matches the mark at the beginning of a list item or heading.
var ownLine = text.Pattern(`^(?:[-*+•–]|\d{1,3}[.)]|#{1,6})[ \t]+`)

func kindOf(s string, last kind, open bool) kind {
	bare := strings.TrimLeft(s, " \t")
	deep := strings.HasPrefix(s, "    ") || strings.HasPrefix(s, "\t")
	switch {
	case fenceOf(s) != "":
		return fenced
	case deep && (!open && last != line || open && last == indented):
		return indented
	case bare[0] == '>':
		return quote
	case bare[0] == '|', ownLine().MatchString(bare):
		return line
	}
	return prose
}

// fence matches the mark that opens a code block.
var fence = text.Pattern("^(?:`{3,}|~{3,})")

// fenceOf returns the fence of a line that opens a code block, else "".
func fenceOf(line string) string {
	bare := strings.TrimLeft(line, " \t")
	mark := fence().FindString(bare)
	if strings.HasPrefix(mark, "`") && strings.Contains(bare[len(mark):], "`") {
		return ""
	}
	return mark
}

// blockEnd returns the end of the line that closes a fenced block, or of the text.
func blockEnd(text string, at int, fence string) int {
	for at < len(text) {
		end := lineEnd(text, at)
		bare := strings.TrimSpace(text[at:end])
		if strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "" {
			return end
		}
		at = end + 1
	}
	return len(text)
}

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// trimmedEnd returns end without the white space before it.
func trimmedEnd(text string, start, end int) int {
	return start + len(strings.TrimRightFunc(text[start:end], unicode.IsSpace))
}

// unit is the smallest part of a message to keep or leave out: a sentence, a code block, a quote or a reference.
type unit struct {
	text       string
	kind       kind
	start, end int // in the message
	tokens     int
	worth      float64
	facts      float64 // the part of it that is numbers, names and dates
	reference  bool    // text refers to an earlier message
}

// fixed reports whether a unit is a user's quote or code, or a reference.
func (u *unit) fixed() bool {
	return u.kind.isCode() || u.kind == quote || u.reference || strings.ContainsAny(u.text, "\"“«„「『")
}

// units cuts a message into units and sets their worth. A repeated piece is one unit.
func (c *Compressor) units(m *core.Message, repeats []Repeat) []unit {
	var out []unit
	for i, p := range split(m.Text) {
		u := unit{text: p.of(m.Text), kind: p.kind, start: p.start, end: p.end}
		if at := slices.IndexFunc(repeats, func(r Repeat) bool { return r.Piece == i }); at >= 0 {
			u.text, u.reference = repeats[at].render(), true
			out = append(out, u)
			continue
		}
		if p.kind.isCode() || p.kind == quote {
			out = append(out, u)
			continue
		}
		text.Sentences(u.text, func(start, end int) {
			out = append(out, c.clauses(unit{text: u.text[start:end], kind: u.kind, start: p.start + start,
				end: p.start + end})...)
		})
	}
	for i := range out {
		u := &out[i]
		if m.Role == core.RoleAssistant && !strings.Contains(u.text, "`") {
			u.text = strings.ReplaceAll(u.text, "**", "")
		}
		u.tokens = c.tokens.Count(u.text)
	}
	value(out, m.Role)
	return out
}

// longSentence is the most tokens of a sentence that is never cut.
const longSentence = 60

// clause matches the beginning of a sentence up to a comma, or so many letters.
var clause = text.Pattern(`(?s)^(?:.{30,120}?(?:[,;:]\s+|[，、；：]\s*)|.{120}\S*\s*)`)

// clauses cuts a very long sentence, unless it has quotes.
func (c *Compressor) clauses(u unit) []unit {
	if len(u.text) < longSentence || u.fixed() || c.tokens.Count(u.text) <= longSentence {
		return []unit{u}
	}
	var out []unit
	for from := u.start; from < u.end; {
		rest := u.text[from-u.start:]
		part := cmp.Or(clause().FindString(rest), rest)
		text := strings.TrimRightFunc(part, unicode.IsSpace)
		out = append(out, unit{text: text, kind: u.kind, start: from, end: from + len(text)})
		from += len(part)
	}
	return out
}
