package recall

import (
	"context"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// reach is the distance at which messages are neighbours, in messages.
const reach = 2

// beside returns the neighbours with a word of the query, of whose scores message p gets a part.
func (r *ranking) beside(p int32) []int32 {
	var out []int32
	for i := max(0, p-reach); i <= p+reach && int(i) < len(r.raw); i++ {
		if i != p && r.shared(i) > 0 && r.dir.Messages[i].Segment == r.dir.Messages[p].Segment {
			out = append(out, i)
		}
	}
	return out
}

// withSources appends, for each candidate that is only a neighbour, its best source:
// the best of the messages with a word of the query beside it.
func (r *ranking) withSources(list []candidate) []candidate {
	known := make(map[int32]bool, len(list))
	for _, c := range list {
		known[c.pos] = true
	}
	for _, c := range list {
		if r.raw[c.pos] > 0 {
			continue
		}
		best := candidate{pos: -1}
		for _, p := range r.beside(c.pos) {
			if !r.shows(p) {
				continue
			}
			if x := r.at(p); best.pos < 0 || r.compare(x, best) < 0 {
				best = x
			}
		}
		if best.pos >= 0 && !known[best.pos] {
			known[best.pos] = true
			list = append(list, best)
		}
	}
	return list
}

// meet ensures that no neighbour scores more than its best source: where it would, the two meet in between. A neighbour
// that answers a question scores a little more. The keys of at are places in the directory, its values indexes in hits.
func (s *scan) meet(hits []search.Hit, at map[int32]int) {
	scores := make([]float64, len(hits))
	for i, h := range hits {
		scores[i] = h.Score
	}
	for p, i := range at {
		if !hits[i].Neighbour {
			continue
		}
		if before, ok := at[p-1]; ok && s.rank.raw[p-1] > 0 && answers(hits[i], hits[before]) {
			hits[i].Score = min(1, hits[i].Score*s.Settings.Reply)
		}
		source := -1
		for _, beside := range s.rank.beside(p) {
			if k, ok := at[beside]; ok && (source < 0 || scores[k] > scores[source]) {
				source = k
			}
		}
		if more := hits[i].Score; source >= 0 && more > scores[source] {
			hits[i].Score = scores[source] + s.Settings.Meet*(more-scores[source])
			hits[source].Score = max(hits[source].Score, hits[i].Score)
		}
	}
}

// answers reports whether a message is the reply to a question right before it.
func answers(h, before search.Hit) bool {
	return h.Segment == before.Segment && h.Message.Role != before.Message.Role &&
		strings.ContainsAny(before.Message.Text, "?？؟")
}

// context adds to each hit the messages right before and after it in its day, unless they are hits themselves.
func (s *scan) context(ctx context.Context, hits []search.Hit) error {
	shown := map[core.MessageID]bool{}
	var wanted []core.MessageID
	for _, h := range hits {
		if h.Kind == core.DocMessage {
			shown[h.Message.ID] = true
			before, after := s.around(h.Message.ID)
			wanted = append(wanted, before, h.Message.ID, after)
		}
	}
	loaded, err := s.load(ctx, wanted)
	if err != nil {
		return err
	}
	byID := make(map[core.MessageID]search.Beside, len(loaded))
	for id, m := range loaded {
		if !shown[id] {
			byID[id] = search.Beside{Message: id, Role: m.Role, Foreign: m.Foreign(), Speaker: m.Speaker,
				Snippet: s.Analyzer.snippet(m.Text, s.rank.words, s.Settings.Context)}
		}
	}
	for i, h := range hits {
		if h.Kind == core.DocMessage {
			before, after := s.around(h.Message.ID)
			hits[i].Before, hits[i].After = byID[before], byID[after]
		}
	}
	return nil
}

// around returns the messages right before and after one in its day, or its own id for none.
func (s *scan) around(id core.MessageID) (before, after core.MessageID) {
	p, ok := s.rank.seek(0, id)
	if !ok {
		return id, id
	}
	beside := func(q int) core.MessageID {
		if q < 0 || q >= len(s.dir.Messages) || s.dir.Messages[q].Segment != s.dir.Messages[p].Segment {
			return id
		}
		return s.dir.Messages[q].ID
	}
	return beside(p - 1), beside(p + 1)
}
