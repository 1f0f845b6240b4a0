package sqlstore

import (
	"fmt"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// recent caches the raw messages of epochs that continue, so that a turn reads only new messages, and none if this
// process stored these too. An entry is valid while the thread's versions are unchanged: every edit, redaction,
// regeneration, summary and attachment changes one. The process that stores a summary keeps its entry. A turn's own
// messages are added when it has succeeded: if it fails, they lose their positions.
type recent struct {
	mu      sync.Mutex
	threads map[threadOf]*kept
	starts  map[threadOf]*start
}

type threadOf struct {
	user   core.UserID
	thread core.ThreadID
}

// versions holds versionColumns of a thread.
type versions struct {
	last             int64 // position
	epoch            core.TurnID
	edits, summaries int64
	used             int64 // when its epoch was last used
	told, compressed int64
}

func (v *versions) columns() []any {
	return []any{&v.last, &v.epoch, &v.edits, &v.summaries, &v.used, &v.told, &v.compressed}
}

// versionColumns reads the versions of thread h of user $1.
func versionColumns() string {
	return lastPosition + `, h.epoch_id, h.edits, h.summaries, ` + lastUse("0") + `, h.news, h.compressed`
}

// lastPosition is the last position in thread h of user $1. The thread's row has it only after imports
// and moves, and from earlier versions: a turn does not write it.
const lastPosition = `(SELECT CASE WHEN MAX(x.position) > h.last_position THEN MAX(x.position) ELSE h.last_position END
	FROM messages x WHERE x.user_id = $1 AND x.thread_id = h.id AND x.position > 0)`

// lastUse is when a turn last used the epoch of thread h of user $1: the time in the position of its
// last message. It leaves out the turn of a parameter.
func lastUse(but string) string {
	return `(SELECT COALESCE(MAX(x.position) / 1000, h.epoch_used) FROM messages x
		WHERE x.user_id = $1 AND x.thread_id = h.id AND x.position > 0 AND x.turn_id NOT IN (0, ` + but + `))`
}

// start is the state of a thread when a turn began, read under the user's lock. A turn whose
// inputs have attachments has none: it waits for the attachments, which change meanwhile.
type start struct {
	versions
	turn    core.TurnID
	attempt int
	news    int64          // of the user
	inputs  []core.Message // of the turn; nil: not known yet
}

// kept holds the cached messages of one epoch.
type kept struct {
	epoch            *core.Epoch // nil: turn begins it
	edits, summaries int64
	messages         []core.Message
	pages            []core.Page    // before them
	turn             core.TurnID    // that read them
	own              []core.Message // of that turn, which follow if it succeeds
}

// maxRecent bounds the cached threads.
const maxRecent = 128

// get returns the entry of an epoch, which has messages, or nil.
func (r *recent) get(k threadOf, epoch core.TurnID, edits, summaries int64) *kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.threads[k]
	if e == nil || e.epoch == nil || e.epoch.ID != epoch || e.edits != edits || e.summaries != summaries ||
		len(e.messages) == 0 {
		return nil
	}
	return e
}

// through returns the position of the last cached message.
func (e *kept) through() int64 { return e.messages[len(e.messages)-1].Position }

// refresh invalidates every process's cache of a thread, after a change of a row that changes
// none of the other versions.
func (t *tx) refresh(thread core.ThreadID) {
	t.exec(`UPDATE threads SET summaries = summaries + 1 WHERE user_id = $1 AND id = $2`, t.user, thread)
}

// put caches the messages of an epoch before those of turn. If turn has none, it has changed
// meanwhile, and nothing is cached.
func (r *recent) put(turn *core.Turn, e kept) {
	n := slices.IndexFunc(e.messages, func(m core.Message) bool { return m.Turn == turn.ID })
	if n < 0 {
		return
	}
	e.turn, e.own = turn.ID, e.messages[n:]
	e.messages = e.messages[:n:n]
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.threads = bounded(r.threads, k)
	r.threads[k] = &e
}

// bounded makes room for a key in a map of at most maxRecent entries.
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

// begin notes the state of a thread when a turn of it began.
func (r *recent) begin(turn *core.Turn, s *start) {
	s.turn, s.attempt = turn.ID, turn.Lease.Attempt
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts = bounded(r.starts, k)
	r.starts[k] = s
}

