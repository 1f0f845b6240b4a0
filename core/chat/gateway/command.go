package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// command answers a slash command. Its effects and its answer are stored in one transaction with the event.
func (g *Gateway) command(ctx context.Context, u core.User, i core.Identity, e core.Inbound, now time.Time) error {
	if e.Thread != 0 {
		i.Thread = e.Thread
	}
	out, ok, err := g.Commands.Command(ctx, u, i, e, now)
	if err != nil {
		return err
	}
	if !ok {
		return g.talk(ctx, u, i, e, out, now)
	}
	if e.Program {
		if err := g.ofProgram(ctx, u, i.Name, &out); err != nil {
			return err
		}
	}
	if out.Decides != nil {
		return g.decide(ctx, u, i, e, *out.Decides, now)
	}
	if out.Asks != "" {
		return g.asks(ctx, u, i, e, out.Asks, now)
	}
	asked := g.newMessage(u, e, now)
	asked.Kind = core.KindCommand
	n := store.Note{User: u.ID, Identity: i.ID, Event: &e, Command: &asked, Effects: out.Effects, Now: now,
		Window: g.window(e, now)}
	if out.Text != "" {
		n.Messages, n.Deliveries = g.notice(out.Text, i, now)
		n.Messages[0].Answers, n.Messages[0].Tainted = out.Answers, out.Tainted
		g.button(n.Deliveries, out.Buttons)
		if e.Group != nil {
			replyTo(e.NativeID, n.Deliveries)
		}
		if err := g.notifyOthers(ctx, &n, u, i, out.Others); err != nil {
			return err
		}
	}
	if to := out.Greet; to != nil {
		n.Deliveries = append(n.Deliveries, core.NewDelivery{To: to.To, Kind: core.DeliverNotice, Why: "it was linked",
			Parts: g.parts(to.Text, to.To.Channel)})
	}
	noted, err := g.Store.Note(ctx, n)
	if refused(err) {
		n.Effects = nil
		if changesAccount(out.Effects) {
			n.Effects = []core.Effect{effect.Tell{Row: audit.Row{What: audit.Command, Result: audit.Refused}}}
		}
		n.Messages, n.Deliveries = g.notice(say(g.language(u.Settings)).Refused, i, now)
		noted, err = g.Store.Note(ctx, n)
	}
	if err != nil {
		return err
	}
	g.followUp(ctx, n.Effects)
	return g.finishNote(ctx, noted)
}

// asks stores a text in place of a command, for a turn of its own, also where nobody addressed the assistant.
func (g *Gateway) asks(ctx context.Context, u core.User, i core.Identity, e core.Inbound, text string, now time.Time) error {
	e.Text, e.Solo = text, true
	if e.Group != nil {
		of := *e.Group
		of.Addressed, e.Group = true, &of
	}
	return g.append(ctx, u, i, []core.Inbound{e}, appendOptions{}, now)
}

// talk stores a message that is no command after all, and a text beside it.
func (g *Gateway) talk(ctx context.Context, u core.User, i core.Identity, e core.Inbound, out core.Outcome,
	now time.Time) error {
	if err := g.append(ctx, u, i, []core.Inbound{e}, appendOptions{}, now); err != nil || out.Text == "" {
		return err
	}
	n := store.Note{User: u.ID, Identity: i.ID, Once: out.Once, Now: now}
	n.Messages, n.Deliveries = g.notice(out.Text, i, now)
	_, err := g.Store.Note(ctx, n)
	return err
}

// finishNote receives the messages that stored effects released, and removes the files that they orphaned.
func (g *Gateway) finishNote(ctx context.Context, n store.Noted) error {
	if err := g.receive(ctx, n.Released); err != nil {
		g.Log.Warn("held messages wait for the scheduler", zap.Error(err))
	}
	return g.Files.Remove(n.Files)
}

// changesAccount reports whether one of the effects is of a kind that the audit records.
func changesAccount(effects []core.Effect) bool {
	return slices.ContainsFunc(effects, func(e core.Effect) bool {
		switch e.(type) {
		case effect.Decide, effect.UseLink, effect.AcceptLink, effect.Unlink, effect.Approve, effect.Deny, effect.Redact,
			effect.DropThread:
			return true
		}
		return false
	})
}

// refused reports whether an effect's object does not exist, or does not allow it any more.
func refused(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrExists)
}
