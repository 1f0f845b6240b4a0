package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// letters maps letters that have no decomposition to their usual plain spelling, and
// merges letters that people write alike.
var letters = map[rune]string{
	'ß': "ss", 'œ': "oe", 'æ': "ae", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i",
	'ŋ': "n", 'ĸ': "k", 'ſ': "s", 'ς': "σ", 'ŧ': "t", 'ə': "e",
	'’': "'", '‘': "'", 'ʼ': "'", '‐': "-", '‑': "-",
	'ى': "ي", 'ی': "ي", 'ک': "ك", 'ة': "ه", 'ٱ': "ا",
}

// digits are the zeros of scripts with digits of their own.
var digits = []rune{'٠', '۰', '०', '০', '๐', '໐', '၀', '០'}

// Fold returns s in a form for comparison: in lower case, without the accents of Latin, Greek and Cyrillic letters, the
// points of Hebrew and Arabic, and what has no width; with plain letters and digits for variants of them, and with one
// kind of apostrophe and of hyphen. Vowel signs of other scripts stay, they are letters.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		r = unicode.ToLower(r)
		if plain, ok := letters[r]; ok {
			b.WriteString(plain)
		} else if !drop(r) {
			b.WriteRune(digit(r))
		}
	}
	return norm.NFC.String(b.String())
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// Lower returns a word as stemmers expect it: in lower case and composed, with accents, without what has no width.
func Lower(word string) string {
	if ascii(word) {
		return strings.ToLower(word)
	}
	word = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || Invisible(r) || semitic(r) {
			return -1
		}
		return r
	}, word)
	return norm.NFKC.String(strings.ToLower(word))
}

func digit(r rune) rune {
	for _, zero := range digits {
		if r >= zero && r < zero+10 {
			return '0' + r - zero
		}
	}
	return r
}

// drop reports whether folding leaves a decomposed rune out: accents of Latin,
// Greek and Cyrillic. Vowel signs of other scripts stay, they are letters.
func drop(r rune) bool {
	switch {
	case r < 0x0300:
		return r == 0x00AD
	case r <= 0x036F, r >= 0x0483 && r <= 0x0487, r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF,
		r >= 0x20D0 && r <= 0x20FF, r >= 0xFE20 && r <= 0xFE2F:
		return true
	}
	return semitic(r) || Invisible(r)
}

// semitic reports whether r is a Hebrew point, an Arabic diacritic or tatweel.
func semitic(r rune) bool {
	switch {
	case r < 0x0591 || r > 0x06ED:
		return false
	case r <= 0x05C7:
		return unicode.Is(unicode.Mn, r)
	}
	return r == 0x0640 || r >= 0x0610 && r <= 0x06ED && unicode.Is(unicode.Mn, r)
}

// Invisible reports whether r has no width: a joiner, direction, variation selector or tag.
func Invisible(r rune) bool {
	switch {
	case r < 0x00AD:
		return false
	case r == 0x00AD, r == 0x034F, r == 0x061C, r == 0x180E, r == 0xFEFF:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2069,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE01EF:
		return true
	}
	return false
}
