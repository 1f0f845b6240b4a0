package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// compareHits orders hits: those of a day that the query names first, best first, then neighbours last, then newest day,
// then summaries, then newest message. Neighbours come oldest first, since a reply to a question scores more already. If
// the query names only days their summaries stand before all messages.
func (s *scan) compareHits(a, b search.Hit) int {
	named := func(h search.Hit) int {
		switch {
		case h.Explain.Date == 0:
			return 0
		case s.in.days && h.Kind == core.DocSummary:
			return 2
		}
		return 1
	}
	if n := cmp.Compare(named(b), named(a)); n != 0 {
		return n
	}
	newest, last := cmp.Compare(b.Message.ID, a.Message.ID), 0
	if a.Neighbour {
		newest, last = -newest, 1
	}
	if b.Neighbour {
		last--
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), last, cmp.Compare(b.Label, a.Label),
		cmp.Compare(b.Kind, a.Kind), newest)
}

// summaries returns the hits among summaries of days.
func (s *scan) summaries(ctx context.Context) ([]search.Hit, error) {
	postings, err := s.match(ctx, store.MatchQuery{User: s.q.User, Kind: core.DocSummary, Limit: s.Settings.Matches},
		s.in.words)
	if err != nil {
		return nil, err
	}
	scores, terms := s.scoreDays(postings)
	var ids []core.SegmentID
	for i, x := range scores {
		named := s.q.Matching && !s.in.days && terms[int32(i)] == nil // it matches only a date of the query
		if x > 0 && !named {
			ids = append(ids, s.dir.Segments[i].ID)
		}
	}
	if ids = s.bestDays(ids, scores); len(ids) == 0 {
		return nil, nil
	}
	found, err := s.Store.SummariesOf(ctx, s.q.User, ids)
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	var hits []search.Hit
	for _, summary := range found {
		if i, ok := s.place(summary.Segment); ok && summary.Markdown != "" {
			hits = append(hits, s.summary(summary, scores[i], terms[int32(i)]))
		}
	}
	return hits, nil
}

// scoreDays returns the score of each segment's summary and its words: BM25 of summaries
// as documents of one length, plus Settings.Date of the best for a date that the query
// names, as a multiple of the score of a summary with every word once.
func (s *scan) scoreDays(postings map[string]store.Posting) ([]float64, map[int32]map[string]float64) {
	scores, terms := make([]float64, len(s.dir.Segments)), map[int32]map[string]float64{}
	most, best := 0.0, 0.0
	for _, w := range s.in.words {
		often := map[int32]int{} // by the places of segments
		for id, tf := range documents(w, postings) {
			if i, ok := s.place(core.SegmentID(id)); ok {
				often[int32(i)] = tf
			}
		}
		weight := w.Weight * idf(len(s.dir.Segments), len(often))
		most += weight
		for i, tf := range often {
			part := weight * s.Settings.frequency(float64(tf), 1, 1)
			scores[i] += part
			best = max(best, scores[i])
			if terms[i] == nil {
				terms[i] = map[string]float64{}
			}
			terms[i][w.Text] += part
		}
	}
	if most == 0 || best == 0 {
		most, best = 1, 1
	}
	for i := range scores {
		if s.rank.dates(i) {
			scores[i] += s.Settings.Date * best
		}
		if scores[i] /= most; s.rank.allowed != nil && !s.rank.allowed[i] {
			scores[i] = 0
		}
	}
	return scores, terms
}

// place finds a day; days are in the order of their ids.
func (s *scan) place(id core.SegmentID) (int, bool) {
	return slices.BinarySearchFunc(s.dir.Segments, id,
		func(g store.DirectorySegment, id core.SegmentID) int { return cmp.Compare(g.ID, id) })
}

// segmentAt returns the place of a day that is in the directory.
func (s *scan) segmentAt(id core.SegmentID) int {
	i, _ := s.place(id)
	return i
}

func (s *scan) bestDays(ids []core.SegmentID, scores []float64) []core.SegmentID {
	score := func(id core.SegmentID) float64 {
		i, _ := s.place(id)
		return scores[i]
	}
	slices.SortStableFunc(ids, func(a, b core.SegmentID) int {
		return cmp.Or(s.rank.earlier(s.segmentAt(a), s.segmentAt(b)), cmp.Compare(score(b), score(a)), cmp.Compare(b, a))
	})
	return ids[:min(len(ids), s.Settings.Candidates)]
}

