package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Limits of items.
const (
	maxContent = 2000 // characters
	maxSlug    = 64   // bytes
	maxTags    = 10
	maxTag     = 40 // characters
)

// Slug returns the slug of a theme: lower case, without accents, dashes between
// words, at most 64 bytes; core.DefaultTheme for a blank one. A longer theme and
// one without letters or digits are plain errors (core.ErrRefused).
func Slug(theme string) (string, error) {
	if strings.TrimSpace(theme) == "" {
		return core.DefaultTheme, nil
	}
	words := strings.FieldsFunc(text.Unaccent(theme), func(r rune) bool { return !wordly(r) })
	slug := strings.Join(words, "-")
	switch {
	case slug == "":
		return "", core.Refuse("theme has no letters or digits; use a word such as work or travel")
	case len(slug) > maxSlug:
		return "", core.Refuse("theme is too long: at most %d bytes, such as work or home-improvement", maxSlug)
	}
	return slug, nil
}

func wordly(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// alike reports whether two statements have the same content words, but for two
// in five: then one may say what has become of the other.
func alike(a, b map[string]bool) bool {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 2 && 5*both >= 3*(len(a)+len(b)-both)
}

// contentWords are the words of a statement that are not small.
func contentWords(content string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(text.Unaccent(content), func(r rune) bool { return !wordly(r) }) {
		if utf8.RuneCountInString(w) > 1 && !smallWords[w] {
			out[strings.TrimSuffix(w, "s")] = true
		}
	}
	return out
}

// smallWords say little in English or French.
var smallWords = map[string]bool{
	"the": true, "an": true, "as": true, "by": true, "and": true, "of": true, "to": true, "in": true, "on": true,
	"at": true, "is": true, "are": true, "was": true, "has": true, "have": true, "for": true, "with": true, "that": true,
	"this": true, "it": true, "his": true, "her": true, "their": true, "my": true, "user": true, "le": true, "la": true,
	"les": true, "un": true, "une": true, "des": true, "du": true, "de": true, "et": true, "est": true, "sont": true,
	"dans": true, "pour": true, "avec": true, "que": true, "qui": true, "son": true, "sa": true, "ses": true,
	"mon": true, "ma": true, "mes": true, "il": true, "elle": true, "au": true, "aux": true, "en": true,
	"utilisateur": true,
}
