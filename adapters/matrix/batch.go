package matrix

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// slack is the most by which a message may be older than the invitation that it came
// with, as bridged messages carry the time of their network.
const slack = 5 * time.Minute

// batch collects the results of one sync response.
type batch struct {
	c     *Channel
	s     *session
	first bool // a sync without a token, whose events are history

	in    []core.Inbound
	state map[string]string // to store with the token
	read  map[string]string // room → event to mark as read
	finds int               // number of events requested from the homeserver

	later  []invitation // to be accepted with the next response
	unread []unread
}

// fill collects the events of a response. After an error, the response must be processed again.
func (b *batch) fill(ctx context.Context, resp *syncResponse) error {
	if err := b.invitations(ctx, resp.Rooms.Invite); err != nil {
		return err
	}
	var err error
	if b.unread, err = b.c.unread(ctx); err != nil {
		return err
	}
	unread := unreadValue(b.unread)
	loaded, err := b.prepare(ctx, resp.Rooms.Join)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(resp.Rooms.Join)) {
		if err := b.joined(ctx, id, resp.Rooms.Join[id], loaded[id]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(resp.Rooms.Leave)) {
		if err := b.left(ctx, id, resp.Rooms.Leave[id]); err != nil {
			return err
		}
	}
	b.state[keyInvites], b.c.failedJoins = "", b.c.failedJoins+1
	if b.later == nil {
		b.c.failedJoins = 0
	} else {
		b.state[keyInvites] = encoded(b.later)
	}
	if err := b.again(ctx, resp); err != nil {
		return err
	}
	if now := unreadValue(b.unread); now != unread {
		b.state[keyUnread] = now
	}
	return nil
}

// prepare loads the uncached rooms with new events and returns them.
func (b *batch) prepare(ctx context.Context, join map[string]joinedRoom) (map[string]bool, error) {
	loaded := map[string]bool{}
	for id, j := range join {
		_, known := b.c.rooms.Get(id)
		if known && arrives(b.c.rooms.home, j) && !b.first {
			b.c.rooms.drop(id) // joined again: the cached state is outdated
			known = false
		}
		if !known && len(j.Timeline.Events)+len(j.Ephemeral.Events) > 0 {
			loaded[id] = true
		}
	}
	if err := b.c.rooms.loadAll(ctx, b.s, slices.Collect(maps.Keys(loaded))); err != nil {
		return nil, err
	}
	return loaded, nil
}

// arrives reports whether the account's own join is among the events of a room.
func arrives(h household, j joinedRoom) bool {
	for _, raw := range slices.Concat(j.State.Events, j.Timeline.Events) {
		e, _ := readEvent(raw)
		if e.is(typeMember) && *e.StateKey == h.self && text(e.fields()["membership"]) == "join" &&
			text(object(e.Prev)["membership"]) != "join" {
			return true
		}
	}
	return false
}

// joined processes the events of a joined room. If loaded, its state was just read, and is newer than the events.
func (b *batch) joined(ctx context.Context, id string, j joinedRoom, loaded bool) error {
	b.c.rooms.touch(id)
	r, known := b.c.rooms.Get(id)
	if !known {
		return nil
	}
	if !loaded {
		for _, e := range readEvents(j.State.Events) {
			r = r.apply(b.c.rooms.home, e)
		}
	}
	events, err := b.gather(ctx, r, j)
	if err != nil {
		return err
	}
	if loaded {
		r = r.rewind(b.c.rooms.home, events)
	}
	for _, e := range events {
		if e.StateKey != nil {
			if !e.old {
				b.departure(ctx, r, e)
			}
			if err := b.follow(ctx, r, e); err != nil {
				return err
			}
			if !loaded || e.ofOthers(b.c.rooms.home) {
				r = r.apply(b.c.rooms.home, e)
			}
		}
		if r, err = b.reconsider(ctx, r, e); err != nil {
			return err
		}
		if err := b.event(ctx, r, e); err != nil {
			return err
		}
	}
	b.c.rooms.Set(r.id, r)
	b.settle(ctx, r, events)
	b.receipts(r, j.Ephemeral.Events)
	return nil
}

func readEvents(raw []json.RawMessage) []event {
	out := make([]event, 0, len(raw))
	for _, r := range raw {
		if e, ok := readEvent(r); ok {
			out = append(out, e)
		}
	}
	return out
}

// reconsider reads the state of a room again in which a ghost writes without bridge state, which may have arrived late.
func (b *batch) reconsider(ctx context.Context, r room, e event) (room, error) {
	h := b.c.rooms.home
	speaks := e.Type == typeMessage || e.Type == typeEncrypted
	if ghost, _ := h.ghost(e.Sender); ghost == nil || !speaks || e.old || r.kind(h) != kindWaiting {
		return r, nil
	}
	again, err := b.c.rooms.read(ctx, b.s, r.id)
	if err != nil {
		return r, err
	}
	if again.kind(h) == kindWaiting {
		was, err := b.c.kept(ctx, keyLate+r.id)
		if err != nil {
			return r, err
		}
		if was == "" && b.state[keyLate+r.id] == "" {
			b.state[keyLate+r.id] = strconv.FormatInt(e.TS, 10)
		}
	}
	return again, nil
}

