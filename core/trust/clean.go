package trust

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// Obeyed reports whether a screen obeys a character rather than shows it: those
// that control a terminal (C0 but newline and tab, DEL, C1), those that change the
// direction of a line, those that end one without being a newline.
func Obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029'
}

// Visible is a text of others as a screen can show it: without what it would obey.
// Lines stay lines.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return -1
		}
		return r
	}, text)
}

// Line is a text of others, such as a name, as a part of a line.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Escaped is JSON in whose strings nothing stands that a screen obeys: it is
// written as an escape, so that a program reads the same.
func Escaped(json []byte) []byte {
	if bytes.IndexFunc(json, Obeyed) < 0 {
		return json
	}
	var out []byte
	for _, r := range string(json) {
		if Obeyed(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = append(out, string(r)...)
	}
	return out
}
