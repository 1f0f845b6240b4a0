package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
)

// shownAtStart is how many messages a chat begins with.
const shownAtStart = 10

// greet shows where the conversation stands, summaries posted since included.
func (t *sitting) greet(ctx context.Context) error {
	i, u, err := t.Store.Identify(ctx, t.channel.Address())
	if err != nil {
		return err
	}
	messages, err := t.Store.History(ctx, u.ID, i.Thread, 0, 10*shownAtStart)
	if err != nil {
		return err
	}
	coming, err := t.Store.Deliveries(ctx, core.DeliveryQuery{User: u.ID,
		States: []core.DeliveryState{core.DeliveryPending, core.DeliverySending}, Limit: 100})
	if err != nil {
		return err
	}
	messages = slices.DeleteFunc(messages, func(m core.Message) bool {
		arrives := func(d core.Delivery) bool { return d.Message == m.ID && d.To == t.channel.Address() }
		return !worthShowing(m) || slices.ContainsFunc(coming, arrives)
	})
	t.write(u, messages[max(0, len(messages)-shownAtStart):])
	fmt.Fprintf(t.tty, t.con.words().ChatHello+"\n", trust.Visible(u.Name))
	return t.showCode(ctx)
}

func worthShowing(m core.Message) bool {
	switch m.Kind {
	case core.KindChat, core.KindDayPost, core.KindReminder:
		return m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
	}
	return false
}

func (t *sitting) write(u core.User, messages []core.Message) {
	language := u.Settings.Language
	if language == "" {
		language = t.Config.DefaultLanguage
	}
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
}

// showCode shows the owner code if an address could use it. A server that runs
// has shown its own, which stays valid.
func (t *sitting) showCode(ctx context.Context) error {
	if len(t.Channels) < 2 || t.Config.DatabaseURL != "" || folder.Served(t.Config.DataDir) {
		return nil
	}
	_, code, err := t.People.EnsureOwner(ctx)
	if err == nil && code != "" {
		fmt.Fprintf(t.tty, t.con.words().ChatOwner+"\n", code)
	}
	return err
}
