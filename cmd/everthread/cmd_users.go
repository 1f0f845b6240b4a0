package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/store"
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
		return fmt.Errorf("somebody is called %s already (user %d); --another adds somebody else of that name",
			trust.Line(users[i].Name), users[i].ID)
	}
	added, err := d.store.AddUser(ctx, core.User{Name: name, Role: core.RoleMember, CreatedAt: clock()()})
	if err != nil {
		return err
	}
	return d.said(userObject(added, nil), d.words().UserAdded, added.Name, added.ID, added.ID)
}

// confirm asks a question, and reports whether the answer is yes. With --json it does not ask: programs give --yes.
func (c *console) confirm(question string) bool {
	if c.json {
		return false
	}
	fmt.Fprintf(c.err, c.words().Confirm, question)
	line, _ := bufio.NewReader(c.in).ReadString('\n') // an end of input is a no
	line = strings.TrimSpace(line)
	return strings.EqualFold(line, "yes") || strings.EqualFold(line, c.words().Yes)
}

type usersLinkCmd struct {
	User string `arg:"" help:"Source user (id or name); without a target, the user who gets a link to the web page."`
	Into string `arg:"" optional:"" help:"Target user (id or name), who remains. The owner always does."`
	Yes  bool   `help:"Skip the confirmation."`
}

// Run merges two users after a confirmation; a running server does its part. With one user
// it shows a link to the web page.
func (u usersLinkCmd) Run(ctx context.Context, d *opened) error {
	from, err := d.person(ctx, u.User)
	if err != nil {
		return err
	}
	if u.Into == "" {
		return d.webLink(ctx, from)
	}
	into, err := d.person(ctx, u.Into)
	if err != nil {
		return err
	}
	if from.ID == into.ID {
		return errUsage{errors.New("that is the same user twice")}
	}
	if from.Role == core.RoleOwner {
		from, into = into, from
	}
	theirs, err := d.store.Directory(ctx, from.ID)
	if err != nil {
		return err
	}
	others, err := d.store.Directory(ctx, into.ID)
	if err != nil {
		return err
	}
	t, moved, there := d.words(), len(theirs.Messages), len(others.Messages)
	if !u.Yes && !d.confirm(fmt.Sprintf(t.LinkAsk, from.Name, from.ID, t.Messages.Of(moved), into.Name, into.ID,
		t.Messages.Of(there))) {
		return errors.New("nothing was changed; answer yes, or give --yes")
	}
	id, err := d.store.Ask(ctx, store.Merge{From: from.ID, Into: into.ID, AskedAt: clock()()})
	if err != nil {
		return err
	}
	if err := people.Carry(ctx, d.store, id, clock()); err != nil {
		return fmt.Errorf("it goes on when `everthread serve` runs, or with the next `everthread users link`: %w", err)
	}
	return d.said(object{"messages", moved + there, "user_id", into.ID, "was", from.ID}, t.Linked, from.Name, into.ID)
}

func (d *opened) webLink(ctx context.Context, u core.User) error {
	life := d.cfg.Channels.Web.LinkLife
	url, expires, err := engine.NewWebLink(ctx, d.cfg, d.store, u.ID, life, clock())
	if err != nil {
		return err
	}
	return d.said(object{"expires_at", expires, "url", url, "user_id", u.ID}, "%s\n%s", url,
		d.words().WebLink.Of(int(life.Minutes()), u.Name))
}

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
	revoke := engine.NewServices(d.cfg, d.store, engine.WayOut(d.cfg), zap.NewNop(), clock()).Leaving(ctx, user.ID)
	err = l.Delete(ctx, user.ID, tell)
	end()
	if err != nil {
		return err
	}
	revoke(ctx)
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

type usersAgentCmd struct {
	Add    agentAddCmd    `cmd:"" help:"Add the key of a user's WhatsApp personal agent, as the agent's chat info shows it."`
	List   agentListCmd   `cmd:"" help:"List personal agents."`
	Remove agentRemoveCmd `cmd:"" help:"Remove a personal agent; the conversation stays."`
}

type agentAddCmd struct {
	User core.UserID `arg:"" help:"Id of the user, as shown by users list."`
	Name string      `help:"Name in lists." default:"WhatsApp agent"`
	Key  string      `name:"key-file" help:"File that holds the key; default: a prompt, or standard input." type:"existingfile"`
}

// Run stores a key, encrypted.
func (a agentAddCmd) Run(ctx context.Context, d *opened) error {
	key, err := a.read(d)
	if err != nil {
		return err
	}
	k, err := engine.AddAgentKey(ctx, d.cfg, d.store, store.AgentKey{User: a.User, Name: a.Name, CreatedAt: clock()()}, key)
	if err = missing(err, fmt.Errorf("there is no user %d; see `everthread users list`", a.User)); err != nil {
		return err
	}
	return d.said(agentObject(k), d.words().AgentAdded, k.ID, k.User)
}

// read returns the key, from a file, the terminal or standard input.
func (a agentAddCmd) read(d *opened) (string, error) {
	var text []byte
	var err error
	switch fd := int(os.Stdin.Fd()); {
	case a.Key != "":
		text, err = os.ReadFile(a.Key)
	case term.IsTerminal(fd):
		fmt.Fprint(os.Stderr, d.words().AgentAsk)
		text, err = term.ReadPassword(fd)
		fmt.Fprintln(os.Stderr)
	default:
		if text, err = bufio.NewReader(d.in).ReadBytes('\n'); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsAny(key, " \n\t") {
		return "", errUsage{errors.New("this is no key: it is one word, shown in the agent's chat info under API key")}
	}
	return key, nil
}

// agentObject is an agent in JSON, without its key.
func agentObject(k store.AgentKey) object {
	return object{"id", k.ID, "user_id", k.User, "name", k.Name, "created_at", k.CreatedAt}
}

type agentListCmd struct{}

func (agentListCmd) Run(ctx context.Context, d *opened) error {
	keys, err := d.store.AgentKeys(ctx)
	if err != nil {
		return err
	}
	return table(d.console, keys, d.words().AgentsHeader, d.words().AgentsNone, func(k store.AgentKey) (any, []any) {
		return agentObject(k), []any{k.ID, k.User, short(k.Name, 30), k.CreatedAt}
	})
}

type agentRemoveCmd struct {
	User core.UserID `arg:"" help:"Id of the user."`
	ID   int64       `arg:"" help:"Id of the agent, as shown by users agent list."`
}

func (a agentRemoveCmd) Run(ctx context.Context, d *opened) error {
	err := d.store.RemoveAgentKey(ctx, a.User, a.ID)
	err = missing(err, fmt.Errorf("user %d has no agent %d; see `everthread users agent list`", a.User, a.ID))
	if err != nil {
		return err
	}
	return d.said(object{"removed", a.ID}, d.words().AgentGone, a.ID)
}
