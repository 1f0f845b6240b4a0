package engine

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// administers reports whether the writer of an event of a group owns the gateway, or administers the group on its
// channel.
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
		return false, fmt.Errorf("administrators of the group: %w", err)
	}
	return may, nil
}
