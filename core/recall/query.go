package recall

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxWords = 100      // content words of a query
	maxQuery = 64 << 10 // bytes of a query that are read
)

// Word is one word of a query. A message that holds any of Terms holds it.
type Word struct {
	Text   string // folded
	Terms  []string
	Weight float64 // 1, less for a piece of a word
	Name   bool    // it names a speaker
	token  int     // of Query.tokens
}

// Query is the reading of a query's text.
type Query struct {
	Words []Word // content words in order, distinct
	Stops []Word // the others
	// Phrases are quoted, as folded words.
	Phrases [][]string
	tokens  []token
}

// token is one run of a query, from which dates and names are read.
type token struct {
	text string // folded, without elision and possessive
}

// kanaWeight is the weight of pairs that are only Japanese grammar.
const kanaWeight = 0.3

// Query reads the text of a query. There is no syntax: AND, * and brackets are text.
func (a *Analyzer) Query(text string) Query {
	text = cutTo(text, maxQuery)
	q := Query{Phrases: phrases(text)}
	pieces(text, func(run string, c class, _ int) bool {
		q.add(a, run, c)
		return len(q.Words) < maxWords && len(q.tokens) < 4*maxWords
	})
	q.Words = q.Words[:min(len(q.Words), maxWords)]
	q.Stops = q.Stops[:min(len(q.Stops), maxWords)]
	return q
}

func (q *Query) add(a *Analyzer, run string, c class) {
	switch c {
	case dense, thai:
		q.addDense(a, run, c)
		return
	case emoji:
		for _, t := range emojiTerms(run) {
			q.Words = appendWord(q.Words, Word{Text: t, Terms: []string{t}, Weight: 1, token: -1})
		}
		return
	}
	run, _ = trim(run)
	if run == "" {
		return
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(unelided(strings.Map(apostrophe, cutTo(run, 4*maxTerm))), "'s"), "'S")
	q.tokens = append(q.tokens, token{text: cut(fold(bare))})
	content := false
	for _, p := range a.parts(run) {
		w := Word{Text: p.text, Terms: p.terms, Weight: p.weight, token: len(q.tokens) - 1}
		switch {
		case len(w.Terms) == 0:
		case a.stop(p.text), p.weight == wholeOfWords && !content:
			q.Stops = appendWord(q.Stops, w)
		default:
			content = true
			q.Words = appendWord(q.Words, w)
		}
	}
}

// stop reports whether a folded word says nothing about the subject of a query.
func (a *Analyzer) stop(folded string) bool {
	return a.stops[folded] || len(folded) == 1 && !isDigits(folded)
}

func (q *Query) addDense(a *Analyzer, run string, c class) {
	u := units(run, c)
	q.tokens = append(q.tokens, token{text: cut(strings.Join(u, ""))})
	if len(u) == 1 {
		q.Words = appendWord(q.Words, Word{Text: u[0], Terms: u, Weight: 1, token: len(q.tokens) - 1})
		return
	}
	for i := 1; i < len(u) && len(q.Words) < maxWords; i++ {
		w := Word{Text: u[i-1] + u[i], Terms: []string{u[i-1] + u[i]}, Weight: 1, token: len(q.tokens) - 1}
		if kana(w.Text) {
			w.Weight = kanaWeight
		}
		if a.stops[w.Text] {
			q.Stops = appendWord(q.Stops, w)
			continue
		}
		q.Words = appendWord(q.Words, w)
	}
}

func kana(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x3041 || r > 0x309F })
}

// appendWord appends a word, unless there is one of the same terms: then that gets the
// higher weight.
func appendWord(words []Word, w Word) []Word {
	for i := range words {
		if slices.Equal(words[i].Terms, w.Terms) {
			words[i].Weight = max(words[i].Weight, w.Weight)
			return words
		}
	}
	return append(words, w)
}

// asked returns the words to search for: the content words, or the others if there
// are none.
func (q *Query) asked() []Word {
	if len(q.Words) > 0 {
		return q.Words
	}
	return q.Stops
}

// phrases returns the quoted phrases of at least two words, as folded words.
func phrases(text string) [][]string {
	var out [][]string
	closing := map[rune]rune{'"': '"', '“': '”', '«': '»', '„': '“'}
	for i := 0; i < len(text) && len(out) < 10; {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		end, ok := closing[r]
		if !ok {
			continue
		}
		n := strings.IndexRune(text[i:], end)
		if n < 0 {
			continue
		}
		if words := foldedWords(text[i:i+n], maxWords); len(words) > 1 {
			out = append(out, words)
		}
		i += n + utf8.RuneLen(end)
	}
	return out
}

// foldedWords returns the first n words of a text, folded, without punctuation.
func foldedWords(text string, n int) []string {
	var out []string
	pieces(text, func(run string, c class, _ int) bool {
		if c == word {
			run, _ = trim(run)
		}
		if run != "" {
			out = append(out, fold(strings.Map(apostrophe, cutTo(run, 4*maxTerm))))
		}
		return len(out) < n
	})
	return out
}
