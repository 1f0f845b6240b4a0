package matrix

import (
	"context"
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
	open, err := keptAs[[]invitation](ctx, b.c, keyInvites)
	if err != nil {
		return err
	}
	for id, in := range new {
		i, ok := b.c.acceptable(id, in)
		if ok && !slices.ContainsFunc(open, func(o invitation) bool { return o.Room == id }) {
			open = append(open, i)
		}
	}
	for _, i := range open {
		if err := b.join(ctx, i); err != nil {
			return err
		}
	}
	return nil
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

// join accepts an invitation, or keeps it to be tried again. It stores the time of the invitation first, so that
// even after a crash a message that came with it is not taken for history.
func (b *batch) join(ctx context.Context, i invitation) error {
	err := b.c.keep(ctx, map[string]string{keyJoined + i.Room: strconv.FormatInt(i.At, 10), keyLast + i.Room: ""})
	if err != nil {
		return err
	}
	b.c.rooms.drop(i.Room)
	_, err = within(ctx, syncTimeout, func(ctx context.Context) (*mautrix.RespJoinRoom, error) {
		return b.s.cli.JoinRoom(ctx, i.Room, &mautrix.ReqJoinRoom{Via: strings.Fields(i.Via)})
	})
	if e := refused(err); e != nil && e.loggedOut() {
		return err
	}
	if err != nil {
		b.c.log.Warn("room not joined", zap.String("room", i.Room), zap.Error(err))
	}
	if err != nil && !forGood(err) {
		b.later = append(b.later, i)
	}
	return nil
}

// follow joins the room that replaces a direct chat.
func (b *batch) follow(ctx context.Context, r room, e event) error {
	next := text(e.fields()["replacement_room"])
	k := r.kind(b.c.rooms.home)
	if !e.is(typeTombstone) || !strings.HasPrefix(next, "!") || k != kindNative && k != kindPortal && k != kindGroup {
		return nil
	}
	_, via, _ := strings.Cut(e.Sender, ":")
	return b.join(ctx, invitation{Room: next, At: e.TS, Via: via})
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
