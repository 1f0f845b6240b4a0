package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	ports "github.com/everthread/everthread/core/store"
)

type forgetCmd struct {
	whose
	Message core.MessageID `placeholder:"N" help:"Message to remove, with everything made from it."`
	Day     string         `placeholder:"DATE" help:"Day whose messages to remove, such as 2026-11-19 or monday. Asks for --yes."`
	Yes     bool           `help:"Confirm."`
	Verify  string         `placeholder:"TEXT" help:"Text to look for everywhere; the command fails if it is found."`
}

// Run removes messages for good, or verifies that nothing is left of a text.
func (f forgetCmd) Run(ctx context.Context, d *opened, u core.User) error {
	switch {
	case f.Message > 0 && f.Day == "" && f.Verify == "":
		return f.remove(ctx, d, u, []core.MessageID{f.Message})
	case f.Day != "" && f.Message == 0 && f.Verify == "":
		return f.removeDay(ctx, d, u)
	case strings.TrimSpace(f.Verify) != "" && f.Message == 0 && f.Day == "":
		return f.verify(ctx, d, u)
	}
	return errUsage{errors.New("say one of --message N, --day DATE and --verify TEXT")}
}

func (f forgetCmd) removeDay(ctx context.Context, d *opened, u core.User) error {
	g, err := d.day(ctx, u, f.Day)
	if err != nil {
		return err
	}
	ids, err := engine.DayMessages(ctx, d.store, g)
	if err != nil {
		return err
	}
	if !f.Yes && len(ids) > 0 {
		return errUsage{fmt.Errorf("this removes %s of %s for good, with everything made from them; say --yes to do it",
			d.words().Messages.Of(len(ids)), g.Day.Label)}
	}
	return f.remove(ctx, d, u, ids)
}

func (f forgetCmd) remove(ctx context.Context, d *opened, u core.User, ids []core.MessageID) error {
	e, err := d.engine(ctx)
	if err != nil {
		return err
	}
	if err := missing(e.Gateway.Forget(ctx, u.ID, ids), fmt.Errorf("there is no message %d", f.Message)); err != nil {
		return err
	}
	if err := d.store.Scrub(ctx); err != nil {
		return err
	}
	return d.said(object{"removed", len(ids)}, d.words().Forgotten, len(ids))
}

// verify fails if anything of the text is left.
func (f forgetCmd) verify(ctx context.Context, d *opened, u core.User) error {
	if err := d.store.Scrub(ctx); err != nil {
		return err
	}
	found, err := engine.Traces(ctx, d.store, u.ID, strings.TrimSpace(f.Verify))
	if err != nil {
		return err
	}
	places := views(found, func(t ports.Trace) string {
		if t.ID != 0 {
			t.Where += fmt.Sprintf(" %d", t.ID)
		}
		return t.Where
	})
	text := d.words().TracesNone
	if len(found) > 0 {
		text = d.words().Traces.Of(len(found)) + "\n  " + strings.Join(places, "\n  ")
	}
	err = d.lines(object{"found", list(places)}, text)
	if err == nil && len(found) > 0 {
		return errSilent
	}
	return err
}
