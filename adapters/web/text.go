package web

import (
	"path/filepath"
	"strings"
	"unicode"
)

// Short is at most n bytes of a text, whole characters.
func Short(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// OneLine is a text on one line, without what cannot be seen.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// FileName is a file's name as it is told: no folder, no sign that a placeholder
// has a meaning for, no control characters.
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
