package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
)

// class is the kind of a rune.
type class uint8

const (
	gap   class = iota // between words
	word               // of a word or identifier, or punctuation around it
	dense              // of a script without gaps between words
	thai               // the same, with marks that belong to the letter before them
	emoji
)

// pieces calls yield for each run of one class except gaps, with its offset.
// Quotes, invalid bytes and ^ are gaps: no term holds them.
func pieces(text string, yield func(run string, c class, at int) bool) {
	start, current := 0, gap
	for i := 0; i < len(text); {
		c, size := classAt(text, i)
		if c == word && current == dense {
			if r, _ := utf8.DecodeRuneInString(text[i:]); r >= utf8.RuneSelf && unicode.Is(unicode.M, r) {
				c = dense
			}
		}
		if c != current {
			if current != gap && !yield(text[start:i], current, start) {
				return
			}
			start, current = i, c
		}
		i += size
	}
	if current != gap {
		yield(text[start:], current, start)
	}
}

func classAt(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		if b <= ' ' || b == '"' || b == '`' || b == '^' || b == 0x7F {
			return gap, 1
		}
		return word, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if r == utf8.RuneError && size == 1 {
		return gap, 1
	}
	return classOf(r), size
}

func classOf(r rune) class {
	switch {
	case r < 0x0E00:
		return classOfWestern(r)
	case r <= 0x0EFF, r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF, r >= 0x19E0 && r <= 0x19FF, r >= 0xA9E0 &&
		r <= 0xA9FF, r >= 0xAA60 && r <= 0xAA7F:
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			return thai
		}
		return classOfWestern(r)
	case isDense(r):
		return dense
	case isEmoji(r):
		return emoji
	}
	return classOfWestern(r)
}

func classOfWestern(r rune) class {
	switch {
	case unicode.IsSpace(r), unicode.IsControl(r), r >= 0x2028 && r <= 0x2029, r >= 0xFFF0 && r <= 0xFFFF:
		return gap
	case r >= 0x2018 && r <= 0x2019, r == 'ʼ', r == '′':
		return word // apostrophes
	case unicode.In(r, unicode.Pi, unicode.Pf, unicode.Ps, unicode.Pe), r == 0x201A, r == 0x201E, r == 0xFF02:
		return gap // quotes and brackets of all kinds
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r), text.Invisible(r), unicode.IsPunct(r),
		unicode.IsSymbol(r):
		return word
	}
	return gap
}

// isDense reports whether r is of Chinese, Japanese or Korean.
func isDense(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x11FF, r >= 0x2E80 && r <= 0x2FDF, r >= 0x3005 && r <= 0x3007, r >= 0x3021 && r <= 0x3029,
		r >= 0x3041 && r <= 0x3096, r >= 0x3099 && r <= 0x309A, r >= 0x309D && r <= 0x30FA, r >= 0x30FC && r <= 0x318F,
		r >= 0x31A0 && r <= 0x31FF, r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0xA48C, r >= 0xA960 && r <= 0xA97F,
		r >= 0xAC00 && r <= 0xD7FF, r >= 0xF900 && r <= 0xFAFF, r >= 0xFF66 && r <= 0xFFDC, r >= 0x1AFF0 && r <= 0x1B16F,
		r >= 0x20000 && r <= 0x3FFFD:
		return true
	}
	return false
}

// isEmoji reports whether r is an emoji or part of one.
func isEmoji(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2600 && r <= 0x27BF || r >= 0x2B05 && r <= 0x2B55 || r >= 0x2300 &&
		r <= 0x23FF && unicode.Is(unicode.So, r)
}

// trim returns a run without the punctuation around its word, and the number of bytes
// removed from its beginning. C++ and C# keep their ends.
func trim(run string) (string, int) {
	start := strings.IndexFunc(run, isWordRune)
	if start < 0 {
		return "", 0
	}
	end := len(strings.TrimRightFunc(run, func(r rune) bool { return !isWordRune(r) }))
	if rest := run[end:]; end-start <= 2 && (strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "#")) {
		end += len(rest) - len(strings.TrimLeft(rest, "+#"))
	}
	return run[start:end], start
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}
