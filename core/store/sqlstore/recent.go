package sqlstore

import (
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// recent keeps the raw messages of epochs that go on, so that a turn reads only
// what is new. An entry holds as long as the thread's versions are what they
// were: every edit, redaction, regeneration, summary and attachment changes one. Messages of
// the turn that asks are never kept: if it fails they lose their positions.
type recent struct {
	mu      sync.Mutex
	threads map[threadOf]*kept
}

type threadOf struct {
	user   core.UserID
	thread core.ThreadID
}

// kept are the messages of one epoch.
type kept struct {
	epoch            core.TurnID
	edits, summaries int64
	messages         []core.Message
	pages            []core.Page // that stand before them
}

// maxRecent bounds the threads that are kept.
const maxRecent = 128

// get returns what is kept of an epoch, or nil. There are messages in it.
func (r *recent) get(k threadOf, epoch core.TurnID, edits, summaries int64) *kept {
	if e := r.last(k); e != nil && e.holds(epoch, edits, summaries) && len(e.messages) > 0 {
		return e
	}
	return nil
}

// last returns what is kept of a thread, which may hold no longer, or nil.
func (r *recent) last(k threadOf) *kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.threads[k]
}

// holds reports whether it is of that epoch and those versions.
func (e *kept) holds(epoch core.TurnID, edits, summaries int64) bool {
	return e.epoch == epoch && e.edits == edits && e.summaries == summaries
}

// refresh makes every process read a thread's messages again: a row is not what
// it was, though it says the same.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads == nil {
		r.threads = map[threadOf]*kept{}
	}
	if r.threads[k] == nil && len(r.threads) >= maxRecent {
		for other := range r.threads { // any: the order of a map is random
			delete(r.threads, other)
			break
		}
	}
	e.messages = e.messages[:n:n]
	r.threads[k] = &e
}
