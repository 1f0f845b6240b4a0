package engine

import (
	"context"

	"github.com/everthread/everthread/core"
)

// Propose asks a user about what a program or a file brings; see gateway.Gateway.Propose. A user without any app is
// asked on the page.
func (e *Engine) Propose(ctx context.Context, u core.User, from string, effects ...core.Effect) (core.Identity, error) {
	at, err := e.Gateway.Propose(ctx, u, from, effects...)
	if err != nil || at.ID != 0 || !e.Config.Channels.Web.Enabled {
		return at, err
	}
	if _, err := e.People.Door(ctx, u.ID, "web"); err != nil {
		return at, err
	}
	return e.Gateway.Propose(ctx, u, from, effects...)
}
