package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is the class of a character in the expression that splits a text:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
type class uint8

const (
	upper   class = 1 << iota // of the first part of a word: Lu, Lt, Lm, Lo, M
	lower                     // of the second part: Ll, Lm, Lo, M
	letter                    // L
	number                    // N
	space                     // \s
	newline                   // \r, \n
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return letter | lower
	case 'A' <= r && r <= 'Z':
		return letter | upper
	case r == '\n' || r == '\r':
		return space | newline
	case unicode.IsSpace(r):
		return space
	case r < utf8.RuneSelf:
		if '0' <= r && r <= '9' {
			return number
		}
		return 0
	case unicode.Is(unicode.Ll, r):
		return letter | lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return letter | upper
	case unicode.Is(unicode.L, r):
		return letter | upper | lower
	case unicode.Is(unicode.M, r):
		return upper | lower
	case unicode.Is(unicode.N, r):
		return number
	}
	return 0
}

// next returns the class of the first character of text and its length, 0 at the end.
func next(text string) (class, int) {
	if text == "" {
		return 0, 0
	}
	if text[0] < utf8.RuneSelf {
		return classOf(rune(text[0])), 1
	}
	r, n := utf8.DecodeRuneInString(text)
	return classOf(r), n
}

// run returns the length of the leading characters of text with any of the classes in
// any (0: every class) and none of those in none.
func run(text string, any, none class) int {
	end := 0
	for {
		c, n := next(text[end:])
		if n == 0 || c&none != 0 || any != 0 && c&any == 0 {
			return end
		}
		end += n
	}
}

// first returns the length of the first piece of text, which is not empty.
func first(text string) int {
	c, n := next(text)
	if c&(newline|letter|number) == 0 {
		if end := wordEnd(text[n:]); end > 0 {
			return n + end + contraction(text[n+end:])
		}
	}
	if end := wordEnd(text); end > 0 {
		return end + contraction(text[end:])
	}
	if c&number != 0 {
		for range 2 {
			c, more := next(text[n:])
			if c&number == 0 {
				break
			}
			n += more
		}
		return n
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if end := start + run(text[start:], 0, space|letter|number); end > start {
		for end < len(text) && strings.IndexByte("\r\n/", text[end]) >= 0 {
			end++
		}
		return end
	}
	return gap(text)
}

// wordEnd returns the end of the word at the beginning of text, 0 if there is none. A
// word is characters of class upper and then of class lower. If no lower one follows, the
// last that is both counts as lower; if there is none either, all are the word.
func wordEnd(text string) int {
	end, both := 0, 0
	for {
		c, n := next(text[end:])
		if c&upper == 0 {
			break
		}
		end += n
		if c&lower != 0 {
			both = end
		}
	}
	switch more := run(text[end:], lower, 0); {
	case more > 0:
		return end + more
	case both > 0:
		return both
	}
	return end
}

// contraction returns the length of the English contraction at the beginning of text.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	if strings.IndexByte("stmdSTMD", text[1]) >= 0 {
		return 2
	}
	if strings.HasPrefix(text[1:], "ſ") { // folds to s
		return 1 + len("ſ")
	}
	if len(text) > 2 {
		switch strings.ToLower(text[1:3]) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// gap returns the end of the spaces at the beginning of text: after their last line
// break, or all at the end of a text, or all but the last, which belongs to the next piece.
func gap(text string) int {
	end, line, last := 0, 0, 0
	for {
		c, n := next(text[end:])
		if c&space == 0 {
			break
		}
		last = end
		end += n
		if c&newline != 0 {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end == len(text) || last == 0:
		return end
	}
	return last
}
