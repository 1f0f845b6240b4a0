package compress

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

var (
	isDate         = text.OneOf("long", "date")
	isFunctionWord = text.OneOf("long", "function")
	isOpener       = text.OneOf("long", "opener")
	signs          = text.Phrases("long", "sign")
)

// value sets the facts and the worth of a message's units. Code, quotes and references have none.
func value(units []unit, role core.Role) {
	sentences := make([][]word, len(units))
	count := map[string]int{}
	for i := range units {
		if u := &units[i]; !u.kind.isCode() && u.kind != quote && !u.reference {
			sentences[i] = wordsOf(u.text)
			for _, w := range sentences[i] {
				count[text.Stem(w.lower)]++
			}
		}
	}
	for i, words := range sentences {
		if len(words) > 0 {
			units[i].weigh(words, count, cues()[role])
		}
	}
}

// word is one word of a sentence without the punctuation around it.
type word struct {
	text  string
	lower string // with straight apostrophes
	first bool   // of its sentence, or after a colon or an opening quote
}

// wordsOf returns the words of a sentence. A run of a script without gaps is one.
func wordsOf(s string) []word {
	var out []word
	first := true
	for field := range strings.FieldsSeq(unmarked(s)) {
		bare := strings.TrimFunc(field, func(r rune) bool {
			return !text.IsWord(r) && !unicode.In(r, unicode.Sc) && !strings.ContainsRune("%@/", r)
		})
		if bare == "" {
			first = first || strings.ContainsAny(field, ":-–—|")
			continue
		}
		out = append(out, word{text: bare, lower: strings.ReplaceAll(strings.ToLower(bare), "’", "'"),
			first: first || strings.IndexAny(field, "*_\"“«") == 0})
		first = strings.HasSuffix(strings.TrimRight(field, "*"), ":")
	}
	return out
}

// fact returns the worth of a word by its form: of numbers, names, dates and addresses.
func (w word) fact() float64 {
	digits, capitals := 0, 0
	for _, c := range w.text {
		if unicode.IsDigit(c) {
			digits++
		} else if unicode.IsUpper(c) {
			capitals++
		}
	}
	switch {
	case strings.Contains(w.text, "://"), strings.Contains(w.text, "@") && strings.Contains(w.text, "."):
		return 1
	case digits > 0:
		return number(w.text, digits, capitals)
	case isDate(text.Unelided(w.lower)):
		return 0.6
	case capitals == 0 || w.lower == "i" || strings.HasPrefix(w.lower, "i'"):
		return 0
	case !w.first && len(w.text) > 1:
		return 0.6 // a name
	case !isFunctionWord(w.lower) && !isOpener(w.lower):
		return 0.25
	}
	return 0
}

// number returns the worth of a word with digits: the more exact, the more.
func number(s string, digits, capitals int) float64 {
	round := strings.HasSuffix(s, "0")
	switch {
	case digits >= 5, capitals > 0, digits >= 3 && strings.ContainsAny(s, ":/-h"):
		return 1.1
	case strings.ContainsAny(s, "€$£¥:"), digits >= 3 && (!round || strings.ContainsAny(s, ",.")):
		return 0.8
	case digits >= 2 && !round:
		return 0.6
	}
	return 0.35
}

// weigh sets the facts and the worth of a sentence. count has the stems of the whole message, known the phrases of its role.
func (u *unit) weigh(words []word, count map[string]int, known map[string]float64) {
	common, rare := 0, 0
	for _, w := range words {
		u.facts += w.fact()
		if isFunctionWord(w.lower) {
			common++
		} else if utf8.RuneCountInString(w.lower) > 3 && count[text.Stem(w.lower)] == 1 {
			rare++
		}
	}
	u.facts = min(u.facts, 4)
	u.worth = u.facts + said(words, known) + min(0.4, 0.06*float64(rare))
	if common*8 < len(words) { // in another language: the longer, the more
		u.worth += min(1.2, float64(u.tokens)/16)
	}
	for _, sign := range signs() {
		if strings.Contains(u.text, sign) {
			u.worth += 0.5
		}
	}
	if bare := strings.TrimRight(u.text, " \"”»)*_"); strings.HasSuffix(bare, "?") || strings.HasSuffix(bare, "？") {
		u.worth /= 2
	}
}

// longestCue is the most words of a phrase in words.cues of the catalogues.
const longestCue = 4

// everywhere is the weight of phrases such as thanks, which are a whole sentence or its beginning.
const everywhere = -1.0

// cues are the weights of phrases, by who says them.
var cues = sync.OnceValue(func() map[core.Role]map[string]float64 {
	user, assistant := map[string]float64{}, map[string]float64{}
	for _, lists := range i18n.Read[map[string][]string]("words.cues") {
		learn(user, slices.Concat((*lists)["user"], (*lists)["any"]))
		learn(assistant, slices.Concat((*lists)["assistant"], (*lists)["any"]))
	}
	return map[core.Role]map[string]float64{core.RoleUser: user, core.RoleAssistant: assistant}
})

// learn adds lines of phrases with their weight. Of two weights of a phrase the stronger counts.
func learn(known map[string]float64, lines []string) {
	for _, line := range lines {
		number, phrases, _ := strings.Cut(line, ": ")
		weight, _ := strconv.ParseFloat(number, 64) // always a number
		for phrase := range strings.SplitSeq(phrases, " | ") {
			if a, b := math.Abs(weight), math.Abs(known[phrase]); a > b || a == b && weight > 0 {
				known[phrase] = weight
			}
		}
	}
}

// said returns the weights of the phrases in a sentence, within bounds. Of phrases that overlap the longest counts.
func said(words []word, known map[string]float64) float64 {
	gain, loss := 0.0, 0.0
	for i := 0; i < len(words); {
		n, weight := longest(words[i:], known)
		switch {
		case weight > 0:
			gain += weight
		case weight == everywhere && (i > 1 || len(words) > 5):
			loss -= weight / 3 // yes, thanks and such mean little within a sentence
		default:
			loss -= weight
		}
		i += n
	}
	return min(gain, 3) - min(loss, 2.5)
}

// longest returns the number of words and the weight of the longest known phrase that they begin with, or of one word.
func longest(words []word, known map[string]float64) (int, float64) {
	first := words[0].lower
	for n := min(longestCue, len(words)); n > 0; n-- {
		rest := ""
		for _, w := range words[1:n] {
			rest += " " + w.lower
		}
		for _, phrase := range []string{first + rest, text.Unelided(first) + rest} {
			if weight, ok := known[phrase]; ok {
				return n, weight
			}
		}
	}
	return 1, 0
}
