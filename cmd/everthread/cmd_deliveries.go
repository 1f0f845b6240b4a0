package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	var views []deliveryView
	var rows [][]string
	for _, x := range found {
		v := deliveryView{x.User, x.ID, x.Message, x.To.Channel + ":" + x.To.External, string(x.Kind), string(x.State), x.Why,
			x.Error, len(x.Parts), x.CreatedAt}
		views = append(views, v)
		rows = append(rows, []string{strconv.FormatInt(int64(v.ID), 10), strconv.FormatInt(int64(v.User), 10),
			clockTime(v.Created, time.Local), v.To, v.Kind, v.State, dash(short(v.Error, 60))})
	}
	return d.table(list(views), d.words().DeliveriesHeader, rows, d.words().DeliveriesNone)
}

type deliveriesRetryCmd struct {
	ID   core.DeliveryID `arg:"" name:"id" help:"The delivery, as deliveries list shows it."`
	User string          `placeholder:"U" help:"Whose (id or name); the owner's if it is not given."`
}

// Run makes a delivery pending again.
func (r deliveriesRetryCmd) Run(ctx context.Context, d *opened) error {
	u, err := d.user(ctx, r.User)
	if err != nil {
		return err
	}
	err = d.store.Redeliver(ctx, u.ID, r.ID, clock()())
	if errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("%s has no delivery %d that failed; `everthread deliveries list` shows them, --user says whose",
			u.Name, r.ID)
	}
	if err != nil {
		return err
	}
	return d.said(map[string]any{"retried": r.ID}, d.words().Retried)
}
