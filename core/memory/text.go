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

// Slug returns the slug of a theme: lower case, without accents, dashes between words, at
// most 64 bytes; core.DefaultTheme for a blank one. It refuses a longer theme and one without
// letters or digits with core.ErrRefused.
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

// alike reports whether two statements share three in five of their content words: one may
// then replace the other.
func alike(a, b map[string]bool) bool {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both >= 2 && 5*both >= 3*(len(a)+len(b)-both)
}

// contentWords returns the words of a statement that are not small.
func contentWords(content string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(text.Unaccent(content), func(r rune) bool { return !wordly(r) }) {
		if utf8.RuneCountInString(w) > 1 && !strings.Contains(smallWords, " "+w+" ") {
			out[strings.TrimSuffix(w, "s")] = true
		}
	}
	return out
}

// smallWords have little meaning in English or French.
const smallWords = " the an as by and of to in on at is are was has have for with that this it his her their my user le " +
	"la les un une des du de et est sont dans pour avec que qui son sa ses mon ma mes il elle au aux en " +
	"utilisateur "
