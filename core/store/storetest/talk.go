package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// Size of the vocabulary, and the number of words that occur in every other sentence.
const (
	vocabulary = 30_000
	commonest  = 60
)

// talk makes up messages that resemble real ones: words by Zipf's law, endings that stem to the
// same word, and occasional identifiers.
type talk struct {
	r     *rand.Rand
	picks *rand.Rand // of queries, so that messages do not depend on them
	words []string
	upTo  []float64 // the cumulative share of a word and all before it
}

func newTalk(seed uint64) *talk {
	t := &talk{r: rand.New(rand.NewPCG(seed, 7)), picks: rand.New(rand.NewPCG(seed, 8))}
	total := 0.0
	for i := range vocabulary {
		t.words = append(t.words, word(i))
		total += 1 / math.Pow(float64(i)+2.7, 1.05)
		t.upTo = append(t.upTo, total)
	}
	for i := range t.upTo {
		t.upTo[i] /= total
	}
	return t
}

// word returns the i-th word of the vocabulary: the commonest are the shortest.
func word(i int) string {
	var b strings.Builder
	for {
		b.WriteByte("bdfgklmnprtvz"[i%13])
		b.WriteByte("aeiou"[i/13%5])
		if i /= 65; i == 0 {
			return b.String() + "k"
		}
	}
}

// rank draws a word.
func (t *talk) rank() int { return sort.SearchFloat64s(t.upTo[:vocabulary-1], t.r.Float64()) }

// message returns 5 to 60 words, mostly few.
func (t *talk) message() string {
	n := 5 + int(55*t.r.Float64()*t.r.Float64()*t.r.Float64())
	out := make([]string, n)
	for i := range out {
		out[i] = t.words[t.rank()] + []string{"", "", "", "", "s", "ed", "ing"}[t.r.IntN(7)]
	}
	if t.r.IntN(20) == 0 {
		out[t.r.IntN(n)] = fmt.Sprintf([]string{"ERR-%d", "get_item_%d", "v1.%d.2"}[t.r.IntN(3)], t.r.IntN(2000))
	}
	return strings.Join(out, " ") + "."
}

// queries returns n queries of 2 to 8 words from t's next messages, without the commonest words.
func (t *talk) queries(n int) []string {
	out := make([]string, n)
	for i := range out {
		var words []string
		for want := 2 + t.picks.IntN(7); len(words) < want; {
			for _, w := range strings.Fields(strings.TrimSuffix(t.message(), ".")) {
				if len(words) < want && !t.common(w) {
					words = append(words, w)
				}
			}
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

func (t *talk) common(w string) bool {
	i := slices.IndexFunc(t.words[:commonest], func(c string) bool { return strings.HasPrefix(w, c) })
	return i >= 0 && len(w)-len(t.words[i]) <= 3
}
