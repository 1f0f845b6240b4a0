package compress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

type kind uint8

const (
	prose    kind = iota // a paragraph
	item                 // of a list
	heading              // of a section
	row                  // of a table
	quote                // lines that begin with >
	fenced               // code between fences
	indented             // code by its indentation
)

func (k kind) isCode() bool { return k == fenced || k == indented }

// piece is a part of a text, from start to end in bytes, without white space
// around it. Only white space is between pieces.
type piece struct {
	kind       kind
	start, end int
	// from and to bound the code between the fences.
	from, to int
}

func (p piece) of(text string) string { return text[p.start:p.end] }

// body returns the code of a fenced piece, or the whole of another.
func (p piece) body(text string) string {
	if p.kind == fenced {
		return text[p.from:p.to]
	}
	return text[p.start:p.end]
}

// split cuts a text into pieces: code blocks, paragraphs, items and such. Print,
// Candidate and Repeat count them from 0.
func split(text string) []piece {
	s := splitter{text: text}
	for s.at < len(text) {
		s.line()
	}
	return s.pieces
}

type splitter struct {
	text   string
	at     int // start of the next line
	pieces []piece
	open   bool // a next line of its kind continues the last piece
}

// line reads one line, or all lines of a fenced block.
func (s *splitter) line() {
	start, end := s.at, lineEnd(s.text, s.at)
	line := s.text[start:end]
	s.at = end + 1
	if strings.TrimSpace(line) == "" {
		s.open = s.open && s.lastKind() == indented
		return
	}
	if fence := fenceOf(line); fence != "" {
		s.block(start, end, fence)
		return
	}
	k := s.kindOf(line)
	if s.joins(k, line) {
		s.pieces[len(s.pieces)-1].end = trimmedEnd(s.text, start, end)
		return
	}
	if k != indented {
		start += len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
	}
	s.pieces = append(s.pieces, piece{kind: k, start: start, end: trimmedEnd(s.text, start, end)})
	s.open = true
}

// block reads a fenced block up to its closing fence, or the end.
func (s *splitter) block(start, end int, fence string) {
	p := piece{kind: fenced, start: start, from: min(end+1, len(s.text))}
	p.to, p.end = len(s.text), len(s.text)
	for s.at < len(s.text) {
		from := s.at
		to := lineEnd(s.text, from)
		s.at = to + 1
		if closes(s.text[from:to], fence) {
			p.to, p.end = from, to
			break
		}
	}
	p.end = trimmedEnd(s.text, start, p.end)
	p.to = max(p.from, p.to)
	p.from = min(p.from, p.end)
	p.to = min(p.to, p.end)
	s.pieces, s.open = append(s.pieces, p), false
}

func (s *splitter) lastKind() kind {
	if len(s.pieces) == 0 {
		return prose
	}
	return s.pieces[len(s.pieces)-1].kind
}

// joins reports whether a line of kind k continues the open piece.
func (s *splitter) joins(k kind, line string) bool {
	if !s.open {
		return false
	}
	if s.lastKind() == item {
		return k == prose && (line[0] == ' ' || line[0] == '\t')
	}
	return k == s.lastKind() && (k == prose || k == quote || k == indented)
}

func (s *splitter) kindOf(line string) kind {
	bare := strings.TrimLeft(line, " \t")
	deep := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
	switch {
	case deep && (!s.open && s.lastKind() != item || s.open && s.lastKind() == indented):
		return indented
	case strings.HasPrefix(bare, ">"):
		return quote
	case itemMark(bare) > 0:
		return item
	case isHeading(bare):
		return heading
	case strings.HasPrefix(bare, "|") && strings.Count(bare, "|") > 1:
		return row
	}
	return prose
}

func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && strings.HasPrefix(rest, " ")
}

