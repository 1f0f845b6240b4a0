package compress

import (
	"strconv"
	"strings"
	"sync"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

var (
	conjunctions   = text.OneOf("long", "conjunction")
	foreignWords   = text.OneOf("long", "foreign")
	isCondition    = text.OneOf("long", "condition")
	isDate         = text.OneOf("long", "date")
	isFunctionWord = text.OneOf("long", "function")
	isNumberWord   = text.OneOf("long", "number")
	isOpener       = text.OneOf("long", "opener")
	isUnit         = text.OneOf("long", "unit")
	negations      = text.OneOf("long", "negation")
	denseSigns     = text.Phrases("long", "sign")
)

// longestCue is the most words of a phrase in words.cues of the catalogues.
const longestCue = 4

// everywhere is the weight of phrases such as thanks, which are a whole sentence or its beginning.
const everywhere = -1.0

// cue is the weight of a phrase in a sentence of either role.
type cue struct{ user, assistant float64 }

var cues = sync.OnceValue(func() map[string]cue {
	out := map[string]cue{}
	for _, lists := range i18n.Read[map[string][]string]("words.cues") {
		for whose, lines := range *lists {
			for _, line := range lines {
				number, phrases, _ := strings.Cut(line, ": ")
				weight, _ := strconv.ParseFloat(number, 64) // always a number
				for phrase := range strings.SplitSeq(phrases, " | ") {
					c := out[phrase]
					if whose != "assistant" {
						c.user = stronger(c.user, weight)
					}
					if whose != "user" {
						c.assistant = stronger(c.assistant, weight)
					}
					out[phrase] = c
				}
			}
		}
	}
	return out
})

func stronger(a, b float64) float64 {
	if max(a, -a) > max(b, -b) {
		return a
	}
	return b
}

// phrases adds the weights of the phrases in the sentence, within bounds. Of phrases that overlap the longest counts.
func (t *tally) phrases() {
	known := cues()
	joined, at := join(t.words)
	for i := 0; i < len(t.words); {
		n, c := longest(known, joined, at, i)
		weight := c.user
		if t.assistant {
			weight = c.assistant
		}
		switch {
		case n == 1 && t.isDate(i):
		case weight > 0:
			t.cues += weight
		case weight == everywhere && (i > 1 || len(t.words) > 5):
			t.filler -= weight / 3 // yes, thanks and such mean little within a sentence
		default:
			t.filler -= weight
		}
		i += max(n, 1)
	}
	t.cues = min(t.cues, 3)
	t.filler = min(t.filler, 2.5)
}

// conclusion is the weight of cues that alone make a fact of an assistant's sentence.
const conclusion = 1.0

// join returns the words in lower case with a space after each, and their offsets.
func join(words []word) (string, []int) {
	var b strings.Builder
	at := make([]int, 0, len(words)+1)
	for i := range words {
		at = append(at, b.Len())
		b.WriteString(words[i].lower)
		b.WriteByte(' ')
	}
	return b.String(), append(at, b.Len())
}

// longest returns the longest known phrase at word i, and its number of words.
func longest(known map[string]cue, joined string, at []int, i int) (int, cue) {
	elided := at[i+1] - at[i] - len(text.Unelided(joined[at[i]:at[i+1]]))
	for n := min(longestCue, len(at)-1-i); n > 0; n-- {
		if c, ok := known[joined[at[i]:at[i+n]-1]]; ok {
			return n, c
		}
		if c, ok := known[joined[at[i]+elided:at[i+n]-1]]; ok && elided > 0 {
			return n, c
		}
	}
	return 0, cue{}
}
