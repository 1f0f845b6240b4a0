package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// waiting holds the events of a user that is being moved, to receive them afterwards. It
// returns all other errors.
func (g *Gateway) waiting(ctx context.Context, err error, in []core.Inbound, now time.Time) error {
	if !errors.Is(err, core.ErrMoving) {
		return err
	}
	for _, e := range in {
		if _, err := g.Store.Hold(ctx, core.Hold{Event: e, Keep: true, Now: now}); err != nil {
			return err
		}
	}
	return nil
}
