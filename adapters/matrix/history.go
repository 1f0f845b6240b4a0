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

// pages passes the events of a room to each, the newest first, from a token on, or from the end if that is "". It ends
// when each returns false, when the room begins, or after a number of pages.
func (s *session) pages(ctx context.Context, room, from string, filter map[string]any, size, most int,
	each func(event) bool) error {
	raw, _ := json.Marshal(filter)
	q := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(size)}, "filter": {string(raw)}}
	for range most {
		if from != "" {
			q.Set("from", from)
		}
		var page struct {
			End   string            `json:"end"`
			Chunk []json.RawMessage `json:"chunk"`
		}
		if err := s.get(ctx, syncTimeout, q, &page, "v3", "rooms", room, "messages"); err != nil {
			return fmt.Errorf("read earlier events: %w", err)
		}
		for _, e := range readEvents(page.Chunk) {
			if !each(e) {
				return nil
			}
		}
		if page.End == "" || page.End == from {
			return nil
		}
		from = page.End
	}
	return nil
}

// history pages back from a token until past returns true or the room begins. It returns
// the later events, oldest first.
func (c *Channel) history(ctx context.Context, s *session, room, from string, past func(event) bool) ([]event, error) {
	var out []event
	filter := map[string]any{"types": timelineTypes(), "lazy_load_members": true}
	err := s.pages(ctx, room, from, filter, pageSize, maxPages, func(e event) bool {
		if past(e) {
			return false
		}
		out = append(out, e)
		return true
	})
	if err != nil && !forGood(err) {
		return nil, err
	}
	if err != nil {
		c.log.Warn("gap in a room cannot be read", zap.String("room", room), zap.Error(err))
	}
	slices.Reverse(out)
	return out, nil
}

// find returns an event from memory, or else from the homeserver.
func (b *batch) find(ctx context.Context, r room, id string) (seen, bool) {
	if s, ok := b.c.memory.events.Get(id); ok {
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

const memorySize = 8192 // remembered events of all rooms

// memory holds the events that this process remembers, for the texts of quotes, the
// check of edits, and the sent messages of read marks.
type memory struct {
	adding sync.Mutex
	events *exsync.RingBuffer[string, seen]
	where  *exsync.Map[core.Address, string] // known rooms of people
	logins *exsync.Map[string, loginState]   // by network
}

func newMemory() *memory {
	return &memory{events: exsync.NewRingBuffer[string, seen](memorySize), where: exsync.NewMap[core.Address, string](),
		logins: exsync.NewMap[string, loginState]()}
}

// add remembers an event of a room, and keeps what is already known about it.
func (m *memory) add(room, id string, s seen) {
	m.adding.Lock()
	defer m.adding.Unlock()
	s.Room = room
	was, known := m.events.Get(id)
	if !known {
		m.events.Push(id, s)
		return
	}
	s.Mine, s.Text = s.Mine || was.Mine, cmp.Or(s.Text, was.Text)
	m.events.Replace(id, s)
}

// latest returns the last sent message in a room that is not after an event, or "". An
// event that is not remembered is taken for a sent message.
func (m *memory) latest(room, id string) string {
	found, sent := false, ""
	_ = m.events.Iter(func(other string, s seen) error { // the newest first
		if found = found || other == id; !found || s.Room != room || !s.Mine {
			return nil
		}
		sent = cmp.Or(s.Target, other)
		return exsync.StopIteration
	})
	if !found {
		return id
	}
	return sent
}
