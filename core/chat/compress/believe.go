package compress

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

const (
	tolerance = 1.3 // factor of the requested length that a model may write
	ownWords  = 0.9 // share of a sentence's words that must be the user's own
	hardFact  = 0.8 // least facts of a user's sentence that stays though a model dropped it
)

// believeAssistant reads a model's text for an assistant's message, if it is short
// enough and has no number, address or name that the message lacks.
func (d *draft) believeAssistant(given string) (*draft, bool) {
	given = strings.TrimSpace(given)
	if given == "" || !d.shortEnough(given, d.share(assistantOlder, leastAssistantOlder)) || !d.supports(given) {
		return nil, false
	}
	m := *d.m
	m.Text = given
	g := d.read(&m, nil)
	g.total = d.total
	return g, true
}

func (d *draft) shortEnough(given string, wanted int) bool {
	return float64(d.count(given)) <= tolerance*float64(wanted)
}

// richer returns a, unless b has more names and numbers.
func (d *draft) richer(a, b string) string {
	if hardness(b) > hardness(a) {
		return b
	}
	return a
}

// hardness counts the words of a text that are numbers or names.
func hardness(s string) int {
	n := 0
	for _, w := range wordsOf(s) {
		if hasDigit(w.text) || !w.first && isNameLike(&w) {
			n++
		}
	}
	return n
}

func hasDigit(s string) bool { return strings.IndexFunc(s, unicode.IsDigit) >= 0 }

// supports reports whether the message has all numbers, addresses and names of given.
func (d *draft) supports(given string) bool {
	original := wordSet(d.m.Text)
	for _, p := range split(given) {
		ok := true
		text.Sentences(p.of(given), func(start, end int) {
			for _, w := range wordsOf(p.of(given)[start:end]) {
				ok = ok && original.supports(&w)
			}
		})
		if !ok {
			return false
		}
	}
	return true
}

// vocabulary holds the words of a message.
type vocabulary struct {
	exact map[string]bool // in lower case
	stems map[string]bool
}

func wordSet(s string) vocabulary {
	v := vocabulary{map[string]bool{}, map[string]bool{}}
	for _, w := range wordsOf(s) {
		v.add(w.lower)
		for part := range strings.FieldsFuncSeq(w.lower, func(r rune) bool { return !text.IsWord(r) }) {
			v.add(part)
		}
	}
	return v
}

func (v vocabulary) add(lower string) {
	v.exact[lower] = true
	v.stems[text.Stem(lower)] = true
}

// supports reports whether to believe a word: a number, address or name is in the message.
func (v vocabulary) supports(w *word) bool {
	switch {
	case v.exact[w.lower]:
		return true
	case hasDigit(w.text), strings.ContainsAny(w.text, "@/"), isNumberWord(w.lower):
		return false
	case isDense(w.text) && !strings.ContainsFunc(w.text, unicode.IsUpper), !isNameLike(w),
		w.first && (isFunctionWord(w.lower) || isOpener(w.lower) || v.stems[text.Stem(w.lower)]):
		return true
	}
	return v.hasParts(w)
}

// hasParts reports whether the message has all parts of a compound name, such as Franco-Swiss.
func (v vocabulary) hasParts(w *word) bool {
	for part := range strings.FieldsFuncSeq(w.lower, func(r rune) bool { return !text.IsWord(r) }) {
		if !v.exact[part] && utf8.RuneCountInString(part) > 2 {
			return false
		}
	}
	return strings.ContainsAny(w.lower, "-'’")
}

