package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// Files reads the pages of documents that a user sent.
type Files interface {
	HasFilePages(ctx context.Context, user core.UserID) (bool, error)
	FilePagesOf(ctx context.Context, user core.UserID, ids []int64) ([]store.FilePage, error)
}

const (
	// leastDocuments is the assumed least number of pages, or items of memory: the store
	// does not report it, and the rarest words decide either way.
	leastDocuments = 1_000
	// pageCandidates is the number of pages to read for each candidate of a signal.
	pageCandidates = 3
	// ofFile is the share of its score that the best other page of the file adds to a
	// page: a question often names the file by words of another page.
	ofFile = 0.15
)

type filePage struct {
	store.FilePage
	message core.Message
	terms   map[string]float64
	raw     float64 // BM25
	near    float64 // similarity; 0: unknown
}

// pages returns the hits among pages of documents. A document is found as soon as it
// was read, also by the question in its own message.
func (s *scan) pages(ctx context.Context) ([]search.Hit, error) {
	postings, err := s.match(ctx, store.MatchQuery{User: s.q.User, Kind: core.DocFile, Limit: s.Settings.Matches},
		s.in.words)
	if err != nil {
		return nil, err
	}
	near := s.nearPages(ctx)
	loaded, err := s.Files.FilePagesOf(ctx, s.q.User, s.pageIDs(postings, near))
	if err != nil {
		return nil, fmt.Errorf("read pages of files: %w", err)
	}
	pages, err := s.carried(ctx, loaded)
	if err != nil {
		return nil, err
	}
	most := s.scorePages(pages, postings)
	least, bar := s.standOut(pages, near)
	var hits []search.Hit
	for _, p := range pages {
		h := search.Hit{Kind: core.DocFile, Label: s.labelOf(p.message.Segment), Segment: p.message.Segment, Message: p.message,
			Page: p.FilePage, FTS: p.raw > 0, Near: p.near > 0 && p.near >= bar}
		if !h.FTS && !h.Near {
			continue
		}
		x := (p.raw + ofFile*others(pages, p)) / max(most, 1e-9)
		if s.quotes(p.Text) {
			x *= s.Settings.Phrase
		}
		h.Explain = search.Explanation{Terms: p.terms, Named: 1, Lexical: x / (x + 1), Semantic: max(p.near, least)}
		if s.rank.dates(s.segmentAt(p.message.Segment)) {
			h.Explain.Date = s.Settings.Date
		}
		h.Score = h.Explain.Lexical
		if s.near.ok || len(near) > 0 {
			h.Score = s.Settings.Semantic*h.Explain.Semantic + s.Settings.Lexical*h.Explain.Lexical
		}
		hits = append(hits, h)
	}
	slices.SortStableFunc(hits, s.compareHits)
	return hits[:min(len(hits), s.Settings.Candidates)], nil
}

// nearPages returns the similarities of the pages nearest to the query.
func (s *scan) nearPages(ctx context.Context) map[int64]float64 {
	if s.near.asked.vector == nil {
		return nil
	}
	found, note := s.neighbours(ctx, s.q.User, s.near.asked, core.VectorFile, s.Settings.Candidates)
	if note != "" {
		return nil
	}
	out := make(map[int64]float64, len(found))
	for _, n := range found {
		out[n.ID] = similarity(n.Distance)
	}
	return out
}

// pageIDs returns the pages that may be among the best of a signal.
func (s *scan) pageIDs(postings map[string]store.Posting, near map[int64]float64) []int64 {
	scores := s.Settings.lexical(s.in.words, postings)
	ids := slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	ids = ids[:min(len(ids), pageCandidates*s.Settings.Candidates)]
	for id := range near {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// carried returns the pages whose messages are searched, with their messages.
func (s *scan) carried(ctx context.Context, loaded []store.FilePage) ([]filePage, error) {
	ids := make([]core.MessageID, 0, len(loaded))
	for _, p := range loaded {
		ids = append(ids, p.File.Message)
	}
	slices.Sort(ids)
	byID, err := s.load(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	var out []filePage
	for _, p := range loaded {
		if m, ok := byID[p.File.Message]; ok && s.within(m) {
			out = append(out, filePage{FilePage: p, message: m})
		}
	}
	return out, nil
}

// within reports whether a message passes the filters for days, role and channel.
func (s *scan) within(m core.Message) bool {
	label := s.labelOf(m.Segment)
	return label != "" && (s.q.Role == "" || m.Role == s.q.Role) && (s.q.Channel == "" || m.Channel == s.q.Channel) &&
		(s.q.Day == "" || label == s.q.Day) && (s.q.Recency == 0 || label >= s.since()) && label >= s.q.From &&
		(s.q.To == "" || label <= s.q.To)
}

// labelOf returns the label of a day, empty if there is no such day.
func (s *scan) labelOf(id core.SegmentID) string {
	if i, ok := s.place(id); ok {
		return s.dir.Segments[i].Label
	}
	return ""
}

// scorePages sets the BM25 of pages, and returns that of an average page with each word once.
func (s *scan) scorePages(pages []filePage, postings map[string]store.Posting) (most float64) {
	average := 1.0
	for _, p := range pages {
		average += float64(p.Tokens) / float64(len(pages))
	}
	for _, w := range s.in.words {
		often := documents(w, postings)
		weight := w.Weight * idf(max(leastDocuments, len(often)), len(often))
		most += weight
		for i := range pages {
			p := &pages[i]
			if tf := often[p.ID]; tf > 0 {
				part := weight * s.Settings.frequency(float64(tf), float64(p.Tokens), average)
				if p.terms == nil {
					p.terms = map[string]float64{}
				}
				p.terms[w.Text] += part
				p.raw += part
			}
		}
	}
	return most
}

// standOut sets the similarity of pages. Least is the greatest that any other page may
// have; a page matches by its meaning from bar on.
func (s *scan) standOut(pages []filePage, near map[int64]float64) (least, bar float64) {
	if len(near) == 0 {
		return s.near.least, 0
	}
	for i := range pages {
		pages[i].near = near[pages[i].ID]
	}
	all := slices.Collect(maps.Values(near))
	bar = s.Settings.bar(all)
	return all[0], bar
}

// others returns the greatest weight of words that a page lacks and another of its file has.
func others(pages []filePage, p filePage) float64 {
	best := 0.0
	for _, o := range pages {
		if o.File != p.File || o.ID == p.ID {
			continue
		}
		sum := 0.0
		for term, x := range o.terms {
			if p.terms[term] == 0 {
				sum += x
			}
		}
		best = max(best, sum)
	}
	return best
}
