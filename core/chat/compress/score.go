package compress

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// score sets the facts and the worth of each unit.
func (d *draft) score() {
	r := &d.reader
	*r = reader{assistant: d.m.Role == core.RoleAssistant, count: map[string]int{}}
	parsed := make([][]word, len(d.units))
	for i := range d.units {
		if u := &d.units[i]; !u.kind.isCode() && !u.repeats {
			parsed[i] = wordsOf(u.text)
			r.learn(parsed[i])
		}
	}
	r.strange = r.words >= 5 && r.common*8 < r.words // only the form of words counts, and more is kept
	for i := range d.units {
		u := &d.units[i]
		if parsed[i] == nil {
			continue
		}
		u.fact, u.score = r.worth(u, parsed[i])
		if i == 0 || i == len(d.units)-1 {
			u.score += 0.1
		}
	}
}

// word is one word of a sentence without the punctuation around it.
type word struct {
	text  string
	lower string // with straight apostrophes
	first bool   // of its sentence, or after a colon or an opening quote
	last  byte   // of its field, such as a stop, a colon or a question mark
}

// wordsOf returns the words of a sentence. A run of a script without gaps is one.
func wordsOf(s string) []word {
	s = s[itemMark(s):]
	var out []word
	first := true
	for field := range strings.FieldsSeq(s) {
		bare := strings.TrimFunc(field, func(r rune) bool {
			return !text.IsWord(r) && !unicode.In(r, unicode.Sc) && !strings.ContainsRune("%@/", r)
		})
		if bare == "" {
			first = first || strings.ContainsAny(field, ":-–—|")
			continue
		}
		w := word{text: bare, lower: strings.ReplaceAll(strings.ToLower(bare), "’", "'"),
			first: first || strings.IndexAny(field, "*_\"“«") == 0, last: field[len(field)-1]}
		out = append(out, w)
		first = w.last == ':' || strings.HasSuffix(field, ":**")
	}
	return out
}

// reader holds the statistics of a whole message.
type reader struct {
	assistant bool
	strange   bool // in a language without known words
	words     int
	common    int            // function words
	count     map[string]int // of stems
}

func (r *reader) learn(words []word) {
	for i := range words {
		r.words++
		if isFunctionWord(words[i].lower) {
			r.common++
			continue
		}
		r.count[text.Stem(words[i].lower)]++
	}
}

// isForeign reports whether a sentence is in another language.
func isForeign(words []word) bool {
	known, foreign := 0, 0
	for i := range words {
		switch lower := words[i].lower; {
		case foreignWords(lower) && !isFunctionWord(lower):
			foreign++
		case isFunctionWord(lower):
			known++
		}
	}
	return foreign >= 2 && foreign >= known
}

// worth returns the facts in a sentence, and its worth in all.
func (r *reader) worth(u *unit, words []word) (fact, score float64) {
	t := tally{reader: r, words: words}
	for i := range words {
		t.shape(i)
	}
	t.phrases()
	fact = min(t.codes, 3)*1.1 + min(t.numbers, 3)*0.7 + min(t.names, 3)*0.6 + min(t.dates, 2)*0.6 + min(t.links, 2)
	if r.assistant && t.cues >= conclusion {
		fact = max(fact, factFloor)
	}
	if u.kind == heading || bold(u.text) {
		if r.assistant {
			return 0, nothing
		}
		return 0, 0.1
	}
	score = fact + t.cues + r.rarity(words) - t.filler
	if !r.assistant && len(words) > 4 && (words[0].lower == "i" || words[0].lower == "je") {
		score += 0.25
	}
	if r.strange || isForeign(words) { // the longer, the more
		score += min(1.2, float64(utf8.RuneCountInString(u.text))/25)
	}
	bare := strings.TrimRight(u.text, " \"”»)*_")
	if strings.HasSuffix(bare, "?") || strings.HasSuffix(bare, "？") {
		fact, score = fact*0.6, score*0.5
	}
	if u.quotes >= 4 || u.kind == quote {
		score += 0.5
	}
	return fact, score
}

func bold(s string) bool {
	return strings.HasPrefix(s, "**") && strings.HasSuffix(strings.TrimRight(s, ":"), "**") && strings.Count(s, "**") == 2
}

// rarity returns the worth of the words that only this sentence of the message has.
func (r *reader) rarity(words []word) float64 {
	rare := 0
	for i := range words {
		if w := words[i].lower; utf8.RuneCountInString(w) > 3 && !isFunctionWord(w) && r.count[text.Stem(w)] == 1 {
			rare++
		}
	}
	return min(0.4, 0.06*float64(rare))
}

// tally counts the facts of one sentence.
type tally struct {
	*reader
	words                               []word
	codes, numbers, names, dates, links float64
	cues, filler                        float64
}

