package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
)

// cryptor reads and writes encrypted rooms for one device.
type cryptor interface {
	// sync processes the keys and devices in a sync response. After errReload the cryptor
	// is unusable, and its successor must process the same response.
	sync(ctx context.Context, r *syncResponse, since string) error
	// decrypt returns the type and content of an encrypted event.
	decrypt(ctx context.Context, room string, e event) (kind string, content json.RawMessage, err error)
	// ask requests the key of an event from other devices, unless it just has.
	ask(ctx context.Context, room string, e event)
	// foreign reports whether an event of the account was encrypted by another copy of
	// this device's keys. err is the result of decrypting it.
	foreign(ctx context.Context, room string, e event, err error) bool
	// behind records that the store is older than its keys elsewhere, for the next cryptor to repair.
	behind(ctx context.Context) error
	// encrypt returns the content of the m.room.encrypted event to send to r.
	encrypt(ctx context.Context, r room, kind string, content any) (any, error)
	// close waits for the cryptor's background work.
	close()
}

// errReload means that received keys could not be stored. The memory is ahead of the
// store, and must be loaded from it again.
var errReload = errors.New("keys could not be stored")

// unread are the events of a room that could not be decrypted yet.
type unread struct {
	Events []json.RawMessage `json:"events"`
	Since  int64             `json:"since"` // arrival of the first unreported event, in milliseconds
	First  string            `json:"first"` // id of that event
	Told   bool              `json:"told"`  // the person was asked to send the messages again
	Asked  int64             `json:"asked"` // last request for their keys, in milliseconds
}

const (
	maxUnread   = 100                // events of one room that wait for their keys
	keepUnread  = 7 * 24 * time.Hour // for which they wait
	keyWait     = 25 * time.Second   // wait for a key before the person is asked
	unreadEvery = time.Minute        // interval of the search for keys that arrived by other means
	askEvery    = time.Hour          // minimum time between two questions to a person
	askSoonest  = 10 * time.Second   // first pause before keys are requested again; it doubles
)

// open decrypts an event. It returns an event that it cannot decrypt unchanged.
func (s *session) open(ctx context.Context, room string, e event) (event, error) {
	kind, content, err := s.crypto.decrypt(ctx, room, e)
	if err != nil {
		return e, err
	}
	e.Type, e.Content, e.opened = kind, content, true
	e.raw, err = json.Marshal(map[string]any{"type": kind, "event_id": e.ID, "sender": e.Sender,
		"origin_server_ts": e.TS, "content": content})
	return e.asMessage(), err
}

// decrypt decrypts an event, or stores it for later if its key is missing.
func (b *batch) decrypt(ctx context.Context, r room, e event) (event, error) {
	if b.s.crypto == nil || len(e.fields()["ciphertext"]) == 0 { // redacted
		return e, nil
	}
	plain, err := b.s.open(ctx, r.id, e)
	if ctx.Err() != nil {
		return e, ctx.Err()
	}
	if b.c.rooms.home.self == e.Sender {
		return plain, b.ours(ctx, r.id, e, err)
	}
	if err == nil || r.role(b.c.rooms.home, e.Sender) != rolePerson {
		return plain, nil
	}
	b.c.log.Warn("event cannot be decrypted", zap.String("room", r.id), zap.String("event", e.ID), zap.Error(err))
	return e, b.postpone(ctx, r, e)
}

// postpone stores an event until its key arrives, and requests the key.
func (b *batch) postpone(ctx context.Context, r room, e event) error {
	all, err := b.c.unread(ctx)
	if err != nil {
		return err
	}
	u := all[r.id]
	if slices.ContainsFunc(u.Events, isEvent(e.ID)) {
		return nil
	}
	now := b.c.now()
	if len(u.Events) == 0 || u.Told && now.Sub(time.UnixMilli(u.Since)) > askEvery {
		u.Since, u.First, u.Told = now.UnixMilli(), e.ID, false
	}
	if len(u.Events) == 0 {
		u.Asked = now.UnixMilli()
	}
	u.Events = append(u.Events, e.raw)
	u.Events = u.Events[max(0, len(u.Events)-maxUnread):]
	all[r.id] = u
	b.s.crypto.ask(ctx, r.id, e)
	return b.c.keepUnread(ctx, all)
}

func isEvent(id string) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool { e, _ := readEvent(raw); return e.ID == id }
}

