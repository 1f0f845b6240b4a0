package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// household returns a world with several days.
func household(t testing.TB) *world {
	w := newWorld(t)
	w.names = map[string]core.Role{"Ana": core.RoleUser}
	w.say("2026-03-02", core.RoleUser, "We adopted a grey cat from the shelter, she is called Miso")
	w.say("2026-03-02", core.RoleAssistant, "Congratulations! How old is she?")
	w.say("2026-03-02", core.RoleUser, "Two years")
	w.say("2026-05-08", core.RoleUser, "The boiler shows ERR-42 again")
	w.say("2026-05-08", core.RoleAssistant, "ERR-42 means low pressure. Top the boiler up to 1.5 bar.")
	w.say("2026-06-03", core.RoleUser, "J'ai réservé l'hôtel à Lyon pour le mariage")
	w.say("2026-06-03", core.RoleAssistant, "Très bien, bon voyage !")
	w.say("2026-11-20", core.RoleUser, "昨日東京で美味しい寿司を食べました")
	w.say("2026-11-20", core.RoleUser, "my car broke down on the motorway 🚗")
	w.sayAs(9, "2026-03-02", core.RoleUser, "my cat is a secret of another person")
	return w
}

func TestSearch_finds(t *testing.T) {
	t.Parallel()
	w := household(t)
	for _, c := range []struct{ query, first string }{
		{"cats", "#1"},
		{"Where did we adopt the cat?", "#1"},
		{"err-42", "#4"},
		{"boiler pressure", "#5"},
		{"reservation hotel lyon", "#6"},
		{"hôtel", "#6"},
		{"寿司", "#8"},
		{"東", "#8"},
		{"🚗", "#9"},
		{"what did I say about the boiler", "#4"},
		{"what did you say about the boiler", "#5"},
		{"what did Ana say about the boiler", "#4"},
		{"what did we do on 8 May", "#5"},
		{"yesterday's motorway", "#9"},
		{`"a" AND (boiler* NEAR`, "#4"},
		{"'; DROP TABLE messages; -- cat", "#1"},
	} {
		got := w.search(c.query)
		if first, _, _ := strings.Cut(ids(got.Hits), " "); first != c.first {
			t.Errorf("%q: got %s, want %s first", c.query, ids(got.Hits), c.first)
		}
		for _, h := range got.Hits {
			if h.Message.User != me || h.Score <= 0 || h.Score >= 1 {
				t.Errorf("%q: got %+v", c.query, h)
			}
		}
	}
}

func TestSearch_saysWhyThereIsNothing(t *testing.T) {
	t.Parallel()
	w := household(t)
	for _, c := range []struct {
		q    search.Query
		note string
	}{
		{search.Query{Query: ""}, "The query has no words to search for."},
		{search.Query{Query: " \t?!"}, "The query has no words to search for."},
		{search.Query{Query: "xylophone"}, "Nothing matched. Searched by words only: no embeddings are configured."},
		{search.Query{Query: "z"}, "Nothing matched. Searched by words only: no embeddings are configured."},
		{search.Query{Query: "🦄"}, "Nothing matched. Searched by words only: no embeddings are configured."},
		{search.Query{Query: "cat", Day: "2020-02-02"}, "Nothing was said on 2020-02-02."},
		{search.Query{Query: "cat", Recency: 0, Day: "2026-05-08"},
			"Nothing matched. Searched by words only: no embeddings are configured."},
		{search.Query{Query: "shelter", MinScore: 0.99},
			"Everything was below min_score 0.99; the best had 0.58. Searched by words only: no embeddings are configured."},
	} {
		got := w.searchWith(c.q)
		if len(got.Hits) > 0 || got.Note != c.note || got.Mode != modeFTS {
			t.Errorf("%+v: got %s, %s, %q, want %q", c.q, ids(got.Hits), got.Mode, got.Note, c.note)
		}
	}
	if got := w.search("to be or not to be"); !strings.HasPrefix(got.Note, "The query has only very common words.") ||
		len(got.Hits) == 0 {
		t.Errorf("stop words: got %s, %q", ids(got.Hits), got.Note)
	}
	if got := newWorld(t).search("cat"); got.Note != "Nothing was said yet." {
		t.Errorf("nothing said: got %q", got.Note)
	}
}

