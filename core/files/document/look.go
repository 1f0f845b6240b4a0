package document

import (
	"strings"
	"unicode"
)

// look is how a text stands on its line, where that changes its meaning.
type look struct {
	script script
	struck bool
}

// script is the height of a text.
type script int

const (
	raised  script = 1
	lowered script = -1
)

var (
	superior = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹", "+", "⁺", "-", "⁻", "−", "⁻", "=", "⁼", "(", "⁽", ")", "⁾", "n", "ⁿ", "i", "ⁱ")
	inferior = strings.NewReplacer("0", "₀", "1", "₁", "2", "₂", "3", "₃", "4", "₄", "5", "₅", "6", "₆", "7", "₇",
		"8", "₈", "9", "₉", "+", "₊", "-", "₋", "−", "₋", "=", "₌", "(", "₍", ")", "₎")
)

// scripted returns a raised or lowered text such that its digits join no others: 10⁶, x^(2k). Words, such as the end of
// an ordinal, stay as they are.
func scripted(text string, s script) string {
	bare := strings.TrimSpace(text)
	digits := strings.ContainsFunc(bare, unicode.IsDigit)
	if s == 0 || bare == "" || strings.HasPrefix(bare, "[") || strings.ContainsAny(bare, " \n") ||
		!digits && len([]rune(bare)) > 1 {
		return text
	}
	with, sign := superior, "^"
	if s == lowered {
		with, sign = inferior, "_"
	}
	small := with.Replace(bare)
	switch {
	case !strings.ContainsFunc(small, func(r rune) bool { return strings.ContainsRune(bare, r) }): // all of it
	case !digits && !unicode.IsLetter([]rune(bare)[0]):
		small = bare
	case len([]rune(bare)) == 1:
		small = sign + bare
	default:
		small = sign + "(" + bare + ")"
	}
	return strings.Replace(text, bare, small, 1)
}

// strikes marks struck-out text as Markdown does. White space at its end stays outside.
type strikes struct {
	open bool
	gap  string
}

// mark returns the next text with the marks before it.
func (s *strikes) mark(text string, struck bool) string {
	bare := strings.TrimSpace(text)
	if !s.open && !struck {
		return text
	}
	if bare == "" && s.open {
		if len(s.gap) < 100 {
			s.gap += text
		}
		return ""
	}
	if bare == "" {
		return text
	}
	before, after, _ := strings.Cut(text, bare)
	out := s.gap + before + bare
	switch {
	case s.open && !struck:
		out = "~~" + out + after
		after = ""
	case !s.open:
		out = before + "~~" + bare
	}
	s.open, s.gap = struck, after
	return out
}

// end ends a paragraph.
func (s *strikes) end() string {
	open := s.open
	*s = strikes{}
	if open {
		return "~~"
	}
	return ""
}

// longestAddress bounds the target of a link, in bytes. Longer ones are of no use to people.
const longestAddress = 2000

// address returns what to add to the words of a link: its target, unless the words say it or it leads nowhere outside.
func address(words, target string) string {
	target = strings.TrimSpace(target)
	scheme, rest, ok := strings.Cut(target, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp":
		rest = strings.TrimSuffix(strings.TrimPrefix(rest, "//"), "/")
	case "mailto", "tel":
		target, _, _ = strings.Cut(rest, "?")
		rest = target
	default:
		ok = false
	}
	ok = ok && rest != "" && len(target) <= longestAddress && !strings.ContainsAny(target, " \n\t")
	if !ok || strings.Contains(words, rest) {
		return ""
	}
	return " (" + target + ")"
}
