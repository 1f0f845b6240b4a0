package web

import (
	"path/filepath"
	"strings"
	"unicode"
)

// Short returns at most n bytes of a text, cut between characters.
func Short(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// OneLine returns a text on one line, without control characters.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// FileName returns a file's displayed name: without its folder, control characters, and
// characters with a meaning in placeholders.
func FileName(s string) string {
	s = filepath.Base(strings.ReplaceAll(Short(s, 400), `\`, "/"))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[', r == ']', r == ':', r == '/':
			return '_'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	if s == "." || s == ".." {
		return ""
	}
	return Short(strings.TrimSpace(s), 120)
}