func TestSearch_refusesNonsense(t *testing.T) {
	t.Parallel()
	s := household(t).searcher()
	for _, c := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{Query: "cat", Limit: -1}, "limit must be from 1 to 20"},
		{search.Query{Query: "cat", Recency: -5}, "recency_days must be 1 or more"},
		{search.Query{Query: "cat", MinScore: 1.5}, "min_score must be from 0 to 1"},
		{search.Query{Query: "cat", Day: "2026-02-30"}, "day must be a date such as 2026-11-19 (YYYY-MM-DD)"},
		{search.Query{Query: "cat", Day: "yesterday"}, "day must be a date such as 2026-11-19 (YYYY-MM-DD)"},
	} {
		c.q.User = me
		if _, err := s.Search(context.Background(), c.q); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %q", c.q, err, c.want)
		}
	}
}

func TestSearch_limits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		w.say(fmt.Sprintf("2026-01-%02d", i%28+1), core.RoleUser, fmt.Sprintf("zebra number %d", i))
	}
	for limit, want := range map[int]int{0: 6, 3: 3, 20: 20, 21: 20, 1_000_000_000: 20} {
		if got := len(w.searchWith(search.Query{Query: "zebra", Limit: limit}).Hits); got != want {
			t.Errorf("limit %d: got %d, want %d", limit, got, want)
		}
	}
}

func TestSearch_filters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("2026-01-01", core.RoleUser, "the zebra of January")
	w.say("2026-11-01", core.RoleUser, "the zebra of November")
	w.say("2026-11-20", core.RoleUser, "the zebra of yesterday")
	w.say("2026-11-01", core.RoleUser, "another zebra of November that came late")
	for _, c := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{Query: "zebra", Day: "2026-01-01"}, "#1"},
		{search.Query{Query: "zebra", Day: "2026-11-01"}, "#2 #4"},
		{search.Query{Query: "zebra", Recency: 1}, "#3"},
		{search.Query{Query: "zebra", Recency: 1 << 40}, "#2 #4 #3 #1"},
	} {
		if got := ids(w.searchWith(c.q).Hits); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.q, got, c.want)
		}
	}
	w.asked = nil
	w.searchWith(search.Query{Query: "zebra", Day: "2026-11-01"})
	if q := w.asked[0]; q.From != 2 || q.To != 4 {
		t.Errorf("the store was asked for #%d to #%d, want #2 to #4", q.From, q.To)
	}
}

// TestSearch_oldAsWellAsNew checks that a score does not depend on the age of a message.
func TestSearch_oldAsWellAsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("2019-01-01", core.RoleUser, "the violin is in the attic")
	w.say("2026-11-20", core.RoleUser, "the kettle is in the attic")
	old, recent := w.search("violin").Hits[0].Score, w.search("kettle").Hits[0].Score
	if old != recent {
		t.Errorf("old message: score %v, new message: %v", old, recent)
	}
}

func TestSearch_summaryFirstInItsDay(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.summarize("2026-05-08", "## Summary\nThe boiler showed an error and was topped up.")
	w.summarize("2026-03-02", "## Summary\nA cat was adopted.")
	got := w.search("ERR-42 boiler low pressure")
	if !strings.HasPrefix(ids(got.Hits), "2026-05-08 #5") {
		t.Errorf("got %s, want the summary right before the messages of its day", ids(got.Hits))
	}
	if h := got.Hits[0]; h.Snippet == "" || h.Score >= got.Hits[1].Score || h.Summary.Markdown == "" {
		t.Errorf("got %+v", h)
	}
	if got := ids(w.searchWith(search.Query{Query: "boiler", Day: "2026-03-02"}).Hits); got != "" {
		t.Errorf("a day without the word: got %s", got)
	}
}

