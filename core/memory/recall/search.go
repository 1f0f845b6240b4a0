package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// Searcher searches the conversation. It is safe for concurrent use.
type Searcher struct {
	Store store.RecallStore
	Days  Days
	Plain Threads
	Files Files // nil: no documents are searched
	// Embedders may be nil, or know none for a user: then full text alone is searched.
	Embedders core.EmbedderOf
	Analyzer  *Analyzer // the analyzer of the store's index
	Tokens    core.Tokenizer
	Settings  Settings
	Log       *zap.Logger
}

// Modes of a search.
const (
	modeHybrid = "hybrid"
	modeFTS    = "fts"
)

type scan struct {
	*Searcher
	q     search.Query
	in    intent
	dir   *store.Directory
	rank  *ranking
	near  nearness
	from  core.MessageID // the first message to search
	to    core.MessageID // the last; 0: unbounded
	files bool           // documents are searched
}

// hasFiles reports whether there are documents to search.
func (s *Searcher) hasFiles(ctx context.Context, q search.Query) (bool, error) {
	if s.Files == nil || q.Kind != "" && q.Kind != core.DocFile {
		return false, nil
	}
	yes, err := s.Files.HasFilePages(ctx, q.User)
	if err != nil {
		return false, fmt.Errorf("look for documents: %w", err)
	}
	return yes, nil
}

// Search returns the best hits of a query among the user's own messages, summaries and files. A limit of 0 is the
// default, one above the maximum is the maximum; other invalid values are errors in words for the caller. No hits are
// no error: Note explains. If the embedder fails or takes longer than Settings.EmbedTimeout, or no vectors are ready,
// full text alone is searched.
func (s *Searcher) Search(ctx context.Context, q search.Query) (search.Result, error) {
	if err := s.check(&q); err != nil {
		return search.Result{}, err
	}
	dir, err := s.Store.Directory(ctx, q.User)
	if err != nil {
		return search.Result{}, fmt.Errorf("read directory: %w", err)
	}
	files, err := s.hasFiles(ctx, q)
	if err != nil {
		return search.Result{}, err
	}
	dir = until(dir, q.Before)
	run := &scan{Searcher: s, q: q, dir: dir, files: files}
	run.in = s.Analyzer.understand(q.Query, q.Names, dir, q.Now, q.Location, &s.Settings)
	if note := run.begin(); note != "" {
		return search.Result{Mode: modeFTS, Note: note}, nil
	}
	hits, err := run.hits(ctx)
	if err != nil {
		return search.Result{}, err
	}
	out := run.result(hits)
	if q.Matching {
		err = run.context(ctx, out.Hits)
	}
	return out, err
}

// Marks returns where a text holds words of a query; see Analyzer.Marks.
func (s *Searcher) Marks(text, query string) [][2]int { return s.Analyzer.Marks(text, query) }

// check refuses invalid values and fills in defaults.
func (s *Searcher) check(q *search.Query) error {
	switch {
	case q.Limit < 0:
		return fmt.Errorf("limit must be from 1 to %d", s.Settings.MaxLimit)
	case q.Recency < 0:
		return fmt.Errorf("recency_days must be 1 or more")
	case math.IsNaN(q.MinScore) || q.MinScore < 0 || q.MinScore > 1:
		return fmt.Errorf("min_score must be from 0 to 1")
	}
	for _, day := range []string{q.Day, q.From, q.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Errorf("day must be a date such as 2026-11-19 (YYYY-MM-DD)")
		}
	}
	q.Limit = min(cmp.Or(q.Limit, s.Settings.Limit), s.Settings.MaxLimit)
	q.Location = cmp.Or(q.Location, time.UTC)
	return nil
}

// begin prepares the ranking, or returns a note why there is nothing to search.
func (s *scan) begin() string {
	if len(s.in.words) == 0 && len(s.in.spans) == 0 {
		return "The query has no words to search for."
	}
	if len(s.dir.Messages) == 0 && !s.files {
		return "Nothing was said yet."
	}
	if s.q.Before > 0 && len(s.dir.Messages) > 0 {
		s.to = s.dir.Messages[len(s.dir.Messages)-1].ID
	}
	s.rank = newRanking(&s.Settings, s.dir, &s.in)
	s.rank.only, s.rank.hidden = s.q.Matching, s.q.Hidden
	return s.filter()
}

// until returns a directory of only the messages earlier than before; 0: all.
func until(d *store.Directory, before core.MessageID) *store.Directory {
	if before == 0 {
		return d
	}
	n, _ := slices.BinarySearchFunc(d.Messages, before,
		func(e store.DirectoryEntry, id core.MessageID) int { return cmp.Compare(e.ID, id) })
	earlier := *d
	earlier.Messages = d.Messages[:n:n]
	return &earlier
}

