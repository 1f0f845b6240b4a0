package recall

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/times"
)

// corpus is a directory with its texts, day by day.
type corpus struct {
	dir   store.Directory
	texts []string
	a     *Analyzer
}

// newCorpus makes messages of days of texts. A text that starts with > is the assistant's.
func newCorpus(t testing.TB, days ...[]string) *corpus {
	c := &corpus{a: newAnalyzer(t)}
	c.dir.Channels = []string{"telegram"}
	for d, texts := range days {
		c.dir.Segments = append(c.dir.Segments, store.DirectorySegment{ID: core.SegmentID(100 + d),
			Label: fmt.Sprintf("2026-%02d-%02d", d/28+1, d%28+1)})
		for _, text := range texts {
			e := store.DirectoryEntry{ID: core.MessageID(3 * (len(c.texts) + 1)), Segment: int32(d)}
			text, bot := strings.CutPrefix(text, ">")
			if bot {
				e.Role = 1
			}
			e.Tokens = uint16(len(strings.Fields(text)) + 1)
			c.dir.Tokens += int64(e.Tokens)
			c.dir.Messages = append(c.dir.Messages, e)
			c.texts = append(c.texts, text)
		}
	}
	return c
}

// match finds terms as a store does.
func (c *corpus) match(terms []string) map[string]store.Posting {
	out := map[string]store.Posting{}
	for i, text := range c.texts {
		counts := c.a.Index(text)
		for _, t := range terms {
			p := out[t]
			if counts[t] == 0 {
				continue
			}
			if p.Term = t; counts[t] > 1 {
				p.Often = append(p.Often, int64(c.dir.Messages[i].ID))
			}
			p.IDs = append(p.IDs, int64(c.dir.Messages[i].ID))
			out[t] = p
		}
	}
	return out
}

// rank ranks the texts for a query, best first.
func (c *corpus) rank(query string, names map[string]core.Role, set Settings) (*ranking, []string) {
	in := c.a.understand(query, names, &c.dir, saturday, nil, &set)
	r := newRanking(&set, &c.dir, &in)
	var out []string
	for _, got := range r.rank(c.match(termsIn(in.words)), 50) {
		out = append(out, c.texts[got.pos])
	}
	return r, out
}

func termsIn(words []Word) []string {
	var out []string
	for _, w := range words {
		out = append(out, w.Terms...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestRanking(t *testing.T) {
	t.Parallel()
	names := map[string]core.Role{"Ana Silva": core.RoleUser, "Ben": core.RoleAssistant}
	c := newCorpus(t,
		[]string{"we talked about boats", "the red boat is nice and it is in the harbour since last week", ">a boat"},
		[]string{"I sold my bike", ">was the bike expensive", "no", "nothing else happened here at all"},
		[]string{"a kettle", "a kettle kettle", "one more"},
		[]string{">the garden is large", "the garden is large"},
	)
	for _, k := range []struct{ query, first string }{
		{"red boat", "the red boat is nice and it is in the harbour since last week"},
		{"bike expensive", "was the bike expensive"},
		{"kettle", "a kettle kettle"},
		{"garden, what did I say", "the garden is large"},
		{"what did Ana say about the bike", "I sold my bike"},
		{"what did Silva say", "nothing"},
		{"what was there on 4 January", "the garden is large"},
	} {
		_, got := c.rank(k.query, names, Default())
		if k.first == "nothing" && len(got) == 0 {
			continue
		}
		if len(got) == 0 || got[0] != k.first {
			t.Errorf("%q: got %q, want %q first", k.query, got, k.first)
		}
	}
}

// TestRank_neighboursAndDays checks what neighbours and days contribute to a score.
func TestRank_neighboursAndDays(t *testing.T) {
	t.Parallel()
	c := newCorpus(t, []string{"zebra crossing", "x y", "x z", "far off"}, []string{"x x"})
	set := Default()
	set.Day = 0
	r, got := c.rank("zebra", nil, set)
	if want := []string{"zebra crossing", "x y", "x z"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	raw := r.parts(0).raw
	for p, want := range []float64{0, 0.5 * raw, 0.3 * raw, 0, 0} {
		if got := r.parts(int32(p)).neighbour; math.Abs(got-want) > 1e-6 {
			t.Errorf("message %d: got %v from neighbours, want %v", p, got, want)
		}
	}
	set.Day = 0.5
	r, _ = c.rank("zebra", nil, set)
	if got := r.parts(3).day; math.Abs(got-0.5*raw) > 1e-6 || r.parts(4).day != 0 {
		t.Errorf("got %v and %v from days, want %v and 0", got, r.parts(4).day, 0.5*raw)
	}
}

func TestRank_scaleIsFixed(t *testing.T) {
	t.Parallel()
	c := newCorpus(t, []string{"the plumber came over for tea",
		"another thing of ten words stands in this place here now"}, []string{"n", "m"}, []string{"plumber"})
	r, _ := c.rank("plumber tea cement", nil, Default())
	if got := r.scale(r.most); got != 0.5 {
		t.Errorf("all words once: got %v, want 0.5", got)
	}
	if got := r.at(0).lexical; got <= r.at(4).lexical || got >= 1 {
		t.Errorf("two words of three: got %v; one word: %v", got, r.at(4).lexical)
	}
}

// TestRank_asTheRecipeSays compares the ranking with a simple implementation.
func TestRank_asTheRecipeSays(t *testing.T) {
	t.Parallel()
	vocabulary := strings.Fields("boat kettle zebra garden plumber cement violin harbour the a of bicycle")
	rapid.Check(t, func(rt *rapid.T) {
		days := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 12).Draw(t, "words"), " ")
			return rapid.SampledFrom([]string{"", ">"}).Draw(t, "role") + text
		}), 1, 8), 1, 6).Draw(rt, "days")
		c := newCorpus(t, days...)
		query := strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(vocabulary[:8]), 1, 4, rapid.ID).Draw(rt, "query"),
			" ") + rapid.SampledFrom([]string{"", " on 2 January", " said the user"}).Draw(rt, "rest")
		r, _ := c.rank(query, nil, Default())
		want := c.plainly(r.in)
		for p := range c.texts {
			got := 0.0
			if slices.Contains(r.near, int32(p)) {
				got = r.at(int32(p)).score
			}
			if math.Abs(got-want[p]) > 1e-4 {
				rt.Fatalf("%q: %q scores %v, want %v", query, c.texts[p], got, want[p])
			}
		}
	})
}

