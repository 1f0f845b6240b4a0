package recall

import (
	"cmp"
	"math"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// ranking is the lexical score of a user's messages for one query.
// Slices are indexed by the place in Directory.Messages or Directory.Segments.
//
// The score of a message is the BM25 of the query's words over the user's own messages, plus shares of the scores of
// its neighbours in the day, plus shares of the best score for its day (BM25 of days as documents) and for a date that
// the query names. It is doubled for a speaker or channel that the query names.
//
// The scale is fixed: Lexical = x/(x+1), where x is the score as a multiple of that of
// a lone message of average length with every word of the query once. Such a message has
// 0.5, whatever the query is.
type ranking struct {
	set *Settings
	dir *store.Directory
	in  *intent

	allowed []bool                          // segments; nil: all
	only    bool                            // messages with a word, unless the query names only days
	shown   func(store.DirectoryEntry) bool // messages that may be hits; nil: all
	hidden  core.IDSet                      // messages that are not searched
	count   int                             // messages searched

	raw     []float32 // BM25
	ofNames []float32 // the part of raw from names of speakers; nil: none
	total   []float32 // with neighbours; above 0 for candidates only
	found   []int32   // where raw is above 0
	near    []int32   // where total is above 0, or the date is named
	day     []float64 // BM25 of segments
	length  []int32   // tokens of segments, if known
	named   []bool    // segments whose date the query names; nil: none
	often   []uint8   // occurrences of the current word, per message
	inDay   []int32   // and per segment
	average float64   // tokens of a message
	most    float64   // BM25 of a message of average length with every word once
	best    float64   // total
	bestDay float64
	words   []ranked
}

// ranked is a word of the query with its postings.
type ranked struct {
	Word
	postings []store.Posting
	idf      float64
}

// candidate is a message that may be a hit.
type candidate struct {
	pos     int32 // in Directory.Messages
	score   float64
	lexical float64 // 0 to 1
}

func newRanking(set *Settings, dir *store.Directory, in *intent) *ranking {
	return &ranking{
		set: set, dir: dir, in: in, count: len(dir.Messages),
		raw: make([]float32, len(dir.Messages)), total: make([]float32, len(dir.Messages)),
		often: make([]uint8, len(dir.Messages)), day: make([]float64, len(dir.Segments)),
		length: make([]int32, len(dir.Segments)), inDay: make([]int32, len(dir.Segments)),
		average: max(1, float64(dir.Tokens)/float64(max(1, len(dir.Messages)))),
	}
}

// rank scores messages by the postings of the query's words and returns the best n, in the order of compare.
func (r *ranking) rank(postings map[string]store.Posting, n int) []candidate {
	for _, w := range r.in.words {
		r.add(w, postings)
	}
	r.neighbours()
	r.dated()
	for _, d := range r.day {
		r.bestDay = max(r.bestDay, d)
	}
	return r.top(n)
}

// add counts one word: documents hold it if they hold any of its terms.
func (r *ranking) add(w Word, postings map[string]store.Posting) {
	word := ranked{Word: w}
	for _, t := range w.Terms {
		if p, ok := postings[t]; ok {
			word.postings = append(word.postings, p)
		}
	}
	places := r.places(word.postings)
	if w.Name && r.ofNames == nil {
		r.ofNames = make([]float32, len(r.raw))
	}
	word.idf = w.Weight * idf(r.count, r.documents(places, word.postings))
	r.most += word.idf
	r.words = append(r.words, word)
	for _, p := range places {
		if r.raw[p] == 0 {
			r.found = append(r.found, p)
		}
		part := float32(word.idf * r.set.frequency(float64(r.often[p]), float64(r.dir.Messages[p].Tokens), r.average))
		r.raw[p] += part
		if w.Name {
			r.ofNames[p] += part
		}
	}
	r.addDays(w, places)
	for _, p := range places {
		r.often[p] = 0
	}
}

// documents returns the number of messages that hold a word: those places, or more if
// the store returned only some of a common word.
func (r *ranking) documents(places []int32, postings []store.Posting) int {
	n := len(places)
	for _, p := range postings {
		if p.Cut {
			n = max(n, p.Docs)
		}
	}
	return min(n, max(r.count, len(places)))
}

// places returns the messages in any of postings, in no order, and sets r.often to 1, or to 2 for several occurrences.
func (r *ranking) places(postings []store.Posting) []int32 {
	var places []int32
	for _, posting := range postings {
		if places == nil {
			places = make([]int32, 0, len(posting.IDs))
		}
		r.eachPlace(posting.IDs, func(p int32) {
			if r.often[p] == 0 {
				r.often[p] = 1
				places = append(places, p)
			}
		})
		r.eachPlace(posting.Often, func(p int32) {
			if r.often[p] == 1 {
				r.often[p] = 2
			}
		})
	}
	return places
}

// eachPlace yields the places of the listed messages that are allowed.
func (r *ranking) eachPlace(ids []int64, yield func(p int32)) {
	from := 0
	for _, id := range ids {
		p, ok := r.seek(from, core.MessageID(id))
		if from = p; ok && r.searched(int32(p)) {
			yield(int32(p))
		}
	}
}

// searched reports whether a message is searched: its day is allowed, and it is not hidden.
func (r *ranking) searched(p int32) bool {
	e := r.dir.Messages[p]
	return (r.allowed == nil || r.allowed[e.Segment]) && !r.hidden.Has(e.ID)
}

// seek finds a message at place from or later, in leaps of growing size.
func (r *ranking) seek(from int, id core.MessageID) (int, bool) {
	all := r.dir.Messages
	to, step := from, 1
	for to < len(all) && all[to].ID < id {
		from, to = to+1, to+step
		step *= 2
	}
	p, ok := slices.BinarySearchFunc(all[from:min(to+1, len(all))], id,
		func(e store.DirectoryEntry, id core.MessageID) int { return cmp.Compare(e.ID, id) })
	return from + p, ok
}

// idf returns the weight of a word that df of n documents hold.
func idf(n, df int) float64 { return math.Log(1 + (float64(max(n-df, 0))+0.5)/(float64(df)+0.5)) }

// frequency returns BM25's weight of tf occurrences in a document of a length.
func (s *Settings) frequency(tf, length, average float64) float64 {
	k1, b := s.K1, s.B
	return tf * (k1 + 1) / (tf + k1*(1-b+b*length/average))
}

// addDays counts one word for days as documents.
func (r *ranking) addDays(w Word, places []int32) {
	var segments []int32
	for _, p := range places {
		segment := r.dir.Messages[p].Segment
		if r.inDay[segment] == 0 {
			segments = append(segments, segment)
		}
		if r.length[segment] == 0 {
			r.length[segment] = r.tokensAround(int(p))
		}
		r.inDay[segment] += int32(r.often[p])
	}
	average := max(1, float64(r.dir.Tokens)/float64(max(1, len(r.dir.Segments))))
	weight := w.Weight * idf(len(r.dir.Segments), len(segments))
	for _, segment := range segments {
		r.day[segment] += weight * r.set.frequency(float64(r.inDay[segment]), float64(r.length[segment]), average)
		r.inDay[segment] = 0
	}
}

// tokensAround returns the length of a day by one of its messages: the tokens of those
// next to each other, which are all unless some arrived late.
func (r *ranking) tokensAround(p int) int32 {
	segment, sum := r.dir.Messages[p].Segment, int32(1)
	for i := p; i >= 0 && r.dir.Messages[i].Segment == segment; i-- {
		sum += int32(r.dir.Messages[i].Tokens)
	}
	for i := p + 1; i < len(r.dir.Messages) && r.dir.Messages[i].Segment == segment; i++ {
		sum += int32(r.dir.Messages[i].Tokens)
	}
	return sum
}

// shared returns the score of which neighbours get a part: that of all words but the
// names of speakers, which say nothing about neighbours.
func (r *ranking) shared(p int32) float32 {
	if r.ofNames == nil {
		return r.raw[p]
	}
	return max(0, r.raw[p]-r.ofNames[p])
}

// neighbours adds to every message a part of the scores of those beside it.
func (r *ranking) neighbours() {
	share := [5]float32{float32(r.set.Next), float32(r.set.Adjacent), 1, float32(r.set.Adjacent), float32(r.set.Next)}
	for _, p := range r.found {
		segment := r.dir.Messages[p].Segment
		for k, part := range share {
			i := int(p) + k - reach
			if i < 0 || i >= len(r.total) || r.dir.Messages[i].Segment != segment {
				continue
			}
			given := r.raw[p]
			if k != reach {
				given = part * r.shared(p)
			}
			if given == 0 {
				continue
			}
			if r.total[i] == 0 {
				r.near = append(r.near, int32(i))
			}
			r.total[i] += given
			r.best = max(r.best, float64(r.total[i]))
		}
	}
}

// dated makes every message of a day that the query names a candidate.
func (r *ranking) dated() {
	if len(r.in.spans) == 0 {
		return
	}
	r.named = make([]bool, len(r.dir.Segments))
	for i, s := range r.dir.Segments {
		r.named[i] = within(r.in.spans, s.Label)
	}
	left := r.set.Matches
	for p := len(r.dir.Messages) - 1; p >= 0 && left > 0; p-- {
		segment := r.dir.Messages[p].Segment
		if r.named[segment] && r.total[p] == 0 && r.searched(int32(p)) {
			r.near = append(r.near, int32(p))
			left--
		}
	}
}

// parts are the components of the score of one message.
type parts struct {
	raw, neighbour, day, date, factor float64
}

func (r *ranking) parts(p int32) parts {
	e := r.dir.Messages[p]
	out := parts{raw: float64(r.raw[p]), neighbour: float64(r.total[p] - r.raw[p]),
		factor: r.in.speakers.of(e, r.dir.Channels, r.set.Named)}
	best := cmp.Or(r.best, 1) // 0: the query names only dates
	if r.bestDay > 0 {
		out.day = r.set.Day * best * r.day[e.Segment] / r.bestDay
	}
	if r.dates(int(e.Segment)) {
		out.date = r.set.Date * best
		if r.in.days { // a long message weighs more
			out.date *= float64(e.Tokens) / (float64(e.Tokens) + r.average)
		}
	}
	return out
}

func (p parts) score() float64 { return (p.raw + p.neighbour + p.day + p.date) * p.factor }

// scale returns the lexical score from 0 to 1; see ranking.
func (r *ranking) scale(score float64) float64 {
	x := score / max(r.most, 1e-9)
	if r.most == 0 {
		x = score
	}
	return x / (x + 1)
}

// at returns a message as a candidate, whatever it scores.
func (r *ranking) at(p int32) candidate {
	score := r.parts(p).score()
	return candidate{p, score, r.scale(score)}
}

func (r *ranking) top(n int) []candidate {
	var best []candidate
	for _, p := range r.near {
		if r.raw[p] == 0 && r.only && !r.in.days || !r.shows(p) {
			continue
		}
		c := r.at(p)
		if len(best) == n && r.compare(c, best[n-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(best, c, r.compare)
		if len(best) == n {
			best = best[:n-1]
		}
		best = slices.Insert(best, i, c)
	}
	return best
}

// shows reports whether a message may be a hit.
func (r *ranking) shows(p int32) bool {
	e := r.dir.Messages[p]
	return !r.hidden.Has(e.ID) && (r.shown == nil || r.shown(e))
}

// dates reports whether the query names the day at a place in the directory.
func (r *ranking) dates(segment int) bool { return r.named != nil && r.named[segment] }

// earlier orders the days at two places in the directory: one that the query names first.
func (r *ranking) earlier(a, b int) int {
	switch {
	case r.dates(a) == r.dates(b):
		return 0
	case r.dates(a):
		return -1
	}
	return 1
}

// compare orders candidates: those of named days first, best first, then newest day, then newest message.
func (r *ranking) compare(a, b candidate) int {
	ea, eb := r.dir.Messages[a.pos], r.dir.Messages[b.pos]
	return cmp.Or(r.earlier(int(ea.Segment), int(eb.Segment)), cmp.Compare(b.score, a.score),
		cmp.Compare(r.dir.Segments[eb.Segment].Label,
			r.dir.Segments[ea.Segment].Label), cmp.Compare(eb.ID, ea.ID))
}

// terms returns what each word of the query adds to the BM25 of a message.
func (r *ranking) terms(p int32) map[string]float64 {
	out := map[string]float64{}
	e := r.dir.Messages[p]
	for _, w := range r.words {
		tf := 0
		for _, posting := range w.postings {
			if _, ok := slices.BinarySearch(posting.IDs, int64(e.ID)); ok {
				tf = max(tf, 1)
			}
			if _, ok := slices.BinarySearch(posting.Often, int64(e.ID)); ok {
				tf = 2
			}
		}
		if tf > 0 {
			out[w.Text] += w.idf * r.set.frequency(float64(tf), float64(e.Tokens), r.average)
		}
	}
	return out
}