// filter applies the filters, or returns a note that no days are left.
func (s *scan) filter() string {
	if s.q.Role != "" || s.q.Channel != "" {
		s.rank.shown = s.said
	}
	if s.q.Day == "" && s.q.Recency == 0 && s.q.From == "" && s.q.To == "" {
		return ""
	}
	since := s.since()
	s.rank.allowed = make([]bool, len(s.dir.Segments))
	for i, segment := range s.dir.Segments {
		s.rank.allowed[i] = (s.q.Day == "" || segment.Label == s.q.Day) && (s.q.Recency == 0 || segment.Label >= since) &&
			segment.Label >= s.q.From && (s.q.To == "" || segment.Label <= s.q.To)
	}
	s.rank.count = 0
	for _, e := range s.dir.Messages {
		if !s.rank.allowed[e.Segment] {
			continue
		}
		if s.rank.count == 0 {
			s.from = e.ID
		}
		s.rank.count++
		s.to = e.ID
	}
	switch {
	case s.rank.count > 0 || s.files:
		return ""
	case s.q.Day != "":
		return "Nothing was said on " + s.q.Day + "."
	case s.q.Recency == 0:
		return "Nothing was said in these days."
	}
	return fmt.Sprintf("Nothing was said in the last %d days.", s.q.Recency)
}

// since returns the first of the newest days that Recency allows.
func (s *scan) since() string {
	return s.q.Now.In(s.q.Location).AddDate(0, 0, -min(s.q.Recency, 100_000)).Format(time.DateOnly)
}

// said reports whether a message has the requested role and channel.
func (s *scan) said(e store.DirectoryEntry) bool {
	role := []core.Role{core.RoleUser, core.RoleAssistant, core.RoleTool}[e.Role]
	channel := int(e.Channel)
	return (s.q.Role == "" || role == s.q.Role) &&
		(s.q.Channel == "" || channel < len(s.dir.Channels) && s.dir.Channels[channel] == s.q.Channel)
}

// hits returns all hits of both signals, best first. The query is embedded meanwhile.
func (s *scan) hits(ctx context.Context) ([]search.Hit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan nearness, 1)
	go func() {
		if s.in.days { // no passage means a date
			answer <- nearness{}
			return
		}
		answer <- s.nearest(ctx)
	}()
	found, err := s.fullText(ctx)
	if err != nil {
		cancel()
	}
	s.near = <-answer
	if err != nil {
		return nil, err
	}
	var hits, summaries, pages []search.Hit
	if s.q.Kind == "" || s.q.Kind == core.DocMessage {
		if hits, err = s.messages(ctx, found); err != nil {
			return nil, err
		}
	}
	if (s.q.Kind == "" || s.q.Kind == core.DocSummary) && s.rank.shown == nil {
		if summaries, err = s.summaries(ctx); err != nil {
			return nil, err
		}
	}
	if s.files {
		if pages, err = s.pages(ctx); err != nil {
			return nil, err
		}
	}
	hits = slices.Concat(hits, summaries, pages)
	slices.SortStableFunc(hits, s.compareHits)
	return hits, nil
}

// fullText returns the best messages by their words.
func (s *scan) fullText(ctx context.Context) ([]candidate, error) {
	postings, err := s.match(ctx, store.MatchQuery{User: s.q.User, Kind: core.DocMessage, From: int64(s.from),
		To: int64(s.to), Limit: s.Settings.Matches}, s.in.words)
	if err != nil {
		return nil, err
	}
	return s.rank.withSources(s.rank.rank(postings, s.Settings.Candidates)), nil
}

// maxMatch is the most terms of one MatchQuery.
const maxMatch = 100

func (s *Searcher) match(ctx context.Context, q store.MatchQuery, words []Word) (map[string]store.Posting, error) {
	var terms []string
	for _, w := range words {
		terms = append(terms, w.Terms...)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	out := make(map[string]store.Posting, len(terms))
	q.Limit /= max(1, (len(terms)+maxMatch-1)/maxMatch)
	for batch := range slices.Chunk(terms, maxMatch) {
		q.Terms = batch
		postings, err := s.Store.Match(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("match %s: %w", q.Kind, err)
		}
		for _, p := range postings {
			out[p.Term] = p
		}
	}
	return out, nil
}

// messages loads the candidates of both signals and scores them.
func (s *scan) messages(ctx context.Context, found []candidate) ([]search.Hit, error) {
	all := s.near.add(s.rank, found, s.q.Matching, s.Settings.Candidates)
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]core.MessageID, len(all))
	for i, c := range all {
		ids[i] = s.dir.Messages[c.pos].ID
	}
	byID, err := s.load(ctx, ids)
	if err != nil {
		return nil, err
	}
	var hits []search.Hit
	at := map[int32]int{}
	for i, c := range all {
		if m, ok := byID[ids[i]]; ok && m.Text != "" {
			at[c.pos] = len(hits)
			hits = append(hits, s.hit(c, m))
		}
	}
	s.meet(hits, at)
	return hits, nil
}

