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
	"golang.org/x/text/unicode/norm"
)

// letters maps letters that have no decomposition to their usual plain spelling, and
// merges letters that people write alike.
var letters = map[rune]string{
	'ß': "ss", 'œ': "oe", 'æ': "ae", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i",
	'ŋ': "n", 'ĸ': "k", 'ſ': "s", 'ς': "σ", 'ŧ': "t", 'ə': "e",
	'ى': "ي", 'ی': "ي", 'ک': "ك", 'ة': "ه", 'ٱ': "ا",
}

// digits are the zeros of scripts with digits of their own.
var digits = []rune{'٠', '۰', '०', '০', '๐', '໐', '၀', '០'}

// fold returns word in lower case, without accents, points, tatweel and invisible
// characters, and with plain letters for variants of width and font.
func fold(word string) string {
	if s, ok := foldASCII(word); ok {
		return s
	}
	var b strings.Builder
	b.Grow(len(word))
	for _, r := range norm.NFKD.String(strings.ToLower(word)) {
		r = unicode.ToLower(r)
		if drop(r) || r == utf8.RuneError || banned(r) {
			continue
		}
		if s, ok := letters[r]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteRune(digit(r))
	}
	return norm.NFC.String(b.String())
}

// banned reports whether no term may hold r. It also drops what a decomposition makes,
// such as the space of a lone accent.
func banned(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'`^\\", r) || unicode.IsSpace(r) || unicode.IsControl(r)
}

// foldASCII folds a word without signs that need more care.
func foldASCII(word string) (string, bool) {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf || banned(rune(word[i])) {
			return "", false
		}
	}
	return strings.ToLower(word), true
}

// lower returns word as stemmers expect it: in lower case and composed, with accents, without invisible characters.
func lower(word string) string {
	if s, ok := foldASCII(word); ok {
		return s
	}
	word = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || invisible(r) || semitic(r) {
			return -1
		}
		return r
	}, word)
	return norm.NFKC.String(strings.ToLower(word))
}

// umlauts returns the folded word as typed on a keyboard without umlauts, empty if it has none.
func umlauts(lowered string) string {
	if !strings.ContainsAny(lowered, "äöüøå") {
		return ""
	}
	return fold(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ø", "oe", "å", "aa").Replace(lowered))
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
	return semitic(r) || invisible(r)
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

// invisible reports whether r has no width: a joiner, direction, variation selector or tag.
func invisible(r rune) bool {
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
