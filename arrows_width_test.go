package everthread_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"unicode/utf8"
)

// lineWidth is how long a line of code may be; a long text of one line stays whole.
const lineWidth = 120

// longLines finds lines of code that should be wrapped.
func longLines(name, text string) []string {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	var faults []string
	said := 0           // line of the last fault
	var first, last int // lines of the last long text
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return faults
		}
		at := file.Position(pos)
		if tok == token.STRING && utf8.RuneCountInString(literal) > lineWidth/4 {
			first, last = at.Line, file.Position(pos+token.Pos(len(literal))).Line
		}
		begin := file.Offset(file.LineStart(at.Line))
		width := utf8.RuneCountInString(text[begin:at.Offset]) + 1
		if width > lineWidth && at.Line != first && at.Line != last && at.Line != said && tok != token.SEMICOLON {
			said = at.Line
			faults = append(faults, fmt.Sprintf("%s:%d: a line of more than %d characters", name, at.Line, lineWidth))
		}
	}
}