// TestSearch_peopleFindWhatMatches checks that people do not get neighbours of a match or other messages
// of a named day, unless the query is only a day.
func TestSearch_peopleFindWhatMatches(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.say("2026-05-08", core.RoleUser, "and tea for lunch")
	w.summarize("2026-05-08", "## Summary\nTea was had for lunch.")
	got := w.searchWith(search.Query{Query: "pressure on 8 May", Matching: true, Limit: 20})
	if ids(got.Hits) != "#5" {
		t.Errorf("got %s", ids(got.Hits))
	}
	if h := got.Hits[0]; h.Before.Message != 4 || h.After.Message != 0 || h.Neighbour {
		t.Errorf("neighbours %+v, %+v", h.Before, h.After)
	}
	if got := w.searchWith(search.Query{Query: "on 8 May", Matching: true, Limit: 20}); len(got.Hits) != 4 {
		t.Errorf("a day: got %s", ids(got.Hits))
	}
	if got := w.searchWith(search.Query{Query: "what did Ana say on 8 May", Matching: true,
		Limit: 20}); len(got.Hits) != 4 {
		t.Errorf("a user's messages of a day: got %s", ids(got.Hits))
	}
	if got := w.searchWith(search.Query{Query: "xylophone", Matching: true}); len(got.Hits) != 0 || got.Note == "" {
		t.Errorf("nothing: got %s, %q", ids(got.Hits), got.Note)
	}
}

func TestSearch_coveredScoresLess(t *testing.T) {
	t.Parallel()
	w := household(t)
	before := w.search("cat").Hits[0]
	w.message(1).Covered = true
	after := w.search("cat").Hits[0]
	if after.Message.ID != before.Message.ID || !after.Explain.Covered || after.Score != before.Score*0.85 {
		t.Errorf("got %v, want 0.85 of %v", after.Score, before.Score)
	}
}

func TestSearch_redactedNeverShows(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.embed()
	w.message(1).Redacted = true
	s := w.searcher()
	s.Embedders = only(embedder{})
	got, err := s.Search(context.Background(), search.Query{User: me, Query: "cat shelter Miso", Now: saturday})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range got.Hits {
		if h.Message.ID == 1 {
			t.Errorf("got %+v", h)
		}
	}
}

// redacting is a world in which message 1 is redacted during the search.
type redacting struct{ *world }

func (r redacting) Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error) {
	got, err := r.world.Messages(ctx, user, ids)
	for i := range got {
		got[i].Redacted = got[i].ID == 1
	}
	return got, err
}

func TestSearch_redactedMeanwhile(t *testing.T) {
	t.Parallel()
	w := household(t)
	s := w.searcher()
	s.Store = redacting{w}
	got, err := s.Search(context.Background(), search.Query{User: me, Query: "cat", Now: saturday})
	if err != nil || strings.Contains(ids(got.Hits)+" ", "#1 ") || len(got.Hits) == 0 {
		t.Errorf("got %s, %v", ids(got.Hits), err)
	}
}

// TestSearch_windowStandsForItsBestMessage checks that a window without passages and without a word of
// the query is represented by the user's longest message.
func TestSearch_windowStandsForItsBestMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("2026-01-01", core.RoleUser, "my car")
	w.say("2026-01-01", core.RoleUser, "my car is parked in front of the house")
	w.say("2026-01-01", core.RoleAssistant,
		"I see, so it is parked there, which is very good news for everybody who is around")
	w.say("2026-01-02", core.RoleUser, "nothing about that, but the violin")
	w.say("2026-01-02", core.RoleUser, "nothing at all, although it is a rather long message")
	w.embed()
	for i := range w.windows {
		w.windows[i].Passages = nil
	}
	s := w.searcher()
	s.Embedders = only(embedder{})
	got, err := s.Search(context.Background(), search.Query{User: me, Query: "vehicle violin", Now: saturday})
	if err != nil {
		t.Fatal(err)
	}
	if all := ids(got.Hits) + " "; !strings.Contains(all, "#2 ") || strings.Contains(all, "#1 ") ||
		strings.Contains(all, "#3 ") || !strings.Contains(all, "#4 ") {
		t.Errorf("got %s", all)
	}
}

func TestSearch_phrasesRaiseButFilterNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say("2026-01-01", core.RoleUser, "a green tea after the party")
	w.say("2026-01-09", core.RoleUser, "the tea party was green")
	with, without := w.search(`green "tea party"`), w.search("green tea party")
	if ids(with.Hits) != "#2 #1" || with.Hits[0].Score <= without.Hits[0].Score {
		t.Errorf("got %s with %v and %v", ids(with.Hits), with.Hits[0].Score, without.Hits[0].Score)
	}
}

