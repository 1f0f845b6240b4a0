package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

type usersCmd struct {
	List   usersListCmd   `cmd:"" help:"List users and their addresses."`
	Add    usersAddCmd    `cmd:"" help:"Add a user, to attach an address to with pair approve --user."`
	Link   usersLinkCmd   `cmd:"" help:"Merge two users, or show a link that signs a user in to the web page."`
	Delete usersDeleteCmd `cmd:"" help:"Delete a user and all their data."`
	Agent  usersAgentCmd  `cmd:"" help:"Manage the keys of WhatsApp personal agents."`
}

type usersListCmd struct{}

func (usersListCmd) Run(ctx context.Context, d *opened) error {
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	addresses := map[core.UserID][]string{}
	for _, u := range users {
		ids, err := d.store.Identities(ctx, u.ID)
		if err != nil {
			return err
		}
		addresses[u.ID] = views(ids, func(i core.Identity) string { return i.Address.Channel + ":" + i.Address.External })
	}
	return table(d.console, users, d.words().UsersHeader, d.words().UsersNone, func(u core.User) (any, []any) {
		s := u.Settings
		return userObject(u, addresses[u.ID]), []any{u.ID, short(u.Name, 30), u.Role, cmp.Or(s.Zone, "-"),
			cmp.Or(s.Language, "-"), u.CreatedAt, cmp.Or(strings.Join(addresses[u.ID], " "), "-")}
	})
}

func userObject(u core.User, addresses []string) object {
	s := u.Settings
	return object{"id", u.ID, "name", u.Name, "role", u.Role, "zone,omitempty", s.Zone, "language,omitempty", s.Language,
		"paused", s.Paused, "identities", list(addresses), "created_at", u.CreatedAt}
}

type usersAddCmd struct {
	Name    string `arg:"" help:"Name."`
	Another bool   `help:"Allow a name that another user has."`
}

// Run adds a member.
func (u usersAddCmd) Run(ctx context.Context, d *opened) error {
	name := trust.Line(u.Name)
	if name == "" {
		return errUsage{errors.New("the name is empty")}
	}
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(users, func(other core.User) bool { return strings.EqualFold(other.Name, name) })
	if i >= 0 && !u.Another {
		return fmt.Errorf("there is a %s already (user %d); --another adds somebody else of that name",
			trust.Line(users[i].Name), users[i].ID)
	}
	added, err := d.store.AddUser(ctx, core.User{Name: name, Role: core.RoleMember, CreatedAt: clock()()})
	if err != nil {
		return err
	}
	return d.said(userObject(added, nil), d.words().UserAdded, added.Name, added.ID, added.ID)
}

// confirm asks a question, and reports whether the answer is yes. With --json it does not
// ask: programs give --yes.
func (c *console) confirm(question string) bool {
	if c.json {
		return false
	}
	fmt.Fprintf(c.err, c.words().Confirm, question)
	line, _ := bufio.NewReader(c.in).ReadString('\n') // an end of input is a no
	line = strings.TrimSpace(line)
	return strings.EqualFold(line, "yes") || strings.EqualFold(line, c.words().Yes)
}
