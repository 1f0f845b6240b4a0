package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
	ports "github.com/everthread/everthread/core/store"
)

type deliveriesCmd struct {
	List  deliveriesListCmd  `cmd:"" help:"List deliveries that failed; with --all, every delivery."`
	Retry deliveriesRetryCmd `cmd:"" help:"Send a failed delivery again."`
}

type deliveriesListCmd struct {
	User  string  `placeholder:"U" help:"User (id or name); default: everybody, with --all the owner."`
	All   bool    `help:"Include successful deliveries, of one user."`
	Limit howMany `default:"50" help:"Number of deliveries."`
}

func (l deliveriesListCmd) Run(ctx context.Context, d *opened) error {
	q := ports.DeliveryQuery{Limit: int(l.Limit)}
	if !l.All {
		q.States = []core.DeliveryState{core.DeliveryFailed, core.DeliveryUnknown, core.DeliveryParked, core.DeliveryExpired}
	}
	if l.User != "" || l.All {
		u, err := d.user(ctx, l.User)
		if err != nil {
			return err
		}
		q.User = u.ID
	}
	found, err := d.store.Deliveries(ctx, q)
	if err != nil {
		return err
	}
	t := d.words()
	return table(d.console, found, t.DeliveriesHeader, t.DeliveriesNone, func(x core.Delivery) (any, []any) {
		to := x.To.Channel + ":" + x.To.External
		return object{"user_id", x.User, "id", x.ID, "message_id", x.Message, "to", to, "kind", x.Kind, "state", x.State,
				"why,omitempty", x.Why, "error,omitempty", x.Error, "parts", len(x.Parts), "created_at", x.CreatedAt},
			[]any{x.ID, x.User, x.CreatedAt, to, x.Kind, x.State, cmp.Or(short(x.Error, 60), "-")}
	})
}

type deliveriesRetryCmd struct {
	ID core.DeliveryID `arg:"" name:"id" help:"Id, as shown by deliveries list."`
	whose
}

func (r deliveriesRetryCmd) Run(ctx context.Context, d *opened, u core.User) error {
	err := missing(d.store.Redeliver(ctx, u.ID, r.ID, clock()()), fmt.Errorf(
		"%s has no delivery %d that failed; `everthread deliveries list` shows them, --user says whose", u.Name, r.ID))
	if err != nil {
		return err
	}
	return d.said(object{"retried", r.ID}, d.words().Retried)
}
