package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// levels is the depth of lists in Word.
const levels = 9

// lists numbers the paragraphs of a Word document, and knows its styles.
type lists struct {
	kinds   map[string]*[levels]level // of lists, by their ids
	numbers map[string]*number        // the lists, by their ids
	styles  map[string]item           // of paragraphs; list is empty for those without a number
	parents map[string]string         // of styles
	looks   map[string]look           // of styles of characters
	counts  map[string]*[levels]int   // by kinds; -1: not begun
}

// level is how the items of a level are numbered.
type level struct {
	format, text, style string
	start               int
	shown               int // of OpenDocument: levels in the number
}

// number is a list of a kind; it may begin again.
type number struct {
	kind   string
	starts map[int]int // by levels
}

// item is a paragraph as an item of a list; list is empty where only its style says so.
type item struct{ style, list, level string }

// readLists reads the lists and styles of a Word document.
func readLists(a *archive) (*lists, error) {
	l := &lists{kinds: map[string]*[levels]level{}, numbers: map[string]*number{}, styles: map[string]item{},
		parents: map[string]string{}, looks: map[string]look{}, counts: map[string]*[levels]int{}}
	if err := l.readStyles(a); err != nil && !errors.Is(err, errPart) {
		return nil, err
	}
	var kind *[levels]level
	var at int
	var list *number
	err := a.begun("word/numbering.xml", func(e xml.StartElement) {
		val := attribute(e, "val")
		switch e.Name.Local {
		case "abstractNum":
			kind, list = &[levels]level{}, nil
			l.kinds[attribute(e, "abstractNumId")] = kind
		case "num":
			kind, list = nil, &number{starts: map[int]int{}}
			l.numbers[attribute(e, "numId")] = list
		case "lvl", "lvlOverride":
			at = min(count(attribute(e, "ilvl")), levels-1)
			if kind != nil {
				kind[at] = level{start: 1}
			}
		}
		switch {
		case list != nil && e.Name.Local == "abstractNumId":
			list.kind = val
		case list != nil && e.Name.Local == "startOverride":
			list.starts[at] = count(val)
		case kind != nil:
			kind[at].set(e.Name.Local, val)
		}
	})
	if err != nil && !errors.Is(err, errPart) {
		return nil, err
	}
	return l, nil
}

func (l *level) set(name, val string) {
	switch name {
	case "start":
		l.start = count(val)
	case "numFmt":
		l.format = val
	case "lvlText":
		l.text = clip(val, 100)
	case "pStyle":
		l.style = val
	}
}

func (l *lists) readStyles(a *archive) error {
	id, character := "", false
	return a.begun("word/styles.xml", func(e xml.StartElement) {
		val := attribute(e, "val")
		own := l.styles[id]
		switch e.Name.Local {
		case "style":
			id, character = attribute(e, "styleId"), attribute(e, "type") == "character"
			return
		case "basedOn":
			l.parents[id] = val
		case "numId":
			own.list = val
		case "ilvl":
			own.level = val
		}
		if own != (item{}) {
			l.styles[id] = own
		}
		if as := l.looks[id]; character {
			if as.set(e); as != (look{}) {
				l.looks[id] = as
			}
		}
	})
}

// label returns the number of the next paragraph with a space, or a dash; empty: it is in no list.
func (l *lists) label(of item) string {
	for style, n := of.style, 0; of.list == "" && style != "" && n < 10; n++ {
		of.list, of.level = l.styles[style].list, l.styles[style].level
		style = l.parents[style]
	}
	list := l.numbers[of.list]
	if list == nil || l.kinds[list.kind] == nil {
		return ""
	}
	kind := l.kinds[list.kind]
	at := min(count(of.level), levels-1)
	for i, lv := range kind {
		if of.level == "" && lv.style != "" && lv.style == of.style {
			at = i
		}
	}
	switch counts := l.next(list, kind, at); kind[at].format {
	case "none":
		return ""
	case "bullet":
		return "- "
	default:
		text := kind[at].text
		for i := range levels {
			text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), numeral(kind[i].format, max(0, counts[i])))
		}
		if text == "" {
			return ""
		}
		return text + " "
	}
}

// next counts an item of a level, and returns the counts of all levels.
func (l *lists) next(list *number, kind *[levels]level, at int) *[levels]int {
	counts := l.counts[list.kind]
	if counts == nil {
		counts = &[levels]int{-1, -1, -1, -1, -1, -1, -1, -1, -1}
		l.counts[list.kind] = counts
	}
	for i, start := range list.starts {
		counts[i] = start - 1
	}
	list.starts = nil
	for i := range levels {
		switch {
		case i > at:
			counts[i] = -1
		case counts[i] < 0:
			counts[i] = kind[i].start
		case i == at:
			counts[i]++
		}
	}
	return counts
}

// count returns a number that a document states, between 0 and a million.
func count(s string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s)) // else it is 0
	return min(max(0, n), 1_000_000)
}

// numeral returns a number in a format of Word: a letter, a Roman numeral, or digits.
func numeral(format string, n int) string {
	switch {
	case strings.HasSuffix(format, "Letter") && n > 0 && n <= 26*50:
		s := strings.Repeat(string(rune('a'+(n-1)%26)), 1+(n-1)/26)
		return cased(format, s)
	case strings.HasSuffix(format, "Roman") && n > 0 && n < 4000:
		return cased(format, roman(n))
	case format == "decimalZero":
		return fmt.Sprintf("%02d", n)
	case format == "none" || format == "bullet":
		return ""
	}
	return strconv.Itoa(n)
}

func cased(format, s string) string {
	if strings.HasPrefix(format, "upper") {
		return strings.ToUpper(s)
	}
	return s
}

func roman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		value int
		sign  string
	}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"},
		{9, "ix"},
		{5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.sign)
		}
	}
	return b.String()
}
