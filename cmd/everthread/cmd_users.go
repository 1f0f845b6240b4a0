package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

type usersCmd struct {
	List   usersListCmd   `cmd:"" help:"List the people and where they write from."`
	Add    usersAddCmd    `cmd:"" help:"Add somebody, to attach an address to with pair approve --user."`
	Link   usersLinkCmd   `cmd:"" help:"Make two people one, with all that both said."`
	Delete usersDeleteCmd `cmd:"" help:"Delete somebody with everything that is theirs."`
	Agent  usersAgentCmd  `cmd:"" help:"WhatsApp personal agents: a key each, bound to one person."`
}

// userView is a user as commands show them.
type userView struct {
	ID         core.UserID `json:"id"`
	Name       string      `json:"name"`
	Role       string      `json:"role"`
	Zone       string      `json:"zone,omitempty"`
	Language   string      `json:"language,omitempty"`
	Paused     bool        `json:"paused"`
	Identities []string    `json:"identities"`
	Created    time.Time   `json:"created_at"`
}

func (d *opened) view(ctx context.Context, u core.User) (userView, error) {
	v := userView{ID: u.ID, Name: u.Name, Role: string(u.Role), Zone: u.Settings.Zone, Language: u.Settings.Language,
		Paused: u.Settings.Paused, Identities: []string{}, Created: u.CreatedAt}
	ids, err := d.store.Identities(ctx, u.ID)
	for _, i := range ids {
		v.Identities = append(v.Identities, i.Address.Channel+":"+i.Address.External)
	}
	return v, err
}

type usersListCmd struct{}

// Run lists all users.
func (usersListCmd) Run(ctx context.Context, d *opened) error {
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	var shown []userView
	for _, u := range users {
		v, err := d.view(ctx, u)
		if err != nil {
			return err
		}
		shown = append(shown, v)
	}
	return table(d.console, shown, d.words().UsersHeader, d.words().UsersNone, func(v userView) []any {
		return []any{v.ID, short(v.Name, 30), v.Role, dash(v.Zone), dash(v.Language), v.Created,
			dash(strings.Join(v.Identities, " "))}
	})
}

type usersAddCmd struct {
	Name    string `arg:"" help:"Their name."`
	Another bool   `help:"Add them although somebody has that name already."`
}

// Run adds a member.
func (u usersAddCmd) Run(ctx context.Context, d *opened) error {
	name := trust.Line(u.Name)
	if name == "" {
		return errUsage{errors.New("the name is empty")}
	}
	if err := u.taken(ctx, d, name); err != nil {
		return err
	}
	added, err := d.store.AddUser(ctx, core.User{Name: name, Role: core.RoleMember, CreatedAt: clock()()})
	if err != nil {
		return err
	}
	v, err := d.view(ctx, added)
	if err != nil {
		return err
	}
	return d.said(v, d.words().UserAdded, v.Name, v.ID, v.ID)
}

// taken is an error if somebody has a name, unless there are to be several.
func (u usersAddCmd) taken(ctx context.Context, d *opened, name string) error {
	users, err := d.store.Users(ctx)
	if err != nil || u.Another {
		return err
	}
	for _, other := range users {
		if strings.EqualFold(other.Name, name) {
			return fmt.Errorf("there is a %s already (user %d); --another adds somebody else of that name",
				trust.Line(other.Name), other.ID)
		}
	}
	return nil
}

// confirm asks a question that yes answers. Programs are not asked: they say --yes.
func (c *console) confirm(question string) bool {
	if c.json {
		return false
	}
	fmt.Fprintf(c.err, c.words().Confirm, question)
	line, _ := bufio.NewReader(c.in).ReadString('\n') // an end of input is a no
	line = strings.TrimSpace(line)
	return strings.EqualFold(line, "yes") || strings.EqualFold(line, c.words().Yes)
}
