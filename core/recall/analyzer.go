// Package recall searches the whole conversation. It holds the analyzer of the full-text
// index, the windows for embeddings, the reading of queries, the ranking, and the tools
// conversation_search and conversation_get.
package recall

import (
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

var _ core.Analyzer = (*Analyzer)(nil)

// version changes with every change of the terms of a document.
const version = "recall/1 "

// maxTerms is the most distinct terms of a document.
const maxTerms = 20_000

// Analyzer turns text into terms (docs/architecture.md, "One SQL, two engines"). It folds
// case and accents, stems with Snowball, keeps identifiers whole and in parts, and
// reads scripts without gaps as single characters and pairs. It is safe for
// concurrent use and does not panic on any text.
type Analyzer struct {
	languages []string
	stems     stems
	stops     map[string]bool
	known     cache
}

// NewAnalyzer returns an analyzer that stems in languages (BCP 47 tags or
// English names; none: en and fr). For a language without a stemmer it returns an error
// that lists the available ones. Cyrillic, Arabic and Tamil words are always stemmed.
func NewAnalyzer(languages []string) (*Analyzer, error) {
	known, err := parseLanguages(languages)
	if err != nil {
		return nil, err
	}
	return &Analyzer{languages: known, stems: newStems(known), stops: stopWords(known)}, nil
}

// Version names the version of the terms and the languages.
func (a *Analyzer) Version() string { return version + strings.Join(a.languages, ",") }

// Index returns the terms of a document, stop words included, each with 1 if it occurs
// once and 2 if more often.
func (a *Analyzer) Index(text string) map[string]int {
	terms := make(map[string]int, min(len(text)/2, 256)+4)
	pieces(text, func(run string, c class, _ int) bool {
		for _, t := range a.termsOf(run, c) {
			n := terms[t]
			if n == 0 && len(terms) >= maxTerms {
				return false
			}
			if n < 2 {
				terms[t] = n + 1
			}
		}
		return true
	})
	return terms
}

// termsOf returns the terms of a run, perhaps several times each.
func (a *Analyzer) termsOf(run string, c class) []string {
	switch c {
	case dense, thai:
		return denseTerms(run, c)
	case emoji:
		return emojiTerms(run)
	}
	run, _ = trim(run)
	if run == "" {
		return nil
	}
	if terms, ok := a.known.get(run); ok {
		return terms
	}
	var terms []string
	for _, p := range a.parts(run) {
		if len(terms) > 50 {
			terms = append(terms, p.terms...)
			continue
		}
		for _, t := range p.terms {
			terms = appendNew(terms, t)
		}
	}
	a.known.put(run, terms)
	return terms
}

// units returns the characters of a run, each with the marks that belong to it.
func units(run string, c class) []string {
	var out []string
	for _, r := range fold(run) {
		if len(out) > 0 && c == thai && unicode.IsMark(r) && len(out[len(out)-1]) < maxTerm/4 {
			out[len(out)-1] += string(r)
			continue
		}
		out = append(out, string(r))
	}
	return out
}

// denseTerms returns every character of a run, and every pair of neighbours.
func denseTerms(run string, c class) []string {
	u := units(run, c)
	terms := make([]string, 0, 2*len(u))
	for i := range u {
		terms = append(terms, u[i])
		if i > 0 {
			terms = append(terms, u[i-1]+u[i])
		}
	}
	return terms
}

// emojiTerms returns every emoji of a run without skin tones; the two letters of a
// flag are one.
func emojiTerms(run string) []string {
	var terms []string
	var flag string
	for _, r := range run {
		switch {
		case r >= 0x1F1E6 && r <= 0x1F1FF && flag == "":
			flag = string(r)
			continue
		case r >= 0x1F1E6 && r <= 0x1F1FF:
			terms = append(terms, flag+string(r))
		case r < 0x1F3FB || r > 0x1F3FF:
			terms = append(terms, string(r))
		}
		flag = ""
	}
	return terms
}
