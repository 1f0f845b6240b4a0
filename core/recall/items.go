package recall

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

const itemCandidates = 1_000 // of each signal

// Items returns the scores of memory items by both signals, in no order.
// Lexical is BM25 of items as documents of one length.
func (s *Searcher) Items(ctx context.Context, user core.UserID, query string) (core.ItemSignals, error) {
	q := s.Analyzer.Query(query)
	postings, err := s.match(ctx, core.MatchQuery{User: user, Kind: core.DocItem, Limit: itemCandidates}, q.asked())
	if err != nil {
		return core.ItemSignals{}, err
	}
	signals := map[core.ItemID]*core.ItemSignal{}
	signal := func(id int64) *core.ItemSignal {
		if signals[core.ItemID(id)] == nil {
			signals[core.ItemID(id)] = &core.ItemSignal{ID: core.ItemID(id)}
		}
		return signals[core.ItemID(id)]
	}
	for id, score := range s.Settings.lexical(q.asked(), postings) {
		item := signal(id)
		item.FTS, item.Lexical = true, score
	}
	out := core.ItemSignals{Mode: modeHybrid}
	near, note := s.nearItems(ctx, user, query)
	if note != "" {
		out.Mode, out.Note = modeFTS, note
	}
	for _, n := range near {
		item := signal(n.ID)
		item.Near, item.Distance = true, n.Distance
	}
	for _, item := range signals {
		out.Signals = append(out.Signals, *item)
	}
	if err := ctx.Err(); err != nil {
		return out, fmt.Errorf("search items: %w", err)
	}
	return out, nil
}

// nearItems returns the items nearest to a query, or a note why there are none.
func (s *Searcher) nearItems(ctx context.Context, user core.UserID, query string) ([]core.Neighbour, string) {
	ctx, cancel := context.WithTimeout(ctx, s.Settings.EmbedTimeout)
	defer cancel()
	asked, note := s.embedded(ctx, user, query)
	if note != "" {
		return nil, note
	}
	return s.neighbours(ctx, user, asked, core.VectorItem, itemCandidates)
}

// lexical returns the BM25 of documents of one length, by their ids.
func (s *Settings) lexical(words []Word, postings map[string]core.Posting) map[int64]float64 {
	scores := map[int64]float64{}
	for _, w := range words {
		often := documents(w, postings)
		weight := w.Weight * idf(max(leastDocuments, len(often)), len(often))
		for id, tf := range often {
			scores[id] += weight * s.frequency(float64(tf), 1, 1)
		}
	}
	return scores
}

// documents returns how often documents hold a word, by their ids: 1, or 2 for more.
func documents(w Word, postings map[string]core.Posting) map[int64]int {
	often := map[int64]int{}
	for _, t := range w.Terms {
		for _, id := range postings[t].IDs {
			often[id] = max(often[id], 1)
		}
		for _, id := range postings[t].Often {
			often[id] = 2
		}
	}
	return often
}
