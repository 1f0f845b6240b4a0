package recall

import (
	"regexp"
	"strings"
)

// maxPieces bounds how many pieces of one run get terms of their own.
const maxPieces = 200

// compound reads a run with joiners: an identifier, number, address, path or words
// with hyphens. The whole is a part, and so are its pieces and words.
func (a *Analyzer) compound(run string) []part {
	words := strings.FieldsFunc(run, func(r rune) bool { return !isWordRune(r) && !invisible(r) })
	whole := fold(cutTo(run, 4*maxTerm))
	switch {
	case len(words) == 0:
		return nil
	case len(words) == 1 && !strings.ContainsAny(whole, "+#"):
		return a.wordParts(words[0], 1)
	case isNumber(whole):
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

// onlyWords reports whether a run is words of letters, joined by hyphens, slashes or
// the ends of sentences.
func onlyWords(run string, words []string) bool {
	if len(words) > 5 || strings.ContainsAny(run, "_@:=+#&%~0123456789") {
		return false
	}
	return !strings.Contains(run, ".") || strings.Contains(run, "..") || strings.Count(run, ".") == 1 && longEnds(words)
}

// longEnds reports whether a dot between words ends a sentence, rather than
// being part of main.go.
func longEnds(words []string) bool {
	last := words[len(words)-1]
	return len(words) == 2 && strings.ToLower(last[:1]) != last[:1]
}

// hyphened reads words joined by hyphens: each is a word, and so is the whole, with
// the hyphens and without.
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

func isNumber(whole string) bool { return len(whole) <= maxTerm && number.MatchString(whole) }

var thousands = regexp.MustCompile(`[,.'’]([0-9]{3})\b`)

// number reads a number with separators: as written, without separators of thousands,
// and with a point before the decimals.
func (a *Analyzer) number(whole string, words []string) []part {
	p := part{text: whole, terms: []string{whole}, weight: 1}
	p.terms = appendNew(p.terms, thousands.ReplaceAllString(whole, "$1"))
	if i := strings.LastIndexAny(whole, ".,"); i > 0 {
		p.terms = appendNew(p.terms, strings.Join(strings.FieldsFunc(whole[:i], notDigit), "")+"."+whole[i+1:])
	}
	out := []part{p}
	for _, w := range words {
		s := a.single(w)
		s.weight = digitOfWhole
		out = append(out, s)
	}
	return out
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
