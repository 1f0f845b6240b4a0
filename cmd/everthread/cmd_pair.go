package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

type pairCmd struct {
	List    pairListCmd    `cmd:"" help:"List who asks to be let in."`
	Approve pairApproveCmd `cmd:"" help:"Let somebody in; what they wrote meanwhile is answered."`
	Deny    pairDenyCmd    `cmd:"" help:"Turn somebody down; what they wrote is dropped."`
}

// codeView is a request to be let in.
type codeView struct {
	Code    string    `json:"code"`
	Channel string    `json:"channel"`
	Address string    `json:"address"`
	Name    string    `json:"name"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at"`
}

type pairListCmd struct{}

// Run lists pending requests.
func (pairListCmd) Run(ctx context.Context, d *opened) error {
	codes, err := d.store.Codes(ctx, core.CodePair, clock()())
	if err != nil {
		return err
	}
	var views []codeView
	var rows [][]string
	for _, p := range codes {
		views = append(views, codeView{p.Hint, p.Address.Channel, p.Address.External, p.Name, p.Created, p.Expires})
		rows = append(rows, []string{p.Hint, p.Address.Channel, p.Address.External, dash(short(p.Name, 30)),
			clockTime(p.Expires, time.Local)})
	}
	return d.table(list(views), d.words().CodesHeader, rows, d.words().CodesNone)
}

type pairApproveCmd struct {
	Code string `arg:"" help:"The code that they were shown."`
	User string `placeholder:"U" help:"A known user (id or name); else they become a user of their own."`
	Name string `placeholder:"N" help:"What to call them; else as they call themselves."`
}

// Run attaches the address of a code to a user and receives what it wrote.
func (p pairApproveCmd) Run(ctx context.Context, d *opened) error {
	owner, err := d.user(ctx, "")
	if err != nil {
		return err
	}
	now := clock()()
	e := core.Approve{CodeHash: trust.CodeHash(p.Code), Name: p.Name, At: now}
	if p.User != "" {
		u, err := d.user(ctx, p.User)
		if err != nil {
			return err
		}
		e.User = u.ID
	}
	noted, err := d.store.Note(ctx, core.Note{User: owner.ID, Effects: []core.Effect{e}, Now: now})
	if err != nil {
		return explainCode(err)
	}
	eng, err := d.engine(ctx)
	if err != nil {
		return err
	}
	if err := eng.Gateway.Receive(ctx, noted.Released...); err != nil {
		return fmt.Errorf("they are let in; what they wrote is answered within a minute by the server: %w", err)
	}
	return d.said(map[string]any{"approved": true, "messages": len(noted.Released)}, d.words().LetIn, len(noted.Released))
}

type pairDenyCmd struct {
	Code string `arg:"" help:"The code that they were shown."`
}

// Run drops a request.
func (p pairDenyCmd) Run(ctx context.Context, d *opened) error {
	owner, err := d.user(ctx, "")
	if err != nil {
		return err
	}
	now := clock()()
	_, err = d.store.Note(ctx, core.Note{User: owner.ID,
		Effects: []core.Effect{core.Deny{CodeHash: trust.CodeHash(p.Code), At: now}}, Now: now})
	if err != nil {
		return explainCode(err)
	}
	return d.said(map[string]bool{"denied": true}, d.words().Denied)
}

// explainCode says what to do about a code that does not work.
func explainCode(err error) error {
	switch {
	case errors.Is(err, core.ErrRefused):
		return errors.New("nobody waits with this code, or it has expired; `everthread pair list` shows the codes")
	case errors.Is(err, core.ErrExists):
		return errors.New("this address is somebody's already")
	}
	return err
}
