package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/everthread/everthread/core"
)

// Threads reads plain threads.
type Threads interface {
	// Threads lists the plain threads, newest first, at most limit.
	Threads(ctx context.Context, user core.UserID, limit int) ([]core.Thread, error)
	// History returns the newest messages of a thread in the order of display, before
	// message `before` if that is not 0.
	History(ctx context.Context, user core.UserID, thread core.ThreadID, before core.MessageID,
		limit int) ([]core.Message, error)
}

// InThreads returns the messages of plain threads that hold a word of q.Query and pass its filters, best first, at most
// q.Limit. Plain threads have no index, as the assistant does not search them: InThreads reads their newest messages,
// at most Settings.ThreadMessages of at most Settings.Threads threads. More reports whether there are others.
func (s *Searcher) InThreads(ctx context.Context, q core.SearchQuery) (core.ThreadHits, error) {
	if err := s.check(&q); err != nil {
		return core.ThreadHits{}, err
	}
	asked := s.Analyzer.Query(q.Query)
	run := &threadSearch{Searcher: s, q: q}
	for _, w := range asked.asked() {
		run.words = append(run.words, ranked{Word: w})
	}
	if len(run.words) == 0 || q.Kind == core.DocSummary {
		return core.ThreadHits{}, nil
	}
	more, err := run.read(ctx)
	if err != nil {
		return core.ThreadHits{}, err
	}
	return core.ThreadHits{Hits: run.best(), More: more}, nil
}

type threadSearch struct {
	*Searcher
	q     core.SearchQuery
	words []ranked
	seen  int // messages read
	bytes int // of their texts
	found []threadMatch
}

// threadMatch is a message with words of the query.
type threadMatch struct {
	core.ThreadHit
	holds  []int // indexes of words of the query
	weight float64
}

// read searches the threads. More reports whether some threads or messages were not read.
func (s *threadSearch) read(ctx context.Context) (more bool, err error) {
	threads, err := s.Plain.Threads(ctx, s.q.User, s.Settings.Threads+1)
	if err != nil {
		return false, fmt.Errorf("read threads: %w", err)
	}
	if len(threads) > s.Settings.Threads {
		threads, more = threads[:s.Settings.Threads], true
	}
	for _, t := range threads {
		said, rest, err := s.newest(ctx, t)
		if err != nil {
			return false, fmt.Errorf("read a thread: %w", err)
		}
		s.match(t, said)
		more = more || rest
	}
	return more, nil
}

// Bounds for reading threads, beside the number of messages.
const (
	threadPage  = 200     // messages at a time
	threadBytes = 8 << 20 // of texts, all together
)

// newest reads the newest messages of a thread within the bounds. Rest: it has others.
func (s *threadSearch) newest(ctx context.Context, t core.Thread) (said []core.Message, rest bool, err error) {
	for before := core.MessageID(0); ; before = said[0].ID {
		left := min(s.Settings.ThreadMessages-s.seen, threadPage)
		if left == 0 || s.bytes >= threadBytes {
			return said, true, nil
		}
		page, err := s.Plain.History(ctx, s.q.User, t.ID, before, left+1)
		if err != nil {
			return nil, false, err
		}
		whole := len(page) <= left
		page = page[max(0, len(page)-left):]
		for _, m := range page {
			s.bytes += len(m.Text)
		}
		s.seen += len(page)
		if said = append(slices.Clone(page), said...); whole {
			return said, false, nil
		}
	}
}

// match keeps the messages that hold a word and pass the filters.
func (s *threadSearch) match(t core.Thread, said []core.Message) {
	said = slices.DeleteFunc(said, func(m core.Message) bool {
		return m.Redacted || m.Text == "" || m.Role != core.RoleUser && m.Role != core.RoleAssistant
	})
	for i, m := range said {
		day := m.SentAt.In(s.q.Location).Format("2006-01-02")
		if s.q.Role != "" && m.Role != s.q.Role || s.q.Channel != "" && m.Channel != s.q.Channel ||
			day < s.q.From || s.q.To != "" && day > s.q.To {
			continue
		}
		var holds []int
		for _, x := range s.Analyzer.marks(m.Text, s.words) {
			holds = append(holds, x.word)
		}
		if len(holds) == 0 {
			continue
		}
		slices.Sort(holds)
		hit := core.ThreadHit{Thread: t, Message: m}
		if i > 0 {
			hit.Before = s.beside(said[i-1])
		}
		if i+1 < len(said) {
			hit.After = s.beside(said[i+1])
		}
		s.found = append(s.found, threadMatch{ThreadHit: hit, holds: slices.Compact(holds)})
	}
}

func (s *threadSearch) beside(m core.Message) core.Beside {
	return core.Beside{Message: m.ID, Role: m.Role, Snippet: m.Text}
}

// best returns the best matches: those of rare words first, then the newest.
func (s *threadSearch) best() []core.ThreadHit {
	count := make([]float64, len(s.words))
	for _, f := range s.found {
		for _, w := range f.holds {
			count[w]++
		}
	}
	for i := range s.words {
		s.words[i].idf = s.words[i].Weight * math.Log(1+float64(s.seen)/(1+count[i]))
	}
	for i, f := range s.found {
		for _, w := range f.holds {
			s.found[i].weight += s.words[w].idf
		}
	}
	slices.SortStableFunc(s.found, func(a, b threadMatch) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), b.Message.SentAt.Compare(a.Message.SentAt))
	})
	out := make([]core.ThreadHit, min(len(s.found), s.q.Limit))
	for i := range out {
		out[i] = s.found[i].ThreadHit
		out[i].Snippet = s.Analyzer.snippet(out[i].Message.Text, s.words, s.Settings.Snippet)
		for _, b := range []*core.Beside{&out[i].Before, &out[i].After} {
			b.Snippet = s.Analyzer.snippet(b.Snippet, s.words, s.Settings.Context)
		}
	}
	return out
}
