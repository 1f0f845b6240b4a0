package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	wrapped      = 60   // letters; the writer ended a shorter line
	longestQuote = 2000 // bytes of quoted speech; beyond that its mark is a stray one
)

// Sentences calls yield with the bounds of each sentence of a paragraph, without the white space around it. Quoted speech
// and inline code are never cut.
func Sentences(s string, yield func(start, end int)) {
	start := 0
	flush := func(end int) {
		from := start + len(s[start:end]) - len(strings.TrimLeftFunc(s[start:end], unicode.IsSpace))
		if to := from + len(strings.TrimRightFunc(s[from:end], unicode.IsSpace)); to > from {
			yield(from, to)
		}
		start = end
	}
	for i := 0; i < len(s); {
		n := quoted(s, i)
		if s[i] == '`' {
			n = inlineCode(s[i:])
		}
		if n > 0 {
			i += n
			if endsInside(s, i) {
				flush(i)
			}
			continue
		}
		if n := boundary(s, start, i); n > 0 {
			i += n
			flush(i)
			continue
		}
		i += runeLen(s, i)
	}
	flush(len(s))
}

func runeLen(s string, i int) int {
	if s[i] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return size
}

func inlineCode(s string) int {
	rest := strings.TrimLeft(s, "`")
	fence := s[:len(s)-len(rest)]
	if n := strings.Index(rest[:min(len(rest), longestQuote)], fence); n >= 0 {
		return n + 2*len(fence)
	}
	return 0
}

// closers holds the marks that end a quote, by the mark that begins it.
var closers = map[rune]string{'«': "»", '“': "”", '„': "“”", '「': "」", '『': "』"}

// quoted returns the length of the quoted speech that begins at i, 0 if none does.
func quoted(s string, i int) int {
	if s[i] == '"' {
		return straight(s, i)
	}
	if s[i] < utf8.RuneSelf {
		return 0
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if closers[r] == "" {
		return 0
	}
	rest := s[i+size : min(len(s), i+longestQuote)]
	n := strings.IndexAny(rest, closers[r])
	if n <= 0 {
		return 0
	}
	return size + n + runeLen(rest, n)
}

// straight is quoted for straight marks, which are inches too.
func straight(s string, i int) int {
	if before, _ := utf8.DecodeLastRuneInString(s[:i]); i > 0 && !unicode.IsSpace(before) &&
		!strings.ContainsRune("([{—–:'’", before) {
		return 0
	}
	if after, _ := utf8.DecodeRuneInString(s[i+1:]); i+1 >= len(s) || unicode.IsSpace(after) || after == '"' {
		return 0
	}
	end := min(len(s), i+longestQuote)
	for j := i + 1; j < end; j++ {
		if s[j] != '"' {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:j])
		after, _ := utf8.DecodeRuneInString(s[j+1:])
		if !unicode.IsSpace(before) && (j+1 >= len(s) || !IsWord(after)) {
			return j + 1 - i
		}
	}
	return 0
}

// IsWord reports whether r is a letter, a digit or a mark.
func IsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// endsInside reports whether the quote before i ends a sentence: "Go." Then …
func endsInside(s string, i int) bool {
	before := strings.TrimRight(s[:i], "\"”»“」』` \u00a0\u202f")
	last, _ := utf8.DecodeLastRuneInString(before)
	if !strings.ContainsRune(".!?…。！？", last) {
		return false
	}
	rest := strings.TrimLeft(s[i:], " \n")
	next, _ := utf8.DecodeRuneInString(rest)
	return len(rest) < len(s[i:]) && unicode.IsUpper(next)
}

// boundary returns the length of the end of a sentence at i (its stops and the closing
// marks after them), 0 if there is none.
func boundary(s string, start, i int) int {
	switch s[i] {
	case '.', '!', '?':
		return stops(s, start, i)
	case '\n':
		return lineBreak(s, start, i)
	}
	if s[i] < utf8.RuneSelf {
		return 0
	}
	switch r, _ := utf8.DecodeRuneInString(s[i:]); r {
	case '。', '！', '？', '｡':
		return len(s[i:]) - len(strings.TrimLeft(s[i:], "。！？｡」』）”"))
	case '…':
		return stops(s, start, i)
	}
	return 0
}

func stops(s string, start, i int) int {
	rest := strings.TrimLeft(s[i:], ".!?…")
	mark := s[i : len(s)-len(rest)]
	rest = strings.TrimLeft(rest, "\"'”’»)]*_")
	n := len(s) - i - len(rest)
	next := strings.TrimLeft(rest, " \t\u00a0\u202f")
	if next == "" {
		return n
	}
	if len(next) == len(rest) && next[0] != '\n' {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(next)
	trails := mark == "…" || strings.HasPrefix(mark, "..")
	if trails && unicode.IsLower(r) || mark == "." && abbreviated(s[start:i], r) {
		return 0
	}
	return n
}

// abbreviated reports whether the stop after text belongs to an abbreviation, an
// initial or an ordinal; next is the letter after it.
func abbreviated(text string, next rune) bool {
	word := text[strings.LastIndexAny(text, " \n\t('’")+1:]
	if word == "" {
		return true
	}
	lower := strings.ToLower(word)
	switch lower {
	case "no":
		return unicode.IsDigit(next)
	case "etc", "me":
		return unicode.IsLower(next)
	}
	first, size := utf8.DecodeRuneInString(word)
	switch {
	case size == len(word) && unicode.IsUpper(first) && first != 'I':
		return true
	case strings.Contains(word, "."): // a.m., e.g.
		return unicode.IsLower(next) || unicode.IsDigit(next)
	case len(word) < 3 && strings.Trim(word, "0123456789") == "": // 12. Mai
		return true
	}
	return abbreviation(lower)
}

// lineBreak returns 1 if the line break at i ends a sentence: the line is short, or the
// next begins a sentence. Else it returns 0.
func lineBreak(s string, start, i int) int {
	line := s[max(start, strings.LastIndexByte(s[:i], '\n')+1):i]
	next := strings.TrimLeft(s[i+1:], " \t")
	r, _ := utf8.DecodeRuneInString(next)
	if utf8.RuneCountInString(line) < wrapped || !unicode.IsLetter(r) || unicode.IsUpper(r) {
		return 1
	}
	return 0
}
