package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
)

type usersLinkCmd struct {
	User string `arg:"" help:"The user who gets a link that signs them in to the web page, or who becomes a part of the other: id or name."`
	Into string `arg:"" optional:"" help:"Of two that are to be one, the user that remains: id or name. The owner always does."`
	Yes  bool   `help:"Do not ask."`
}

// Run makes two users one, after it asked; a server that runs does its part. Of
// one user it shows a link to the web page.
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
	counts, err := d.counts(ctx, from.ID, into.ID)
	if err != nil {
		return err
	}
	t := d.words()
	question := fmt.Sprintf(t.LinkAsk, from.Name, from.ID, t.Messages.Of(counts[0]), into.Name, into.ID,
		t.Messages.Of(counts[1]))
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
	return d.said(map[string]any{"user_id": into.ID, "was": from.ID, "messages": counts[0] + counts[1]}, t.Linked,
		from.Name, into.ID)
}

// webLink shows a link that signs a user in.
func (d *opened) webLink(ctx context.Context, u core.User) error {
	life := d.cfg.Channels.Web.LinkLife
	p := &people.People{Store: d.store, Now: clock(), Rand: rand.Reader}
	url, expires, err := newWebLink(ctx, p, d.cfg, d.store, u.ID, life)
	if err != nil {
		return err
	}
	return d.said(map[string]any{"user_id": u.ID, "url": url, "expires_at": expires}, "%s\n%s", url,
		d.words().WebLink.Of(int(life.Minutes()), u.Name))
}

// newWebLink makes a link that signs a user in to the web page until it expires.
func newWebLink(ctx context.Context, p *people.People, c configs.Config, st store, user core.UserID,
	life time.Duration) (url string, expires time.Time, err error) {
	code, stored, err := p.NewWebCode(user, life)
	if err == nil {
		err = st.PutCode(ctx, stored)
	}
	return engine.SignIn(c, code), stored.Expires, err
}

// counts are how many messages are found of users.
func (d *opened) counts(ctx context.Context, users ...core.UserID) ([]int, error) {
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
func (d *opened) carry(ctx context.Context, id core.MoveID) error {
	shown := time.Time{}
	return people.Carry(ctx, d.store, id, clock(), func(m core.Move) {
		if now := time.Now(); now.Sub(shown) > time.Second && m.Total > 0 && !d.json {
			shown = now
			fmt.Fprintf(d.err, "%s: %s\n", m.Phase, d.words().Rows.Of(m.Rows))
		}
	})
}
