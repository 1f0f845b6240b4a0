package recall

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/internal/fulltest"
)

// paraphrase is a message with a question for it in other words.
type paraphrase struct {
	Lang, Day, Text, Ask string
	Role                 core.Role
	Holds                string // the part of the text that the snippet must contain
}

// paraphrases returns the messages and the synonyms of testdata/paraphrases.json.
func paraphrases(t testing.TB) (says []paraphrase, synonyms map[string][][]string) {
	var set struct {
		Synonyms map[string][][]string
		Says     []paraphrase
	}
	if err := json.Unmarshal([]byte(read(t, "testdata/paraphrases.json")), &set); err != nil {
		t.Fatal(err)
	}
	return set.Says, set.Synonyms
}

// knowing returns an embedder's function that only knows synonyms: each meaning has its own
// direction, and all other words are hashed and count a quarter.
func knowing(synonyms map[string][][]string) func(text string) []float32 {
	const size, meanings = 768, 128
	same := map[string]int{}
	n := 0
	for _, language := range slices.Sorted(maps.Keys(synonyms)) {
		for _, group := range synonyms[language] {
			for _, word := range group {
				same[word] = n % meanings
			}
			n++
		}
	}
	return func(text string) []float32 {
		v := make([]float32, size)
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) &&
				!unicode.IsDigit(r)
		}) {
			if to, ok := same[w]; ok {
				v[to]++
				continue
			}
			h := fnv.New64a()
			h.Write([]byte(w))
			v[meanings+h.Sum64()%(size-meanings)] += 0.25
		}
		norm := 0.0
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(max(norm, 1e-9)))
		}
		return v
	}
}

// paraphrased returns a world of all messages, on days with many others.
func paraphrased(t testing.TB) (*world, []paraphrase, []core.MessageID) {
	says, synonyms := paraphrases(t)
	var set hardSet
	if err := json.Unmarshal([]byte(read(t, "testdata/hard.json")), &set); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "en", "fr", "de", "es")
	w.means = knowing(synonyms)
	rng := rand.New(rand.NewPCG(5, 6))
	var wanted []core.MessageID
	for _, p := range says {
		for i := range 30 {
			w.say(p.Day, []core.Role{core.RoleUser, core.RoleAssistant}[i%2], filled(rng, set.Templates[p.Lang]))
			if i == 14 {
				wanted = append(wanted, w.say(p.Day, p.Role, p.Text))
			}
		}
	}
	w.embed()
	return w, says, wanted
}

// TestSearch_paraphrases checks that the answering message is the first hit, and
// that its snippet contains the answer.
func TestSearch_paraphrases(t *testing.T) {
	t.Parallel()
	w, says, wanted := paraphrased(t)
	if len(says) != 40 {
		t.Fatalf("got %d paraphrases, want 40", len(says))
	}
	says = says[:fulltest.Size(20, 40)]
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			s := w.searcher()
			if open != nil {
				s = w.into(open(t))
			}
			s.Embedders = only(embedder{means: w.means})
			for _, matching := range []bool{false, true} {
				for i, p := range says {
					got, err := s.Search(context.Background(), search.Query{User: me, Query: p.Ask, Now: saturday,
						Matching: matching})
					if err != nil || len(got.Hits) == 0 {
						t.Fatalf("%q: %+v, %v", p.Ask, got, err)
					}
					h := got.Hits[0]
					if h.Message.ID != wanted[i] || !strings.Contains(h.Snippet, p.Holds) || !h.Near ||
						h.From > wanted[i] || h.To < wanted[i] {
						t.Errorf("%q (matching %v): got #%d %q of %d to %d, want #%d", p.Ask, matching, h.Message.ID, h.Snippet,
							h.From, h.To, wanted[i])
					}
				}
			}
		})
	}
}
