package document

import (
	"cmp"
	"encoding/xml"
	"strings"
)

// outlines are the lists of an OpenDocument text.
type outlines struct {
	kinds  map[string]*[levels]level // of lists, by the names of their styles
	named  string                    // the style that is being read
	open   []outline                 // around
	counts map[string][levels]int    // of ended lists, by their styles
	label  string                    // of the item, until its first words
}

// outline is an open list.
type outline struct {
	style string
	last  int
}

// begin reads the beginning of an element of a list or its style.
func (l *outlines) begin(e xml.StartElement) {
	switch e.Name.Local {
	case "list-style":
		l.named = attribute(e, "name")
		l.kinds[l.named] = &[levels]level{}
	case "list-level-style-number", "list-level-style-bullet":
		at := count(attribute(e, "level")) - 1
		if kind := l.kinds[l.named]; kind != nil && at >= 0 && at < levels {
			kind[at] = odfLevel(e)
		}
	case "list":
		l.nest(e)
	case "list-item":
		l.next(e)
	}
}

// odfLevel returns how the items of a level are numbered; text is what follows the number, style what precedes it.
func odfLevel(e xml.StartElement) level {
	format := "bullet"
	if strings.HasSuffix(e.Name.Local, "number") {
		format = map[string]string{"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman",
			"I": "upperRoman"}[attribute(e, "num-format")]
	}
	return level{format: format, text: clip(attribute(e, "num-suffix"), 20), style: clip(attribute(e, "num-prefix"),
		20),
		start: count(cmp.Or(attribute(e, "start-value"), "1")), shown: max(1, count(attribute(e, "display-levels")))}
}

func (l *outlines) nest(e xml.StartElement) {
	style, depth := attribute(e, "style-name"), len(l.open)
	if style == "" && depth > 0 {
		style = l.open[depth-1].style
	}
	last := -1
	if counts, ok := l.counts[style]; ok && depth < levels &&
		(attribute(e, "continue-numbering") == "true" || attribute(e, "continue-list") != "") {
		last = counts[depth]
	}
	l.open = append(l.open, outline{style, last})
}

// next counts an item.
func (l *outlines) next(e xml.StartElement) {
	at := len(l.open) - 1
	if at < 0 || at >= levels || l.kinds[l.open[at].style] == nil {
		return
	}
	kind, own := l.kinds[l.open[at].style], &l.open[at]
	if own.last++; own.last == 0 {
		own.last = kind[at].start
	}
	if start := attribute(e, "start-value"); start != "" {
		own.last = count(start)
	}
	switch kind[at].format {
	case "":
		l.label = ""
	case "bullet":
		l.label = "- "
	default:
		var numbers []string
		for i := max(0, at+1-kind[at].shown); i <= at; i++ {
			numbers = append(numbers, numeral(kind[i].format, max(0, l.open[i].last)))
		}
		l.label = kind[at].style + strings.Join(numbers, ".") + kind[at].text + " "
	}
}

// end ends a list or an item.
func (l *outlines) end(name string) {
	switch at := len(l.open) - 1; {
	case name == "list-item":
		l.label = ""
	case name == "list" && at >= 0:
		if at < levels {
			counts := l.counts[l.open[at].style]
			counts[at] = l.open[at].last
			l.counts[l.open[at].style] = counts
		}
		l.open = l.open[:at]
	}
}

// take returns the label of the item for its first paragraph.
func (l *outlines) take() string {
	label := l.label
	l.label = ""
	return label
}
