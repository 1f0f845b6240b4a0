package recall

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// BenchmarkSearch searches 10,000 messages of one user by words, on each store.
func BenchmarkSearch(b *testing.B) { benchSearch(b, false) }

// BenchmarkMeaning searches them by words and meaning, with passages of 768 dimensions. The
// embedder takes no time.
func BenchmarkMeaning(b *testing.B) { benchSearch(b, true) }

func benchSearch(b *testing.B, meaning bool) {
	for name, open := range map[string]func(testing.TB) sqlStore{"sqlite": onSQLite, "postgres": onPostgres} {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			w := crowd(b, 10_000)
			if meaning {
				w.means = knowing(nil)
				w.embed()
			}
			s := w.into(db)
			if meaning {
				s.Embedders = only(embedder{means: w.means})
			}
			if name == "postgres" { // as its autovacuum does eventually
				if _, err := db.DB().Exec(`VACUUM ANALYZE`); err != nil {
					b.Fatal(err)
				}
			}
			queries := []string{"What did I say about the tomato soup?", "cinnamon buns at the bakery", "ERR-4711",
				"la valise à la gare", "where is the train pass that Martha found in the garage on Monday"}
			took := make([]time.Duration, 0, 10_000)
			i := 0
			for b.Loop() {
				begin := time.Now()
				if _, err := s.Search(b.Context(), search.Query{User: me, Query: queries[i%len(queries)],
					Now: saturday}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
		})
	}
}

// crowd returns a world of n messages, made of the templates of the hard set and of words with
// natural frequencies.
func crowd(t testing.TB, n int) *world {
	var set hardSet
	if err := json.Unmarshal([]byte(read(t, "testdata/hard.json")), &set); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	rare := rand.NewZipf(rng, 1.2, 3, 20_000)
	w := newWorld(t)
	w.messages = make([]core.Message, 0, n)
	day := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		var text strings.Builder
		text.WriteString(filled(rng, set.Templates[[]string{"en", "en", "fr"}[rng.IntN(3)]]))
		for range rng.IntN(30) {
			fmt.Fprintf(&text, " word%d", rare.Uint64())
		}
		at := day.AddDate(0, 0, i/40).Add(time.Duration(i) * time.Millisecond)
		if i%40 == 0 {
			w.day(me, at.Format(time.DateOnly))
		}
		w.messages = append(w.messages, core.Message{User: me, ID: core.MessageID(i + 1), Thread: 1,
			Segment: w.segments[i/40].ID, Channel: "telegram", Role: []core.Role{core.RoleUser, core.RoleAssistant}[i%2],
			Kind: core.KindChat, Text: text.String(), Tokens: text.Len()/4 + 1, SentAt: at, Position: at.UnixMicro()})
	}
	return w
}
