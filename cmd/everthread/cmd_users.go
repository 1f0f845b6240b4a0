package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
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

func (d *desk) view(ctx context.Context, u core.User) (userView, error) {
	v := userView{ID: u.ID, Name: u.Name, Role: string(u.Role), Zone: u.Settings.Zone, Language: u.Settings.Language, Paused: u.Settings.Paused,
		Identities: []string{}, Created: u.CreatedAt}
	ids, err := d.store.Identities(ctx, u.ID)
	for _, i := range ids {
		v.Identities = append(v.Identities, i.Address.Channel+":"+i.Address.External)
	}
	return v, err
}

type usersListCmd struct{}

// Run lists all users.
func (usersListCmd) Run(ctx context.Context, d *desk) error {
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	var views []userView
	var rows [][]string
	for _, u := range users {
		v, err := d.view(ctx, u)
		if err != nil {
			return err
		}
		views = append(views, v)
		rows = append(rows, []string{strconv.FormatInt(int64(v.ID), 10), short(v.Name, 30), v.Role, dash(v.Zone), dash(v.Language),
			clockTime(v.Created, time.Local), dash(strings.Join(v.Identities, " "))})
	}
	return d.table(list(views), "ID\tNAME\tROLE\tZONE\tLANGUAGE\tSINCE\tADDRESSES", rows, "There is nobody yet.")
}

type usersAddCmd struct {
	Name string `arg:"" help:"Their name."`
}

// Run adds a member.
func (u usersAddCmd) Run(ctx context.Context, d *desk) error {
	name := strings.TrimSpace(u.Name)
	if name == "" {
		return errUsage{errors.New("the name is empty")}
	}
	added, err := d.store.AddUser(ctx, core.User{Name: name, Role: core.RoleMember, CreatedAt: clock()()})
	if err != nil {
		return err
	}
	v, err := d.view(ctx, added)
	if err != nil {
		return err
	}
	return d.show(v, func(w io.Writer) {
		fmt.Fprintf(w, "%s is user %d. Attach an address with `everthread pair approve CODE --user %d`.\n", v.Name, v.ID, v.ID)
	})
}

type usersDeleteCmd struct {
	User   string `arg:"" help:"Id or name."`
	Yes    bool   `help:"Do not ask."`
	Verify bool   `help:"Look everywhere afterwards: nothing of theirs may be left. Also of somebody who is gone already, by id."`
}

// Run deletes a user, really, after it asked.
func (u usersDeleteCmd) Run(ctx context.Context, d *desk) error {
	user, err := d.user(ctx, u.User)
	if id, wrong := strconv.ParseInt(u.User, 10, 64); err != nil && wrong == nil && u.Verify && id > 0 {
		return verifyGone(ctx, d, core.UserID(id), u.User)
	}
	if err != nil {
		return err
	}
	if user.Role == core.RoleOwner {
		return errors.New("the owner cannot be deleted")
	}
	if !u.Yes && !d.confirm(fmt.Sprintf("Delete %s (user %d) and everything they wrote, for good?", user.Name, user.ID)) {
		return errors.New("nothing was deleted; answer yes, or give --yes")
	}
	said, err := d.counts(ctx, user.ID)
	if err != nil {
		return err
	}
	d.tell(fmt.Sprintf("Deleting %d messages of %s …", said[0], user.Name))
	files, err := d.store.DeleteUser(ctx, user.ID)
	if err != nil {
		return err
	}
	if err := removeMedia(d.cfg, files); err != nil {
		return err
	}
	if u.Verify {
		return verifyGone(ctx, d, user.ID, user.Name)
	}
	return d.show(map[string]any{"deleted": user.ID}, func(w io.Writer) { fmt.Fprintf(w, "%s is gone.\n", user.Name) })
}

// verifyGone looks whether anything of a user is left, and fails if so.
func verifyGone(ctx context.Context, d *desk, user core.UserID, name string) error {
	if err := d.store.Scrub(ctx); err != nil {
		return err
	}
	left, err := d.store.Remains(ctx, user)
	if err != nil {
		return err
	}
	folder := filepath.Join(d.cfg.DataDir, "media", strconv.FormatInt(int64(user), 10))
	if files, err := os.ReadDir(folder); err == nil && len(files) > 0 {
		left = append(left, fmt.Sprintf("files in %s: %d", folder, len(files)))
	}
	err = d.show(map[string]any{"deleted": user, "left": list(left)}, func(w io.Writer) {
		if len(left) == 0 {
			fmt.Fprintf(w, "%s is gone. Nothing is left: no row in any table, no entry in any index, no file.\n", name)
			return
		}
		fmt.Fprintf(w, "This is left of %s:\n  %s\n", name, strings.Join(left, "\n  "))
	})
	if err == nil && len(left) > 0 {
		return errSilent
	}
	return err
}

// removeMedia removes attachments, and folders of them.
func removeMedia(c configs.Config, files []string) error {
	media := filepath.Join(c.DataDir, "media")
	var errs []error
	for _, f := range files {
		errs = append(errs, os.RemoveAll(filepath.Join(media, filepath.Clean("/"+f))))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the rows are gone, but not all attachments; remove them by hand: %w", err)
	}
	return nil
}

// confirm asks a question that yes answers.
func (c *console) confirm(question string) bool {
	fmt.Fprintf(c.err, "%s [yes/no] ", question)
	line, _ := bufio.NewReader(c.in).ReadString('\n') // an end of input is a no
	return strings.EqualFold(strings.TrimSpace(line), "yes")
}
