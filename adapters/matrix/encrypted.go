package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
)

// cryptor reads and writes encrypted rooms for one device.
type cryptor interface {
	// sync takes what a sync response says of keys and devices.
	sync(ctx context.Context, r *syncResponse, since string) error
	// decrypt returns the type and content of an encrypted event.
	decrypt(ctx context.Context, room string, e event) (kind string, content json.RawMessage, err error)
	// ask asks other devices for the key of an event.
	ask(ctx context.Context, room string, e event)
	// encrypt returns the content of the m.room.encrypted event to send to r.
	encrypt(ctx context.Context, r room, kind string, content any) (any, error)
	// close ends what runs for it.
	close()
}

// unread are the events of a room that could not be decrypted yet.
type unread struct {
	Events []json.RawMessage `json:"events"`
	Since  int64             `json:"since"` // when the first came, in milliseconds
	Told   bool              `json:"told"`  // the person was asked to send them again
}

const (
	maxUnread = 100              // events of one room that are kept until their keys come
	keyWait   = 25 * time.Second // that a key may take before the person is asked
)

// open decrypts an event. One that cannot be read is returned as it is.
func (b *batch) open(ctx context.Context, r room, e event) (event, error) {
	kind, content, err := b.s.crypto.decrypt(ctx, r.id, e)
	if err != nil {
		return e, err
	}
	e.Type, e.Content = kind, content
	e.raw, err = json.Marshal(map[string]any{
		"type": kind, "event_id": e.ID, "sender": e.Sender, "origin_server_ts": e.TS, "content": content,
	})
	if e.Type == typeSticker {
		e = e.asMessage()
	}
	return e, err
}

// decrypt opens an encrypted event, and keeps it for later if its key is not
// there.
func (b *batch) decrypt(ctx context.Context, r room, e event) (event, error) {
	if b.s.crypto == nil {
		return e, nil
	}
	plain, err := b.open(ctx, r, e)
	if err == nil {
		return plain, nil
	}
	if ctx.Err() != nil {
		return e, ctx.Err()
	}
	if b.c.rooms.home.self == e.Sender || r.role(b.c.rooms.home, e.Sender) != rolePerson {
		return e, nil
	}
	b.c.log.Warn("event cannot be decrypted", zap.String("room", r.id), zap.String("event", e.ID), zap.Error(err))
	all, err := b.c.unread(ctx)
	if err != nil {
		return e, err
	}
	u, pending := all[r.id]
	if !pending {
		u.Since = b.c.now().UnixMilli()
	}
	same := func(raw json.RawMessage) bool { known, _ := readEvent(raw); return known.ID == e.ID }
	if len(u.Events) < maxUnread && !slices.ContainsFunc(u.Events, same) {
		u.Events = append(u.Events, e.raw)
		b.s.crypto.ask(ctx, r.id, e)
	}
	all[r.id] = u
	return e, b.c.keepUnread(ctx, all)
}

func (c *Channel) unread(ctx context.Context) (map[string]unread, error) {
	kept, err := c.kept(ctx, keyUnread)
	all := map[string]unread{}
	_ = json.Unmarshal([]byte(kept), &all)
	return all, err
}

func (c *Channel) keepUnread(ctx context.Context, all map[string]unread) error {
	value := ""
	if len(all) > 0 {
		raw, err := json.Marshal(all)
		if err != nil {
			return fmt.Errorf("keep unread events: %w", err)
		}
		value = string(raw)
	}
	return c.keep(ctx, map[string]string{keyUnread: value})
}

// again passes on the events whose keys have come since.
func (b *batch) again(ctx context.Context, resp *syncResponse) error {
	var keys eventList
	_ = json.Unmarshal(resp.ToDevice, &keys)
	if b.s.crypto == nil || len(keys.Events) == 0 {
		return nil
	}
	all, err := b.c.unread(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	changed := false
	for id, u := range all {
		r, err := b.c.rooms.load(ctx, b.s, id)
		if err != nil {
			return err
		}
		var still []json.RawMessage
		for _, e := range readEvents(u.Events) {
			plain, err := b.open(ctx, r, e)
			if err != nil {
				still = append(still, e.raw)
				continue
			}
			if err := b.event(ctx, r, plain); err != nil {
				return err
			}
		}
		changed = changed || len(still) < len(u.Events)
		if u.Events = still; len(still) == 0 {
			delete(all, id)
			continue
		}
		all[id] = u
	}
	if !changed {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("keep unread events: %w", err)
	}
	b.state[keyUnread] = string(raw)
	return nil
}

// sayUnreadable asks the people whose messages could not be read for a while, and
// whom we have written to before, to send them again: once for each room.
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
	content := map[string]any{
		"msgtype": "m.text", "body": "I could not read your last message. Please send it again.", "m.mentions": struct{}{}, sentMark: "unreadable",
	}
	first, _ := readEvent(u.Events[0])
	if _, err := c.put(ctx, s, r, typeMessage, "unreadable-"+digest(id, first.ID), content); err != nil {
		c.log.Warn("ask to send again", zap.Error(err))
		return false
	}
	return true
}
