package engine

import (
	"context"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
)

// administers reports whether the writer of an event of a group owns the gateway, or administers the group on its
// channel. If the channel does not say so, they do not: an event waits for no service.
func (e *Engine) administers(ctx context.Context, in core.Inbound) (bool, error) {
	u, err := e.People.Writer(ctx, in)
	if err != nil || u.Role == core.RoleOwner {
		return err == nil, err
	}
	if in.Group == nil || in.Group.Program {
		return false, nil
	}
	is, err := e.membership(ctx, in.Address.Chat(), in.Group.Speaker)
	return err == nil && is == core.Administrator, nil
}

func (e *Engine) membership(ctx context.Context, chat core.Address, speaker string) (core.Membership, error) {
	ch, ok := e.Channels[chat.Channel].(core.Memberships)
	if !ok {
		return core.Outsider, nil
	}
	is, err := ch.Membership(ctx, chat, speaker)
	if err != nil {
		e.Log.Warn("the channel does not say who is in a group", zap.String("channel", chat.Channel), zap.Error(err))
	}
	return is, err
}

// GroupsOf lists the groups in which a person has written.
func (e *Engine) GroupsOf(ctx context.Context, user core.UserID) ([]people.Attendance, error) {
	if !e.Config.Groups.Enabled {
		return nil, nil
	}
	return e.People.GroupsOf(ctx, user)
}

// Attends reports whether a person who has written in a group is a member of it at present.
func (e *Engine) Attends(ctx context.Context, a people.Attendance) (bool, error) {
	is, err := e.membership(ctx, a.Chat, a.Speaker)
	return is != core.Outsider, err
}
