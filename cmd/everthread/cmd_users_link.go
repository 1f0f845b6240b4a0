package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everthread/everthread/core"
)

type usersLinkCmd struct {
	From string `arg:"" help:"Who becomes a part of the other: id or name."`
	Into string `arg:"" help:"Who stays: id or name. The owner always does."`
	Yes  bool   `help:"Do not ask."`
}

// Run makes two users one, after it asked. A server that runs does its part.
func (u usersLinkCmd) Run(ctx context.Context, d *desk) error {
	from, err := d.user(ctx, u.From)
	if err != nil {
		return err
	}
	into, err := d.user(ctx, u.Into)
	if err != nil {
		return err
	}
	if from.ID == into.ID {
		return errUsage{errors.New("that is the same user twice")}
	}
	if from.Role == core.RoleOwner {
		from, into = into, from
	}
	counts, err := d.counts(ctx, from.ID, into.ID)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Make %s (user %d, %d messages) a part of %s (user %d, %d messages)? Addresses, days, memory and reminders come along.",
		from.Name, from.ID, counts[0], into.Name, into.ID, counts[1])
	if !u.Yes && !d.confirm(question) {
		return errors.New("nothing was changed; answer yes, or give --yes")
	}
	id, err := d.store.Ask(ctx, core.Move{Kind: core.MoveMerge, From: from.ID, Into: into.ID, AskedAt: clock()()})
	if err != nil {
		return err
	}
	if err := d.carry(ctx, id); err != nil {
		return fmt.Errorf("it goes on when `everthread serve` runs, or with the next `everthread users link`: %w", err)
	}
	return d.show(map[string]any{"user": into.ID, "was": from.ID, "messages": counts[0] + counts[1]}, func(w io.Writer) {
		fmt.Fprintf(w, "%s is user %d now, with all that was said. `/unlink --split` from an app takes it apart again.\n", from.Name, into.ID)
	})
}

// counts are how many messages are found of users.
func (d *desk) counts(ctx context.Context, users ...core.UserID) ([]int, error) {
	var out []int
	for _, u := range users {
		dir, err := d.store.Directory(ctx, u)
		if err != nil {
			return nil, err
		}
		out = append(out, len(dir.Messages))
	}
	return out, nil
}

// carry carries all moves until one is done, and shows how far it is.
func (d *desk) carry(ctx context.Context, id core.MoveID) error {
	shown := time.Time{}
	for {
		m, err := d.store.Move(ctx, id)
		if err != nil || m.Phase == core.MoveDone {
			return err
		}
		wait, err := d.carryAll(ctx, id)
		if err != nil {
			return err
		}
		if now := time.Now(); now.Sub(shown) > time.Second && m.Total > 0 && !d.json {
			shown = now
			fmt.Fprintf(d.err, "%s: %d rows\n", m.Phase, m.Rows)
		}
		if wait > 0 {
			pause(ctx, wait)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// carryAll does a step of every move, and tells how soon there is another.
func (d *desk) carryAll(ctx context.Context, id core.MoveID) (time.Duration, error) {
	list, err := d.store.Moves(ctx, 100)
	if err != nil {
		return 0, err
	}
	shortest := time.Duration(-1)
	for _, m := range list {
		if m.Phase == core.MoveTold && m.ID != id {
			continue // whoever serves tells the person first
		}
		if m.Phase == core.MoveTold {
			if err := d.store.Told(ctx, m.ID); err != nil {
				return 0, err
			}
		}
		_, wait, err := d.store.Carry(ctx, m.ID, clock()())
		if err != nil {
			return 0, err
		}
		if shortest < 0 || wait < shortest {
			shortest = wait
		}
	}
	return max(shortest, 0), nil
}
