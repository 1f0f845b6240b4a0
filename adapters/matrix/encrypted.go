package matrix

import (
	"context"
	"encoding/json"
	"errors"
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

// unread is an event that could not be decrypted yet. Its times are in milliseconds.
type unread struct {
	Room  string          `json:"room"`
	Event json.RawMessage `json:"event"`
	Since int64           `json:"since"` // its arrival
	Asked int64           `json:"asked"` // last request for its key
	Told  int64           `json:"told"`  // when the person was asked to send it again; 0: not yet
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
	b.postpone(ctx, r, e)
	return e, nil
}

// postpone keeps an event until its key arrives, and requests the key.
func (b *batch) postpone(ctx context.Context, r room, e event) {
	if slices.ContainsFunc(b.unread, isEvent(e.ID)) {
		return
	}
	n := 0
	for _, u := range b.unread {
		if u.Room == r.id {
			n++
		}
	}
	if n >= maxUnread {
		first := slices.IndexFunc(b.unread, func(u unread) bool { return u.Room == r.id })
		b.unread = slices.Delete(b.unread, first, first+1)
	}
	now := b.c.now().UnixMilli()
	b.unread = append(b.unread, unread{Room: r.id, Event: e.raw, Since: now, Asked: now})
	b.s.crypto.ask(ctx, r.id, e)
}

func isEvent(id string) func(unread) bool {
	return func(u unread) bool { e, _ := readEvent(u.Event); return e.ID == id }
}

func (c *Channel) unread(ctx context.Context) ([]unread, error) {
	return keptAs[[]unread](ctx, c, keyUnread)
}

// unreadValue returns all in its stored form.
func unreadValue(all []unread) string {
	if len(all) == 0 {
		return ""
	}
	return encoded(all)
}

// again passes on events whose keys have arrived, with this response or, checked once per unreadEvery, by other means.
// It requests the keys of the others again, at growing intervals, and forgets those that are too old.
func (b *batch) again(ctx context.Context, resp *syncResponse) error {
	now := b.c.now()
	if len(resp.ToDevice.Events) == 0 && now.Sub(b.c.retried) < unreadEvery {
		return nil
	}
	b.c.retried = now
	if b.s.crypto == nil {
		return nil
	}
	var still []unread
	for _, u := range b.unread {
		e, _ := readEvent(u.Event)
		plain, err := b.s.open(ctx, u.Room, e)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			r, err := b.c.rooms.load(ctx, b.s, u.Room)
			if err == nil {
				err = b.event(ctx, r, plain)
			}
			if err != nil {
				return err
			}
		case now.Sub(e.time()) < keepUnread:
			if last := time.UnixMilli(u.Asked); now.Sub(last) >= max(askSoonest, last.Sub(time.UnixMilli(u.Since))) {
				b.s.crypto.ask(ctx, u.Room, e)
				u.Asked = now.UnixMilli()
			}
			still = append(still, u)
		}
	}
	b.unread = still
	return nil
}

// sayUnreadable asks people whose messages could not be read for keyWait to send them again, if something was sent to
// them before. It asks about all messages of a room at once, and again about those that arrive more than askEvery later.
func (c *Channel) sayUnreadable(ctx context.Context, s *session) error {
	all, err := c.unread(ctx)
	if err != nil || s.crypto == nil {
		return err
	}
	before := unreadValue(all)
	told := map[string]int64{}
	for i, u := range all {
		told[u.Room] = max(told[u.Room], u.Told)
		if u.Told > 0 || c.now().Sub(time.UnixMilli(u.Since)) < keyWait {
			continue
		}
		if u.Since-told[u.Room] > askEvery.Milliseconds() {
			if !c.askAgain(ctx, s, u) {
				continue
			}
			told[u.Room] = c.now().UnixMilli()
		}
		all[i].Told = told[u.Room]
	}
	if after := unreadValue(all); after != before {
		return c.keep(ctx, map[string]string{keyUnread: after})
	}
	return nil
}

func (c *Channel) askAgain(ctx context.Context, s *session, u unread) bool {
	r, err := c.rooms.load(ctx, s, u.Room)
	who, ok := r.person(c.rooms.home)
	if err != nil || !ok || !c.hasSpokenTo(ctx, who) {
		return false
	}
	content := map[string]any{"msgtype": "m.text", "body": "I could not read your last message. Please send it again.",
		"m.mentions": struct{}{}, sentMark: "unreadable"}
	e, _ := readEvent(u.Event)
	if _, err := c.put(ctx, s, r, typeMessage, "unreadable-"+digest(u.Room, e.ID), content); err != nil {
		c.log.Warn("request to send again failed", zap.Error(err))
		return false
	}
	return true
}
