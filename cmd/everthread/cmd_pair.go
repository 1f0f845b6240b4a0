package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

type pairCmd struct {
	List    pairListCmd    `cmd:"" help:"List pending requests."`
	Approve pairApproveCmd `cmd:"" help:"Approve a request; held messages are answered."`
	Deny    pairDenyCmd    `cmd:"" help:"Deny a request; held messages are dropped."`
}

type pairListCmd struct{}

func (pairListCmd) Run(ctx context.Context, d *opened) error {
	codes, err := d.store.Codes(ctx, effect.CodePair, clock()())
	if err != nil {
		return err
	}
	return table(d.console, codes, d.words().CodesHeader, d.words().CodesNone, func(c effect.Code) (any, []any) {
		return object{"code", c.Hint, "channel", c.Address.Channel, "address", c.Address.External, "name", c.Name,
				"created_at", c.Created, "expires_at", c.Expires},
			[]any{c.Hint, c.Address.Channel, c.Address.External, cmp.Or(short(c.Name, 30), "-"), c.Expires}
	})
}

type pairApproveCmd struct {
	Code string `arg:"" help:"Code of the request."`
	User string `placeholder:"U" help:"Existing user (id or name); default: a new user."`
	Name string `placeholder:"N" help:"Name of the user; default: as the channel gives it."`
}

// Run attaches the address of a request to a user, and receives the messages held for it.
func (p pairApproveCmd) Run(ctx context.Context, d *opened) error {
	e := effect.Approve{CodeHash: trust.CodeHash(p.Code), Name: p.Name, At: clock()()}
	if p.User != "" {
		if err := d.ofPerson(ctx, e.CodeHash); err != nil {
			return err
		}
		u, err := d.person(ctx, p.User)
		if err != nil {
			return err
		}
		e.User = u.ID
	}
	noted, err := d.decide(ctx, e)
	if err != nil {
		return err
	}
	eng, err := d.engine(ctx)
	if err != nil {
		return err
	}
	if err := eng.Gateway.Receive(ctx, noted.Released...); err != nil {
		return fmt.Errorf("the request is approved; the server answers the held messages within a minute: %w", err)
	}
	return d.said(object{"approved", true, "messages", len(noted.Released)}, d.words().LetIn, len(noted.Released))
}

// ofPerson fails if a code is that of a group, which cannot become a person's.
func (d *opened) ofPerson(ctx context.Context, hash string) error {
	codes, err := d.groupCodes(ctx)
	if slices.ContainsFunc(codes, func(c effect.Code) bool { return c.Hash == hash }) {
		return errors.New("a group waits with this code, and a group belongs to nobody: approve it with `everthread groups approve CODE`")
	}
	return err
}

type pairDenyCmd struct {
	Code string `arg:"" help:"Code of the request."`
}

func (p pairDenyCmd) Run(ctx context.Context, d *opened) error {
	if _, err := d.decide(ctx, effect.Deny{CodeHash: trust.CodeHash(p.Code), At: clock()()}); err != nil {
		return err
	}
	return d.said(object{"denied", true}, d.words().Denied)
}

// decide answers a request as the owner. Its errors say what to do about a code that does not work.
func (d *opened) decide(ctx context.Context, answer core.Effect) (ports.Noted, error) {
	owner, err := d.user(ctx, "")
	if err != nil {
		return ports.Noted{}, err
	}
	noted, err := d.store.Note(ctx, ports.Note{User: owner.ID, Effects: []core.Effect{answer}, Now: clock()()})
	switch {
	case errors.Is(err, core.ErrRefused):
		err = errors.New("nobody waits with this code, or it has expired; `everthread pair list` shows the codes")
	case errors.Is(err, core.ErrExists):
		err = errors.New("this address is somebody's already")
	}
	return noted, err
}
