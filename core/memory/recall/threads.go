package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
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

// InThreads returns the messages of plain threads that hold a word of q.Query, or are of a day that it names, and pass
// its filters, best first, at most q.Limit. Plain threads have no index: InThreads reads their newest messages, at most
// Settings.ThreadMessages of at most Settings.Threads threads. More reports whether there are others.
func (s *Searcher) InThreads(ctx context.Context, q search.Query) (search.ThreadHits, error) {
	if err := s.check(&q); err != nil {
		return search.ThreadHits{}, err
	}
	run := &threadSearch{Searcher: s, q: q}
	if q.Kind == core.DocSummary || len(s.Analyzer.Query(q.Query).tokens) == 0 {
		return search.ThreadHits{}, nil
	}
	more, err := run.read(ctx)
	if err != nil {
		return search.ThreadHits{}, err
	}
	run.understand()
	for _, said := range run.said {
		run.match(said)
	}
	return search.ThreadHits{Hits: run.best(), More: more}, nil
}

type threadSearch struct {
	*Searcher
	q     search.Query
	in    intent
	words []ranked
	said  []saidIn
	seen  int // messages read
	bytes int // of their texts
	found []threadMatch
}

// saidIn holds the messages of a thread that were read.
type saidIn struct {
	core.Thread
	messages []core.Message
}

// understand reads the query: its words, and the days among those of the messages.
func (s *threadSearch) understand() {
	var dir store.Directory
	for _, said := range s.said {
		for _, m := range said.messages {
			label := s.day(m)
			if n := len(dir.Segments); n == 0 || dir.Segments[n-1].Label != label {
				dir.Segments = append(dir.Segments, store.DirectorySegment{Label: label})
			}
		}
	}
	s.in = s.Analyzer.understand(s.q.Query, s.q.Names, &dir, s.q.Now, s.q.Location, &s.Settings)
	for _, w := range s.in.words {
		s.words = append(s.words, ranked{Word: w})
	}
}

// day returns the label of the day of a message; plain threads have no days of their own.
func (s *threadSearch) day(m core.Message) string {
	return m.SentAt.In(s.q.Location).Format(time.DateOnly)
}

// threadMatch is a message with words of the query.
type threadMatch struct {
	search.ThreadHit
	holds  []int // indexes of words of the query
	named  bool  // the query names its day
	weight float64
}

// read reads the threads. More reports whether some threads or messages were not read.
func (s *threadSearch) read(ctx context.Context) (more bool, err error) {
	threads := []core.Thread{{User: s.q.User, ID: s.q.Thread}}
	if s.q.Thread == 0 {
		if threads, err = s.Plain.Threads(ctx, s.q.User, s.Settings.Threads+1); err != nil {
			return false, fmt.Errorf("read threads: %w", err)
		}
	}
	if len(threads) > s.Settings.Threads {
		threads, more = threads[:s.Settings.Threads], true
	}
	for _, t := range threads {
		said, rest, err := s.newest(ctx, t)
		if err != nil {
			return false, fmt.Errorf("read a thread: %w", err)
		}
		s.said = append(s.said, saidIn{t, said})
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

// match keeps the messages that hold a word, or are of a named day, and pass the filters.
func (s *threadSearch) match(in saidIn) {
	today := slices.DeleteFunc(slices.Clone(in.messages), func(m core.Message) bool { return s.day(m) != s.today() })
	hidden := s.q.Hidden.Union(echoesIn(today))
	said := slices.DeleteFunc(in.messages, func(m core.Message) bool {
		return m.Redacted || m.Text == "" || m.Role != core.RoleUser && m.Role != core.RoleAssistant
	})
	for i, m := range said {
		if !s.passes(m) || s.q.Thread != 0 && hidden.Has(m.ID) {
			continue
		}
		var holds []int
		for _, x := range s.Analyzer.marks(m.Text, s.words) {
			holds = append(holds, x.word)
		}
		named := within(s.in.spans, s.day(m))
		if len(holds) == 0 && (!named || !s.in.days) {
			continue
		}
		slices.Sort(holds)
		hit := search.ThreadHit{Thread: in.Thread, Message: m}
		if i > 0 {
			hit.Before = s.beside(said[i-1])
		}
		if i+1 < len(said) {
			hit.After = s.beside(said[i+1])
		}
		s.found = append(s.found, threadMatch{ThreadHit: hit, holds: slices.Compact(holds), named: named})
	}
}

func (s *threadSearch) today() string { return s.q.Now.In(s.q.Location).Format(time.DateOnly) }

// passes reports whether a message passes the filters.
func (s *threadSearch) passes(m core.Message) bool {
	day := s.day(m)
	since := s.q.Now.In(s.q.Location).AddDate(0, 0, -min(s.q.Recency, 100_000)).Format(time.DateOnly)
	return (s.q.Role == "" || m.Role == s.q.Role) && (s.q.Channel == "" || m.Channel == s.q.Channel) &&
		(s.q.Day == "" || day == s.q.Day) && (s.q.Recency == 0 || day >= since) && day >= s.q.From &&
		(s.q.To == "" || day <= s.q.To) && (s.q.Before == 0 || m.ID < s.q.Before)
}

func (s *threadSearch) beside(m core.Message) search.Beside {
	return search.Beside{Message: m.ID, Role: m.Role, Snippet: m.Text, Foreign: m.Foreign(), Speaker: m.Speaker}
}

// best returns the best matches: those of named days first, then those of rare words, then the newest.
func (s *threadSearch) best() []search.ThreadHit {
	count := make([]float64, len(s.words))
	for _, f := range s.found {
		for _, w := range f.holds {
			count[w]++
		}
	}
	most := 0.0
	for i := range s.words {
		s.words[i].idf = s.words[i].Weight * math.Log(1+float64(s.seen)/(1+count[i]))
		most += s.words[i].idf
	}
	for i, f := range s.found {
		for _, w := range f.holds {
			s.found[i].weight += s.words[w].idf
		}
		if f.named {
			s.found[i].weight += s.Settings.Date * max(most, 1)
		}
		e := store.DirectoryEntry{Role: 1}
		if f.Message.Role == core.RoleUser {
			e.Role = 0
		}
		s.found[i].weight *= s.in.speakers.of(e, nil, s.Settings.Named)
		x := s.found[i].weight / max(most, 1)
		s.found[i].Score = x / (x + 1)
	}
	s.found = slices.DeleteFunc(s.found, func(f threadMatch) bool { return f.Score < s.q.MinScore })
	slices.SortStableFunc(s.found, func(a, b threadMatch) int {
		if a.named != b.named && a.named {
			return -1
		} else if a.named != b.named {
			return 1
		}
		return cmp.Or(cmp.Compare(b.weight, a.weight), b.Message.SentAt.Compare(a.Message.SentAt))
	})
	out := make([]search.ThreadHit, min(len(s.found), s.q.Limit))
	for i := range out {
		out[i] = s.found[i].ThreadHit
		out[i].Snippet = s.Analyzer.snippet(out[i].Message.Text, s.words, s.Settings.Snippet)
		for _, b := range []*search.Beside{&out[i].Before, &out[i].After} {
			b.Snippet = s.Analyzer.snippet(b.Snippet, s.words, s.Settings.Context)
		}
	}
	return out
}
