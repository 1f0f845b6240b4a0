package sqlstore

import (
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// recent keeps epochs that go on with their raw messages, so that a turn reads only
// what is new, and nothing if this process stored that too. An entry holds as long as
// the thread's versions are what they were: every edit, redaction, regeneration, summary
// and attachment changes one. Messages of the turn that asks are kept once it ended well:
// if it fails they lose their positions.
type recent struct {
	mu      sync.Mutex
	threads map[threadOf]*kept
	starts  map[threadOf]*start
}

type threadOf struct {
	user   core.UserID
	thread core.ThreadID
}

// versions are what a thread is at, as versionColumns of its row say.
type versions struct {
	last             int64 // position
	epoch            core.TurnID
	edits, summaries int64
	used             int64 // when its epoch was used last
	told, compressed int64
}

const versionColumns = `last_position, epoch_id, edits, summaries, epoch_used, news, compressed`

func (v *versions) columns() []any {
	return []any{&v.last, &v.epoch, &v.edits, &v.summaries, &v.used, &v.told, &v.compressed}
}

// start is what a thread was at when a turn began in it, read with the user's lock. There
// is none of a turn whose inputs have attachments: it waits for them, while they change.
type start struct {
	versions
	turn    core.TurnID
	attempt int
	news    int64          // of the user
	inputs  []core.Message // of the turn; nil: they are to be read
}

// kept are the messages of one epoch.
type kept struct {
	epoch            *core.Epoch
	edits, summaries int64
	messages         []core.Message
	pages            []core.Page    // that stand before them
	turn             core.TurnID    // that read them
	own              []core.Message // its own, which follow them if it ends well
}

// maxRecent bounds the threads that are kept.
const maxRecent = 128

// get returns what is kept of an epoch, or nil. There are messages in it.
func (r *recent) get(k threadOf, epoch core.TurnID, edits, summaries int64) *kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.threads[k]; e != nil && e.epoch.ID == epoch && e.edits == edits && e.summaries == summaries &&
		len(e.messages) > 0 {
		return e
	}
	return nil
}

// through is the position of the last message that is kept.
func (e *kept) through() int64 { return e.messages[len(e.messages)-1].Position }

// refresh makes every process read a thread's messages and epoch again: a row is not
// what it was, though it says the same.
func (t *tx) refresh(thread core.ThreadID) error {
	return t.exec(`UPDATE threads SET summaries = summaries + 1 WHERE user_id = $1 AND id = $2`, t.user, thread)
}

// put keeps the messages of an epoch that stand before those of turn. Where it
// has none, the turn is not what it was, and nothing is kept.
func (r *recent) put(k threadOf, turn core.TurnID, e kept) {
	n := slices.IndexFunc(e.messages, func(m core.Message) bool { return m.Turn == turn })
	if n < 0 {
		return
	}
	e.turn, e.own = turn, e.messages[n:]
	e.messages = e.messages[:n:n]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.threads = bounded(r.threads, k)
	r.threads[k] = &e
}

// bounded makes room for a key in a map that keeps at most maxRecent.
func bounded[V any](m map[threadOf]V, k threadOf) map[threadOf]V {
	if m == nil {
		m = map[threadOf]V{}
	}
	if _, there := m[k]; !there && len(m) >= maxRecent {
		for other := range m { // any: the order of a map is random
			delete(m, other)
			break
		}
	}
	return m
}

// begin notes what a thread was at when a turn of it began.
func (r *recent) begin(turn *core.Turn, s *start) {
	s.turn, s.attempt = turn.ID, turn.Lease.Attempt
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts = bounded(r.starts, k)
	r.starts[k] = s
}

// begun returns what begin noted of a turn, once, with what is kept of its epoch; nil
// if one of them is not there. An attempt that follows another reads everything again.
func (r *recent) begun(turn *core.Turn) (*start, *kept) {
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	s := r.starts[k]
	delete(r.starts, k)
	r.mu.Unlock()
	if s == nil || s.turn != turn.ID || s.attempt != turn.Lease.Attempt || turn.Again {
		return nil, nil
	}
	e := r.get(k, s.epoch, s.edits, s.summaries)
	if e == nil {
		return nil, nil
	}
	return s, e
}

// ended adds what a turn read and said to what is kept, if nothing else was said between:
// before its answer the thread's last position was last.
func (r *recent) ended(turn *core.Turn, last int64, said []core.Message) {
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.threads[k]
	if e == nil || e.turn != turn.ID || len(e.own) == 0 || e.own[len(e.own)-1].Position != last {
		return
	}
	next := *e
	next.messages, next.own = slices.Concat(e.messages, e.own), nil
	for _, m := range said {
		if m.Position > 0 {
			next.messages = append(next.messages, m)
		}
	}
	r.threads[k] = &next
}