// begun removes and returns the start of a turn, with the entry of its epoch; nil if either is
// missing. A repeated attempt reads everything again.
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

// whole reports whether a turn that begins needs no other messages than its inputs and cached ones.
func (r *recent) whole(turn *core.Turn, s *start) bool {
	e := r.get(threadOf{turn.User, turn.Thread}, s.epoch, s.edits, s.summaries)
	return e != nil && s.needsOnly(e) && e.through() == s.last
}

// needsOnly reports whether a window needs nothing but the entry of its epoch and newer messages.
func (s *start) needsOnly(e *kept) bool { return e.epoch.Dropped == 0 && s.news <= s.told }

// ended adds a turn's inputs and answer to the cache, if nothing came between them: last is the
// thread's last position before the answer. began is the epoch that the turn began; nil: none.
func (r *recent) ended(turn *core.Turn, last int64, said []core.Message, began *core.Epoch) {
	k := threadOf{turn.User, turn.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.threads[k]
	if e == nil || e.turn != turn.ID || len(e.own) == 0 || e.own[len(e.own)-1].Position != last ||
		(e.epoch == nil) != (began != nil) {
		return
	}
	said = slices.DeleteFunc(slices.Clone(said), func(m core.Message) bool { return m.Position == 0 })
	next := *e
	before := e.messages
	if began != nil {
		next.epoch = &core.Epoch{}
		if unjson(text(began), next.epoch) != nil { // as it is in the table
			return
		}
		for len(before) > 0 && before[0].Position < began.Start {
			before = before[1:]
		}
	}
	next.messages, next.own = slices.Concat(before, e.own, said), nil
	r.threads[k] = &next
}

// coverage lists the messages that a summary is the first to cover, with their thread's versions since.
type coverage struct {
	thread           threadOf
	edits, summaries int64
	messages         []core.MessageID
}

// cover marks cached messages as covered, if nothing but the summary has changed.
func (r *recent) cover(c coverage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.threads[c.thread]
	if e == nil || e.edits != c.edits || e.summaries != c.summaries-1 {
		return
	}
	next := *e
	next.summaries = c.summaries
	next.messages, next.own = c.mark(e.messages), c.mark(e.own)
	r.threads[c.thread] = &next
}

// mark returns a copy of messages in which those of c are covered.
func (c coverage) mark(messages []core.Message) []core.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Covered = out[i].Covered || slices.Contains(c.messages, out[i].ID)
	}
	return out
}

// seen caches the identities and users that this process last saw at addresses. Only an
// Append relies on it, which compares it with the rows that it has locked.
type seen struct {
	mu     sync.Mutex
	people map[core.Address]sight
}

// sight is the cached state of an address.
type sight struct {
	identity core.Identity
	user     core.User // without its settings
	settings string
	as       string
}

// maxSeen bounds the cached addresses.
const maxSeen = 4096

func (s *seen) put(a core.Address, p sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people == nil {
		s.people = map[core.Address]sight{}
	}
	if _, there := s.people[a]; !there && len(s.people) >= maxSeen {
		for other := range s.people { // any: the order of a map is random
			delete(s.people, other)
			break
		}
	}
	s.people[a] = p
}

// forget removes an address that belongs to no user.
func (s *seen) forget(a core.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.people, a)
}

// seenAs returns everything about an identity and its user that affects the handling of a
// message, as one comparable text.
func seenAs(i core.Identity, name, role, settings string, standing int64) string {
	return fmt.Sprintf("%d %d %d %q %q %q %q %q %d %s", i.User, i.ID, i.Thread, i.Address, i.Aliases, i.Name, name, role,
		standing, settings)
}

// Known returns the last seen identity and user at an address; see core.InboundStore.
func (s *Store) Known(a core.Address) (core.Identity, core.User, string, bool) {
	s.seen.mu.Lock()
	p, ok := s.seen.people[a]
	s.seen.mu.Unlock()
	if !ok || unjson(p.settings, &p.user.Settings) != nil {
		return core.Identity{}, core.User{}, "", false
	}
	return p.identity, p.user, p.as, true
}
