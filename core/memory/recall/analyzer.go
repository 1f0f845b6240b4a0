// Package recall searches the whole conversation. It holds the analyzer of the full-text index, the windows for
// embeddings, the reading of queries, the ranking, and the tools conversation_search and conversation_get.
package recall

import (
	"regexp"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

var _ core.Analyzer = (*Analyzer)(nil)

// version changes with every change of the terms of a document.
const version = "recall/1 "

// maxTerms is the most distinct terms of a document.
const maxTerms = 20_000

// Analyzer turns text into terms (docs/architecture.md, "One SQL, two engines"). It folds case and accents, stems with
// Snowball, keeps identifiers whole and in parts, and reads scripts without gaps as single characters and pairs. It is
// safe for concurrent use and does not panic on any text.
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

// Index returns the terms of a document, stop words included, each with 1 if it occurs once and 2 if more often.
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

// emojiTerms returns every emoji of a run without skin tones; the two letters of a flag are one.
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

// maxPieces bounds how many pieces of one run get terms of their own.
const maxPieces = 200

// compound reads a run with joiners: an identifier, number, address, path or words
// with hyphens. The whole is a part, and so are its pieces and words.
func (a *Analyzer) compound(run string) []part {
	words := strings.FieldsFunc(run, func(r rune) bool { return !isWordRune(r) && !text.Invisible(r) })
	whole := fold(cutTo(run, 4*maxTerm))
	switch {
	case len(words) == 0:
		return nil
	case len(words) == 1 && !strings.ContainsAny(whole, "+#"):
		return a.wordParts(words[0], 1)
	case len(whole) <= maxTerm && number.MatchString(whole):
		return a.number(whole, words)
	case onlyWords(run, words):
		return a.hyphened(whole, words)
	}
	out := []part{{text: cut(whole), terms: []string{cut(whole)}, weight: 1}}
	for _, s := range middles(whole) {
		out = append(out, part{text: s, terms: []string{cut(s)}, weight: pieceOfWhole})
	}
	for _, w := range words[:min(len(words), maxPieces)] {
		for _, p := range a.wordParts(w, 1) {
			p.weight = min(p.weight, pieceWeight(p.text))
			out = append(out, p)
		}
	}
	return out
}

// middles returns the pieces of an address or path that have joiners themselves:
// example.com of https://example.com/a, main.go of src/main.go.
func middles(whole string) []string {
	if !strings.ContainsAny(whole, "/@?&=:#,;|~") {
		return nil
	}
	var out []string
	if _, rest, ok := strings.Cut(whole, "://"); ok {
		out = append(out, strings.TrimPrefix(rest, "www."))
	}
	joins := func(r rune) bool { return strings.ContainsRune("/@?&=:#,;|~()[]{}<>", r) }
	for _, s := range strings.FieldsFunc(whole, joins) {
		s = strings.TrimFunc(strings.TrimPrefix(s, "www."), func(r rune) bool { return !isWordRune(r) })
		if strings.ContainsAny(s, "._-+") && len(out) < maxPieces {
			out = append(out, s)
		}
	}
	return out
}

// onlyWords reports whether a run is words of letters, joined by hyphens, slashes or the ends of sentences.
func onlyWords(run string, words []string) bool {
	if len(words) > 5 || strings.ContainsAny(run, "_@:=+#&%~0123456789") {
		return false
	}
	last := words[len(words)-1]
	ends := len(words) == 2 && strings.ToLower(last[:1]) != last[:1] // a sentence, unlike the dot of main.go
	return !strings.Contains(run, ".") || strings.Contains(run, "..") || strings.Count(run, ".") == 1 && ends
}

// hyphened reads words joined by hyphens: each is a word, and so is the whole, with the hyphens and without.
func (a *Analyzer) hyphened(whole string, words []string) []part {
	var out []part
	for _, w := range words {
		out = append(out, a.wordParts(w, 1)...)
	}
	if !strings.ContainsAny(whole, "-‐‑–") {
		return out
	}
	joined := a.single(strings.Join(words, ""))
	joined.terms = appendNew(joined.terms, cut(whole))
	joined.weight = wholeOfWords
	return append(out, joined)
}

var number = regexp.MustCompile(`^[0-9]{1,3}(?:[,.'’][0-9]{3})*(?:[.,][0-9]+)?$|^[0-9]+[.,][0-9]+$`)

var thousands = regexp.MustCompile(`[,.'’]([0-9]{3})\b`)

// number reads a number with separators: as written, without separators of thousands,
// and with a point before the decimals.
func (a *Analyzer) number(whole string, words []string) []part {
	p := part{text: whole, terms: []string{whole}, weight: 1}
	p.terms = appendNew(p.terms, thousands.ReplaceAllString(whole, "$1"))
	if i := strings.LastIndexAny(whole, ".,"); i > 0 {
		digits := strings.FieldsFunc(whole[:i], func(r rune) bool { return r < '0' || r > '9' })
		p.terms = appendNew(p.terms, strings.Join(digits, "")+"."+whole[i+1:])
	}
	out := []part{p}
	for _, w := range words {
		s := a.single(w)
		s.weight = digitOfWhole
		out = append(out, s)
	}
	return out
}

const (
	cacheSlots  = 1 << 13
	longestWord = 24 // bytes; longer ones are rarely repeated
)

// cache holds the terms of short words as written. Words of the same slot replace each other, so it never holds more
// than cacheSlots of them (about 1.5 MB). It is safe for concurrent use; callers must not change the terms.
type cache struct {
	slots [cacheSlots]atomic.Pointer[cached]
}

type cached struct {
	run   string
	terms []string
}

func (c *cache) get(run string) ([]string, bool) {
	if len(run) > longestWord {
		return nil, false
	}
	e := c.slots[slot(run)].Load()
	if e == nil || e.run != run {
		return nil, false
	}
	return e.terms, true
}

func (c *cache) put(run string, terms []string) {
	if len(run) <= longestWord {
		c.slots[slot(run)].Store(&cached{strings.Clone(run), terms})
	}
}

// slot returns the FNV-1a hash of run, folded to the number of slots.
func slot(run string) uint32 {
	h := uint32(2166136261)
	for i := range len(run) {
		h = (h ^ uint32(run[i])) * 16777619
	}
	return (h ^ h>>16) % cacheSlots
}
