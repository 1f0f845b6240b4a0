package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/markup"
)

// Planner picks the targets of proactive messages. All fields are required.
type Planner struct {
	People   Identities
	Channels Channels
	Now      func() time.Time
}

// Identities lists the identities of users.
type Identities interface {
	// Identities lists a user's identities, last used first.
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
}

// Plan returns the targets of a proactive message: the home identity, else the most recently used one that can receive
// now. If none can, it is the first of these, whose delivery waits. With all it is every identity of a push channel.
// Without a push channel the plan is empty.
func (p Planner) Plan(ctx context.Context, u core.User, all bool) ([]core.Target, error) {
	push, err := p.push(ctx, u)
	if err != nil {
		return nil, err
	}
	if all {
		return targets(push, "all identities, as chosen"), nil
	}
	for n, i := range push {
		if p.receives(i, p.Now()) {
			return targets(push[n:n+1], why(i, u, n)), nil
		}
	}
	if len(push) > 0 {
		held := targets(push[:1], "nothing can receive now; held until it can")
		held[0].Held = true
		return held, nil
	}
	return nil, nil
}

// elsewhere returns the identity that a person is written to about what another could not receive: the home, else the
// most recently used one that can receive now. ok is false if there is none.
func (p Planner) elsewhere(ctx context.Context, u core.User, not core.IdentityID) (i core.Identity, ok bool,
	err error) {
	push, err := p.push(ctx, u)
	for _, i := range push {
		if i.ID != not && p.receives(i, p.Now()) {
			return i, true, nil
		}
	}
	return core.Identity{}, false, err
}

// push returns the identities of push channels, the home first, then last used first.
func (p Planner) push(ctx context.Context, u core.User) (push []core.Identity, err error) {
	ids, err := p.People.Identities(ctx, u.ID)
	for _, i := range ids {
		switch {
		case !p.Channels.Capabilities(i.Address.Channel).Push:
		case i.ID == u.Settings.Home:
			push = slices.Insert(push, 0, i)
		default:
			push = append(push, i)
		}
	}
	return push, err
}

func targets(ids []core.Identity, why string) []core.Target {
	out := make([]core.Target, len(ids))
	for n, i := range ids {
		out[n] = core.Target{Identity: i, Why: why}
	}
	return out
}

// receives reports whether an identity can be written to now.
func (p Planner) receives(i core.Identity, now time.Time) bool {
	if i.Blocked || !i.Window.IsZero() && !now.Before(i.Window) {
		return false
	}
	c, ok := p.Channels[i.Address.Channel].(core.Checker)
	return !ok || c.Check() == nil
}

func why(i core.Identity, u core.User, n int) string {
	switch {
	case i.ID == u.Settings.Home:
		return "home"
	case u.Settings.Home == 0 && n == 0:
		return "used last; no home is set"
	}
	return "the home cannot receive now; used last of those that can"
}

// redirects bounds the parked deliveries of one Redirect.
const redirects = 200

// Redirect moves parked summaries, reminders and results of tasks to an identity that can receive them by now.
func (g *Gateway) Redirect(ctx context.Context) error {
	parked, err := g.Store.Deliveries(ctx, store.DeliveryQuery{States: []core.DeliveryState{core.DeliveryParked},
		Limit: redirects})
	for _, d := range parked {
		if err != nil {
			return err
		}
		if d.Kind == core.DeliverPost || d.Kind == core.DeliverReminder || d.Kind == core.DeliverTask {
			err = g.redirect(ctx, d)
		}
	}
	return err
}

func (g *Gateway) redirect(ctx context.Context, d core.Delivery) error {
	u, err := g.People.User(ctx, d.User)
	if err != nil {
		return err
	}
	targets, err := g.planner.Plan(ctx, u, false)
	if err != nil || len(targets) == 0 || targets[0].Identity.ID == d.Identity || targets[0].Identity.Blocked ||
		len(d.Parts) == 0 {
		return err
	}
	to := targets[0].Identity
	var parts []core.Part
	for _, p := range d.Parts {
		parts = append(parts, p.Part)
	}
	err = g.Store.Redirect(ctx, d, core.NewDelivery{To: to.Address, Identity: to.ID, Kind: d.Kind,
		Why: targets[0].Why, Expires: d.Expires, Parts: markup.Refit(parts, g.room(to.Address.Channel))}, g.Now())
	if errors.Is(err, core.ErrChanged) {
		return nil
	}
	return err
}
