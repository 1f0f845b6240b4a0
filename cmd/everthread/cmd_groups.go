package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/trust"
)

type groupsCmd struct {
	List    groupsListCmd    `cmd:"" help:"List group chats, and those that wait for approval."`
	Approve groupsApproveCmd `cmd:"" help:"Approve a group: from then on I take part in it."`
	Deny    groupsDenyCmd    `cmd:"" help:"Deny the request of a group."`
}

type groupsListCmd struct{}

// Run lists the groups that were approved, then those that wait, with their codes.
func (groupsListCmd) Run(ctx context.Context, d *opened) error {
	type group struct {
		id, name, channel, address, code string
	}
	groups, err := d.store.Groups(ctx)
	if err != nil {
		return err
	}
	var all []group
	for _, u := range groups {
		ids, err := d.store.Identities(ctx, u.ID)
		if err != nil {
			return err
		}
		g := group{id: fmt.Sprint(u.ID), name: u.Name}
		if len(ids) > 0 {
			g.channel, g.address = ids[0].Address.Channel, ids[0].Address.External
		}
		all = append(all, g)
	}
	codes, err := d.groupCodes(ctx)
	if err != nil {
		return err
	}
	for _, c := range codes {
		all = append(all, group{name: c.Name, channel: c.Address.Channel, address: c.Address.External, code: c.Hint})
	}
	return table(d.console, all, d.words().GroupsHeader, d.words().GroupsNone, func(g group) (any, []any) {
		return object{"user_id,omitempty", g.id, "name", g.name, "channel", g.channel, "address", g.address,
				"code,omitempty", g.code},
			[]any{cmp.Or(g.id, "-"), short(g.name, 30), g.channel, g.address, cmp.Or(g.code, "-")}
	})
}

// groupCodes lists the requests of groups.
func (d *opened) groupCodes(ctx context.Context) ([]effect.Code, error) {
	codes, err := d.store.Codes(ctx, effect.CodePair, clock()())
	return slices.DeleteFunc(codes, func(c effect.Code) bool { return !c.Group }), err
}

// group answers the request of a group.
func (d *opened) group(ctx context.Context, code string, answer func(hash string) core.Effect) error {
	codes, err := d.groupCodes(ctx)
	if err != nil {
		return err
	}
	hash := trust.CodeHash(strings.TrimSpace(code))
	if !slices.ContainsFunc(codes, func(c effect.Code) bool { return c.Hash == hash }) {
		return errors.New("no group waits with this code, or it has expired; `everthread groups list` shows the codes")
	}
	_, err = d.decide(ctx, answer(hash))
	return err
}

type groupsApproveCmd struct {
	Code string `arg:"" help:"Code of the request."`
	Name string `placeholder:"N" help:"Name of the group; default: its title."`
}

// Run makes a group a user of its own.
func (a groupsApproveCmd) Run(ctx context.Context, d *opened) error {
	err := d.group(ctx, a.Code, func(hash string) core.Effect {
		return effect.Approve{CodeHash: hash, Name: a.Name, At: clock()()}
	})
	if err != nil {
		return err
	}
	return d.said(object{"approved", true}, d.words().GroupIn)
}

type groupsDenyCmd struct {
	Code string `arg:"" help:"Code of the request."`
}

// Run drops the request of a group.
func (a groupsDenyCmd) Run(ctx context.Context, d *opened) error {
	err := d.group(ctx, a.Code, func(hash string) core.Effect { return effect.Deny{CodeHash: hash, At: clock()()} })
	if err != nil {
		return err
	}
	return d.said(object{"denied", true}, d.words().GroupOut)
}
