package document

import (
	"encoding/xml"
	"errors"
	"strings"
)

// inset reads the beginning of an element of a document or a slide, and the part that it shows, if any: a diagram, a
// chart, or a document within the document. named are the relations of the document.
func (p *prose) inset(a *archive, named map[string]string, e xml.StartElement) error {
	p.token(e)
	if p.again > 0 {
		return nil
	}
	text, err := "", error(nil)
	switch e.Name.Local {
	case "relIds":
		text, err = a.diagram(named[attribute(e, "dm")])
	case "chart":
		text, err = a.chart(named[attribute(e, "id")])
	case "altChunk":
		text, err = a.chunk(named[attribute(e, "id")])
	case "OLEObject", "oleObj":
		text = "[an embedded file that is not read]"
	}
	if text != "" {
		p.add(text)
		p.endParagraph()
	}
	return err
}

// diagram returns the words of a diagram.
func (a *archive) diagram(name string) (string, error) {
	var p prose
	err := a.elements(name, func(t xml.Token) error {
		p.token(t)
		return nil
	})
	if err != nil {
		return unread("diagram", err)
	}
	return labelled("diagram", strings.FieldsFunc(p.take(), func(r rune) bool { return r == '\n' })), nil
}

// chart returns the titles of a chart, and its series with their values.
func (a *archive) chart(name string) (string, error) {
	var c chart
	err := a.elements(name, func(t xml.Token) error {
		c.token(t)
		return nil
	})
	if err != nil {
		return unread("chart", err)
	}
	return labelled("chart", append(c.titles, c.all...)), nil
}

// chart reads a chart.
type chart struct {
	titles, all []string
	series      *series // nil outside
	part        string  // of the series
	text        bool
}

// series is a series of values, and what they belong to.
type series struct {
	name          string
	names, values []string
}

func (c *chart) token(t xml.Token) {
	switch e := t.(type) {
	case xml.StartElement:
		c.text = e.Name.Local == "v" || e.Name.Local == "t"
		switch e.Name.Local {
		case "ser":
			c.series = &series{}
		case "tx", "cat", "xVal", "val", "yVal", "dLbls", "bubbleSize", "errBars", "trendline":
			c.part = e.Name.Local
		}
	case xml.EndElement:
		if c.text = false; e.Name.Local == "ser" && c.series != nil {
			c.all = append(c.all, c.series.line())
			c.series = nil
		}
	case xml.CharData:
		if said := strings.TrimSpace(string(e)); c.text && said != "" {
			c.add(said)
		}
	}
}

func (c *chart) add(said string) {
	switch {
	case c.series == nil:
		c.titles = append(c.titles, said)
	case c.part == "tx":
		c.series.name += said
	case c.part == "cat" || c.part == "xVal":
		c.series.names = append(c.series.names, said)
	case c.part == "val" || c.part == "yVal":
		c.series.values = append(c.series.values, said)
	}
}

func (s *series) line() string {
	var points []string
	for i, v := range s.values {
		if i < len(s.names) {
			v = s.names[i] + " = " + v
		}
		points = append(points, v)
	}
	return strings.TrimPrefix(s.name+": "+strings.Join(points, ", "), ": ")
}

// chunk returns the text of a document within a document.
func (a *archive) chunk(name string) (string, error) {
	data, err := a.bytes(name, maxChapter)
	if err != nil {
		return unread("document", err)
	}
	if Kind(name, "", data) != HTML {
		return "[an embedded document that is not read]", nil
	}
	_, text, err := webText((&sink{}).decoded(data, "text/html"))
	return text, err
}

// unread returns what to say about a part that a document lacks.
func unread(what string, err error) (string, error) {
	if errors.Is(err, errPart) {
		return "[" + what + " that is not read]", nil
	}
	return "", err
}

// labelled returns the words of a picture.
func labelled(what string, words []string) string {
	if len(words) == 0 {
		return "[" + what + " without words]"
	}
	return "[" + what + ": " + strings.Join(words, "; ") + "]"
}
