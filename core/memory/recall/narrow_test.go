package recall

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

func TestSearch_isNarrowed(t *testing.T) {
	t.Parallel()
	w := household(t)
	w.say("2026-06-05", core.RoleUser, "The boiler is mended")
	w.message(10).Channel = "signal"
	w.summarize("2026-05-08", "The boiler lost pressure.")
	w.embed()
	for name, c := range map[string]struct {
		q    search.Query
		want []string
	}{
		"all":            {search.Query{}, []string{"#4", "#5", "#10", "2026-05-08"}},
		"the person":     {search.Query{Role: core.RoleUser}, []string{"#4", "#10"}},
		"the assistant":  {search.Query{Role: core.RoleAssistant}, []string{"#5"}},
		"a channel":      {search.Query{Channel: "signal"}, []string{"#10"}},
		"no channel":     {search.Query{Channel: "matrix"}, nil},
		"messages":       {search.Query{Kind: core.DocMessage}, []string{"#4", "#5", "#10"}},
		"summaries":      {search.Query{Kind: core.DocSummary}, []string{"2026-05-08"}},
		"from":           {search.Query{From: "2026-05-09"}, []string{"#10"}},
		"through":        {search.Query{To: "2026-05-08"}, []string{"#4", "#5", "2026-05-08"}},
		"between":        {search.Query{From: "2026-05-08", Role: core.RoleUser}, []string{"#4", "#10"}},
		"between others": {search.Query{From: "2026-05-09", To: "2026-05-10"}, nil},
	} {
		c.q.Query, c.q.Matching = "boiler", true
		c.q.User, c.q.Now, c.q.Location, c.q.Names = me, saturday, time.UTC, w.names
		for _, meaning := range []bool{false, true} {
			s := w.searcher()
			if meaning {
				s.Embedders = only(embedder{means: w.means})
			}
			found, err := s.Search(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			got := " " + ids(found.Hits) + " "
			for _, id := range c.want {
				if !strings.Contains(got, " "+id+" ") {
					t.Errorf("%s: got %s, want %v", name, got, c.want)
				}
			}
			if !meaning && len(strings.Fields(got)) != len(c.want) {
				t.Errorf("%s: got %s, want no more than %v", name, got, c.want)
			}
			for _, h := range found.Hits {
				if c.q.Role != "" && h.Message.Role != c.q.Role || c.q.Kind != "" && h.Kind != c.q.Kind {
					t.Errorf("%s: got %+v", name, h)
				}
			}
		}
	}
	late := w.searchWith(search.Query{Query: "boiler", From: "2027-01-01"})
	if late.Note != "Nothing was said in these days." {
		t.Errorf("got %q", late.Note)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	for _, c := range []struct{ text, query, want string }{
		{"Our cats and the Cat of Hôtel Lyon", "cat hotel", "Our [cats] and the [Cat] of [Hôtel] Lyon"},
		{"no <b> here", "boiler", "no <b> here"},
		{"昨日東京で寿司を", "東京", "昨日[東京]で寿司を"},
		{"A (cat)? No cats!", "cat", "A ([cat])? No [cats]!"},
		{"to be", "be", "to [be]"},
		{"", "cat", ""},
		{"cat", "", "cat"},
	} {
		got, from := "", 0
		for _, m := range a.Marks(c.text, c.query) {
			got += c.text[from:m[0]] + "[" + c.text[m[0]:m[1]] + "]"
			from = m[1]
		}
		if got += c.text[from:]; got != c.want {
			t.Errorf("%q in %q: got %q", c.query, c.text, got)
		}
	}
}
