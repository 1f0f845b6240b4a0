package matrix

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"maunium.net/go/mautrix"

	"github.com/everthread/everthread/core"
)

type invitation struct {
	Room string `json:"room"`
	At   int64  `json:"at"` // its time, in milliseconds
	Via  string `json:"via,omitempty"`
}

// invitations accepts new acceptable invitations and retries earlier ones.
func (b *batch) invitations(ctx context.Context, new map[string]invitedRoom) error {
	kept, err := b.c.kept(ctx, keyInvites)
	if err != nil {
		return err
	}
	var open []invitation
	_ = json.Unmarshal([]byte(kept), &open)
	for id, in := range new {
		i, ok := b.c.acceptable(id, in)
		if ok && !slices.ContainsFunc(open, func(o invitation) bool { return o.Room == id }) {
			open = append(open, i)
		}
	}
	var left []invitation
	for _, i := range open {
		if again, err := b.join(ctx, i); err != nil {
			return err
		} else if again {
			left = append(left, i)
		}
	}
	if b.c.failedJoins++; len(left) == 0 {
		b.c.failedJoins = 0
	}
	return b.c.keepInvites(ctx, kept, left)
}

func (c *Channel) keepInvites(ctx context.Context, was string, open []invitation) error {
	value := ""
	if len(open) > 0 {
		value = encoded(open)
	}
	if value == was {
		return nil
	}
	return c.keep(ctx, map[string]string{keyInvites: value})
}

// acceptable reports whether to accept an invitation: it comes from a bridge or from
// somebody in Autojoin, and is not to a folder of rooms.
func (c *Channel) acceptable(id string, in invitedRoom) (invitation, bool) {
	h := c.rooms.home
	i := invitation{Room: id, At: c.now().UnixMilli()}
	ok := false
	for _, e := range readEvents(in.State.Events) {
		switch {
		case e.is(typeCreate) && text(e.fields()["type"]) == "m.space":
			return i, false
		case e.is(typeMember) && *e.StateKey == h.self && text(e.fields()["membership"]) == "invite":
			ghost, _ := h.ghost(e.Sender)
			ok = h.bot(e.Sender) != nil || ghost != nil || allowed(c.opts.Autojoin, e.Sender)
			if e.TS > 0 {
				i.At = min(i.At, e.TS)
			}
			_, i.Via, _ = strings.Cut(e.Sender, ":")
		}
	}
	if !ok {
		c.log.Info("invitation not accepted: its sender is not in autojoin", zap.String("room", id))
	}
	return i, ok
}

func allowed(list []string, user string) bool {
	_, server, _ := strings.Cut(user, ":")
	return slices.Contains(list, user) || slices.Contains(list, "*:"+server)
}

// join accepts an invitation, and reports whether to try again. It stores the time of the invitation first, so that
// even after a crash a message that came with it is not taken for history.
func (b *batch) join(ctx context.Context, i invitation) (again bool, err error) {
	err = b.c.keep(ctx, map[string]string{keyJoined + i.Room: strconv.FormatInt(i.At, 10), keyLast + i.Room: ""})
	if err != nil {
		return true, err
	}
	b.c.rooms.drop(i.Room)
	_, err = within(ctx, syncTimeout, func(ctx context.Context) (*mautrix.RespJoinRoom, error) {
		return b.s.cli.JoinRoom(ctx, i.Room, &mautrix.ReqJoinRoom{Via: strings.Fields(i.Via)})
	})
	if e := refused(err); e != nil && e.loggedOut() {
		return true, err
	}
	if err != nil {
		b.c.log.Warn("room not joined", zap.String("room", i.Room), zap.Error(err))
	}
	return err != nil && !forGood(err), nil
}

func (b *batch) follow(ctx context.Context, r room, e event) error {
	if !e.is(typeTombstone) {
		return nil
	}
	next := text(e.fields()["replacement_room"])
	k := r.kind(b.c.rooms.home)
	if !strings.HasPrefix(next, "!") || k != kindNative && k != kindPortal {
		return nil
	}
	_, via, _ := strings.Cut(e.Sender, ":")
	again, err := b.join(ctx, invitation{Room: next, At: e.TS, Via: via})
	if err != nil || !again {
		return err
	}
	kept, err := b.c.kept(ctx, keyInvites)
	if err != nil {
		return err
	}
	var open []invitation
	_ = json.Unmarshal([]byte(kept), &open)
	return b.c.keepInvites(ctx, kept, append(open, invitation{Room: next, At: e.TS, Via: via}))
}

// roomOf returns the room in which a person last wrote, or "".
func (c *Channel) roomOf(ctx context.Context, a core.Address) (string, error) {
	if id := c.memory.where.GetDefault(a, ""); id != "" {
		return id, nil
	}
	id, err := c.kept(ctx, keyOf(keyRoom, a))
	if err == nil && id != "" {
		c.memory.where.Set(a, id)
	}
	return id, err
}
