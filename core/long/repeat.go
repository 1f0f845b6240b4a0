package long

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/everthread/everthread/core"
)

// Candidate is an earlier piece of the same user that shares the hash or a
// band of a print.
type Candidate struct {
	Message core.MessageID
	Piece   int
	Text    string // the original text of the whole message
}

// Repeat says that a piece of a text repeats an earlier one. Diff (unified, without
// file names), applied to the earlier one, gives the piece, except for white space at
// the ends of lines. In the diff a paragraph of one line has a line for each of its
// clauses.
type Repeat struct {
	Piece int
	Of    core.MessageID
	Exact bool
	Diff  string
}

// Criteria for near repetitions.
const (
	similar  = 0.85 // least similarity
	mostDiff = 0.3  // greatest size of the diff, as a share of the piece
)

// Repeats returns the pieces of text that repeat one of their candidates, exactly or
// nearly (similar, mostDiff). Of several candidates the one with the
// shortest diff counts, then the earliest. A reference of as many tokens as the piece
// itself does not count.
func (c *Compressor) Repeats(text string, candidates map[int][]Candidate) []Repeat {
	var out []Repeat
	for i, p := range split(text) {
		if len(candidates[i]) == 0 || !printable(p.kind) {
			continue
		}
		r := c.repeat(i, p, text, candidates[i])
		if r != nil && c.tokens.Count(r.render()) < c.tokens.Count(p.of(text)) {
			out = append(out, *r)
		}
	}
	return out
}

// repeat returns the best repeat of the piece, or nil.
func (c *Compressor) repeat(i int, p piece, text string, candidates []Candidate) *Repeat {
	var best *Repeat
	body := normal(p, text)
	for _, e := range candidates {
		pieces := split(e.Text)
		if e.Piece < 0 || e.Piece >= len(pieces) || pieces[e.Piece].kind.isCode() != p.kind.isCode() {
			continue
		}
		earlier := normal(pieces[e.Piece], e.Text)
		r := Repeat{Piece: i, Of: e.Message, Exact: earlier == body}
		if !r.Exact {
			if r.Diff = c.diff(earlier, body); r.Diff == "" {
				continue
			}
		}
		if best == nil || len(r.Diff) < len(best.Diff) || len(r.Diff) == len(best.Diff) && r.Of < best.Of {
			best = &r
		}
	}
	return best
}

// diff returns the unified diff of two bodies, "" if they are not similar enough.
// It has a line of context if that fits.
func (c *Compressor) diff(a, b string) string {
	if min(len(a), len(b))*100 < max(len(a), len(b))*70 || similarity(a, b) <= similar {
		return ""
	}
	if !strings.Contains(a, "\n") && !strings.Contains(b, "\n") {
		a, b = clauseLines(a), clauseLines(b)
	}
	a, b = a+"\n", b+"\n"
	edits := udiff.Lines(a, b)
	for context := 1; context >= 0; context-- {
		u, err := udiff.ToUnified("a", "b", a, edits, context)
		if err != nil {
			return ""
		}
		u = strings.TrimSuffix(strings.TrimPrefix(u, "--- a\n+++ b\n"), "\n")
		if float64(len(u)) < mostDiff*float64(len(b)) {
			return u
		}
	}
	return ""
}

// similarity returns the share of bytes in words that both texts have in the same
// order, from 0 to 1.
func similarity(a, b string) float64 {
	x, y := strings.Join(strings.Fields(a), "\n")+"\n", strings.Join(strings.Fields(b), "\n")+"\n"
	other := 0
	for _, e := range udiff.Lines(x, y) {
		other += e.End - e.Start + len(e.New)
	}
	return 1 - float64(other)/float64(len(x)+len(y))
}

// clauseLines puts every clause of a paragraph on its own line. Lines end after a stop
// or comma, and after one word in eight, chosen by its hash so that a change affects no
// other line. The space stays at the end of a line.
func clauseLines(s string) string {
	var b strings.Builder
	for word := range strings.SplitAfterSeq(s, " ") {
		b.WriteString(word)
		bare := strings.TrimRight(word, " ")
		if len(bare) < len(word) && bare != "" && (strings.ContainsAny(bare[len(bare)-1:], ".,;:!?") || hash(bare)%8 == 0) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// head returns the beginning of the rendering of r.
func (r *Repeat) head() string {
	if r.Exact {
		return fmt.Sprintf("[same as in message #%d]", r.Of)
	}
	return fmt.Sprintf("[similar to message #%d, with these changes:]", r.Of)
}

// render returns the text that replaces the piece.
func (r *Repeat) render() string {
	if r.Exact {
		return r.head()
	}
	fence := "```"
	for strings.Contains(r.Diff, fence) {
		fence += "`"
	}
	return r.head() + "\n" + fence + "diff\n" + r.Diff + "\n" + fence
}

// deduplicated returns the message with references for repeated pieces.
func (d *draft) deduplicated() string {
	var b strings.Builder
	at := 0
	for i, p := range d.pieces {
		if r := d.repeatOf(i); r != nil {
			b.WriteString(d.m.Text[at:p.start] + r.render())
			at = p.end
		}
	}
	b.WriteString(d.m.Text[at:])
	return b.String()
}
