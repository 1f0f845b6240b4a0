package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.mau.fi/util/exsync"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

const (
	pageSize = 500
	maxPages = 1000 // of one gap
	maxFinds = 100  // of referenced events, in one batch
	overlap  = 10 * time.Minute
)

// gather returns the events of a room, oldest first: those of the timeline, of the gap before it, and of ghosts from
// before the room's bridge state arrived. It marks history as old.
func (b *batch) gather(ctx context.Context, r room, j joinedRoom) ([]event, error) {
	events := readEvents(j.Timeline.Events)
	begin, fresh, err := b.begin(ctx, r, j)
	if err != nil {
		return nil, err
	}
	last, err := b.c.kept(ctx, keyLast+r.id)
	if err != nil {
		return nil, err
	}
	if late, err := b.lateSince(ctx, r, j); err != nil {
		return nil, err
	} else if late > 0 {
		begin, last, j.Timeline.Limited = late, "", true
	}
	if j.Timeline.Limited && j.Timeline.PrevBatch != "" && (!fresh || begin != never) {
		past := func(e event) bool {
			if last != "" && !fresh {
				return e.ID == last
			}
			return e.TS < begin
		}
		older, err := b.c.history(ctx, b.s, r.id, j.Timeline.PrevBatch, past)
		if err != nil {
			return nil, err
		}
		events = append(older, events...)
	}
	if !fresh {
		return events, nil
	}
	for i := range events {
		events[i].old = events[i].TS < begin
	}
	return events, nil
}

// never is a beginning after all events.
const never = int64(1) << 60

// begin returns the time from which events are processed, in milliseconds. fresh: the
// account just joined the room or syncs for the first time, so older events are history.
func (b *batch) begin(ctx context.Context, r room, j joinedRoom) (ms int64, fresh bool, err error) {
	h := b.c.rooms.home
	if !b.first && !arrives(h, j) {
		n, err := keptAs[int64](ctx, b.c, keySynced)
		return n - overlap.Milliseconds(), false, err
	}
	at, err := keptAs[int64](ctx, b.c, keyJoined+r.id)
	if err != nil {
		return 0, true, err
	}
	if at == 0 {
		at = r.members[h.self].at
		if b.first && b.c.now().Sub(time.UnixMilli(at)) > slack {
			at = never
		}
	}
	if k := r.kind(h); k == kindPortal || k == kindWaiting {
		if at == never {
			at = b.c.now().UnixMilli()
		}
		at -= slack.Milliseconds()
	}
	return at, true, nil
}

// lateSince returns the time since which ghosts wrote in a room that had no bridge state
// until now, in milliseconds; 0: they did not.
func (b *batch) lateSince(ctx context.Context, r room, j joinedRoom) (int64, error) {
	has := func(raw json.RawMessage) bool {
		e, _ := readEvent(raw)
		return e.is(typeBridge) || e.is(typeHalfShot)
	}
	if !slices.ContainsFunc(j.State.Events, has) && !slices.ContainsFunc(j.Timeline.Events, has) {
		return 0, nil
	}
	at, err := keptAs[int64](ctx, b.c, keyLate+r.id)
	if err != nil || at == 0 {
		return 0, err
	}
	b.state[keyLate+r.id] = ""
	return max(1, at-slack.Milliseconds()), nil
}

// history pages back from a token until past returns true or the room begins. It returns
// the later events, oldest first.
func (c *Channel) history(ctx context.Context, s *session, room, from string, past func(event) bool) ([]event, error) {
	types, _ := json.Marshal(map[string]any{"types": timelineTypes(), "lazy_load_members": true})
	var out []event
	for range maxPages {
		q := url.Values{"dir": {"b"}, "from": {from}, "limit": {strconv.Itoa(pageSize)}, "filter": {string(types)}}
		var page struct {
			End   string            `json:"end"`
			Chunk []json.RawMessage `json:"chunk"`
		}
		err := s.get(ctx, syncTimeout, q, &page, "v3", "rooms", room, "messages")
		if err != nil && !forGood(err) {
			return nil, fmt.Errorf("read earlier events: %w", err)
		}
		if err != nil {
			c.log.Warn("gap in a room cannot be read", zap.String("room", room), zap.Error(err))
		}
		for _, e := range readEvents(page.Chunk) {
			if past(e) {
				slices.Reverse(out)
				return out, nil
			}
			out = append(out, e)
		}
		if err != nil || page.End == "" || page.End == from {
			break
		}
		from = page.End
	}
	slices.Reverse(out)
	return out, nil
}

// find returns an event from memory, or else from the homeserver.
func (b *batch) find(ctx context.Context, r room, id string) (seen, bool) {
	if s, ok := b.c.memory.look(id); ok {
		return s, true
	}
	if b.finds++; b.finds > maxFinds {
		return seen{}, false
	}
	var raw json.RawMessage
	err := b.s.get(ctx, showTimeout, nil, &raw, "v3", "rooms", r.id, "event", id)
	if err != nil && !forGood(err) {
		b.finds = maxFinds // the server is slow or away: make no more requests
	}
	e, ok := readEvent(raw)
	if err != nil || !ok {
		return seen{}, false
	}
	if e.Type == typeEncrypted && b.s.crypto != nil {
		e, _ = b.s.open(ctx, r.id, e)
	}
	if !r.believes(e) {
		return seen{}, false
	}
	return seenOf(b.c.rooms.home, e)
}

const (
	memorySize = 8192 // remembered events of all rooms
	traceSize  = 256  // remembered events of one room, for read marks
)

// memory holds the events that this process remembers, for the texts of quotes, the
// check of edits, and the sent messages of read marks.
type memory struct {
	mu     sync.Mutex
	events map[string]seen
	order  []string
	next   int
	traces map[string][]trace

	where  *exsync.Map[core.Address, string] // known rooms of people
	logins *exsync.Map[string, loginState]   // by network
}

// trace is one event of a room in order. mine is the sent message that it is or edits.
type trace struct{ id, mine string }

func newMemory() *memory {
	return &memory{events: map[string]seen{}, traces: map[string][]trace{}, where: exsync.NewMap[core.Address, string](),
		logins: exsync.NewMap[string, loginState]()}
}

func (m *memory) look(id string) (seen, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.events[id]
	return s, ok
}

// add remembers an event of a room, and keeps what is already known about it.
func (m *memory) add(room, id string, s seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.events[id]
	if known {
		s.Mine, s.Text = s.Mine || was.Mine, cmp.Or(s.Text, was.Text)
	} else {
		m.push(id)
	}
	m.events[id] = s
	if slices.ContainsFunc(m.traces[room], func(t trace) bool { return t.id == id }) {
		return
	}
	t := trace{id: id}
	switch {
	case s.Mine && s.Target != "":
		t.mine = s.Target
	case s.Mine:
		t.mine = id
	}
	list := append(m.traces[room], t)
	m.traces[room] = list[max(0, len(list)-traceSize):]
}

func (m *memory) push(id string) {
	if len(m.order) < memorySize {
		m.order = append(m.order, id)
		return
	}
	delete(m.events, m.order[m.next])
	m.order[m.next] = id
	m.next = (m.next + 1) % memorySize
}

// latest returns the last sent message in a room that is not after an event, or "". An
// event that is not remembered is taken for a sent message.
func (m *memory) latest(room, id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.traces[room]
	i := slices.IndexFunc(list, func(t trace) bool { return t.id == id })
	if i < 0 {
		return id
	}
	for ; i >= 0; i-- {
		if list[i].mine != "" {
			return list[i].mine
		}
	}
	return ""
}
