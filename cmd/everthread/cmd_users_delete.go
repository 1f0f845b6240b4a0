package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
)

type usersDeleteCmd struct {
	User   string `arg:"" help:"User (id or name)."`
	Yes    bool   `help:"Skip the confirmation."`
	Verify bool   `help:"Verify afterwards that nothing is left. Works also for a deleted user, by id."`
}

// Run deletes a user after a confirmation.
func (u usersDeleteCmd) Run(ctx context.Context, d *opened) error {
	l := engine.NewDeleter(d.cfg, d.store, crash)
	user, err := d.user(ctx, u.User)
	if id, wrong := strconv.ParseInt(u.User, 10, 64); err != nil && wrong == nil && u.Verify && id > 0 {
		if err := l.Finish(ctx, core.UserID(id)); err != nil {
			return err
		}
		return d.verifyGone(ctx, l, core.UserID(id), u.User)
	}
	if err != nil {
		return err
	}
	if user.Role == core.RoleOwner {
		return errors.New("the owner cannot be deleted")
	}
	if !u.Yes && !d.confirm(fmt.Sprintf(d.words().DeleteAsk, user.Name, user.ID)) {
		return errors.New("nothing was deleted; answer yes, or give --yes")
	}
	tell, end := d.deletion(user.Name)
	err = l.Delete(ctx, user.ID, tell)
	end()
	if err != nil {
		return err
	}
	if u.Verify {
		return d.verifyGone(ctx, l, user.ID, user.Name)
	}
	return d.said(object{"deleted", user.ID}, d.words().Gone, user.Name)
}

// deletion shows the progress of an account deletion.
func (c *console) deletion(name string) (tell func(people.Deletion), end func()) {
	p := c.progress()
	return func(r people.Deletion) { p.line(string(r.Step), c.words().removing(r, name)) }, p.end
}

func (t *texts) removing(r people.Deletion, name string) string {
	switch r.Step {
	case people.DeletionCount:
		return fmt.Sprintf(t.DeleteCount, name, t.Messages.Of(r.Done), t.Attachments.Of(r.Total))
	case people.DeletionRows:
		return fmt.Sprintf(t.DeleteRows, t.Messages.Of(r.Total), name)
	case people.DeletionFiles:
		return fmt.Sprintf(t.DeleteFiles, r.Done, r.Total)
	case people.DeletionClean:
		return t.DeleteClean
	}
	return t.DeleteLook
}

// verifyGone fails if anything of a deleted user is left.
func (d *opened) verifyGone(ctx context.Context, l *people.Deleter, user core.UserID, name string) error {
	tell, end := d.deletion(name)
	left, err := l.Left(ctx, user, tell)
	end()
	if err != nil {
		return err
	}
	text := fmt.Sprintf(d.words().GoneWhole, name)
	if len(left) > 0 {
		text = fmt.Sprintf(d.words().GoneLeft+"\n  %s", name, strings.Join(left, "\n  "))
	}
	err = d.lines(object{"deleted", user, "left", list(left)}, text)
	if err == nil && len(left) > 0 {
		return errSilent
	}
	return err
}