// shape counts a word by its form alone.
func (t *tally) shape(i int) {
	w := &t.words[i]
	digits, letters, capitals := 0, 0, 0
	for _, c := range w.text {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsLetter(c):
			letters++
			if unicode.IsUpper(c) {
				capitals++
			}
		}
	}
	switch {
	case strings.Contains(w.text, "://") || strings.HasPrefix(w.lower, "www.") || strings.Contains(w.text, "@") &&
		strings.Contains(w.text, "."):
		t.links++
	case digits == 3 && letters == 0 && i > 0 && len(t.words[i-1].text) < 4 &&
		strings.Trim(t.words[i-1].text, "0123456789") == "":
		t.numbers += 0.7 // 2 340
	case digits > 0:
		t.number(w, digits, letters, capitals)
		if t.measured(i) {
			t.numbers += 0.3
		}
	case isNumberWord(w.lower) && t.measured(i):
		t.numbers += 0.5
	case t.isDate(i):
		t.dates++
		if t.byNumber(i) {
			t.dates += 0.7 // a day, not only a month
		}
	case letters > 1 && capitals == letters && letters < 7 && // not all of the sentence is in capitals
		slices.ContainsFunc(t.words, func(w word) bool { return w.text == w.lower && len(w.text) > 2 }):
		t.names += 0.7 // an acronym
	case capitals > 0 && isNameLike(w):
		t.name(i, w, letters)
	case isDense(w.text):
		t.dense(w.text)
	}
}

// isDate reports whether a word is a day or month; "may" counts only beside a number.
func (t *tally) isDate(i int) bool {
	lower := t.words[i].lower
	return isDate(text.Unelided(lower)) || lower == "may" && t.byNumber(i)
}

func (t *tally) byNumber(i int) bool {
	return i > 0 && hasDigit(t.words[i-1].text) || i+1 < len(t.words) && hasDigit(t.words[i+1].text)
}

// number counts a word with digits: the more exact, the more it is worth.
func (t *tally) number(w *word, digits, letters, capitals int) {
	money := strings.ContainsAny(w.text, "€$£¥") || strings.ContainsAny(w.text, ",.") && digits >= 3
	switch {
	case letters > 0 && digits > 0 && (capitals > 0 || digits+letters >= 6) && !ordinal(w.lower):
		t.codes++
	case digits >= 5, digits >= 3 && strings.ContainsAny(w.text, ":/-h"):
		t.codes++
	case money, digits >= 3 && w.text[len(w.text)-1] != '0', strings.Contains(w.text, ":"):
		t.numbers += 1.2
	case digits >= 2 && w.text[len(w.text)-1] != '0' && w.text[len(w.text)-1] != '5':
		t.numbers++
	case digits >= 2:
		t.numbers += 0.7
	default:
		t.numbers += 0.45
	}
}

// measured reports whether the number at i has a unit or currency and is no end of a range, which is advice.
func (t *tally) measured(i int) bool {
	if i+1 == len(t.words) || i > 1 && hasDigit(t.words[i-2].text) && isFunctionWord(t.words[i-1].lower) {
		return false
	}
	unit := t.words[i+1].lower
	return isUnit(unit) || isUnit(strings.TrimSuffix(unit, "s"))
}

func ordinal(w string) bool {
	return len(w) < 6 && (strings.HasSuffix(w, "th") || strings.HasSuffix(w, "st") || strings.HasSuffix(w, "nd") ||
		strings.HasSuffix(w, "rd") || strings.HasSuffix(w, "er") || strings.HasSuffix(w, "h"))
}

// isNameLike reports whether a word with capitals may be a name.
func isNameLike(w *word) bool {
	if i := strings.IndexAny(w.text, "'’"); i > 0 && i < 3 { // l'Atelier, d'Amélie
		c, _ := utf8.DecodeRuneInString(strings.TrimLeft(w.text[i:], "'’"))
		return unicode.IsUpper(c)
	}
	c, _ := utf8.DecodeRuneInString(w.text)
	return w.lower != "i" && !strings.HasPrefix(w.lower, "i'") &&
		(unicode.IsUpper(c) || strings.IndexFunc(w.text[1:], unicode.IsUpper) >= 0)
}

func (t *tally) name(i int, w *word, letters int) {
	switch {
	case !w.first && letters > 1:
		t.names++
	case i+1 < len(t.words) && isNameLike(&t.words[i+1]) && t.words[i+1].text != strings.ToUpper(t.words[i+1].text):
		t.names += 0.5
	case !isFunctionWord(w.lower) && !isOpener(w.lower):
		t.names += 0.4
	}
}

// dense counts a run of Chinese, Japanese or Korean: foreign names in katakana, and denseSigns.
func (t *tally) dense(s string) {
	kana := 0
	for _, c := range s {
		if unicode.Is(unicode.Katakana, c) {
			kana++
		}
	}
	if kana >= 2 {
		t.names++
	}
	for _, sign := range denseSigns() {
		if strings.Contains(s, sign) {
			t.cues += 0.5
		}
	}
}

func isDense(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	})
}