func (b *batch) event(ctx context.Context, r room, e event) error {
	if e.old {
		return nil
	}
	h := b.c.rooms.home
	if e.Type == typeEncrypted && e.StateKey == nil {
		var err error
		if e, err = b.decrypt(ctx, r, e); err != nil {
			return err
		}
	}
	if e.Type == typeRedaction {
		b.unread = slices.DeleteFunc(b.unread, func(u unread) bool { return u.Room == r.id && isEvent(e.Redacts)(u) })
	}
	b.doubts(r.id, e)
	b.remember(r, e)
	b.health(e)
	s := scene{home: h, room: r, now: b.c.now(), renewal: b.s.renewal,
		known: func(id string) (seen, bool) { return b.find(ctx, r, id) }}
	in, ok := normalise(s, e)
	if !ok {
		return nil
	}
	status := keyStatus + in.Address.Channel
	if e.Type == typeStatus {
		b.state[status] = "1"
	}
	if e.Type == typeMessage && in.Kind == core.InReceipt {
		if sends, err := b.c.kept(ctx, status); err != nil || sends+b.state[status] != "" {
			return err // the bridge sends a status event, too
		}
	}
	b.pass(r, e, in)
	return nil
}

func (b *batch) pass(r room, e event, in core.Inbound) {
	b.in = append(b.in, in)
	switch in.Kind {
	case core.InMessage:
		b.settleIn(in.Address, r.id)
		b.read[r.id] = e.ID
	case core.InMoved:
		now := in.Address
		now.External = in.Target
		b.settleIn(now, r.id)
	}
}

func (b *batch) settleIn(a core.Address, id string) {
	b.c.memory.where.Set(a, id)
	b.state[keyOf(keyRoom, a)], b.state[keyWho+id] = id, a.Channel+":"+a.External
}

// settle records the last processed event of a room, and the room as that of its person if there is no other.
func (b *batch) settle(ctx context.Context, r room, events []event) {
	if len(events) > 0 {
		b.state[keyLast+r.id] = events[len(events)-1].ID
	}
	a, ok := r.person(b.c.rooms.home)
	if !ok {
		return
	}
	if was, err := b.c.roomOf(ctx, a); err == nil && was == "" {
		b.settleIn(a, r.id)
	}
}

// departure passes on that the person of a room left it, unless they share another room with the account.
func (b *batch) departure(ctx context.Context, r room, e event) {
	s := scene{home: b.c.rooms.home, room: r, now: b.c.now()}
	in, ok := gone(s, e)
	if !ok {
		return
	}
	was, err := b.c.roomOf(ctx, in.Address)
	if err != nil || was == "" {
		return
	}
	if was != r.id {
		theirs, err := b.c.rooms.load(ctx, b.s, was)
		if a, ok := theirs.person(b.c.rooms.home); err != nil || ok && a == in.Address && theirs.successor == "" {
			return
		}
	}
	if other, ok := b.c.rooms.with(in.Address, r.id); ok {
		b.settleIn(in.Address, other.id)
		return
	}
	b.in = append(b.in, in)
}

// left processes that the account is no longer in a room.
func (b *batch) left(ctx context.Context, id string, j joinedRoom) error {
	r, known := b.c.rooms.Get(id)
	if !known {
		who, err := b.c.kept(ctx, keyWho+id)
		if err != nil {
			return err
		}
		r = remembered(b.c.rooms.home, id, who)
	}
	for _, e := range readEvents(slices.Concat(j.State.Events, j.Timeline.Events)) {
		if e.is(typeMember) && *e.StateKey == b.c.rooms.home.self {
			b.departure(ctx, r, e)
		}
	}
	b.c.rooms.drop(id)
	b.state[keyJoined+id], b.state[keyLast+id] = "", ""
	return nil
}

// remembered returns a room of which only the person is known.
func remembered(h household, id, who string) room {
	channel, external, _ := strings.Cut(who, ":")
	r := room{id: id, members: map[string]member{h.self: {membership: "join"}}}
	if channel == Name {
		r.members[external] = member{membership: "join"}
	}
	return r
}

func (b *batch) remember(r room, e event) {
	h := b.c.rooms.home
	if e.ID == "" || !r.believes(e) {
		return
	}
	if s, ok := seenOf(h, e); ok {
		b.c.memory.add(r.id, e.ID, s)
	}
}

// seenOf returns the data to remember about an event, if any.
func seenOf(h household, e event) (seen, bool) {
	f, rel := e.fields(), e.relation()
	s := seen{Sender: e.Sender, Mine: e.Sender == h.self && (e.Txn != "" || text(f[sentMark]) != "")}
	switch {
	case e.Type == typeMessage && rel.kind == "m.replace":
		s.Target = rel.target
	case e.Type == typeMessage:
		s.Text, _ = content(f, rel.reply != "", "")
	case e.Type == typeReaction:
		s.Target, s.Reaction = rel.target, true
	default:
		return s, false
	}
	return s, true
}

// health records the login state that a bridge's bot reports.
func (b *batch) health(e event) {
	bridge := b.c.rooms.home.bot(e.Sender)
	if bridge == nil || e.Type != typeMessage {
		return
	}
	st, ok := readState(e)
	if last, _ := b.c.memory.logins.Get(bridge.Network); !ok || st.At.Before(last.At) {
		return
	}
	b.c.memory.logins.Set(bridge.Network, st)
	b.state[keyLogin+bridge.Network] = encoded(st)
	b.c.log.Info("bridge state changed", zap.String("network", bridge.Network), zap.String("state", st.State))
}

func (b *batch) receipts(r room, raw []json.RawMessage) {
	s := scene{home: b.c.rooms.home, room: r, now: b.c.now()}
	for _, one := range raw {
		if f := object(one); text(f["type"]) == typeReceipt {
			latest := func(id string) string { return b.c.memory.latest(r.id, id) }
			b.in = append(b.in, receipts(s, f["content"], latest)...)
		}
	}
}
