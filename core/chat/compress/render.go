package compress

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// left marks an omission.
const left = "…"

// style says how to join units.
type style struct {
	edges   bool // mark omissions at the beginning and end too
	tail    bool // mark those once, at the end
	marks   bool // replace omitted code and quotes by a mark with their size and message
	bullets bool // one line for each, as a list if there are several
	plain   bool // without the emphasis of Markdown
}

// render joins the kept units in their order.
func (d *draft) render(units []unit, keep []bool, s style) string {
	w := writer{draft: d, style: s, several: kept(keep) > 1}
	for i := range units {
		if keep[i] {
			w.write(&units[i])
			continue
		}
		w.leave(&units[i])
	}
	return w.end()
}

func kept(keep []bool) int {
	n := 0
	for _, k := range keep {
		if k {
			n++
		}
	}
	return n
}

type writer struct {
	*draft
	style
	several bool
	b       strings.Builder
	last    *unit // kept
	gap     bool  // units were left out since
	head    bool  // units were left out before the first, without a mark
	lines   int   // of code left out since
	words   int   // of quotes left out since
}

// leave notes that u is left out.
func (w *writer) leave(u *unit) {
	w.gap = true
	switch {
	case !w.marks || u.repeats && !u.kind.isCode():
	case u.kind.isCode():
		n := strings.Count(w.m.Text[u.start:u.end], "\n") + 1
		if u.kind == fenced {
			n = max(n-2, 1)
		}
		w.lines += n
	case u.kind == quote:
		w.words += wordCount(u.text)
	case u.quotes >= leastQuote:
		w.words += u.quotes
	}
}

// leastQuote is the least words of a quote; fewer between marks are a title or a qualified word.
const leastQuote = 4

// marked returns the mark of the code and quotes left out since the last unit.
func (w *writer) marked() string {
	var parts []string
	if w.lines > 0 {
		parts = append(parts, fmt.Sprintf("[code: %d lines, see #%d]", w.lines, w.m.ID))
	}
	if w.words > 0 {
		parts = append(parts, fmt.Sprintf("[quote: %d words, see #%d]", w.words, w.m.ID))
	}
	w.lines, w.words = 0, 0
	return strings.Join(parts, " ")
}

func (w *writer) write(u *unit) {
	text := u.text
	if w.plain && !u.kind.isCode() {
		text = bare(text)
	}
	mark := w.marked()
	switch {
	case w.bullets:
		w.bullet(text)
	case w.last == nil:
		if mark != "" {
			w.b.WriteString(mark + w.separator(u))
		} else if w.gap && w.edges {
			w.b.WriteString(left + w.separator(u))
		} else {
			w.head = w.gap
		}
		w.b.WriteString(text)
	case w.gap:
		w.b.WriteString(w.separator(w.last) + cmp.Or(mark, left) + w.separator(u) + text)
	default:
		w.b.WriteString(w.gapBetween(w.last, u) + text)
	}
	w.last, w.gap = u, false
}

func (w *writer) bullet(text string) {
	if w.b.Len() > 0 {
		w.b.WriteByte('\n')
	}
	if w.several {
		w.b.WriteString("- ")
	}
	w.b.WriteString(strings.Join(strings.Fields(text[itemMark(text):]), " "))
}

// separator returns the white space between a unit and a mark: a unit of several lines,
// or one that Markdown reads by the line, is on lines of its own.
func (w *writer) separator(u *unit) string {
	if u.kind != prose || strings.Contains(u.text, "\n") && u.repeats {
		return "\n"
	}
	return " "
}

func (w *writer) end() string {
	if w.bullets {
		return w.b.String()
	}
	mark := w.marked()
	switch {
	case mark != "" && w.last != nil:
		w.b.WriteString(w.separator(w.last) + mark)
	case mark != "":
		w.b.WriteString(mark)
	case w.last != nil && (w.gap && (w.edges || w.tail) || w.head && w.tail):
		w.b.WriteString(w.separator(w.last) + left)
	}
	return w.b.String()
}

// bare removes the emphasis of Markdown from a sentence without code.
func bare(s string) string {
	marked := strings.Contains(s, "**") || strings.Contains(s, "__") || strings.HasPrefix(s, "#")
	if !marked || strings.Contains(s, "`") {
		return s
	}
	return strings.NewReplacer("**", "", "__", "").Replace(strings.TrimSpace(strings.TrimLeft(s, "#")))
}

// subdivide cuts sentences longer than room, at commas if possible. Fixed units stay whole.
func (d *draft) subdivide(units []unit, room int) []unit {
	room = max(room, longSentence)
	var out []unit
	for i := range units {
		u := units[i]
		if u.tokens <= room || u.fixed() || u.repeats || u.kind != prose && u.kind != item {
			out = append(out, u)
			continue
		}
		out = append(out, d.clauses(u)...)
	}
	return out
}

// clauseTokens is the approximate size of the parts of a long sentence.
const clauseTokens = 16

// clauses cuts a sentence into parts.
func (d *draft) clauses(u unit) []unit {
	var out []unit
	target := max(len(u.text)*clauseTokens/max(u.tokens, 1), 1)
	for start := 0; start < len(u.text); {
		end := clauseEnd(u.text, start, target)
		part := u
		part.start, part.end, part.cut = u.start+start, u.start+end, true
		part.text = strings.TrimSpace(u.text[start:end])
		part.start += strings.Index(u.text[start:end], part.text)
		part.end = part.start + len(part.text)
		part.tokens = d.count(part.text)
		words := wordsOf(part.text)
		if start > 0 && len(words) > 0 {
			words[0].first = false
		}
		part.fact, part.score = d.reader.worth(&part, words)
		if part.text != "" {
			out = append(out, part)
		}
		start = end
	}
	return out
}

// clauseEnd returns the end of the part that begins at start: the first pause after half of target, or a gap between
// words, or between letters of a script without gaps, after twice target, or the end of the text.
func clauseEnd(s string, start, target int) int {
	for i := start; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next := i + size
		switch {
		case strings.ContainsRune("，、；：", r) && next-start >= target/2:
			return next
		case unicode.IsSpace(r) && i > start && i-start >= target/2 && strings.ContainsAny(s[i-1:i], ",;:)\n") || r == '\n':
			return next
		case unicode.IsSpace(r) && i-start >= target/2 && joins(s[next:]):
			return next
		case unicode.IsSpace(r) && i-start >= 2*target:
			return next
		case i-start >= 2*target && isDense(s[i:next]) && next < len(s):
			return next
		}
		i = next
	}
	return len(s)
}

// joins reports whether a text begins with a word that often begins a clause.
func joins(s string) bool {
	word, _, _ := strings.Cut(s[:min(len(s), 12)], " ")
	return conjunctions(word)
}
