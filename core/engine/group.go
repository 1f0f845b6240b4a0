package engine

import (
	"context"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
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
	ch, ok := e.Channels[in.Address.Channel].(core.Administrators)
	if !ok {
		return false, nil
	}
	may, err := ch.Administers(ctx, in.Address.Chat(), in.Group.Speaker)
	if err != nil {
		e.Log.Warn("not known who administers a group", zap.String("channel", in.Address.Channel), zap.Error(err))
	}
	return err == nil && may, nil
}
