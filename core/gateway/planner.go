package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
)

// Planner picks where something proactive goes. All fields are required.
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

// Plan picks where something proactive goes: the home identity, else
// the most recently used one that can receive now. With all it is every identity
// of a push channel. If none can receive now, the best one holds it until it can;
// without any push channel the plan is empty.
func (p Planner) Plan(ctx context.Context, u core.User, all bool) ([]core.Target, error) {
	ids, err := p.People.Identities(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	var push []core.Identity
	for _, i := range ids {
		if !p.Channels.Capabilities(i.Address.Channel).Push {
			continue
		}
		if i.ID == u.Settings.Home {
			push = append([]core.Identity{i}, push...)
			continue
		}
		push = append(push, i)
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
		return targets(push[:1], "nothing can receive now; held until it can"), nil
	}
	return nil, nil
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

// redirects is how many parked deliveries are looked at in one go.
const redirects = 200

// Redirect sends summaries, reminders and what tasks found that are parked, because the person
// could not be written to where they were planned, to where they can be by now.
func (g *Gateway) Redirect(ctx context.Context) error {
	parked, err := g.Store.Deliveries(ctx, core.DeliveryQuery{States: []core.DeliveryState{core.DeliveryParked},
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