// believeUser combines a model's text for a user's message with all units that must be kept. It fails if the text is
// too long, or a sentence is not in the user's own words or drops a "not".
func (d *draft) believeUser(given string) (string, bool) {
	given = strings.TrimSpace(given)
	if given == "" || d.m.Role != core.RoleUser {
		return "", false
	}
	units := slices.Clone(d.units)
	keep := make([]bool, len(units))
	ok := true
	from := 0
	for _, p := range split(given) {
		if p.kind.isCode() || p.kind == quote {
			continue // the original is kept in any case
		}
		text.Sentences(p.of(given), func(start, end int) {
			said := p.of(given)[start:end]
			if len(wordsOf(said)) == 0 {
				return // an ellipsis
			}
			i := d.locate(said, from)
			if ok = ok && i >= 0; ok {
				units[i], keep[i], from = d.reworded(i, said, keep[i], units[i]), true, i
			}
		})
	}
	if !ok {
		return "", false
	}
	for i := range units {
		keep[i] = keep[i] || units[i].stays() || units[i].fact >= hardFact
	}
	text := d.render(units, keep, style{edges: true})
	return text, d.shortEnough(text, d.share(userVeryOld, 0)) || d.count(text) <= d.fixedTokens()
}

// fixedTokens returns the tokens that stay in any case.
func (d *draft) fixedTokens() int {
	n := 0
	for i := range d.units {
		if u := &d.units[i]; u.fixed() || u.repeats {
			n += u.tokens
		}
	}
	return n
}

// reworded returns unit i with the words that the model kept of it. A unit with quotes
// stays unchanged, and so does one that the model cut into several sentences.
func (d *draft) reworded(i int, kept string, twice bool, now unit) unit {
	u := d.units[i]
	if twice || u.fixed() || u.repeats || u.kind != prose && u.kind != item || len(kept) >= len(u.text) {
		return u
	}
	if u.score >= userFact && hardness(kept) < hardness(u.text) {
		return u
	}
	now.text, now.tokens, now.cut = kept, d.count(kept), true
	return now
}

// locate returns the unit of which the model made a sentence: the first, from unit from on, that has nearly all of its
// words in their order and no "not" that it lacks. -1: none.
func (d *draft) locate(sentence string, from int) int {
	words := wordsOf(sentence)
	for i := from; i < len(d.units); i++ {
		u := &d.units[i]
		if u.kind.isCode() || u.repeats {
			continue
		}
		if within(words, wordsOf(u.text)) {
			return i
		}
	}
	return -1
}

// within reports whether b has enough of a's words in the same order, and none between
// them whose omission reverses the meaning.
func within(a, b []word) bool {
	found, at := 0, 0
	for i := range a {
		j := at
		for j < len(b) && b[j].lower != a[i].lower {
			j++
		}
		if j == len(b) {
			continue
		}
		if turns(b, at, j) {
			return false
		}
		found, at = found+1, j+1
	}
	return found > 0 && float64(found) >= ownWords*float64(len(a)) && !turns(b, at, len(b)) && missingIsPlain(a, b)
}

// turns reports whether omitting the words from at to end may reverse the meaning of a
// sentence: a condition, or a negation unless its whole clause is omitted.
func turns(b []word, at, end int) bool {
	clause := (at == 0 || strings.IndexByte(",;:", b[at-1].last) >= 0) &&
		(end == len(b) || end > at && strings.IndexByte(",;:", b[end-1].last) >= 0)
	for i := at; i < end; i++ {
		if isCondition(b[i].lower) || !clause && isNegation(b[i].lower) {
			return true
		}
	}
	return false
}

// missingIsPlain reports whether the words of a that b lacks are no numbers, names, negations or conditions.
func missingIsPlain(a, b []word) bool {
	has := map[string]bool{}
	for i := range b {
		has[b[i].lower] = true
	}
	for i := range a {
		w := &a[i]
		if !has[w.lower] && (hasDigit(w.text) || isNumberWord(w.lower) || !w.first && isNameLike(w) || isNegation(w.lower) ||
			isCondition(w.lower)) {
			return false
		}
	}
	return true
}

// isNegation reports whether a sentence without the word may say the opposite.
func isNegation(lower string) bool {
	return strings.HasSuffix(lower, "n't") || strings.HasPrefix(lower, "n'") || negations(lower)
}
