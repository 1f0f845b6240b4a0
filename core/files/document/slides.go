package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readPPTX reads the slides of a presentation in their order, with their notes.
func readPPTX(a *archive, s *sink) error {
	main, err := a.main("ppt/presentation.xml")
	if err != nil {
		return err
	}
	named, err := a.relations(main)
	if err != nil {
		return err
	}
	var slides []string
	err = a.begun(main, func(e xml.StartElement) {
		for _, x := range e.Attr {
			if e.Name.Local == "sldId" && x.Name.Local == "id" && x.Name.Space != "" {
				slides = append(slides, named[x.Value])
			}
		}
	})
	if err != nil {
		return err
	}
	for _, name := range slides {
		if err := readSlide(a, name, s); err != nil {
			return err
		}
	}
	return nil
}

func readSlide(a *archive, name string, s *sink) error {
	named, err := a.relations(name)
	if err != nil && !errors.Is(err, errPart) {
		return err
	}
	text, err := drawn(a, name, named)
	if err != nil {
		return err
	}
	for _, kind := range []struct{ folder, title string }{{"notesSlides/", "Notes"}, {"comments/", "Comments"}} {
		for _, id := range slices.Sorted(maps.Keys(named)) {
			if !strings.Contains(named[id], kind.folder) {
				continue
			}
			more, err := drawn(a, named[id], nil)
			if err != nil {
				return err
			}
			if strings.TrimSpace(more) != "" {
				text += fmt.Sprintf("\n%s:\n%s", kind.title, more)
			}
		}
	}
	title, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return s.page(Page{Title: clip(title, 120), Text: text})
}

// drawn returns the text of a slide, of its notes or comments; named are its relations.
func drawn(a *archive, name string, named map[string]string) (string, error) {
	var p prose
	var numbers steps
	link := ""
	err := a.elements(name, func(t xml.Token) error {
		switch e := t.(type) {
		case xml.StartElement:
			switch p.add(numbers.begin(e)); e.Name.Local {
			case "text": // of a comment
				p.text = true
			case "hlinkClick":
				link = named[attribute(e, "id")]
			default:
				return p.inset(a, named, e)
			}
		case xml.EndElement:
			numbers.end(e.Name.Local)
			switch e.Name.Local {
			case "text":
				p.text = false
				p.endParagraph()
			case "t":
				p.add(address(p.since(0), link))
				link = ""
			}
		}
		p.token(t)
		return nil
	})
	return p.take(), err
}

// steps numbers the paragraphs of a slide.
type steps struct {
	last  [levels]int
	level int
	is    bool // the paragraph has a number
}

// begin reads the beginning of an element, and returns the number of a paragraph.
func (s *steps) begin(e xml.StartElement) string {
	switch e.Name.Local {
	case "p":
		s.level, s.is = 0, false
	case "pPr":
		s.level = min(count(attribute(e, "lvl")), levels-1)
	case "buAutoNum":
		s.is = true
		if s.last[s.level]++; s.last[s.level] == 1 {
			s.last[s.level] = max(1, count(attribute(e, "startAt")))
		}
		kind := attribute(e, "type")
		for prefix, format := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter",
			"romanLc": "lowerRoman", "romanUc": "upperRoman"} {
			if strings.HasPrefix(kind, prefix) {
				return numeral(format, s.last[s.level]) + ". "
			}
		}
		return numeral("decimal", s.last[s.level]) + ". "
	}
	return ""
}

// end ends a paragraph: deeper numbers begin again, and those of its level too if it has none.
func (s *steps) end(name string) {
	if name != "p" {
		return
	}
	if s.level++; !s.is {
		s.level--
	}
	clear(s.last[min(s.level, levels):])
}
