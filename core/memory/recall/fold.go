package recall

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"

	"github.com/everthread/everthread/core/text"
)

// fold returns a word as text.Fold does, without what no term may hold.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		if banned(r) {
			return -1
		}
		return r
	}, text.Fold(word))
}

// banned reports whether no term may hold r. It also drops what a decomposition makes, such as the space of a lone
// accent.
func banned(r rune) bool {
	return r <= ' ' || r == utf8.RuneError || strings.ContainsRune("\"'`^\\", r) || unicode.IsSpace(r) ||
		unicode.IsControl(r)
}

// umlauts returns the folded word as typed on a keyboard without umlauts, empty if it has none.
func umlauts(lowered string) string {
	if !strings.ContainsAny(lowered, "äöüøå") {
		return ""
	}
	return fold(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ø", "oe", "å", "aa").Replace(lowered))
}

type stemmer func(*snowballstem.Env) bool

var stemmers = map[string]stemmer{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem,
	"fi": finnish.Stem, "fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem,
	"nl": dutch.Stem, "no": norwegian.Stem, "porter": porter.Stem, "pt": portuguese.Stem, "ro": romanian.Stem,
	"ru": russian.Stem, "sv": swedish.Stem, "ta": tamil.Stem, "tr": turkish.Stem,
}

// languageNames maps other names of languages to the keys of stemmers.
var languageNames = map[string]string{
	"arabic": "ar", "danish": "da", "german": "de", "english": "en", "spanish": "es", "finnish": "fi", "french": "fr",
	"irish": "ga", "hungarian": "hu", "italian": "it", "dutch": "nl", "norwegian": "no", "nb": "no", "nn": "no",
	"portuguese": "pt", "romanian": "ro", "russian": "ru", "swedish": "sv", "tamil": "ta", "turkish": "tr",
}

// parseLanguages returns the short names of languages, sorted and distinct.
// Stemmed returns those of some languages for which there is a stemmer.
func Stemmed(names []string) (out []string) {
	for _, name := range names {
		if _, err := parseLanguages([]string{name}); err == nil {
			out = append(out, name)
		}
	}
	return out
}

func parseLanguages(names []string) ([]string, error) {
	if len(names) == 0 {
		names = []string{"en", "fr"}
	}
	var known []string
	for _, name := range names {
		short, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-")), "-")
		if s, ok := languageNames[short]; ok {
			short = s
		}
		if stemmers[short] == nil {
			return nil, fmt.Errorf("no stemmer for language %q; there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(stemmers)), ", "))
		}
		known = append(known, short)
	}
	slices.Sort(known)
	return slices.Compact(known), nil
}

// stems holds the stemmers of an analyzer. Cyrillic, Arabic and Tamil words have one in any case.
type stems struct{ latin []stemmer }

func newStems(languages []string) stems {
	var s stems
	for _, l := range languages {
		if l != "ru" && l != "ar" && l != "ta" {
			s.latin = append(s.latin, stemmers[l])
		}
	}
	return s
}

// of returns the stemmers for a word, by the script of its first letter.
func (s stems) of(word string) []stemmer {
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case r < utf8.RuneSelf:
		return s.latin
	case unicode.Is(unicode.Cyrillic, r):
		return []stemmer{russian.Stem}
	case unicode.Is(unicode.Arabic, r):
		return []stemmer{arabic.Stem}
	case unicode.Is(unicode.Tamil, r):
		return []stemmer{tamil.Stem}
	case unicode.Is(unicode.Latin, r):
		return s.latin
	}
	return nil
}

// add appends the folded stems of a word in lower case to terms.
func (s stems) add(terms []string, lowered, folded string) []string {
	for _, stem := range s.of(lowered) {
		terms = appendNew(terms, stemmed(stem, lowered))
		if folded != lowered {
			terms = appendNew(terms, stemmed(stem, folded))
		}
	}
	return terms
}

func stemmed(stem stemmer, word string) string {
	env := snowballstem.NewEnv(word)
	stem(env)
	return cut(fold(env.Current()))
}

// appendNew appends a term unless it is empty or there already.
func appendNew(terms []string, term string) []string {
	if term == "" || slices.Contains(terms, term) {
		return terms
	}
	return append(terms, term)
}

// maxTerm is the longest term, in bytes.
const maxTerm = 64

// cut shortens a term to maxTerm bytes, on a rune boundary.
func cut(term string) string { return cutTo(term, maxTerm) }

// cutTo shortens s to n bytes at most, on a rune boundary.
func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
