package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func (r *Room) keyRoutes() []web.Route {
	return []web.Route{
		{Pattern: "POST /settings/keys", Serve: r.addKey},
		{Pattern: "POST /settings/keys/{id}/revoke", Serve: web.WithID(r.revokeKey)},
		{Pattern: "POST /settings/sessions/{id}/end", Serve: web.WithID(r.endSession)},
		{Pattern: "POST /settings/sessions/end", Serve: r.endSessions},
	}
}

type keysView struct {
	Keys   []shownKey
	Scopes []choice
	Name   string
}

type shownKey struct {
	ID                              int64
	Name, Hint, Scopes, Since, Used string
}

func (r *Room) fillKeys(v *web.Visit, page *settingsView) error {
	all, err := r.Store.APIKeys(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	p, w := &page.Keys, say(v.Lang).Settings
	p.Keys = web.Each(all, func(k core.APIKey) shownKey {
		scopes := web.Each(k.Scopes, func(s core.Capability) string { return w.Scopes[string(s)] })
		return shownKey{k.ID, k.Name, k.Hint, strings.Join(scopes, ", "), v.Moment(k.CreatedAt), ago(v, k.UsedAt)}
	})
	if len(p.Scopes) == 0 {
		p.Scopes = r.scopes(v, []string{string(core.CanTalk), string(core.CanRead)})
	}
	return nil
}

// scopes returns the scopes available to the visitor, with the chosen ones marked.
func (r *Room) scopes(v *web.Visit, chosen []string) []choice {
	var out []choice
	for _, s := range client.Scopes() {
		if s != core.CanAdmin || v.User.Role == core.RoleOwner {
			out = append(out, choice{Value: string(s), Name: say(v.Lang).Settings.Scopes[string(s)],
				Here: slices.Contains(chosen, string(s))})
		}
	}
	return out
}

// secretView is a secret that is shown once.
type secretView struct {
	Title, Lead, Secret, More, Back, BackName string
}

func (r *Room) addKey(v *web.Visit) error {
	w, name, scopes := say(v.Lang).Settings, web.OneLine(v.R.PostForm.Get("name")), v.R.PostForm["scope"]
	page := settingsView{Keys: keysView{Name: name, Scopes: r.scopes(v, scopes)}}
	switch {
	case name == "" || utf8.RuneCountInString(name) > 100:
		return r.wrong(v, problem{"keys", "key-name", w.KeyNameWrong}, page)
	case len(scopes) == 0:
		return r.wrong(v, problem{"keys", "scope", w.KeyNoScope}, page)
	}
	k, secret, err := client.NewKey(r.Rand, v.User, name, scopes, v.Now)
	if errors.Is(err, core.ErrRefused) {
		return v.BadForm(err)
	}
	switch admin := slices.Contains(k.Scopes, core.CanAdmin); {
	case err == nil && admin:
		change := effect.AccountSubject{Change: effect.ChangeAdminKey, Name: name, Scopes: scopes}
		if sure, err := r.sure(v, change, "/settings/keys", effect.AddKey{Key: k}); err != nil || !sure {
			return err
		}
	case err == nil:
		err = r.People.Made(v.Context(), v.User, v.Session, effect.AccountSubject{Change: effect.ChangeKey, Name: k.Name},
			effect.AddKey{Key: k})
	}
	if err != nil {
		return fmt.Errorf("create an API key: %w", err)
	}
	return v.Page("secret", w.KeyMade, secretView{Title: w.KeyMade, Lead: fmt.Sprintf(w.KeyMadeLead, k.Name),
		Secret: secret, More: fmt.Sprintf(w.KeyUse, r.PublicURL), Back: "/settings/keys", BackName: w.Title})
}

func (r *Room) revokeKey(v *web.Visit, n int64) error {
	if err := r.Store.RevokeAPIKey(v.Context(), v.User.ID, n); err != nil {
		return fmt.Errorf("revoke an API key: %w", err)
	}
	return v.Back("/settings/keys", say(v.Lang).Settings.KeyRevoked)
}

type shownSession struct {
	ID            int64
	Browser, Used string
	This          bool
}

func (r *Room) fillSessions(v *web.Visit, page *settingsView) error {
	all, err := r.Store.Sessions(v.Context(), v.User.ID, v.Now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	keys, err := r.browserKeys(v)
	if err != nil {
		return err
	}
	page.BrowserKeys = strings.Join(web.Each(keys, func(k core.APIKey) string { return k.Name }), ", ")
	page.SessionDays = int(v.SessionLife().Hours() / 24)
	page.Sessions = web.Each(all, func(s store.Session) shownSession {
		one := shownSession{ID: s.ID, Browser: people.Browser(v.Lang, s.Browser), Used: ago(v, s.UsedAt),
			This: s.ID == v.Session.ID}
		if one.This {
			one.Used = say(v.Lang).Settings.JustNow
		}
		return one
	})
	return nil
}

func (r *Room) endSession(v *web.Visit, n int64) error {
	all, err := r.Store.Sessions(v.Context(), v.User.ID, v.Now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	if !slices.ContainsFunc(all, func(s store.Session) bool { return s.ID == n }) {
		return core.ErrNotFound
	}
	if n == v.Session.ID {
		return v.SignOut()
	}
	if err := r.Store.EndSession(v.Context(), v.User.ID, n); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return v.Back("/settings/sessions", say(v.Lang).Settings.SessionEnded)
}

// browserKeys returns the user's keys that were made in a browser, as far as the audit goes back.
func (r *Room) browserKeys(v *web.Visit) ([]core.APIKey, error) {
	keys, err := r.Store.APIKeys(v.Context(), v.User.ID)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	const most = 10_000
	rows, err := r.Store.Audit(v.Context(), store.AuditQuery{User: v.User.ID, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("read who made the keys: %w", err)
	}
	return slices.DeleteFunc(keys, func(k core.APIKey) bool {
		return !slices.ContainsFunc(rows, func(a audit.Row) bool {
			return a.What == audit.KeyMade && a.Via == core.ViaSession && slices.Contains(a.IDs, k.ID)
		})
	}), nil
}

// endSessions signs all browsers out, and if the visitor wants, ends the keys that were made in one.
func (r *Room) endSessions(v *web.Visit) error {
	if v.R.PostForm.Get("keys") != "" {
		keys, err := r.browserKeys(v)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := r.Store.RevokeAPIKey(v.Context(), v.User.ID, k.ID); err != nil {
				return fmt.Errorf("revoke an API key: %w", err)
			}
		}
	}
	if err := r.Store.EndSession(v.Context(), v.User.ID, 0); err != nil {
		return fmt.Errorf("end all sessions: %w", err)
	}
	return v.SignOut()
}
