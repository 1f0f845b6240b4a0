package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/internal/fulltest"
)

// hardSet has messages with queries that should find them, in eight languages, and templates for
// other messages.
type hardSet struct {
	Says []struct {
		Day  string
		Role core.Role
		Text string
		Ask  []hardQuery
	}
	Templates map[string]map[string][]string
}

type hardQuery struct {
	Query, Kind string
	Held        bool // held out: never used for tuning
	want        core.MessageID
}

// hardMessages is the number of messages, including those made of templates.
const hardMessages = 1200

// hardWorld returns a world of the messages among plausible others, ordered by day.
func hardWorld(t testing.TB) (*world, []hardQuery) {
	var set hardSet
	if err := json.Unmarshal([]byte(read(t, "testdata/hard.json")), &set); err != nil {
		t.Fatal(err)
	}
	type line struct {
		day, text string
		role      core.Role
		ask       []hardQuery
	}
	var lines []line
	for _, s := range set.Says {
		lines = append(lines, line{s.Day, s.Text, s.Role, s.Ask})
	}
	rng := rand.New(rand.NewPCG(11, 21))
	languages := slices.Sorted(maps.Keys(set.Templates))
	first := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for len(lines) < hardMessages {
		language := languages[rng.IntN(len(languages))]
		if rng.IntN(2) == 0 {
			language = "en"
		}
		role := []core.Role{core.RoleUser, core.RoleAssistant}[rng.IntN(2)]
		lines = append(lines, line{first.AddDate(0, 0, rng.IntN(293)).Format(time.DateOnly),
			filled(rng, set.Templates[language]), role, nil})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.day, b.day) })
	w := newWorld(t, "en", "fr", "de", "es")
	var queries []hardQuery
	for _, l := range lines {
		id := w.say(l.day, l.role, l.text)
		for _, q := range l.ask {
			q.want = id
			queries = append(queries, q)
		}
	}
	return w, queries
}

func filled(rng *rand.Rand, template map[string][]string) string {
	text := template["say"][rng.IntN(len(template["say"]))]
	for _, name := range slices.Sorted(maps.Keys(template)) {
		text = strings.ReplaceAll(text, "{"+name+"}", template[name][rng.IntN(len(template[name]))])
	}
	return text
}

// TestSearch_hardQueries checks on every store that 95 of 100 queries find the intended message among the
// first five, both of those used for tuning and of those held out.
func TestSearch_hardQueries(t *testing.T) {
	t.Parallel()
	w, queries := hardWorld(t)
	if len(queries) < 120 || len(w.messages) < 800 {
		t.Fatalf("got %d queries over %d messages", len(queries), len(w.messages))
	}
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			s := w.searcher()
			if open != nil {
				s = w.into(open(t))
			}
			hard(t, s, queries)
		})
	}
}

func hard(t *testing.T, s *Searcher, queries []hardQuery) {
	hit, all := map[string]int{}, map[string]int{}
	for n, q := range queries {
		if n%fulltest.Size(3, 1) > 0 {
			continue
		}
		got, err := s.Search(context.Background(), search.Query{User: me, Query: q.Query, Limit: 5, Now: saturday})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(got.Hits, func(h search.Hit) bool { return h.Message.ID == q.want })
		for _, part := range []string{q.Kind, fmt.Sprintf("held out %v", q.Held)} {
			all[part]++
			if at >= 0 {
				hit[part]++
			}
		}
		if at < 0 && !q.Held {
			t.Logf("%s %q: #%d not in %s", q.Kind, q.Query, q.want, ids(got.Hits))
		}
	}
	for _, part := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-15s %d of %d", part, hit[part], all[part])
		if strings.HasPrefix(part, "held") && float64(hit[part]) < 0.95*float64(all[part]) {
			t.Errorf("%s: found %d of %d, want 95 of 100", part, hit[part], all[part])
		}
	}
}
