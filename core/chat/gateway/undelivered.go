package gateway

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// shownUndelivered bounds the characters that a notice quotes of an undelivered message.
const shownUndelivered = 200

// tellUndelivered notifies a person once, on another of their apps, that d did not arrive: a
// service refused it for good, or an answer waits until it can be sent. What was to be sent
// unprompted is redirected instead of waiting; see Redirect. No notice is sent about a notice.
func (g *Gateway) tellUndelivered(ctx context.Context, d *core.Delivery, state core.DeliveryState) {
	switch {
	case d.User == 0 || d.Identity == 0 || d.Kind == core.DeliverNotice || d.Kind == core.DeliverVoice, d.Kind == core.DeliverRetraction:
		return
	case state == core.DeliveryFailed, state == core.DeliveryParked && d.Kind == core.DeliverReply:
		g.logUnless(ctx, g.noticeElsewhere(ctx, d, state), "person not notified of an undelivered message",
			zap.Int64("user", int64(d.User)), zap.Int64("delivery", int64(d.ID)))
	}
}

func (g *Gateway) noticeElsewhere(ctx context.Context, d *core.Delivery, state core.DeliveryState) error {
	u, err := g.People.User(ctx, d.User)
	if err != nil {
		return err
	}
	to, ok, err := g.planner.elsewhere(ctx, u, d.Identity)
	if err != nil || !ok || len(d.Parts) == 0 {
		return err
	}
	w := say(g.language(u.Settings))
	words := w.NotDelivered
	if state == core.DeliveryParked {
		words = w.NotReached
	}
	words = fmt.Sprintf(words, trust.AddressName(d.To, ""), quote(text.Shorten(undelivered(d), shownUndelivered)))
	n := store.Note{User: u.ID, Identity: to.ID, Once: fmt.Sprintf("undelivered:%d", d.ID), Now: g.Now()}
	n.Messages, n.Deliveries = g.notice(words, to, n.Now)
	_, err = g.Store.Note(ctx, n)
	return err
}

// undelivered returns the text of the part that was refused, or the name of its file.
func undelivered(d *core.Delivery) string {
	n := slices.IndexFunc(d.Parts, func(p core.DeliveryPart) bool {
		return p.State == core.DeliveryFailed || p.State == core.DeliveryParked
	})
	p := d.Parts[max(n, 0)].Part
	if p.Attachment != nil {
		return p.Attachment.Named()
	}
	return p.Text
}
