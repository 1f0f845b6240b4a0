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

func viewCode(c core.Code) codeView {
	return codeView{c.Hint, c.Address.Channel, c.Address.External, c.Name, c.Created, c.Expires}
}

type pairListCmd struct{}

// Run lists pending requests.
func (pairListCmd) Run(ctx context.Context, d *opened) error {
	codes, err := d.store.Codes(ctx, core.CodePair, clock()())
	if err != nil {
		return err
	}
	return table(d.console, views(codes, viewCode), d.words().CodesHeader, d.words().CodesNone, func(v codeView) []any {
		return []any{v.Code, v.Channel, v.Address, dash(short(v.Name, 30)), v.Expires}
	})
}

type pairApproveCmd struct {
	Code string `arg:"" help:"The code that they were shown."`
	User string `placeholder:"U" help:"A known user (id or name); else they become a user of their own."`
	Name string `placeholder:"N" help:"What to call them; else as they call themselves."`
}

// Run attaches the address of a code to a user and receives what it wrote.
func (p pairApproveCmd) Run(ctx context.Context, d *opened) error {
	e := core.Approve{CodeHash: trust.CodeHash(p.Code), Name: p.Name, At: clock()()}
	if p.User != "" {
		u, err := d.user(ctx, p.User)
		if err != nil {
			return err
		}
		e.User = u.ID
	}
	noted, err := d.decide(ctx, e, e.At)
	if err != nil {
		return err
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
	now := clock()()
	if _, err := d.decide(ctx, core.Deny{CodeHash: trust.CodeHash(p.Code), At: now}, now); err != nil {
		return err
	}
	return d.said(map[string]bool{"denied": true}, d.words().Denied)
}

// decide has the owner answer a request, and says what to do about a code that does not work.
func (d *opened) decide(ctx context.Context, answer core.Effect, now time.Time) (core.Noted, error) {
	owner, err := d.user(ctx, "")
	if err != nil {
		return core.Noted{}, err
	}
	noted, err := d.store.Note(ctx, core.Note{User: owner.ID, Effects: []core.Effect{answer}, Now: now})
	switch {
	case errors.Is(err, core.ErrRefused):
		err = errors.New("nobody waits with this code, or it has expired; `everthread pair list` shows the codes")
	case errors.Is(err, core.ErrExists):
		err = errors.New("this address is somebody's already")
	}
	return noted, err
}
