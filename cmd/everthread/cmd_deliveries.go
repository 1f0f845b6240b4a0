package main

import (
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

type deliveriesCmd struct {
	List  deliveriesListCmd  `cmd:"" help:"List what was not delivered; everything with --all."`
	Retry deliveriesRetryCmd `cmd:"" help:"Send one again."`
}

// deliveryView is a delivery as commands show it.
type deliveryView struct {
	User    core.UserID     `json:"user_id"`
	ID      core.DeliveryID `json:"id"`
	Message core.MessageID  `json:"message_id"`
	To      string          `json:"to"`
	Kind    string          `json:"kind"`
	State   string          `json:"state"`
	Why     string          `json:"why,omitempty"`
	Error   string          `json:"error,omitempty"`
	Parts   int             `json:"parts"`
	Created time.Time       `json:"created_at"`
}

func viewDelivery(x core.Delivery) deliveryView {
	return deliveryView{x.User, x.ID, x.Message, x.To.Channel + ":" + x.To.External, string(x.Kind), string(x.State),
		x.Why, x.Error, len(x.Parts), x.CreatedAt}
}

type deliveriesListCmd struct {
	User  string  `placeholder:"U" help:"Whose (id or name); everybody's if it is not given, with --all the owner's."`
	All   bool    `help:"Those that went well too, of one person."`
	Limit howMany `default:"50" help:"How many."`
}

// Run lists deliveries.
func (l deliveriesListCmd) Run(ctx context.Context, d *opened) error {
	q := core.DeliveryQuery{Limit: int(l.Limit)}
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
	return table(d.console, views(found, viewDelivery), d.words().DeliveriesHeader, d.words().DeliveriesNone,
		func(v deliveryView) []any {
			return []any{v.ID, v.User, v.Created, v.To, v.Kind, v.State, dash(short(v.Error, 60))}
		})
}

type deliveriesRetryCmd struct {
	ID core.DeliveryID `arg:"" name:"id" help:"The delivery, as deliveries list shows it."`
	whose
}

// Run makes a delivery pending again.
func (r deliveriesRetryCmd) Run(ctx context.Context, d *opened, u core.User) error {
	err := missing(d.store.Redeliver(ctx, u.ID, r.ID, clock()()), fmt.Errorf(
		"%s has no delivery %d that failed; `everthread deliveries list` shows them, --user says whose", u.Name, r.ID))
	if err != nil {
		return err
	}
	return d.said(map[string]any{"retried": r.ID}, d.words().Retried)
}
