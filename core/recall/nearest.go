package recall

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// nearness is what the vectors say of a query. The scale of similarity is fixed:
// the cosine, 1 for the same meaning, and 0 for none or the opposite.
//
// What no returned window holds is at most as near as the farthest of them, or
// has no vector yet: it counts as that near, and its words decide.
type nearness struct {
	ok      bool
	note    string // why not ok
	windows []near // nearest first
	least   float64
}

// near is a window and its similarity, 0 to 1.
type near struct {
	core.TextWindow
	similarity float64
}

// similarity of a cosine distance (0 to 2).
func similarity(distance float64) float64 { return min(1, max(0, 1-distance)) }

// nearest asks for the windows nearest to the query. Whatever goes wrong is a
// note: full text still answers.
func (s *search) nearest(ctx context.Context) nearness {
	neighbours, note := s.neighbours(ctx, s.q.User, s.q.Query, core.VectorWindow, s.Settings.Candidates)
	if note != "" {
		return nearness{note: note}
	}
	ids := make([]core.WindowID, len(neighbours))
	distance := make(map[core.WindowID]float64, len(neighbours))
	for i, n := range neighbours {
		ids[i] = core.WindowID(n.ID)
		distance[ids[i]] = n.Distance
	}
	windows, err := s.Store.Windows(ctx, s.q.User, ids)
	if err != nil {
		s.Log.Warn("windows were not read", zap.Int64("user", int64(s.q.User)), zap.Error(err))
		return nearness{note: wordsOnly + "the vectors could not be read."}
	}
	out := nearness{ok: len(windows) > 0, least: 1}
	for _, w := range windows {
		n := near{w, similarity(distance[w.ID])}
		out.windows = append(out.windows, n)
		out.least = min(out.least, n.similarity)
	}
	slices.SortStableFunc(out.windows, func(a, b near) int { return cmp.Compare(b.similarity, a.similarity) })
	if !out.ok {
		out.note = wordsOnly + "no embeddings are ready yet."
	}
	return out
}

const wordsOnly = "Searched by words only: "

// neighbours returns the k nearest vectors of a kind, or why there are none.
func (s *Searcher) neighbours(ctx context.Context, user core.UserID, text string, kind core.VectorKind, k int) ([]core.Neighbour, string) {
	embedder, config, err := s.embedder(ctx, user)
	if err != nil {
		s.Log.Warn("the embedder was not found", zap.Int64("user", int64(user)), zap.Error(err))
		return nil, wordsOnly + "the embedding settings could not be read."
	}
	if embedder == nil {
		return nil, wordsOnly + "no embeddings are configured."
	}
	ctx, cancel := context.WithTimeout(ctx, s.Settings.EmbedTimeout)
	defer cancel()
	vectors, err := embedder.Embed(ctx, []string{cutTo(text, maxEmbed)})
	if err == nil && (len(vectors) != 1 || len(vectors[0]) == 0 || len(vectors[0]) > core.VectorSize) {
		err = errors.New("no vector of a length that is stored")
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.Log.Warn("query was not embedded in time", zap.Int64("user", int64(user)), zap.Error(err))
		return nil, wordsOnly + "the embedding service took too long."
	case err != nil:
		s.Log.Warn("query was not embedded", zap.Int64("user", int64(user)), zap.Error(err))
		return nil, wordsOnly + "the embedding service failed."
	}
	found, err := s.Store.Nearest(ctx, core.NearestQuery{User: user, Kind: kind, Config: config, Vector: padded(vectors[0]), K: k})
	if err != nil {
		s.Log.Warn("nearest vectors were not read", zap.Int64("user", int64(user)), zap.Error(err))
		return nil, wordsOnly + "the vectors could not be read."
	}
	if len(found) == 0 {
		return nil, wordsOnly + "no embeddings are ready yet."
	}
	return found, ""
}

func (s *Searcher) embedder(ctx context.Context, user core.UserID) (core.Embedder, string, error) {
	if s.Embedders == nil {
		return nil, "", nil
	}
	return s.Embedders(ctx, user)
}

// maxEmbed is how much of a query is embedded, in bytes.
const maxEmbed = 4 << 10

// padded fills a vector with zeros, which changes no distance.
func padded(v []float32) []float32 {
	return append(slices.Clone(v), make([]float32, core.VectorSize-len(v))...)
}

// of returns the similarity of a message, and whether a returned window holds it.
func (n *nearness) of(id core.MessageID, segment core.SegmentID) (float64, bool) {
	if !n.ok {
		return 0, false
	}
	for _, w := range n.windows {
		if w.Segment == segment && w.First <= id && id <= w.Last {
			return w.similarity, true
		}
	}
	return n.least, false
}

// day returns the similarity of the nearest window of a day.
func (n *nearness) day(segment core.SegmentID) (float64, bool) {
	for _, w := range n.windows {
		if w.Segment == segment {
			return w.similarity, true
		}
	}
	return n.least, false
}

// add adds to the candidates what stands for each window: the message that is
// best by its words, or else the longest of the person's.
func (n *nearness) add(r *ranking, found []candidate) []candidate {
	known := make(map[int32]bool, len(found))
	for _, c := range found {
		known[c.pos] = true
	}
	for _, w := range n.windows {
		p, ok := stands(r, w.TextWindow)
		if ok && !known[p] {
			known[p] = true
			found = append(found, r.at(p))
		}
	}
	return found
}

// stands returns the message that stands for a window, if it is searched.
func stands(r *ranking, w core.TextWindow) (int32, bool) {
	best, found := int32(0), false
	p, _ := r.seek(0, w.First)
	for ; p < len(r.dir.Messages) && r.dir.Messages[p].ID <= w.Last; p++ {
		e := r.dir.Messages[p]
		if r.dir.Segments[e.Segment].ID != w.Segment || r.allowed != nil && !r.allowed[e.Segment] {
			continue
		}
		if !found || r.stronger(int32(p), best) {
			best, found = int32(p), true
		}
	}
	return best, found
}

// stronger tells whether a message stands for a window rather than another one.
func (r *ranking) stronger(p, than int32) bool {
	a, b := r.dir.Messages[p], r.dir.Messages[than]
	switch {
	case r.raw[p] != r.raw[than]:
		return r.raw[p] > r.raw[than]
	case (a.Role == 0) != (b.Role == 0):
		return a.Role == 0
	}
	return a.Tokens > b.Tokens
}
