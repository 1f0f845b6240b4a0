package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
)

type apikeyCmd struct {
	Create apikeyCreateCmd `cmd:"" help:"Create a key, and show it once."`
	List   apikeyListCmd   `cmd:"" help:"List keys, without the keys themselves."`
	Revoke apikeyRevokeCmd `cmd:"" help:"Revoke a key immediately."`
}

type apikeyCreateCmd struct {
	User  string   `placeholder:"U" help:"User that it acts for (id or name); default: the owner."`
	Name  string   `required:"" help:"Purpose, such as the program's name."`
	Scope []string `required:"" placeholder:"S" help:"Comma-separated permissions: chat (write messages), read (read and search the conversation), memory (read and change memory), admin (what only the owner may), own (its messages are your own words: for an app in which only you write)."`
}

// keyObject is a key in JSON; secret is empty but for a new one.
func keyObject(k core.APIKey, secret string) object {
	return object{"id", k.ID, "user_id", k.User, "name", k.Name, "hint", k.Hint, "scopes", list(k.Scopes),
		"created_at", k.CreatedAt, "used_at", moment(k.UsedAt), "key,omitempty", secret}
}

func (a apikeyCreateCmd) Run(ctx context.Context, d *opened) error {
	u, err := d.person(ctx, a.User)
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
	name := cmp.Or(u.Name, fmt.Sprintf(d.words().UserNumbered, u.ID))
	return d.show(keyObject(k, secret), func(w io.Writer) {
		fmt.Fprintln(w, secret)
		fmt.Fprintf(d.err, d.words().KeyMade+"\n", k.ID, name, k.ID)
	})
}

type apikeyListCmd struct{ anyone }

func (a apikeyListCmd) Run(ctx context.Context, d *opened) error {
	keys, err := a.keys(ctx, d)
	if err != nil {
		return err
	}
	return table(d.console, keys, d.words().KeysHeader, d.words().KeysNone, func(k core.APIKey) (any, []any) {
		scopes := strings.Join(views(k.Scopes, func(s core.Capability) string { return string(s) }), ",")
		return keyObject(k, ""), []any{k.ID, k.User, short(k.Name, 30), k.Hint + "…", scopes, k.CreatedAt, k.UsedAt}
	})
}

func (a anyone) keys(ctx context.Context, d *opened) (out []core.APIKey, err error) {
	users, err := a.users(ctx, d)
	for _, u := range users {
		keys, err := d.store.APIKeys(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, keys...)
	}
	return out, err
}

type apikeyRevokeCmd struct {
	ID int64 `arg:"" name:"id" help:"Id, as shown by apikey list."`
}

func (a apikeyRevokeCmd) Run(ctx context.Context, d *opened) error {
	keys, err := anyone{}.keys(ctx, d)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(keys, func(k core.APIKey) bool { return k.ID == a.ID })
	if i < 0 {
		return fmt.Errorf("there is no key %d; see `everthread apikey list`", a.ID)
	}
	if err := d.store.RevokeAPIKey(ctx, keys[i].User, a.ID); err != nil {
		return err
	}
	return d.said(object{"revoked", a.ID}, d.words().KeyRevoked, a.ID, short(keys[i].Name, 60))
}