// plainly computes the scores of all texts in a simple and slow way.
func (c *corpus) plainly(in *intent) []float64 {
	n, nd := float64(len(c.texts)), float64(len(c.dir.Segments))
	raw, days := make([]float64, len(c.texts)), make([]float64, len(c.dir.Segments))
	lengths := make([]float64, len(c.dir.Segments))
	for _, e := range c.dir.Messages {
		lengths[e.Segment] += float64(e.Tokens)
	}
	bm := func(tf, length, average float64) float64 { return tf * 1.6 / (tf + 0.6*(0.6+0.4*length/average)) }
	for _, w := range in.words {
		tf, inDay := make([]float64, len(c.texts)), make([]float64, len(c.dir.Segments))
		df, dd := 0.0, 0.0
		for p, text := range c.texts {
			counts := c.a.Index(text)
			for _, t := range w.Terms {
				tf[p] = max(tf[p], float64(counts[t]))
			}
			df += min(tf[p], 1)
			if s := c.dir.Messages[p].Segment; tf[p] > 0 {
				dd += 1 - min(inDay[s], 1)
				inDay[s] += tf[p]
			}
		}
		for p, e := range c.dir.Messages {
			if tf[p] > 0 {
				raw[p] += w.Weight * math.Log(1+(n-df+0.5)/(df+0.5)) * bm(tf[p], float64(e.Tokens), float64(c.dir.Tokens)/n)
			}
		}
		for s := range days {
			if inDay[s] > 0 {
				days[s] += w.Weight * math.Log(1+(nd-dd+0.5)/(dd+0.5)) * bm(inDay[s], lengths[s]+1, float64(c.dir.Tokens)/nd)
			}
		}
	}
	total := make([]float64, len(raw))
	for p := range raw {
		for d, share := range map[int]float64{-2: 0.3, -1: 0.5, 0: 1, 1: 0.5, 2: 0.3} {
			if q := p + d; q >= 0 && q < len(raw) && c.dir.Messages[q].Segment == c.dir.Messages[p].Segment {
				total[p] += share * raw[q]
			}
		}
	}
	best, bestDay := slices.Max(total), slices.Max(days)
	out := make([]float64, len(raw))
	for p, e := range c.dir.Messages {
		date := slices.ContainsFunc(in.spans, func(s times.Span) bool { return s.Has(c.dir.Segments[e.Segment].Label) })
		if total[p] == 0 && !date {
			continue
		}
		top := cmp.Or(best, 1)
		out[p] = total[p]
		if bestDay > 0 {
			out[p] += 0.5 * top * days[e.Segment] / bestDay
		}
		if date {
			out[p] += 0.5 * top
		}
		if in.speakers.roles[e.Role] {
			out[p] *= 2
		}
	}
	return out
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			dir := &store.Directory{Channels: []string{"telegram"}}
			for i := range n {
				if i%100 == 0 {
					dir.Segments = append(dir.Segments, store.DirectorySegment{ID: core.SegmentID(i + 1),
						Label: fmt.Sprintf("%04d-%02d-%02d", 1950+i/36000, i/3000%12+1, i/100%28+1)})
				}
				dir.Messages = append(dir.Messages, store.DirectoryEntry{ID: core.MessageID(2*i + 1), Segment: int32(i / 100),
					Tokens: uint16(rng.IntN(80) + 1), Role: uint8(i % 2)})
				dir.Tokens += 40
			}
			in := intent{}
			postings := map[string]store.Posting{}
			for k := range 8 {
				term := fmt.Sprint("t", k)
				in.words = append(in.words, Word{Text: term, Terms: []string{term}, Weight: 1})
				p := store.Posting{Term: term}
				for range 2500 {
					p.IDs = append(p.IDs, int64(2*rng.IntN(n)+1))
				}
				slices.Sort(p.IDs)
				p.IDs = slices.Compact(p.IDs)
				postings[term] = p
			}
			set := Default()
			b.ReportAllocs()
			for b.Loop() {
				newRanking(&set, dir, &in).rank(postings, 50)
			}
		})
	}
}

// TestRank_cutWordIsAsCommon checks that a word for which the store returned only some messages
// weighs as little as with all of them.
func TestRank_cutWordIsAsCommon(t *testing.T) {
	t.Parallel()
	r := &ranking{count: 1000}
	places := []int32{1, 2, 3}
	if got := r.documents(places, []store.Posting{{Cut: true, Docs: 700}, {Docs: 900}}); got != 700 {
		t.Errorf("got %d, want 700", got)
	}
	if got := r.documents(places, []store.Posting{{Cut: true, Docs: 5000}}); got != 1000 {
		t.Errorf("got %d, want all 1,000", got)
	}
	if got := r.documents(places, []store.Posting{{Docs: 3}}); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