func TestSearch_meaning(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.embed()
	s := w.searcher()
	s.Embedders = only(embedder{})
	got, err := s.Search(context.Background(), search.Query{User: me, Query: "automobile", Now: saturday})
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode != modeHybrid || got.Note != "" || len(got.Hits) == 0 {
		t.Fatalf("got %+v", got)
	}
	h := got.Hits[0]
	if h.Label != "2026-11-20" || !h.Near || h.FTS || h.Explain.Semantic <= 0 {
		t.Errorf("got %+v, want the broken car", h)
	}
	both, err := s.Search(context.Background(), search.Query{User: me, Query: "car on the motorway", Now: saturday})
	if err != nil || len(both.Hits) == 0 {
		t.Fatal(both, err)
	}
	if h := both.Hits[0]; h.Message.ID != 9 || !h.Near || !h.FTS || h.Score < 0.3*h.Explain.Lexical+
		0.7*h.Explain.Semantic-1e-9 {
		t.Errorf("got %+v, want both signals", h)
	}
}

// TestSearch_withoutVectors checks that searching by words works if embedding does not.
func TestSearch_withoutVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		embedder core.Embedder
		ready    bool
		note     string
	}{
		{"none", nil, true, "no embeddings are configured."},
		{"fails", embedder{err: errors.New("down")}, true, "the embedding service failed."},
		{"slow", embedder{slow: true}, true, "the embedding service took too long."},
		{"nothing ready", embedder{}, false, "no embeddings are ready yet."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := household(t)
				if c.ready {
					w.embed()
				}
				s := w.searcher()
				s.Embedders = only(c.embedder)
				begin := time.Now()
				got, err := s.Search(t.Context(), search.Query{User: me, Query: "boiler", Now: saturday})
				if err != nil {
					t.Fatal(err)
				}
				if got.Mode != modeFTS || got.Note != wordsOnly+c.note || !strings.HasPrefix(ids(got.Hits), "#4") &&
					!strings.HasPrefix(ids(got.Hits), "#5") {
					t.Errorf("got %+v", got)
				}
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestSearch_storeFails(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.failing = errors.New("disk on fire")
	if _, err := w.searcher().Search(context.Background(), search.Query{User: me, Query: "cat"}); !errors.Is(err,
		w.failing) {
		t.Errorf("got %v", err)
	}
}

func TestSearch_explanation(t *testing.T) {
	t.Parallel()
	w := household(t)
	h := w.search("what did I say about the boiler on 8 May").Hits[0]
	e := h.Explain
	if h.Message.ID != 4 || e.Terms["boiler"] <= 0 || e.Named != 2 || e.Date <= 0 || e.Day <= 0 || e.Neighbour <= 0 ||
		e.Lexical != h.Score {
		t.Errorf("got %+v", h)
	}
}

func TestSearch_hugeQuery(t *testing.T) {
	t.Parallel()
	w := household(t)
	query := strings.Repeat("the boiler ", 600)
	for i := range 500 {
		query += fmt.Sprintf("wörd%cx%c ", 'a'+i%26, 'a'+i/26)
	}
	if got := w.search(query[:10_000]); !strings.Contains(ids(got.Hits), "#4") {
		t.Errorf("got %s", ids(got.Hits))
	}
	for _, q := range w.asked {
		if len(q.Terms) > 100 {
			t.Errorf("asked for %d terms at once", len(q.Terms))
		}
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, s := range []string{"Drives a car to work", "Likes tea, tea and more tea", "Is vegetarian"} {
		w.items = append(w.items, core.Item{User: me, ID: core.ItemID(i + 1), Content: s})
	}
	w.items = append(w.items, core.Item{User: 9, ID: 4, Content: "tea"})
	s := w.searcher()
	got, err := s.Items(context.Background(), me, "teas")
	if err != nil || len(got.Signals) != 1 || got.Mode != modeFTS || got.Note == "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if i := got.Signals[0]; i.ID != 2 || !i.FTS || i.Near || i.Lexical <= 0 {
		t.Errorf("got %+v", i)
	}
	s.Embedders = only(embedder{})
	got, err = s.Items(context.Background(), me, "automobile")
	if err != nil || len(got.Signals) != 3 || got.Mode != modeHybrid || got.Note != "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, i := range got.Signals {
		if i.FTS || !i.Near || (i.ID == 1) != (i.Distance < 0.9) {
			t.Errorf("got %+v", i)
		}
	}
}
