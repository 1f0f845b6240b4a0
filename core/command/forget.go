package command

import (
	"context"
	"strings"

	"github.com/everthread/everthread/core"
)

// forget removes the message that the command replies to, or those of a day.
func (c *Commands) forget(ctx context.Context, r *request) (core.Outcome, error) {
	switch {
	case r.arg != "":
		return c.forgetDay(ctx, r)
	case r.in.Quote != nil:
		return c.forgetMessage(ctx, r)
	}
	return r.say(r.words.ForgetWhat), nil
}

func (c *Commands) forgetMessage(ctx context.Context, r *request) (core.Outcome, error) {
	m, err := c.referred(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	if m == 0 {
		return r.say(r.words.ForgetUnknown), nil
	}
	return r.say(r.words.Forgotten).With(core.Redact{Message: m, At: r.now}), nil
}

// forgetDay removes a day only if the date is followed by yes; else it asks.
func (c *Commands) forgetDay(ctx context.Context, r *request) (core.Outcome, error) {
	date, sure := confirmed(r.arg)
	label, ok := c.label(r, date)
	if !ok {
		return r.sayf(r.words.BadDate, r.usage("forget")), nil
	}
	g, err := c.Store.Day(ctx, r.user.ID, label)
	if missing(err) {
		return c.noDay(ctx, r, label)
	}
	if err != nil {
		return core.Outcome{}, err
	}
	all, shown, err := c.left(ctx, g)
	if err != nil {
		return core.Outcome{}, err
	}
	name := c.name(r, label)
	if len(all) == 0 {
		return r.sayf(r.words.ForgetNothing, name), nil
	}
	n := r.words.Messages.Of(shown)
	if !sure {
		return r.sayf(r.words.ForgetAsk, name, n, label), nil
	}
	out := r.sayf(r.words.ForgottenDay, name, n)
	for _, m := range all {
		out.Effects = append(out.Effects, core.Redact{Message: m, At: r.now})
	}
	return out, nil
}

// confirmed removes a yes from the end of an argument.
func confirmed(arg string) (rest string, sure bool) {
	f := strings.Fields(arg)
	if !means(f[len(f)-1], yes) {
		return arg, false
	}
	return strings.Join(f[:len(f)-1], " "), true
}

// left returns the messages of a day that are not redacted, and how many of them the person
// saw (tool calls are not shown).
func (c *Commands) left(ctx context.Context, g core.Segment) (all []core.MessageID, shown int, err error) {
	const page = 500
	for after := core.MessageID(0); ; {
		got, err := c.Store.DayMessages(ctx, g.User, g.ID, after, page)
		if err != nil {
			return nil, 0, err
		}
		for _, m := range got {
			after = m.ID
			if m.Redacted {
				continue
			}
			all = append(all, m.ID)
			if m.Role != core.RoleTool && m.Text != "" {
				shown++
			}
		}
		if len(got) < page {
			return all, shown, nil
		}
	}
}
