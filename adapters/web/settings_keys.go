package web

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
)

func (c *Channel) keyRoutes() []route {
	return []route{
		{Pattern: "POST /settings/keys", Serve: (*visit).addKey},
		{Pattern: "POST /settings/keys/{id}/revoke", Serve: (*visit).revokeKey},
		{Pattern: "POST /settings/sessions/{id}/end", Serve: (*visit).endSession},
		{Pattern: "POST /settings/sessions/end", Serve: (*visit).endSessions},
	}
}

// keysView is the API keys of a person, and the form for another.
type keysView struct {
	Keys   []shownKey
	Scopes []choice
	Name   string
}

type shownKey struct {
	ID                              int64
	Name, Hint, Scopes, Since, Used string
}

func (v *visit) fillKeys(page *settingsView) error {
	all, err := v.Settings.Store.APIKeys(v.ctx(), v.user.ID)
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	p, w := &page.Keys, v.words.Settings
	for _, k := range all {
		var scopes []string
		for _, s := range k.Scopes {
			scopes = append(scopes, w.Scopes[string(s)])
		}
		p.Keys = append(p.Keys, shownKey{k.ID, k.Name, k.Hint, strings.Join(scopes, ", "),
			moment(v.lang, k.CreatedAt.In(v.zone)), v.ago(k.UsedAt)})
	}
	if len(p.Scopes) == 0 {
		p.Scopes = v.scopes([]string{string(core.CanTalk), string(core.CanRead)})
	}
	return nil
}

// scopes are what the visitor's keys may do, with those that are chosen.
func (v *visit) scopes(chosen []string) []choice {
	var out []choice
	for _, s := range client.Scopes() {
		if s != core.CanAdmin || v.user.Role == core.RoleOwner {
			out = append(out, choice{Value: string(s), Name: v.words.Settings.Scopes[string(s)],
				Here: slices.Contains(chosen, string(s))})
		}
	}
	return out
}

// secretView is something that is shown once.
type secretView struct {
	Title, Lead, Secret, More string
	Back, BackName            string
}

// addKey makes a key and shows it, once.
func (v *visit) addKey() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	w, name, scopes := v.words.Settings, oneLine(v.r.PostForm.Get("name")), v.r.PostForm["scope"]
	page := settingsView{Keys: keysView{Name: short(name, 400), Scopes: v.scopes(scopes)}}
	switch {
	case name == "" || len(name) > 100:
		return v.wrong(problem{"keys", "key-name", w.KeyNameWrong}, page)
	case len(scopes) == 0:
		return v.wrong(problem{"keys", "scope", w.KeyNoScope}, page)
	}
	k, secret, err := client.NewKey(v.Rand, v.user, name, scopes, v.now)
	if errors.Is(err, core.ErrRefused) {
		return badForm(err)
	}
	switch admin := slices.Contains(k.Scopes, core.CanAdmin); {
	case err == nil && admin:
		change := core.AccountSubject{Change: core.ChangeAdminKey, Name: name, Scopes: scopes}
		if sure, err := v.sure(change, "/settings#keys", core.AddKey{Key: k}); err != nil || !sure {
			return err
		}
	case err == nil:
		k, err = v.Settings.Store.AddAPIKey(v.ctx(), k)
	}
	if err != nil {
		return fmt.Errorf("make an API key: %w", err)
	}
	return v.page("secret", w.KeyMade, secretView{Title: w.KeyMade, Lead: fmt.Sprintf(w.KeyMadeLead, k.Name),
		Secret: secret, More: fmt.Sprintf(w.KeyUse, v.PublicURL), Back: "/settings#keys", BackName: w.Title})
}

func (v *visit) revokeKey() error {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return core.ErrNotFound
	}
	if err := v.Settings.Store.RevokeAPIKey(v.ctx(), v.user.ID, n); err != nil {
		return fmt.Errorf("revoke an API key: %w", err)
	}
	return v.back("/settings#keys", v.words.Settings.KeyRevoked)
}

// shownSession is a browser that is signed in.
type shownSession struct {
	ID            int64
	Browser, Used string
	This          bool
}

func (v *visit) fillSessions(page *settingsView) error {
	all, err := v.Store.Sessions(v.ctx(), v.user.ID, v.now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	page.SessionDays = int(v.Limits.SessionLife.Hours() / 24)
	for _, s := range all {
		one := shownSession{ID: s.ID, Browser: v.browser(s.Browser), Used: v.ago(s.UsedAt), This: s.ID == v.session.ID}
		if one.This {
			one.Used = v.words.Settings.JustNow
		}
		page.Sessions = append(page.Sessions, one)
	}
	return nil
}

// browser is what a browser that calls itself agent is called.
func (v *visit) browser(agent string) string {
	find := func(pairs ...string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if strings.Contains(agent, pairs[i]) {
				return pairs[i+1]
			}
		}
		return ""
	}
	name := find("Edg", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "FxiOS", "Firefox", "CriOS", "Chrome", "Chromium",
		"Chromium", "Chrome/", "Chrome", "Safari/", "Safari")
	system := find("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "CrOS", "ChromeOS",
		"Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case name != "" && system != "":
		return fmt.Sprintf(v.words.Settings.BrowserOn, name, system)
	case name != "":
		return name
	}
	return cmp.Or(short(agent, 60), v.words.Settings.BrowserUnknown)
}

// endSession signs one of the visitor's browsers out.
func (v *visit) endSession() error {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return core.ErrNotFound
	}
	all, err := v.Store.Sessions(v.ctx(), v.user.ID, v.now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	if !slices.ContainsFunc(all, func(s core.Session) bool { return s.ID == n }) {
		return core.ErrNotFound
	}
	if n == v.session.ID {
		return v.signOut()
	}
	if err := v.Store.EndSession(v.ctx(), v.user.ID, n); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return v.back("/settings#sessions", v.words.Settings.SessionEnded)
}

// endSessions signs all of the visitor's browsers out.
func (v *visit) endSessions() error {
	if err := v.Store.EndSession(v.ctx(), v.user.ID, 0); err != nil {
		return fmt.Errorf("end all sessions: %w", err)
	}
	return v.signOut()
}
