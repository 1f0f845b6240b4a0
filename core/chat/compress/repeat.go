package compress

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Candidate is an earlier piece of the same user that shares the hash or a band of a print.
type Candidate struct {
	Message core.MessageID
	Piece   int
	Text    string // the original text of the whole message
}

// Repeat says that a piece of a text repeats an earlier one. Diff (unified, without file names; "": they are equal),
// applied to the earlier one, gives the piece, except for white space at the ends of lines. In the diff a paragraph of
// one line has a line for each of its clauses.
type Repeat struct {
	Piece int
	Of    core.MessageID
	Diff  string
}

// Criteria for near repetitions.
const (
	similar  = 0.85 // least similarity
	mostDiff = 0.3  // greatest size of the diff, as a share of the piece
)

// Repeats returns the pieces of text that repeat one of their candidates, exactly or nearly (similar, mostDiff). Of
// several candidates the one with the shortest diff counts, then the earliest. A reference of as many tokens as the
// piece itself does not count.
func (c *Compressor) Repeats(text string, candidates map[int][]Candidate) []Repeat {
	var out []Repeat
	for i, p := range split(text) {
		if len(candidates[i]) == 0 || !printable(p.kind) {
			continue
		}
		r := repeat(i, p, text, candidates[i])
		if r != nil && c.tokens.Count(r.render()) < c.tokens.Count(p.of(text)) {
			out = append(out, *r)
		}
	}
	return out
}

// repeat returns the best repeat of the piece, or nil.
func repeat(i int, p piece, text string, candidates []Candidate) *Repeat {
	var best *Repeat
	body := normal(p, text)
	for _, e := range candidates {
		pieces := split(e.Text)
		if e.Piece < 0 || e.Piece >= len(pieces) || pieces[e.Piece].kind.isCode() != p.kind.isCode() {
			continue
		}
		earlier := normal(pieces[e.Piece], e.Text)
		r := Repeat{Piece: i, Of: e.Message}
		if earlier != body {
			if r.Diff = diff(earlier, body); r.Diff == "" {
				continue
			}
		}
		if best == nil || len(r.Diff) < len(best.Diff) || len(r.Diff) == len(best.Diff) && r.Of < best.Of {
			best = &r
		}
	}
	return best
}

// diff returns the unified diff of two pieces, "" if they are not similar enough.
// It has a line of context if that fits.
func diff(a, b string) string {
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

// similarity returns the share of bytes in words that both texts have in order, from 0 to 1.
func similarity(a, b string) float64 {
	x, y := strings.Join(strings.Fields(a), "\n")+"\n", strings.Join(strings.Fields(b), "\n")+"\n"
	other := 0
	for _, e := range udiff.Lines(x, y) {
		other += e.End - e.Start + len(e.New)
	}
	return 1 - float64(other)/float64(len(x)+len(y))
}

// clauseLines puts every clause of a paragraph on its own line. Lines end after a stop or comma, and after one word in
// eight, chosen by its hash so that a change affects no other line. The space stays at the end of a line.
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

// render returns the text that replaces the piece.
func (r *Repeat) render() string {
	if r.Diff == "" {
		return fmt.Sprintf("[same as in message #%d]", r.Of)
	}
	fence := "```"
	for strings.Contains(r.Diff, fence) {
		fence += "`"
	}
	return fmt.Sprintf("[similar to message #%d, with these changes:]\n%sdiff\n%s\n%s", r.Of, fence, r.Diff, fence)
}

// Bands of a MinHash: pieces with one band in common are candidates. As measured in
// print_test.go they find 98 of 100 pieces that are 85 % similar.
const (
	bands = 16
	rows  = 3
)

const (
	leastParagraph = 40 // tokens of a paragraph that gets a print
	leastCode      = 12 // tokens of a code block; a reference would hardly be shorter
	shingle        = 3  // words
)

// Prints returns the fingerprints of the pieces of m that are large enough for a reference: code blocks, and paragraphs
// of over 40 tokens. Equal pieces share all bands, similar ones at least one.
func (c *Compressor) Prints(m *core.Message) []store.Printed {
	var out []store.Printed
	for i, p := range split(m.Text) {
		least := leastParagraph
		if p.kind.isCode() {
			least = leastCode
		}
		if !printable(p.kind) || len(p.of(m.Text)) < least || c.tokens.Count(p.of(m.Text)) <= least {
			continue
		}
		body := normal(p, m.Text)
		for _, band := range append(sketch(body), int64(hash(body))) {
			out = append(out, store.Printed{Band: band, Message: m.ID, Piece: i})
		}
	}
	return out
}

// printable reports whether pieces of a kind can be references.
func printable(k kind) bool { return k.isCode() || k == prose || k == quote }

// normal returns a piece without insignificant white space: at the ends
// of lines and, outside code, at their beginnings.
func normal(p piece, text string) string {
	lines := strings.Split(p.of(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
		if !p.kind.isCode() {
			lines[i] = strings.TrimLeft(lines[i], " \t")
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// sketch returns the bands of the MinHash of the shingles of body.
func sketch(body string) []int64 {
	var least [bands * rows]uint64
	for i := range least {
		least[i] = ^uint64(0)
	}
	words := strings.FieldsFunc(strings.ToLower(body),
		func(r rune) bool { return r <= ' ' || strings.ContainsRune("()[]{},;:\"'`", r) })
	if len(words) < 2*shingle { // of a script without gaps
		words = strings.Split(strings.Join(strings.Fields(body), ""), "")
	}
	for i := range len(words) - shingle + 1 {
		h := hash(strings.Join(words[i:i+shingle], " "))
		for j := range least {
			least[j] = min(least[j], mix(h+uint64(j)*0x9E3779B97F4A7C15))
		}
	}
	out := make([]int64, bands)
	for i := range out {
		h := uint64(i)
		for _, x := range least[i*rows : (i+1)*rows] {
			h = mix(h ^ x)
		}
		out[i] = int64(h)
	}
	return out
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}