// load returns messages by their ids, without redacted ones.
func (s *scan) load(ctx context.Context, ids []core.MessageID) (map[core.MessageID]core.Message, error) {
	loaded, err := s.Store.Messages(ctx, s.q.User, ids)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	out := make(map[core.MessageID]core.Message, len(loaded))
	for _, m := range loaded {
		if !m.Redacted {
			out[m.ID] = m
		}
	}
	return out, nil
}

func (s *scan) hit(c candidate, m core.Message) search.Hit {
	e := s.dir.Messages[c.pos]
	segment := s.dir.Segments[e.Segment]
	parts := s.rank.parts(c.pos)
	if s.quotes(m.Text) {
		c.lexical = s.rank.scale(c.score * s.Settings.Phrase)
	}
	h := search.Hit{Kind: core.DocMessage, Segment: segment.ID, Label: segment.Label, Message: m, FTS: parts.raw > 0}
	h.Explain = search.Explanation{
		Terms: s.rank.terms(c.pos), Neighbour: parts.neighbour, Day: parts.day, Date: parts.date,
		Named: parts.factor, Lexical: c.lexical, Covered: m.Covered,
	}
	h.Explain.Semantic = s.near.of(e.ID, segment.ID)
	if w := s.near.found[e.ID]; w != nil {
		h.Near, h.From, h.To = true, w.First, w.Last
	}
	h.Neighbour = !h.FTS && !h.Near && parts.neighbour > 0
	h.Score = s.score(c.lexical, h.Explain.Semantic)
	if m.Covered {
		h.Score *= s.Settings.Covered
	}
	return h
}

// score weighs both signals; without vectors the words alone count.
func (s *scan) score(lexical, semantic float64) float64 {
	if !s.near.ok {
		return lexical
	}
	return s.Settings.Semantic*semantic + s.Settings.Lexical*lexical
}

// Settings are the weights of the ranking and the bounds of a search, by Default the usual ones.
type Settings struct {
	K1, B float64 // of BM25

	Adjacent float64 // share that a message gets of the score of each adjacent one in its day
	Next     float64 // and of each next to that
	Reply    float64 // factor for a neighbour that answers a question
	Meet     float64 // where a neighbour and its source meet, from the lower score
	Day      float64 // the most that its day adds, of the best message's score
	Named    float64 // factor for messages of a speaker or channel that the query names
	NameWord float64 // weight of the name itself as a word of the query
	Date     float64 // the addition for a date that the query names, of the best message's score
	Phrase   float64 // factor for messages that hold a quoted phrase

	Semantic float64 // weight of the similarity of meaning
	Lexical  float64 // and of the words
	Covered  float64 // factor for a message that a summary covers

	StandOut   float64 // from where on a passage matches, between the median one and the best
	LeastMatch float64 // similarity below which none matches

	Candidates   int // for each signal
	Matches      int // documents that the store returns
	Limit        int // of results, if the query has none
	MaxLimit     int
	Snippet      int           // characters
	Context      int           // characters of the messages beside a hit
	EmbedTimeout time.Duration // for the vector of a query
	Page         int           // messages that conversation_get returns
	PageTokens   int

	Threads        int // the newest plain threads that InThreads reads
	ThreadMessages int // and their messages
}

// Default returns the usual settings.
func Default() Settings {
	return Settings{
		K1: 0.6, B: 0.4,
		Adjacent: 0.5, Next: 0.3, Reply: 1.15, Meet: 0.6, Day: 0.5, Named: 2, NameWord: 0.3, Date: 0.5, Phrase: 1.25,
		Semantic: 0.7, Lexical: 0.3, Covered: 0.85, StandOut: 0.6, LeastMatch: 0.2,
		Candidates: 50, Matches: 20_000, Limit: 6, MaxLimit: 20, Snippet: 200, Context: 100,
		EmbedTimeout: 2 * time.Second, Page: 50, PageTokens: 4_000, Threads: 100, ThreadMessages: 4_000,
	}
}
