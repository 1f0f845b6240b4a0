package long

import (
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// unit is the smallest part of a message that is kept or left out: a sentence, a
// list item, a code block.
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

func (d *draft) cutUnits(text string, pieces []piece) []unit {
	var out []unit
	for i, p := range pieces {
		if r := d.repeatOf(i); r != nil {
			out = append(out, unit{text: r.render(), kind: p.kind, start: p.start, end: p.end, piece: i, repeats: true})
			continue
		}
		if p.kind != prose && p.kind != item {
			out = append(out, unit{text: p.of(text), kind: p.kind, start: p.start, end: p.end, piece: i})
			continue
		}
		sentences(p.of(text), func(start, end int) {
			u := unit{text: text[p.start+start : p.start+end], kind: p.kind, start: p.start + start,
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
		if n := quoted(s, i); n > 0 {
			total += wordCount(s[i : i+n])
			i += n
			continue
		}
		i += runeLen(s, i)
	}
	return total
}

// wordCount counts words; in scripts without gaps it is an estimate.
func wordCount(s string) int {
	n := len(strings.Fields(s))
	return max(n, utf8.RuneCountInString(s)/12)
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
