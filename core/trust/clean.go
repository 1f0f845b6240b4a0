package trust

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// Obeyed reports whether a screen interprets a character instead of showing it: terminal
// controls (C0 except newline and tab, DEL, C1), changes of the direction of text, and line
// ends other than the newline.
func Obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029'
}

// Visible returns a foreign text without the characters that a screen would interpret. It
// keeps line breaks.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return -1
		}
		return r
	}, text)
}

// Line returns a foreign text, such as a name, as a part of a line.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Escaped returns JSON with the characters that a screen would interpret as escapes, so
// that a program reads the same value.
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
