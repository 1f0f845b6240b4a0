package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/trust"
)

type usersDeleteCmd struct {
	User   string `arg:"" help:"Id or name."`
	Yes    bool   `help:"Do not ask."`
	Verify bool   `help:"Look everywhere afterwards: nothing of theirs may be left. Also for a user who was deleted before, by id."`
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
	shown := d.steps()
	err = l.Delete(ctx, user.ID, func(r people.Deletion) { shown.line(string(r.Step), d.words().removing(r, user.Name)) })
	shown.end()
	if err != nil {
		return err
	}
	if u.Verify {
		return d.verifyGone(ctx, l, user.ID, user.Name)
	}
	return d.said(map[string]any{"deleted": user.ID}, d.words().Gone, user.Name)
}

// removing says what is being removed.
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

// verifyGone looks whether anything of a user is left, and fails if so.
func (d *opened) verifyGone(ctx context.Context, l *people.Deleter, user core.UserID, name string) error {
	shown := d.steps()
	left, err := l.Left(ctx, user, func(r people.Deletion) { shown.line(string(r.Step), d.words().removing(r, name)) })
	shown.end()
	if err != nil {
		return err
	}
	err = d.show(map[string]any{"deleted": user, "left": list(left)}, func(w io.Writer) {
		if len(left) == 0 {
			fmt.Fprintf(w, d.words().GoneWhole+"\n", name)
			return
		}
		fmt.Fprintf(w, d.words().GoneLeft+"\n  %s\n", name, strings.Join(left, "\n  "))
	})
	if err == nil && len(left) > 0 {
		return errSilent
	}
	return err
}

// steps shows long work of several steps: on a terminal in one line, else each
// step, and now and then how far it is.
type steps struct {
	*console
	screen bool
	step   string
	shown  time.Time
	last   string // what is not shown yet
}

func (c *console) steps() *steps { return &steps{console: c, screen: isTerminal(c.err)} }

// line shows how far a step is.
func (s *steps) line(step, text string) {
	every, now := 10*time.Second, time.Now()
	if s.screen {
		every = 200 * time.Millisecond
	}
	if s.json {
		return
	}
	if step == s.step && now.Sub(s.shown) < every {
		s.last = text
		return
	}
	if step != s.step {
		s.end()
	}
	s.step, s.shown, s.last = step, now, ""
	if s.screen {
		fmt.Fprintf(drawn(s.err), "\r%-78s", trust.Line(text))
		return
	}
	fmt.Fprintln(s.err, text)
}

// end ends the line of the last step, with how far it came.
func (s *steps) end() {
	if s.screen && s.last != "" {
		fmt.Fprintf(drawn(s.err), "\r%-78s", trust.Line(s.last))
	}
	if s.screen && s.step != "" {
		fmt.Fprintln(s.err)
	}
	s.step, s.last = "", ""
}
