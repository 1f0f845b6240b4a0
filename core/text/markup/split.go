package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/everthread/everthread/core"
)

// Split cuts t into parts of at most max units of length (nil: bytes), which must be additive over concatenation. It
// cuts at a paragraph, else a line or sentence, else a word, else between graphemes; only a grapheme longer than max is
// cut between its runes. A span around a cut continues in the next part, so code is closed and reopened with its
// language. The parts together hold all of the text except white space at the cuts; none is empty or only white space.
// A max of 0 or less means no limit.
func Split(t Text, max int, length func(string) int) []Text {
	if length == nil {
		length = func(s string) int { return len(s) }
	}
	if strings.TrimSpace(t.Text) == "" {
		return nil
	}
	if max <= 0 || length(t.Text) <= max {
		return []Text{t}
	}
	s := &splitter{t: t, max: max, length: length}
	return s.parts()
}

type splitter struct {
	t      Text
	max    int
	length func(string) int

	broken int         // end of a grapheme longer than max that is cut
	next   int         // first span that begins at or after the current part
	active []core.Span // spans that began before it and may reach into it
}

func (s *splitter) parts() []Text {
	var out []Text
	for pos := 0; pos < len(s.t.Text); {
		end := s.end(pos)
		if p, ok := s.part(pos, end); ok {
			out = append(out, p)
		}
		pos = end
	}
	return out
}

// Kinds of places to cut at, best first.
const (
	atParagraph = iota
	atLine
	atSentence
	atWord
	places
)

// end returns the end of the part that begins at pos.
func (s *splitter) end(pos int) int {
	var last [places]int // the last place of each kind
	used := 0
	i := pos
	for i < len(s.t.Text) {
		n := s.unit(i)
		size := s.length(s.t.Text[i : i+n])
		if used+size > s.max {
			break
		}
		used += size
		i += n
		if k := s.place(i); k < places {
			last[k] = i
		}
	}
	switch {
	case i == len(s.t.Text):
		return i
	case i == pos:
		return s.breakGrapheme(pos)
	}
	r, _ := utf8.DecodeRuneInString(s.t.Text[i:])
	if k := s.place(i); k < places || unicode.IsSpace(r) {
		last[min(k, atWord)] = i
	}
	return best(last, pos, i)
}

// best chooses among the last places of each kind: the best kind that fills a
// quarter of the part, else the farthest word, else the limit itself.
func best(last [places]int, pos, limit int) int {
	farthest := 0
	for _, at := range last {
		if at > pos+(limit-pos)/4 {
			return at
		}
		farthest = max(farthest, at)
	}
	if farthest > pos {
		return farthest
	}
	return limit
}

// unit returns the bytes of the grapheme at i, or of the rune there if that is broken.
func (s *splitter) unit(i int) int {
	text := s.t.Text
	if i < s.broken {
		_, n := utf8.DecodeRuneInString(text[i:])
		return n
	}
	if text[i] < utf8.RuneSelf && text[i] != '\r' && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
		return 1
	}
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[i:], -1)
	return len(cluster)
}

// breakGrapheme returns the end of as many runes of the grapheme at pos as fit, at least one.
func (s *splitter) breakGrapheme(pos int) int {
	s.broken = max(s.broken, pos+s.unit(pos))
	i, used := pos, 0
	for i < s.broken {
		_, n := utf8.DecodeRuneInString(s.t.Text[i:])
		used += s.length(s.t.Text[i : i+n])
		if used > s.max && i > pos {
			break
		}
		i += n
	}
	return i
}

// place returns the kind of place at i, right after white space; places if it is none to cut at.
func (s *splitter) place(i int) int {
	text := s.t.Text
	switch {
	case i >= 2 && text[i-1] == '\n' && text[i-2] == '\n':
		return atParagraph
	case text[i-1] == '\n':
		return atLine
	case text[i-1] != ' ' && text[i-1] != '\t':
		if r, _ := utf8.DecodeLastRuneInString(text[:i]); strings.ContainsRune("。！？", r) {
			return atSentence
		}
		return places
	case i >= 2 && strings.IndexByte(".!?:;", text[i-2]) >= 0:
		return atSentence
	}
	return atWord
}

// part returns Text[pos:end] without the white space at its borders, and false
// if nothing is left. Blanks after a line break stay: they are an indent.
func (s *splitter) part(pos, end int) (Text, bool) {
	body := s.t.Text[pos:end]
	if strings.TrimSpace(body) == "" {
		return Text{}, false
	}
	start := pos + leading(body, pos == 0 || s.t.Text[pos-1] == '\n')
	stop := pos + len(strings.TrimRightFunc(body, unicode.IsSpace))
	return Text{Text: s.t.Text[start:stop], Spans: s.cut(start, stop)}, true
}

// leading returns the size of the white space to omit at the start of a part.
func leading(body string, lineStart bool) int {
	spaces := len(body) - len(strings.TrimLeftFunc(body, unicode.IsSpace))
	if i := strings.LastIndexByte(body[:spaces], '\n'); i >= 0 {
		return i + 1
	}
	if lineStart {
		return 0
	}
	return spaces
}

// cut returns the spans over Text[start:stop], relative to start; to be called in order.
func (s *splitter) cut(start, stop int) []core.Span {
	for ; s.next < len(s.t.Spans) && s.t.Spans[s.next].Start < stop; s.next++ {
		s.active = append(s.active, s.t.Spans[s.next])
	}
	var out []core.Span
	rest := s.active[:0]
	for _, sp := range s.active {
		if a, b := max(sp.Start, start), min(sp.End, stop); a < b {
			c := sp
			c.Start, c.End = a-start, b-start
			out = append(out, c)
		}
		if sp.End > stop {
			rest = append(rest, sp)
		}
	}
	s.active = rest
	return out
}

// Parts renders Markdown as parts for a channel.
func Parts(md string, c core.Capabilities) []core.Part { return parts(Parse(md), c) }

// Ending renders Markdown as parts for a channel, with a line of plain text in italics at the end. Nothing that the
// Markdown leaves open, such as a block of code, reaches that line.
func Ending(md, line string, c core.Capabilities) []core.Part {
	t := Parse(md)
	t.Text += "\n\n"
	t.Spans = append(t.Spans, core.Span{Kind: core.SpanItalic, Start: len(t.Text), End: len(t.Text) + len(line)})
	t.Text += line
	return parts(t, c)
}

// Refit turns the parts of a message, at least one, into parts for another channel. They stay silent or folded.
func Refit(old []core.Part, c core.Capabilities) []core.Part {
	var whole Text
	for n, p := range old {
		if n > 0 {
			whole.Text += "\n\n"
		}
		for _, s := range p.Spans {
			s.Start, s.End = s.Start+len(whole.Text), s.End+len(whole.Text)
			whole.Spans = append(whole.Spans, s)
		}
		whole.Text += p.Text
	}
	out := parts(whole, c)
	for i := range out {
		out[i].Quiet, out[i].Fold = old[0].Quiet, old[0].Fold
	}
	return out
}

func parts(t Text, c core.Capabilities) (out []core.Part) {
	pieces := []Text{t}
	if c.MaxText > 0 {
		pieces = Split(t, c.MaxText, c.Length)
	}
	for _, p := range pieces {
		out = append(out, p.Part())
	}
	return out
}