func (b *batch) retract(ctx context.Context, r room, id string) error {
	all, err := b.c.unread(ctx)
	u := all[r.id]
	if err != nil || !slices.ContainsFunc(u.Events, isEvent(id)) {
		return err
	}
	u.Events = slices.DeleteFunc(u.Events, isEvent(id))
	all[r.id] = u
	return b.c.keepUnread(ctx, all)
}

func (c *Channel) unread(ctx context.Context) (map[string]unread, error) {
	all, err := keptAs[map[string]unread](ctx, c, keyUnread)
	if all == nil {
		all = map[string]unread{}
	}
	return all, err
}

func (c *Channel) keepUnread(ctx context.Context, all map[string]unread) error {
	return c.keep(ctx, map[string]string{keyUnread: unreadValue(all)})
}

// unreadValue returns all in its stored form, without rooms that have no events.
func unreadValue(all map[string]unread) string {
	maps.DeleteFunc(all, func(_ string, u unread) bool { return len(u.Events) == 0 })
	if len(all) == 0 {
		return ""
	}
	return encoded(all)
}

// again passes on stored events whose keys have arrived, with this response or, checked
// once per unreadEvery, by other means.
func (b *batch) again(ctx context.Context, resp *syncResponse) error {
	if len(resp.ToDevice.Events) == 0 && b.c.now().Sub(b.c.retried) < unreadEvery {
		return nil
	}
	b.c.retried = b.c.now()
	if b.s.crypto == nil {
		return nil
	}
	all, err := b.c.unread(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	changed := false
	for _, id := range slices.Sorted(maps.Keys(all)) {
		u := all[id]
		still, err := b.reread(ctx, id, u.Events)
		if err != nil {
			return err
		}
		changed = changed || len(still) < len(u.Events)
		u.Events = still
		if b.retry(ctx, id, &u) {
			changed = true
		}
		all[id] = u
	}
	if changed {
		b.state[keyUnread] = unreadValue(all)
	}
	return nil
}

// retry requests the keys of a room's events again, at increasing intervals. The first
// is short, as the answer of a device may have been unreadable.
func (b *batch) retry(ctx context.Context, id string, u *unread) bool {
	now := b.c.now()
	last := time.UnixMilli(u.Asked)
	if now.Sub(last) < max(askSoonest, last.Sub(time.UnixMilli(u.Since))) {
		return false
	}
	for _, e := range readEvents(u.Events) {
		b.s.crypto.ask(ctx, id, e)
	}
	u.Asked = now.UnixMilli()
	return len(u.Events) > 0
}

// reread processes the events of a room that can be decrypted now, and returns the
// others except those that are too old.
func (b *batch) reread(ctx context.Context, id string, events []json.RawMessage) (still []json.RawMessage, err error) {
	r, err := b.c.rooms.load(ctx, b.s, id)
	if err != nil {
		return nil, err
	}
	for _, e := range readEvents(events) {
		plain, err := b.s.open(ctx, id, e)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && b.c.now().Sub(e.time()) < keepUnread:
			still = append(still, e.raw)
		case err == nil:
			if err := b.event(ctx, r, plain); err != nil {
				return nil, err
			}
		}
	}
	return still, nil
}

// sayUnreadable asks people whose messages could not be read for keyWait to send them again, if something was sent to
// them before. It asks once per room, and again about messages that arrive more than askEvery later.
func (c *Channel) sayUnreadable(ctx context.Context, s *session) error {
	if s.crypto == nil {
		return nil
	}
	all, err := c.unread(ctx)
	if err != nil {
		return err
	}
	asked := false
	for id, u := range all {
		if !u.Told && c.now().Sub(time.UnixMilli(u.Since)) >= keyWait && c.askAgain(ctx, s, id, u) {
			u.Told, asked = true, true
			all[id] = u
		}
	}
	if !asked {
		return nil
	}
	return c.keepUnread(ctx, all)
}

func (c *Channel) askAgain(ctx context.Context, s *session, id string, u unread) bool {
	r, err := c.rooms.load(ctx, s, id)
	who, ok := r.person(c.rooms.home)
	if err != nil || !ok || !c.hasSpokenTo(ctx, who) || len(u.Events) == 0 {
		return false
	}
	content := map[string]any{"msgtype": "m.text", "body": "I could not read your last message. Please send it again.",
		"m.mentions": struct{}{}, sentMark: "unreadable"}
	if _, err := c.put(ctx, s, r, typeMessage, "unreadable-"+digest(id, u.First), content); err != nil {
		c.log.Warn("request to send again failed", zap.Error(err))
		return false
	}
	return true
}
