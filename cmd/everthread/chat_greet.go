package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
)

// shownAtStart is the number of messages that a chat begins with.
const shownAtStart = 10

// greet shows the newest messages of the conversation, and the owner code if it is needed.
func (t *sitting) greet(ctx context.Context) error {
	u, messages, err := t.live().Recent(ctx, shownAtStart)
	if err != nil {
		return err
	}
	language := cmp.Or(u.Settings.Language, t.Config.DefaultLanguage)
	today, last := t.Calendar.Day(u.Settings, t.Now()).Label, ""
	for _, m := range messages {
		if label := t.Calendar.Day(u.Settings, m.SentAt).Label; label != last {
			last = label
			fmt.Fprintf(t.tty, "— %s —\n", day.Name(label, today, language))
		}
		if m.Role == core.RoleUser {
			fmt.Fprintf(t.tty, "> %s\n", trust.Visible(m.Text))
			continue
		}
		fmt.Fprintln(t.tty, trust.Visible(markup.Plain(m.Text)))
	}
	fmt.Fprintf(t.tty, t.con.words().ChatHello+"\n", trust.Visible(u.Name))
	// A running server has shown its own code, which stays valid.
	if len(t.Channels) < 2 || t.Config.DatabaseURL != "" || folder.Served(t.Config.DataDir) {
		return nil
	}
	_, code, err := t.People.EnsureOwner(ctx)
	if err == nil && code != "" {
		fmt.Fprintf(t.tty, t.con.words().ChatOwner+"\n", code)
	}
	return err
}
