package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/everthread/everthread/core"
)

// Limits of items (SPEC 9).
const (
	maxContent = 2000 // characters
	maxSlug    = 64   // bytes
	maxTags    = 10
	maxTag     = 40 // characters
)

// fault is what is wrong with what somebody wants to keep, in plain words. It
// is core.ErrRefused.
type fault string

// Error returns the words.
func (f fault) Error() string { return string(f) }

// Is makes every fault a core.ErrRefused.
func (f fault) Is(target error) bool { return target == core.ErrRefused }

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }

// Slug returns the slug of a theme: lower case, without accents, dashes between
// words, at most 64 bytes; core.DefaultTheme for a blank one. A longer theme and
// one without letters or digits are plain errors (core.ErrRefused).
func Slug(theme string) (string, error) {
	if strings.TrimSpace(theme) == "" {
		return core.DefaultTheme, nil
	}
	words := strings.FieldsFunc(fold(theme), func(r rune) bool { return !wordly(r) })
	slug := strings.Join(words, "-")
	switch {
	case slug == "":
		return "", faultf("theme has no letters or digits; use a word such as work or travel")
	case len(slug) > maxSlug:
		return "", faultf("theme is too long: at most %d bytes, such as work or home-improvement", maxSlug)
	}
	return slug, nil
}

func wordly(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// fold is s in lower case and without the accents of Latin, Greek and Cyrillic
// letters. Marks that other scripts need stay.
func fold(s string) string {
	var last rune
	out := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && unicode.In(last, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
			return -1
		}
		last = r
		return unicode.ToLower(r)
	}, norm.NFKD.String(s))
	return norm.NFC.String(out)
}

// Digest recognises a statement again: two that differ only in case, accents,
// white space or the punctuation around words have the same. Signs within a
// word and those that mean something (1.5, C++, -5) count. It is hex SHA-256.
func Digest(content string) string {
	plain := strings.Join(statement(content), " ")
	if plain == "" {
		plain = strings.TrimSpace(content)
	}
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

// statement is the words of a statement without what surrounds them.
func statement(content string) []string {
	var out []string
	for _, f := range strings.Fields(strings.ReplaceAll(fold(content), "’", "'")) {
		f = strings.TrimRightFunc(strings.TrimLeftFunc(f, opens), surrounds)
		if f != "" && f != "-" {
			out = append(out, f)
		}
	}
	return out
}

// surrounds tells whether a sign after a word says nothing about it.
func surrounds(r rune) bool {
	return opens(r) || strings.ContainsRune(".,;:!?…。、，！？：；", r)
}

// opens tells whether a sign before a word says nothing about it.
func opens(r rune) bool {
	return strings.ContainsRune("\"'`()[]{}«»“”„‘‹›*_~–—「」", r)
}

// alike tells whether two statements have the same content words, but for two
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
	for _, w := range strings.FieldsFunc(fold(content), func(r rune) bool { return !wordly(r) }) {
		if utf8.RuneCountInString(w) > 1 && !smallWords[w] {
			out[strings.TrimSuffix(w, "s")] = true
		}
	}
	return out
}

// smallWords say little in English or French.
var smallWords = map[string]bool{
	"the": true, "an": true, "as": true, "by": true, "and": true, "of": true, "to": true, "in": true, "on": true, "at": true, "is": true, "are": true, "was": true,
	"has": true, "have": true, "for": true, "with": true, "that": true, "this": true, "it": true, "his": true, "her": true, "their": true,
	"my": true, "user": true, "le": true, "la": true, "les": true, "un": true, "une": true, "des": true, "du": true, "de": true, "et": true,
	"est": true, "sont": true, "dans": true, "pour": true, "avec": true, "que": true, "qui": true, "son": true, "sa": true, "ses": true,
	"mon": true, "ma": true, "mes": true, "il": true, "elle": true, "au": true, "aux": true, "en": true, "utilisateur": true,
}

// clean is text that every store takes, without surrounding white space.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// shorten cuts s after n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n])) + "…"
}
