package recall

import (
	"maps"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
)

// part is a word of a text and its terms, any of which matches it.
type part struct {
	text   string // folded
	terms  []string
	weight float64 // in a query
}

// Weights of parts in a query, beside 1 for a word.
const (
	wholeOfWords = 0.5 // well-known, beside well and known
	pieceOfWhole = 0.4 // foo, beside foo_bar
	digitOfWhole = 0.1 // 2, beside v1.2.3
)

// maxInner is the size of the longest piece that is split at changes of case and
// between letters and digits: a hash is no name.
const maxInner = 48

// parts splits a trimmed run of word runes.
func (a *Analyzer) parts(run string) []part {
	if !strings.ContainsFunc(run, func(r rune) bool { return r >= utf8.RuneSelf || !isWordRune(r) }) {
		return a.wordParts(run, 1)
	}
	run = strings.Map(apostrophe, run)
	joiner := func(r rune) bool { return r != '\'' && r != '-' && !isWordRune(r) && !text.Invisible(r) }
	if strings.Contains(run, "'") && !strings.ContainsFunc(run, joiner) {
		var out []part
		for s := range strings.SplitSeq(run, "-") { // l'heure is heure, Ana's is Ana, don't is dont, I'll is I
			out = append(out, a.possessed(text.Unelided(strings.Trim(s, "'")))...)
		}
		return out
	}
	return a.compound(strings.ReplaceAll(run, "'", ""))
}

func apostrophe(r rune) rune {
	switch r {
	case '‘', '’', 'ʼ', '′':
		return '\''
	case '\\':
		return '/'
	}
	return r
}

// single returns the terms of one word: folded, and its stems.
func (a *Analyzer) single(word string) part {
	word = cutTo(word, 4*maxTerm)
	lowered, folded := text.Lower(word), cut(fold(word))
	p := part{text: folded, weight: 1}
	p.terms = appendNew(p.terms, folded)
	if len(lowered) > maxTerm || folded == "" {
		return p
	}
	p.terms = appendNew(p.terms, umlauts(lowered))
	if !isDigits(folded) {
		p.terms = a.stems.add(p.terms, lowered, folded)
	}
	return p
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// wordParts returns the part of a word without joiners, and those of the words and numbers in it (camelCase, v2).
func (a *Analyzer) wordParts(word string, weight float64) []part {
	p := a.single(word)
	if p.weight = weight; p.text == "" {
		return nil
	}
	out := []part{p}
	if len(word) > maxInner {
		return out
	}
	for _, s := range humps(word) {
		p := a.single(s)
		p.weight = pieceWeight(p.text) * weight
		out = append(out, p)
	}
	return out
}

func pieceWeight(text string) float64 {
	if len(text) < 2 || isDigits(text) {
		return digitOfWhole
	}
	return pieceOfWhole
}

// humps splits camelCase, HTTPServer and v2; nil if there is only one part.
func humps(word string) []string {
	if strings.ToLower(word) == word && !strings.ContainsAny(word, "0123456789") {
		return nil
	}
	var out []string
	runes := []rune(word)
	start := 0
	for i := 1; i < len(runes); i++ {
		if hump(runes, i) {
			out = append(out, string(runes[start:i]))
			start = i
		}
	}
	if out == nil {
		return nil
	}
	return append(out, string(runes[start:]))
}

// hump reports whether a part begins at i: between a small letter and a capital, a
// letter and a digit, or before the last of several capitals.
func hump(r []rune, i int) bool {
	before, here := r[i-1], r[i]
	switch {
	case unicode.IsDigit(before) != unicode.IsDigit(here):
		return true
	case unicode.IsUpper(here):
		return unicode.IsLower(before) || unicode.IsUpper(before) && i+1 < len(r) && unicode.IsLower(r[i+1])
	}
	return false
}

var contraction = regexp.MustCompile(`^(?i:s|re|ve|ll|d|m|)$`)

func (a *Analyzer) possessed(s string) []part {
	words := strings.Split(s, "'")
	if len(words) == 1 {
		return a.wordParts(s, 1)
	}
	last := words[len(words)-1]
	if len(words) == 2 && contraction.MatchString(last) {
		return a.wordParts(words[0], 1)
	}
	out := []part{a.single(strings.Join(words, ""))}
	if len(words) == 2 && strings.EqualFold(last, "t") {
		return out
	}
	for _, w := range words {
		if utf8.RuneCountInString(w) > 1 {
			p := a.single(w)
			p.weight = pieceOfWhole
			out = append(out, p)
		}
	}
	return out
}

// stopWords returns the words that say nothing about the subject of a query, in English, French, Russian, Chinese and
// languages.
func stopWords(languages []string) map[string]bool {
	stops := map[string]bool{}
	for _, language := range append([]string{"en", "fr", "ru", "zh"}, languages...) {
		maps.Copy(stops, text.Small(language))
	}
	return stops
}
