package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
)

type usersLinkCmd struct {
	User string `arg:"" help:"Source user (id or name); without a target, the user who gets a link to the web page."`
	Into string `arg:"" optional:"" help:"Target user (id or name), who remains. The owner always does."`
	Yes  bool   `help:"Skip the confirmation."`
}

// Run merges two users after a confirmation; a running server does its part. With one user
// it shows a link to the web page.
func (u usersLinkCmd) Run(ctx context.Context, d *opened) error {
	from, err := d.user(ctx, u.User)
	if err != nil {
		return err
	}
	if u.Into == "" {
		return d.webLink(ctx, from)
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
	theirs, err := d.store.Directory(ctx, from.ID)
	if err != nil {
		return err
	}
	others, err := d.store.Directory(ctx, into.ID)
	if err != nil {
		return err
	}
	t, moved, there := d.words(), len(theirs.Messages), len(others.Messages)
	if !u.Yes && !d.confirm(fmt.Sprintf(t.LinkAsk, from.Name, from.ID, t.Messages.Of(moved), into.Name, into.ID,
		t.Messages.Of(there))) {
		return errors.New("nothing was changed; answer yes, or give --yes")
	}
	id, err := d.store.Ask(ctx, core.Move{Kind: core.MoveMerge, From: from.ID, Into: into.ID, AskedAt: clock()()})
	if err != nil {
		return err
	}
	shown := d.progress()
	err = people.Carry(ctx, d.store, id, clock(), func(m core.Move) {
		if m.Total > 0 {
			shown.line(string(m.Phase), fmt.Sprintf("%s: %s", m.Phase, t.Rows.Of(m.Rows)))
		}
	})
	shown.end()
	if err != nil {
		return fmt.Errorf("it goes on when `everthread serve` runs, or with the next `everthread users link`: %w", err)
	}
	return d.said(object{"messages", moved + there, "user_id", into.ID, "was", from.ID}, t.Linked, from.Name, into.ID)
}

// webLink shows a link that signs a user in to the web page.
func (d *opened) webLink(ctx context.Context, u core.User) error {
	life := d.cfg.Channels.Web.LinkLife
	url, expires, err := engine.NewWebLink(ctx, d.cfg, d.store, u.ID, life, clock())
	if err != nil {
		return err
	}
	return d.said(object{"expires_at", expires, "url", url, "user_id", u.ID}, "%s\n%s", url,
		d.words().WebLink.Of(int(life.Minutes()), u.Name))
}
