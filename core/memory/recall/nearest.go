package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// nearness holds the results of a search by meaning. The scale of similarity is fixed:
// the cosine, 1 for the same meaning, and 0 for none or the opposite.
//
// A message outside the returned windows is at most as near as the farthest of them, or
// has no vector yet: it counts as that near, and its words decide.
type nearness struct {
	ok      bool
	note    string // why not ok
	asked   embedding
	windows []near // nearest first
	least   float64
	said    map[core.MessageID][]stretch // passages of the windows, by message
	bar     float64                      // the similarity from which on a passage matches
	found   map[core.MessageID]*near     // messages found by their meaning, and their windows
}

// near is a window and its similarity, 0 to 1.
type near struct {
	store.TextWindow
	similarity float64
	compared   bool // its passages are known
}

// stretch is a passage of a message and its similarity, 0 to 1.
type stretch struct {
	from, to   int // bytes
	similarity float64
}

// similarity of a cosine distance (0 to 2).
func similarity(distance float64) float64 { return min(1, max(0, 1-distance)) }

// nearest returns the windows nearest to the query. A failure is a note: full text still answers.
func (s *scan) nearest(ctx context.Context) nearness {
	ctx, cancel := context.WithTimeout(ctx, s.Settings.EmbedTimeout)
	defer cancel()
	asked, note := s.embedded(ctx, s.q.User, s.q.Query)
	if note != "" {
		return nearness{note: note}
	}
	neighbours, note := s.neighbours(ctx, s.q.User, asked, core.VectorWindow, s.Settings.Candidates)
	if note != "" {
		return nearness{note: note, asked: asked}
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
	out := nearness{ok: len(windows) > 0, least: 1, asked: asked}
	for _, w := range windows {
		n := near{TextWindow: w, similarity: similarity(distance[w.ID])}
		out.windows = append(out.windows, n)
		out.least = min(out.least, n.similarity)
	}
	slices.SortStableFunc(out.windows, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(b.ID, a.ID))
	})
	if !out.ok {
		out.note = wordsOnly + "no embeddings are ready yet."
	}
	out.compare(asked.vector, &s.Settings)
	return out
}

// compare compares the passages of the windows with the query, and sets the bar above which a passage matches.
func (n *nearness) compare(query []float32, set *Settings) {
	asked := store.Direction(query)
	length := math.Sqrt(float64(product(asked, asked)))
	n.said = map[core.MessageID][]stretch{}
	var all []float64
	for i := range n.windows {
		w := &n.windows[i]
		for _, p := range w.Passages {
			if len(p.Values) != len(asked) {
				break // of another model, which is being replaced
			}
			w.compared = true
			cosine := float64(product(asked, p.Values)) / max(1, length*math.Sqrt(float64(product(p.Values, p.Values))))
			x := stretch{p.From, p.To, similarity(1 - cosine)}
			n.said[p.Message] = append(n.said[p.Message], x)
			all = append(all, x.similarity)
		}
	}
	if len(all) > 0 {
		n.bar = set.bar(all)
	}
}

// bar returns the similarity from which on one of all matches: it stands out from the
// median one. It sorts all, which must not be empty.
func (s *Settings) bar(all []float64) float64 {
	slices.Sort(all)
	middle, best := all[(len(all)-1)/2], all[len(all)-1]
	return max(s.LeastMatch, middle+s.StandOut*(best-middle))
}

// product returns the dot product of two directions of the same length.
func product(a, b []int8) int32 {
	sum := int32(0)
	for i, x := range a {
		sum += int32(x) * int32(b[i])
	}
	return sum
}

const wordsOnly = "Searched by words only: "

// embedding is the vector of a text under a configuration.
type embedding struct {
	vector []float32
	config string
}

// embedded embeds a query until ctx ends, or returns a note why it cannot.
func (s *Searcher) embedded(ctx context.Context, user core.UserID, text string) (embedding, string) {
	if s.Embedders == nil {
		return embedding{}, wordsOnly + "no embeddings are configured."
	}
	embedder, config, err := s.Embedders(ctx, user)
	if err != nil {
		s.Log.Warn("embedding settings were not read", zap.Int64("user", int64(user)), zap.Error(err))
		return embedding{}, wordsOnly + "the embedding settings could not be read."
	}
	if embedder == nil {
		return embedding{}, wordsOnly + "no embeddings are configured."
	}
	vectors, err := embedder.Embed(ctx, []string{cutTo(text, maxEmbed)})
	if err == nil && (len(vectors) != 1 || len(vectors[0]) == 0 || len(vectors[0]) > core.VectorSize) {
		err = errors.New("the embedder returned no vector of a supported length")
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.Log.Warn("query was not embedded in time", zap.Int64("user", int64(user)), zap.Error(err))
		return embedding{}, wordsOnly + "the embedding service took too long."
	case err != nil:
		s.Log.Warn("query was not embedded", zap.Int64("user", int64(user)), zap.Error(err))
		return embedding{}, wordsOnly + "the embedding service failed."
	}
	return embedding{vectors[0], config}, ""
}

// neighbours returns the k nearest vectors of a kind, or a note why there are none.
func (s *Searcher) neighbours(ctx context.Context, user core.UserID, to embedding, kind core.VectorKind,
	k int) ([]store.Neighbour, string) {
	found, err := s.Store.Nearest(ctx, store.NearestQuery{User: user, Kind: kind, Config: to.config,
		Vector: padded(to.vector), K: k})
	if err != nil {
		s.Log.Warn("nearest vectors were not read", zap.Int64("user", int64(user)), zap.Error(err))
		return nil, wordsOnly + "the vectors could not be read."
	}
	if len(found) == 0 {
		return nil, wordsOnly + "no embeddings are ready yet."
	}
	return found, ""
}