// summary scores the summary of a day.
func (s *scan) summary(m core.Summary, x float64, terms map[string]float64) search.Hit {
	i, _ := s.place(m.Segment)
	h := search.Hit{Kind: core.DocSummary, Segment: m.Segment, Label: s.dir.Segments[i].Label, Summary: m,
		FTS: len(terms) > 0}
	h.Explain = search.Explanation{Terms: terms, Lexical: x / (x + 1), Named: 1}
	if s.rank.dates(i) {
		h.Explain.Date = s.Settings.Date
	}
	if s.near.ok {
		h.Explain.Semantic, h.Near = s.near.day(m.Segment)
	}
	h.Score = s.score(h.Explain.Lexical, h.Explain.Semantic)
	return h
}

// result cuts hits to the limit and the least score, puts them in the order of display and adds notes and snippets.
func (s *scan) result(hits []search.Hit) search.Result {
	out := search.Result{Mode: modeFTS, Note: s.near.note}
	if s.near.ok || slices.ContainsFunc(hits, func(h search.Hit) bool { return h.Kind == core.DocFile && h.Near }) {
		out.Mode, out.Note = modeHybrid, ""
	}
	best := 0.0
	if len(hits) > 0 {
		best = hits[0].Score
	}
	all := len(hits)
	hits = slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Score < s.q.MinScore })
	out.Below = all - len(hits)
	switch {
	case all == 0:
		out.Note = s.nothing() + out.Note
	case len(hits) == 0:
		out.Note = fmt.Sprintf("Everything was below min_score %g; the best had %.2f. %s", s.q.MinScore, best, out.Note)
	case s.in.common:
		out.Note = "The query has only very common words. " + out.Note
	}
	if out.Missing = s.dir.Missing; out.Missing > 0 {
		out.Note = fmt.Sprintf("%s The index is being built: the newest %d messages are not in it yet.", out.Note, out.Missing)
	}
	out.Note = strings.TrimSpace(out.Note)
	out.Hits = summariesFirst(hits[:min(len(hits), s.q.Limit)])
	for i := range out.Hits {
		out.Hits[i].Snippet = s.snippet(&out.Hits[i])
	}
	return out
}

// nothing says that there are no hits.
func (s *scan) nothing() string {
	if s.q.Hidden.Len() > 0 {
		return "Nothing else matched: what you can already see, and today's searches, are left out. "
	}
	return "Nothing matched. "
}

// summariesFirst moves each summary before the messages of its own day.
func summariesFirst(hits []search.Hit) []search.Hit {
	for i, h := range hits {
		if h.Kind != core.DocSummary {
			continue
		}
		first := slices.IndexFunc(hits[:i], func(m search.Hit) bool {
			return m.Kind == core.DocMessage && m.Segment == h.Segment
		})
		if first >= 0 {
			copy(hits[first+1:i+1], hits[first:i])
			hits[first] = h
		}
	}
	return hits
}

// snippet returns the passage of a hit to show: the best by its words, or by its meaning too.
func (s *scan) snippet(h *search.Hit) string {
	text := h.Message.Text
	switch {
	case h.Kind == core.DocSummary:
		text = h.Summary.Markdown
	case h.Kind == core.DocFile:
		text = h.Page.Text
	case h.Near:
		if from, to, ok := s.stretch(h.Message.ID, text); ok {
			return around(text, from, to, s.Settings.Snippet)
		}
	}
	return s.Analyzer.snippet(text, s.rank.words, s.Settings.Snippet)
}

// stretch returns the bounds of a message's best passage in its text, if they are known.
func (s *scan) stretch(id core.MessageID, text string) (from, to int, ok bool) {
	var marks []mark
	if len(s.near.said[id]) > 1 {
		marks = s.Analyzer.marks(text, s.rank.words)
	}
	best := -1.0
	for _, x := range s.near.said[id] {
		if x.to > len(text) || x.from >= x.to {
			continue // the text has changed since
		}
		score := s.Settings.Semantic*x.similarity + s.Settings.Lexical*s.held(marks, x)
		if score > best {
			best, from, to, ok = score, x.from, x.to, true
		}
	}
	return from, to, ok
}

// held returns the share of the words' weight in a stretch, 0 to 1.
func (s *scan) held(marks []mark, x stretch) float64 {
	sum, seen := 0.0, map[int]bool{}
	for _, m := range marks {
		if m.start >= x.from && m.end <= x.to && !seen[m.word] {
			seen[m.word] = true
			sum += s.rank.words[m.word].idf
		}
	}
	return sum / max(s.rank.most, 1e-9)
}

// quotes reports whether a text holds a quoted phrase of the query.
func (s *scan) quotes(text string) bool {
	if len(s.in.phrases) == 0 {
		return false
	}
	words := foldedWords(text, maxTerms)
	return slices.ContainsFunc(s.in.phrases, func(phrase []string) bool {
		for i := 0; i+len(phrase) <= len(words); i++ {
			if slices.Equal(words[i:i+len(phrase)], phrase) {
				return true
			}
		}
		return false
	})
}
