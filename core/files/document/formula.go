package document

import (
	"encoding/xml"
	"regexp"
	"strings"
)

// formula is a formula of Word or a slide, on one line.
type formula struct {
	strings.Builder
	open []bracket
	sign string // of a sum or an integral
}

// bracket is a pair around terms.
type bracket struct {
	begin, end, between string
	terms               int
}

// brackets are those of the parts of a formula that have terms.
var brackets = map[string]*bracket{"d": {begin: "(", end: ")", between: ", "}, "rad": {begin: "(", end: ")"},
	"eqArr": {between: "; "}, "sSup": {}, "sSub": {}, "sSubSup": {}, "sPre": {}, "nary": {}, "acc": {}, "bar": {},
	"box":       {},
	"borderBox": {}, "groupChr": {}, "limLow": {}, "limUpp": {}, "func": {}, "phant": {}}

// Marks of a group, which needs brackets only if it has several signs.
const groupBegins, groupEnds = "\x01", "\x02"

// before and after are the signs around the parts of a formula.
var (
	before = map[string]string{"num": groupBegins, "den": groupBegins, "sup": "^" + groupBegins, "sub": "_" +
		groupBegins,
		"rad": "√", "deg": "[", "lim": "_" + groupBegins, "mr": " "}
	after = map[string]string{"num": groupEnds + "/", "den": groupEnds, "sup": groupEnds, "sub": groupEnds,
		"deg": "]",
		"lim": groupEnds, "fName": " ", "mr": ";"}
)

// math begins an element of a formula.
func (p *prose) math(e xml.StartElement) {
	f := p.formula
	switch {
	case f == nil:
		if e.Name.Local == "oMath" && p.again == 0 {
			p.formula = &formula{}
			p.aside = &p.formula.Builder
		}
		return
	case e.Name.Local == "t":
		p.text = true
	case e.Name.Local == "chr":
		f.sign = attribute(e, "val")
	case e.Name.Local == "naryPr":
		f.sign = "∫"
	case brackets[e.Name.Local] != nil:
		f.open = append(f.open, *brackets[e.Name.Local])
	case len(f.open) > 0:
		f.bracketed(e)
	}
	f.WriteString(before[e.Name.Local])
}

// bracketed begins an element within brackets.
func (f *formula) bracketed(e xml.StartElement) {
	b := &f.open[len(f.open)-1]
	switch e.Name.Local {
	case "begChr":
		b.begin = attribute(e, "val")
	case "endChr":
		b.end = attribute(e, "val")
	case "e":
		if b.terms++; b.terms == 1 {
			f.WriteString(b.begin)
		} else {
			f.WriteString(b.between)
		}
	}
}

// endMath ends an element of a formula.
func (p *prose) endMath(name string) {
	f := p.formula
	if f == nil {
		return
	}
	switch name {
	case "t":
		p.text = false
	case "naryPr":
		f.WriteString(f.sign)
	case "oMath":
		p.formula, p.aside = nil, nil
		p.add(f.line())
	}
	if n := len(f.open) - 1; brackets[name] != nil && n >= 0 {
		f.WriteString(f.open[n].end)
		f.open = f.open[:n]
	}
	f.WriteString(after[name])
}

var (
	emptyPart = regexp.MustCompile(`[\^_]?` + groupBegins + groupEnds + `|\[\]`)
	oneSign   = regexp.MustCompile(groupBegins + `(\pL|\pN+)` + groupEnds)
)

// line returns the formula: a/b·x^2.
func (f *formula) line() string {
	s := oneSign.ReplaceAllString(emptyPart.ReplaceAllString(f.String(), ""), "$1")
	return strings.NewReplacer(groupBegins, "(", groupEnds, ")").Replace(s)
}
