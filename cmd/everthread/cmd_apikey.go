package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
)

type apikeyCmd struct {
	Create apikeyCreateCmd `cmd:"" help:"Make a key, and show it once."`
	List   apikeyListCmd   `cmd:"" help:"List keys, without the keys themselves."`
	Revoke apikeyRevokeCmd `cmd:"" help:"Make a key worthless, at once."`
}

type apikeyCreateCmd struct {
	User  string   `placeholder:"U" help:"For whom it acts (id or name); the owner if it is not given."`
	Name  string   `required:"" help:"What it is for, such as the program's name."`
	Scope []string `required:"" placeholder:"S" help:"What it may do, several with commas: chat (write messages), read (read and search the conversation), memory (read and change memory), admin (what only the owner may)."`
}

// apikeyView is a key as commands show it: Key only when it is made.
type apikeyView struct {
	ID      int64             `json:"id"`
	User    core.UserID       `json:"user_id"`
	Name    string            `json:"name"`
	Hint    string            `json:"hint"`
	Scopes  []core.Capability `json:"scopes"`
	Created time.Time         `json:"created_at"`
	Used    *time.Time        `json:"used_at"` // null: never
	Key     string            `json:"key,omitempty"`
}

func viewAPIKey(k core.APIKey) apikeyView {
	v := apikeyView{ID: k.ID, User: k.User, Name: k.Name, Hint: k.Hint, Scopes: list(k.Scopes), Created: k.CreatedAt}
	if !k.UsedAt.IsZero() {
		v.Used = &k.UsedAt
	}
	return v
}

// Run makes a key.
func (a apikeyCreateCmd) Run(ctx context.Context, d *opened) error {
	u, err := d.user(ctx, a.User)
	if err != nil {
		return err
	}
	k, secret, err := client.NewKey(rand.Reader, u, a.Name, a.Scope, clock()())
	if errors.Is(err, core.ErrRefused) {
		return errUsage{err}
	}
	if err == nil {
		k, err = d.store.AddAPIKey(ctx, k)
	}
	if err != nil {
		return err
	}
	v := viewAPIKey(k)
	v.Key = secret
	return d.show(v, func(w io.Writer) {
		fmt.Fprintln(w, secret)
		fmt.Fprintf(d.err, d.words().KeyMade+"\n", k.ID, d.called(u), k.ID)
	})
}

// called is how a user is called in a sentence.
func (c *console) called(u core.User) string {
	if u.Name != "" {
		return u.Name
	}
	return fmt.Sprintf(c.words().UserNumbered, u.ID)
}

type apikeyListCmd struct {
	User string `placeholder:"U" help:"Whose (id or name); everybody's if it is not given."`
}

// Run lists keys.
func (a apikeyListCmd) Run(ctx context.Context, d *opened) error {
	keys, err := d.apiKeys(ctx, a.User)
	if err != nil {
		return err
	}
	return table(d.console, views(keys, viewAPIKey), d.words().KeysHeader, d.words().KeysNone,
		func(v apikeyView) []any {
			scopes := strings.Join(views(v.Scopes, func(s core.Capability) string { return string(s) }), ",")
			used := time.Time{}
			if v.Used != nil {
				used = *v.Used
			}
			return []any{v.ID, v.User, short(v.Name, 30), v.Hint + "…", scopes, v.Created, used}
		})
}

// apiKeys are the keys of a user, or of everybody.
func (d *opened) apiKeys(ctx context.Context, who string) ([]core.APIKey, error) {
	users, err := d.store.Users(ctx)
	if err == nil && who != "" {
		var u core.User
		u, err = d.user(ctx, who)
		users = []core.User{u}
	}
	if err != nil {
		return nil, err
	}
	var out []core.APIKey
	for _, u := range users {
		keys, err := d.store.APIKeys(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, keys...)
	}
	return out, nil
}

type apikeyRevokeCmd struct {
	ID int64 `arg:"" name:"id" help:"Its number in apikey list."`
}

// Run revokes a key.
func (a apikeyRevokeCmd) Run(ctx context.Context, d *opened) error {
	keys, err := d.apiKeys(ctx, "")
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != a.ID {
			continue
		}
		if err := d.store.RevokeAPIKey(ctx, k.User, k.ID); err != nil {
			return err
		}
		return d.said(map[string]any{"revoked": a.ID}, d.words().KeyRevoked, a.ID, short(k.Name, 60))
	}
	return fmt.Errorf("there is no key %d; see `everthread apikey list`", a.ID)
}