// maxEmbed is the size of the part of a query that is embedded, in bytes.
const maxEmbed = 4 << 10

// padded pads a vector with zeros, which change no distance.
func padded(v []float32) []float32 {
	return append(slices.Clone(v), make([]float32, core.VectorSize-len(v))...)
}

// of returns the similarity of a message: the greater of its window's and its nearest passage's.
func (n *nearness) of(id core.MessageID, segment core.SegmentID) float64 {
	if !n.ok {
		return 0
	}
	best := n.least
	for _, w := range n.windows {
		if w.Segment == segment && w.First <= id && id <= w.Last {
			best = w.similarity
			break
		}
	}
	return max(best, n.passage(id))
}

func (n *nearness) passage(id core.MessageID) float64 {
	best := 0.0
	for _, x := range n.said[id] {
		best = max(best, x.similarity)
	}
	return best
}

func (n *nearness) day(segment core.SegmentID) (float64, bool) {
	for _, w := range n.windows {
		if w.Segment == segment {
			return w.similarity, true
		}
	}
	return n.least, false
}

// add adds to the candidates at most limit messages found by their meaning: those with
// a matching passage, and one for each window of unknown passages. Unless only matches
// are wanted, it also adds one for each window in which no passage matches.
func (n *nearness) add(r *ranking, found []candidate, only bool, limit int) []candidate {
	n.found = map[core.MessageID]*near{}
	known := make(map[int32]bool, len(found))
	for _, c := range found {
		known[c.pos] = true
	}
	for i := range n.windows {
		w := &n.windows[i]
		for _, p := range n.chosen(r, w, only) {
			id := r.dir.Messages[p].ID
			if n.found[id] != nil || len(n.found) == limit {
				continue
			}
			if n.found[id] = w; !known[p] {
				known[p] = true
				found = append(found, r.at(p))
			}
		}
	}
	return found
}

// chosen returns the messages of a window that were found by their meaning.
func (n *nearness) chosen(r *ranking, w *near, only bool) []int32 {
	var matching []int32
	best, any := int32(0), false
	for _, p := range r.within(w.TextWindow) {
		if n.bar > 0 && n.passage(r.dir.Messages[p].ID) >= n.bar {
			matching = append(matching, p)
		}
		if !any || n.stronger(r, p, best) {
			best, any = p, true
		}
	}
	if len(matching) > 0 || !any || only && w.compared {
		return matching
	}
	return []int32{best}
}

// within returns the messages of a window that are searched.
func (r *ranking) within(w store.TextWindow) []int32 {
	var out []int32
	p, _ := r.seek(0, w.First)
	for ; p < len(r.dir.Messages) && r.dir.Messages[p].ID <= w.Last; p++ {
		e := r.dir.Messages[p]
		if r.dir.Segments[e.Segment].ID == w.Segment && (r.allowed == nil || r.allowed[e.Segment]) && r.shows(int32(p)) {
			out = append(out, int32(p))
		}
	}
	return out
}

// stronger reports whether a message represents a window better than another one: it
// has the nearer passage, or else the better words, or else is the user's, or longer.
func (n *nearness) stronger(r *ranking, p, than int32) bool {
	a, b := r.dir.Messages[p], r.dir.Messages[than]
	nearer, other := n.passage(a.ID), n.passage(b.ID)
	switch {
	case nearer != other:
		return nearer > other
	case r.raw[p] != r.raw[than]:
		return r.raw[p] > r.raw[than]
	case (a.Role == 0) != (b.Role == 0):
		return a.Role == 0
	}
	return a.Tokens > b.Tokens
}

const itemCandidates = 1_000 // of each signal

// Items returns the scores of memory items by both signals, in no order.
// Lexical is BM25 of items as documents of one length.
func (s *Searcher) Items(ctx context.Context, user core.UserID, query string) (search.ItemSignals, error) {
	q := s.Analyzer.Query(query)
	postings, err := s.match(ctx, store.MatchQuery{User: user, Kind: core.DocItem, Limit: itemCandidates}, q.asked())
	if err != nil {
		return search.ItemSignals{}, err
	}
	signals := map[core.ItemID]*search.ItemSignal{}
	signal := func(id int64) *search.ItemSignal {
		if signals[core.ItemID(id)] == nil {
			signals[core.ItemID(id)] = &search.ItemSignal{ID: core.ItemID(id)}
		}
		return signals[core.ItemID(id)]
	}
	for id, score := range s.Settings.lexical(q.asked(), postings) {
		item := signal(id)
		item.FTS, item.Lexical = true, score
	}
	out := search.ItemSignals{Mode: modeHybrid}
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
func (s *Searcher) nearItems(ctx context.Context, user core.UserID, query string) ([]store.Neighbour, string) {
	ctx, cancel := context.WithTimeout(ctx, s.Settings.EmbedTimeout)
	defer cancel()
	asked, note := s.embedded(ctx, user, query)
	if note != "" {
		return nil, note
	}
	return s.neighbours(ctx, user, asked, core.VectorItem, itemCandidates)
}

// lexical returns the BM25 of documents of one length, by their ids.
func (s *Settings) lexical(words []Word, postings map[string]store.Posting) map[int64]float64 {
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
func documents(w Word, postings map[string]store.Posting) map[int64]int {
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