// itemMark returns the length of a list item's mark with the spaces after it, 0 if there is none.
func itemMark(line string) int {
	n := 0
	for n < len(line) && n < 3 && '0' <= line[n] && line[n] <= '9' {
		n++
	}
	switch {
	case n > 0 && n < len(line) && (line[n] == '.' || line[n] == ')'):
		n++
	case n == 0 && (strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")):
		n = 1
	case n == 0 && (strings.HasPrefix(line, "• ") || strings.HasPrefix(line, "– ")):
		n = 3
	default:
		return 0
	}
	rest := strings.TrimLeft(line[n:], " \t")
	if rest == "" || len(rest) == len(line)-n {
		return 0
	}
	return len(line) - len(rest)
}

// fenceOf returns the fence of a line that opens a code block, else "".
func fenceOf(line string) string {
	bare := strings.TrimLeft(line, " \t")
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(bare, mark)
		n := len(bare) - len(rest)
		if n >= 3 && (mark == "~" || !strings.Contains(rest, "`")) {
			return bare[:n]
		}
	}
	return ""
}

func closes(line, fence string) bool {
	bare := strings.TrimSpace(line)
	return len(bare) >= len(fence) && strings.Trim(bare, fence[:1]) == ""
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

// unit is the smallest part of a message to keep or leave out: a sentence, list item, code block.
type unit struct {
	text    string
	kind    kind
	start   int // in the message, in bytes
	end     int
	piece   int
	tokens  int
	score   float64 // its worth
	fact    float64 // the part of it that is names, numbers, dates and such
	quotes  int     // words of quoted speech in it
	repeats bool    // text is a reference to an earlier message
	cut     bool    // a part of a sentence
}

// fixed reports whether a unit is kept byte for byte or left out with a mark.
func (u *unit) fixed() bool { return u.kind.isCode() || u.kind == quote || u.quotes > 0 }

// longSentence is the most tokens of a sentence that is never cut.
const longSentence = 60

// draft is a message cut into units.
type draft struct {
	*Compressor
	m       *core.Message
	repeats []Repeat
	pieces  []piece
	units   []unit
	total   int // tokens of the text
	reader  reader
}

// read cuts a message into units. Each repeated piece is one unit.
func (c *Compressor) read(m *core.Message, repeats []Repeat) *draft {
	d := &draft{Compressor: c, m: m, pieces: split(m.Text)}
	for _, r := range repeats {
		if r.Piece >= 0 && r.Piece < len(d.pieces) && d.repeatOf(r.Piece) == nil {
			d.repeats = append(d.repeats, r)
		}
	}
	d.total = d.count(m.Text)
	d.units = d.cutUnits(m.Text, d.pieces)
	d.score()
	return d
}

func (d *draft) repeatOf(piece int) *Repeat {
	for i := range d.repeats {
		if d.repeats[i].Piece == piece {
			return &d.repeats[i]
		}
	}
	return nil
}

func (d *draft) cutUnits(s string, pieces []piece) []unit {
	var out []unit
	for i, p := range pieces {
		if r := d.repeatOf(i); r != nil {
			out = append(out, unit{text: r.render(), kind: p.kind, start: p.start, end: p.end, piece: i, repeats: true})
			continue
		}
		if p.kind != prose && p.kind != item {
			out = append(out, unit{text: p.of(s), kind: p.kind, start: p.start, end: p.end, piece: i})
			continue
		}
		text.Sentences(p.of(s), func(start, end int) {
			u := unit{text: s[p.start+start : p.start+end], kind: p.kind, start: p.start + start,
				end: p.start + end, piece: i}
			u.quotes = quotedWords(u.text)
			out = append(out, u)
		})
	}
	for i := range out {
		out[i].tokens = d.count(out[i].text)
	}
	return out
}

// quotedWords counts the words of quoted speech in a sentence.
func quotedWords(s string) int {
	if !strings.ContainsAny(s, "\"«“„「『") {
		return 0
	}
	total := 0
	for i := 0; i < len(s); {
		if n := text.Quoted(s, i); n > 0 {
			total += wordCount(s[i : i+n])
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return total
}

// wordCount counts words; in scripts without gaps it is an estimate.
func wordCount(s string) int {
	return max(len(strings.Fields(s)), utf8.RuneCountInString(s)/12)
}

// gapBetween returns the white space between two consecutive units.
func (d *draft) gapBetween(a, b *unit) string {
	between := d.m.Text[min(a.end, b.start):b.start]
	switch strings.Count(between, "\n") {
	case 0:
		if between == "" || strings.TrimSpace(between) != "" {
			return ""
		}
		return " "
	case 1:
		return "\n"
	}
	return "\n\n"
}
