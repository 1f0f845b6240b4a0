package document

import (
	"encoding/xml"
	"strings"
)

// prose extracts text from the XML of office programs: a line for each paragraph or table row.
type prose struct {
	out     strings.Builder
	cell    strings.Builder
	cells   []string
	table   int // depth
	size    int
	text    bool // within a text element
	again   int  // depth of drawings repeated for older programs
	look    look // of the text that follows
	strikes strikes
	formula *formula         // nil outside
	aside   *strings.Builder // takes the text instead, unless nil
}

// token reads a token of the elements that Word and slides share: texts, paragraphs, tables and formulas.
func (p *prose) token(t xml.Token) {
	switch e := t.(type) {
	case xml.StartElement:
		if e.Name.Space == "m" {
			p.math(e)
			return
		}
		p.begin(e)
	case xml.EndElement:
		if e.Name.Space == "m" {
			p.endMath(e.Name.Local)
			return
		}
		p.end(e.Name.Local)
	case xml.CharData:
		if p.text && p.again == 0 {
			p.add(string(e))
		}
	}
}

func (p *prose) begin(e xml.StartElement) {
	switch e.Name.Local {
	case "t":
		p.text = true
	case "br":
		p.add("\n")
	case "tbl":
		p.table++
	case "Fallback":
		p.again++
	case "r":
		p.look = look{}
	case "rPr":
		p.look = look{struck: strings.HasSuffix(attribute(e, "strike"), "Strike") && attribute(e, "strike") != "noStrike"}
		switch baseline := attribute(e, "baseline"); {
		case strings.HasPrefix(baseline, "-"):
			p.look.script = lowered
		case strings.Trim(baseline, "0") != "":
			p.look.script = raised
		}
	}
}

func (p *prose) end(name string) {
	switch name {
	case "Fallback":
		p.again = max(0, p.again-1)
	case "t":
		p.text = false
	case "r":
		p.look = look{}
	case "p":
		p.endParagraph()
	case "tc":
		p.endCell()
	case "tr":
		p.endRow()
	case "tbl":
		p.table = max(0, p.table-1)
	}
}

// add adds text to the current cell, paragraph or formula.
func (p *prose) add(text string) {
	if p.size += len(text); p.size > maxText {
		return
	}
	if p.aside != nil {
		p.aside.WriteString(text)
		return
	}
	p.to().WriteString(p.strikes.mark(scripted(text, p.look.script), p.look.struck))
}

// to returns what takes the text: the cell or the paragraph.
func (p *prose) to() *strings.Builder {
	if p.table > 0 {
		return &p.cell
	}
	return &p.out
}

// since returns the text added since to was n bytes long; a cell or page may have ended in between.
func (p *prose) since(n int) string {
	s := p.to().String()
	return s[min(n, len(s)):]
}

// endParagraph ends a paragraph; those of a cell stay on one line.
func (p *prose) endParagraph() {
	p.to().WriteString(p.strikes.end())
	if p.table > 0 {
		p.cell.WriteByte(' ')
		return
	}
	p.out.WriteByte('\n')
}

func (p *prose) endCell() {
	if p.table > 1 {
		p.cell.WriteByte(' ')
		return
	}
	p.cells = append(p.cells, p.cell.String())
	p.cell.Reset()
}

func (p *prose) endRow() {
	if p.table > 1 {
		return
	}
	p.out.WriteString(row(p.cells) + "\n")
	p.cells = nil
}

// take returns the text since the last call.
func (p *prose) take() string {
	out := p.out.String()
	p.out.Reset()
	return out
}
