package items

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// Limits of searches.
const (
	defaultLimit = 10
	maxLimit     = 50
)

// modeRecent is the mode of a search without words: newest first.
const modeRecent = "recent"

// Query is a search of one user's memory. Empty Words or * mean all items, newest first.
type Query struct {
	User    core.UserID
	Words   string
	Theme   string   // empty: all; normalised by Slug
	Types   []string // none: all
	Status  string   // active (also if empty), archived or any
	Recency int      // only the last days, this many; 0: all
	Limit   int      // 0: 10; more than 50 is 50
	Now     time.Time
}

// Found is the result of a search, best first.
type Found struct {
	Hits []Hit
	Mode string // hybrid, fts or recent
	Note string // why Mode is fts
}

// Hit is an item with the signals that found it. Score is 0 to 1.
type Hit struct {
	core.Item
	Score    float64
	FTS      bool
	Semantic bool
}

// Search finds items. An invalid filter is refused with core.ErrRefused.
func (m *Memory) Search(ctx context.Context, q Query) (Found, error) {
	filter, err := q.filter()
	if err != nil {
		return Found{}, err
	}
	limit := cmp.Or(min(q.Limit, maxLimit), defaultLimit)
	if words := strings.TrimSpace(q.Words); words == "" || words == "*" {
		return m.newest(ctx, filter, limit)
	}
	s, err := m.Signals.Items(ctx, q.User, q.Words)
	if err != nil {
		return Found{}, err
	}
	items, err := m.candidates(ctx, filter, s.Signals)
	if err != nil {
		return Found{}, err
	}
	hits := m.Settings.orDefault().rank(s, items)
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return !h.FTS && h.Score == 0 }) // the farthest one of all
	return Found{Hits: hits[:min(limit, len(hits))], Mode: s.Mode, Note: s.Note}, nil
}

// filter returns the store's query, without words.
func (q Query) filter() (out store.ItemQuery, err error) {
	out.User = q.User
	if q.Limit < 0 {
		return out, core.Refuse("limit is from 1 to %d", maxLimit)
	}
	if q.Recency < 0 {
		return out, core.Refuse("recency_days is a number of days, 1 or more")
	}
	if q.Recency > 0 {
		out.Since = q.Now.AddDate(0, 0, -min(q.Recency, 100_000))
	}
	if strings.TrimSpace(q.Theme) != "" {
		if out.Theme, err = Slug(q.Theme); err != nil {
			return out, err
		}
	}
	for _, name := range q.Types {
		t, err := itemType(name)
		if err != nil {
			return out, err
		}
		out.Types = append(out.Types, t)
	}
	out.Status, err = itemStatus(q.Status)
	return out, err
}

// Types lists the types of items, in the order in which people are offered them.
func Types() []core.ItemType {
	return []core.ItemType{core.ItemFact, core.ItemPreference, core.ItemInstruction, core.ItemSummary, core.ItemOther}
}

func itemType(name string) (core.ItemType, error) {
	if t := core.ItemType(strings.ToLower(strings.TrimSpace(name))); slices.Contains(Types(), t) {
		return t, nil
	}
	return "", core.Refuse("type %q is not known; use preference, fact, instruction, summary or other",
		text.Shorten(name, 40))
}

// itemStatus parses the status of a search; it returns an empty one for any.
func itemStatus(name string) (core.ItemStatus, error) {
	switch s := strings.ToLower(strings.TrimSpace(name)); s {
	case "", string(core.ItemActive):
		return core.ItemActive, nil
	case string(core.ItemArchived):
		return core.ItemArchived, nil
	case "any":
		return "", nil
	}
	return "", core.Refuse("status %q is not known; use active, archived or any", text.Shorten(name, 40))
}

func (m *Memory) newest(ctx context.Context, filter store.ItemQuery, limit int) (Found, error) {
	filter.Limit = limit
	items, err := m.Store.Items(ctx, filter)
	out := Found{Mode: modeRecent}
	for _, i := range items {
		out.Hits = append(out.Hits, Hit{Item: i})
	}
	return out, err
}

// candidates returns the items of signals that pass the filter, by id.
func (m *Memory) candidates(ctx context.Context, filter store.ItemQuery,
	signals []search.ItemSignal) (map[core.ItemID]core.Item, error) {
	out := map[core.ItemID]core.Item{}
	if len(signals) == 0 {
		return out, nil
	}
	for _, s := range signals {
		filter.IDs = append(filter.IDs, s.ID)
	}
	filter.Limit = len(filter.IDs)
	items, err := m.Store.Items(ctx, filter)
	for _, i := range items {
		out[i.ID] = i
	}
	return out, err
}

// candidate is an item with its signals as similarities: higher is nearer.
type candidate struct {
	core.Item
	fts, near         bool
	lexical, semantic float64
}

// rank weighs two signals, meaning and words: it takes the best candidates of each, and normalises each signal over all
// of them. In a search by words only these count. Of equals the newer comes first, then the lower id.
func (s Settings) rank(found search.ItemSignals, items map[core.ItemID]core.Item) []Hit {
	all := s.best(found.Signals, items)
	lexical := normalise(all, func(c candidate) (float64, bool) { return c.lexical, c.fts })
	semantic := normalise(all, func(c candidate) (float64, bool) { return c.semantic, c.near })
	byWords, byMeaning := s.LexicalWeight, s.SemanticWeight
	if found.Mode != "hybrid" {
		byWords, byMeaning = 1, 0
	}
	hits := make([]Hit, len(all))
	for i, c := range all {
		hits[i] = Hit{Item: c.Item, Score: byWords*lexical[i] + byMeaning*semantic[i], FTS: c.fts, Semantic: c.near}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), newer(a.Item, b.Item)) })
	return hits
}

func newer(a, b core.Item) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// best returns the union of the best candidates of each signal.
func (s Settings) best(signals []search.ItemSignal, items map[core.ItemID]core.Item) []candidate {
	var all []candidate
	for _, x := range signals {
		if item, ok := items[x.ID]; ok && (x.FTS || x.Near) {
			c := candidate{Item: item, fts: x.FTS, near: x.Near, lexical: x.Lexical}
			if x.Near {
				c.semantic = 1 / (1 + x.Distance)
			}
			all = append(all, c)
		}
	}
	taken := map[core.ItemID]bool{}
	s.take(taken, all, func(c candidate) (float64, bool) { return c.lexical, c.fts })
	s.take(taken, all, func(c candidate) (float64, bool) { return c.semantic, c.near })
	return slices.DeleteFunc(all, func(c candidate) bool { return !taken[c.ID] })
}

// take marks the best candidates of one signal.
func (s Settings) take(taken map[core.ItemID]bool, all []candidate, signal func(candidate) (float64, bool)) {
	with := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { _, ok := signal(c); return !ok })
	slices.SortFunc(with, func(a, b candidate) int {
		x, _ := signal(a)
		y, _ := signal(b)
		return cmp.Or(cmp.Compare(y, x), newer(a.Item, b.Item))
	})
	for _, c := range with[:min(s.Candidates, len(with))] {
		taken[c.ID] = true
	}
}

// normalise maps one signal of the candidates that have it to 0 to 1, from the
// least to the most; 1 if all are equal. The others have 0.
func normalise(all []candidate, signal func(candidate) (float64, bool)) []float64 {
	out := make([]float64, len(all))
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range all {
		if v, ok := signal(c); ok {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, c := range all {
		v, ok := signal(c)
		switch {
		case ok && high > low:
			out[i] = (v - low) / (high - low)
		case ok:
			out[i] = 1
		}
	}
	return out
}
