package recall

import (
	"cmp"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Requirements for a supported claim, and bounds of the messages it is traced to.
const (
	supportShare = 0.5 // of the weight of its words, in those messages together
	supportWords = 2   // of its words, if it has as many
	supportMost  = 3   // messages
	supportLook  = 20  // best messages that are considered
)

// Support returns, for each claim about a day, the messages of the day that it can be traced to, in their order: at
// most three of the best by the ranking of a search, which together hold most of the claim's words. It is nil for a
// claim that is not supported. Support reads only said, no index.
func (s *Searcher) Support(claims []string, said []core.Message) [][]core.MessageID {
	d := s.Analyzer.daybook(said)
	out := make([][]core.MessageID, len(claims))
	for i, claim := range claims {
		out[i] = d.support(s.Analyzer.Query(claim), &s.Settings)
	}
	return out
}

// daybook holds the messages of one day in the form that ranking needs.
type daybook struct {
	dir      *store.Directory
	postings map[string]store.Posting
}

func (a *Analyzer) daybook(said []core.Message) *daybook {
	said = slices.SortedFunc(slices.Values(said), func(x, y core.Message) int { return cmp.Compare(x.ID, y.ID) })
	d := &daybook{dir: &store.Directory{Segments: make([]store.DirectorySegment, 1)}, postings: map[string]store.Posting{}}
	for i := range said {
		m := &said[i]
		d.dir.Messages = append(d.dir.Messages, store.DirectoryEntry{ID: m.ID, Tokens: uint16(min(max(m.Tokens, 1), 65_535))})
		d.dir.Tokens += int64(m.Tokens)
		for term, often := range a.Index(m.Text) {
			p := d.postings[term]
			p.IDs, p.Docs = append(p.IDs, int64(m.ID)), p.Docs+1
			if often > 1 {
				p.Often = append(p.Often, int64(m.ID))
			}
			d.postings[term] = p
		}
	}
	return d
}

// support returns the messages that a claim can be traced to.
func (d *daybook) support(claim Query, set *Settings) []core.MessageID {
	in := intent{words: claim.asked()}
	r := newRanking(set, d.dir, &in)
	best := r.rank(d.postings, supportLook)
	heard := make([]bool, len(r.words))
	var ids []core.MessageID
	for _, c := range best {
		id := d.dir.Messages[c.pos].ID
		if len(ids) < supportMost && r.adds(id, heard) {
			ids = append(ids, id)
		}
	}
	if !r.enough(heard) {
		return nil
	}
	slices.Sort(ids)
	return ids
}

// adds marks the words of a message in heard, and reports whether any of them is new.
func (r *ranking) adds(id core.MessageID, heard []bool) bool {
	added := false
	for i := range r.words {
		if heard[i] {
			continue
		}
		heard[i] = slices.ContainsFunc(r.words[i].postings, func(p store.Posting) bool {
			_, ok := slices.BinarySearch(p.IDs, int64(id))
			return ok
		})
		added = added || heard[i]
	}
	return added
}

// enough reports whether the heard words are most of the claim. A word that nobody
// said weighs as much as one that was said once.
func (r *ranking) enough(heard []bool) bool {
	all, said, n := 0.0, 0.0, 0
	for i, w := range r.words {
		weight := min(w.idf, w.Weight*idf(r.count, 1))
		all += weight
		if heard[i] {
			said += weight
			n++
		}
	}
	return n >= min(supportWords, len(r.words)) && all > 0 && said >= supportShare*all
}
