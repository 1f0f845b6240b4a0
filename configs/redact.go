package configs

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Patterns of keys: what follows a prefix of a service, the token of a bot, a password in an
// address, a UUID, and long runs, which random examines.
var (
	prefixed = regexp.MustCompile(
		`\b(?:(?:sk|gsk|xai|hf|ghp|gho|glpat|github_pat|xox[a-z]|syt|et)[-_]|Bearer )[A-Za-z0-9_.~+/=-]{8,}`)
	ofBot    = regexp.MustCompile(`\b[0-9]{6,}:[A-Za-z0-9_-]{20,}`)
	inURL    = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/]+@`)
	uuid     = regexp.MustCompile(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	longRuns = regexp.MustCompile(`[A-Za-z0-9_+=-]{16,}`)
)

// Redact replaces everything that looks like a key or a password with three stars: one may
// be in a wrong place, and an error that repeats it ends up in logs.
func Redact(text string) string {
	text = inURL.ReplaceAllString(text, "${1}***@")
	for _, shape := range []*regexp.Regexp{ofBot, uuid} {
		text = shape.ReplaceAllString(text, "***")
	}
	text = prefixed.ReplaceAllStringFunc(text, func(key string) string {
		if strings.ContainsFunc(key, unicode.IsDigit) || strings.ToLower(key[6:]) != key[6:] {
			return "***"
		}
		return key
	})
	return longRuns.ReplaceAllStringFunc(text, func(run string) string {
		parts := strings.FieldsFunc(run, func(r rune) bool { return strings.ContainsRune("_+=-", r) })
		if len(parts)*9 <= len(run) { // too few for words
			parts = []string{strings.Join(parts, "")}
		}
		if slices.ContainsFunc(parts, random) {
			return "***"
		}
		return run
	})
}

// random reports whether a word looks random: letters turn into digits or capitals far more
// often than in names and dates.
func random(word string) bool {
	turns, numbers, before := 0, 0, ' '
	for i, r := range word {
		digit := unicode.IsDigit(r)
		if digit && (i == 0 || !unicode.IsDigit(before)) {
			numbers++
		}
		if i > 0 && (digit != unicode.IsDigit(before) || unicode.IsLower(before) && unicode.IsUpper(r)) {
			turns++
		}
		before = r
	}
	return len(word) >= 24 && numbers >= 3 || len(word) >= 16 && numbers >= 2 && turns*5 >= len(word)
}

// redacted is an error whose text holds no keys.
type redacted struct{ error }

// redact hides the keys in the text of err.
func redact(err error) error {
	if err == nil {
		return nil
	}
	return redacted{err}
}

// Error returns the redacted text.
func (r redacted) Error() string { return Redact(r.error.Error()) }

// Unwrap returns the original error.
func (r redacted) Unwrap() error { return r.error }
