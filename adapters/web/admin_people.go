package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// shownRequest is somebody who asks to be let in.
type shownRequest struct {
	Code, Hash, Channel, Who, Asked, Until string
	Users                                  []choice
}

func (v *visit) requests(users []core.User) ([]shownRequest, error) {
	codes, err := v.Admin.Store.Codes(v.ctx(), core.CodePair, v.now)
	if err != nil {
		return nil, fmt.Errorf("read pairing requests: %w", err)
	}
	known := []choice{{Value: "", Name: v.words.Admin.NewUser, Here: true}}
	for _, u := range users {
		known = append(known, choice{Value: strconv.FormatInt(int64(u.ID), 10), Name: called(users, u.ID)})
	}
	var out []shownRequest
	for _, c := range codes[:min(len(codes), peopleShown)] {
		out = append(out, shownRequest{Code: c.Hint, Hash: c.Hash, Channel: v.channelName(c.Address.Channel),
			Who: cmp.Or(c.Name, c.Address.External), Asked: v.ago(c.Created), Until: c.Expires.In(v.zone).Format(hoursMinutes),
			Users: known})
	}
	return out, nil
}

// decide lets somebody in, or turns them down.
func (v *visit) decide() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	f, w := v.r.PostForm, v.words.Admin
	var effect core.Effect = core.Deny{CodeHash: f.Get("code"), At: v.now}
	toast := w.Denied
	if f.Get("do") == "approve" {
		e := core.Approve{CodeHash: f.Get("code"), Name: short(oneLine(f.Get("name")), maxName), At: v.now}
		if f.Get("user") != "" {
			n, err := v.knownUser(f.Get("user"))
			if err != nil {
				return err
			}
			e.User = n.ID
		}
		effect, toast = e, w.Approved
	}
	_, err := v.Gateway.Act(v.ctx(), v.user.ID, effect)
	if errors.Is(err, core.ErrExists) {
		return because(http.StatusConflict, func(w *texts) string { return w.Admin.Taken })
	}
	if isRefused(err) {
		return because(http.StatusConflict, func(w *texts) string { return w.Admin.CodeGone })
	}
	if err != nil {
		return fmt.Errorf("decide on a request: %w", err)
	}
	return v.back("/admin#requests", toast)
}

// knownUser is the user of an id, or core.ErrNotFound.
func (v *visit) knownUser(id string) (core.User, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return core.User{}, core.ErrNotFound
	}
	users, err := v.Admin.Store.Users(v.ctx())
	if err != nil {
		return core.User{}, fmt.Errorf("read users: %w", err)
	}
	for _, u := range users {
		if u.ID == core.UserID(n) {
			return u, nil
		}
	}
	return core.User{}, core.ErrNotFound
}

// peoplePage says which people are shown of those who were looked for.
type peoplePage struct {
	Words         string
	Before, After string // addresses; empty: there are none
	Range         string // empty: all are shown
}

// peopleShown is how many people, and how many requests, the page shows at once.
const peopleShown = 50

// somePeople returns the people that the address of the page asks for.
func (v *visit) somePeople(users []core.User) ([]core.User, peoplePage) {
	q := v.r.URL.Query()
	p := peoplePage{Words: strings.TrimSpace(short(oneLine(q.Get("who")), maxName))}
	found := users
	if p.Words != "" {
		found = nil
		words := strings.ToLower(p.Words)
		for _, u := range users {
			if strings.Contains(strings.ToLower(u.Name), words) ||
				strings.TrimPrefix(words, "#") == strconv.FormatInt(int64(u.ID), 10) {
				found = append(found, u)
			}
		}
	}
	last := max(0, len(found)-1) / peopleShown
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil {
		n = 0
	}
	n = min(max(n, 0), last)
	to := func(n int) string {
		return "/admin?" + url.Values{"who": {p.Words}, "page": {strconv.Itoa(n)}}.Encode() + "#users"
	}
	if n > 0 {
		p.Before = to(n - 1)
	}
	if n < last {
		p.After = to(n + 1)
	}
	first, end := n*peopleShown, min(len(found), (n+1)*peopleShown)
	if last > 0 {
		p.Range = fmt.Sprintf(v.words.Admin.UsersOf, words.Number(v.lang, first+1), words.Number(v.lang, end),
			words.Number(v.lang, len(found)))
	}
	return found[first:end], p
}

// shownUser is a user as the owner sees them.
type shownUser struct {
	ID                            core.UserID
	Name, Addresses, Used, Tokens string
	Cost                          string
	Owner, Paused                 bool
}

func (v *visit) shownUsers(users []core.User, used []core.UsageDay) ([]shownUser, error) {
	sums := map[core.UserID]core.UsageDay{}
	for _, d := range used {
		sums[d.User] = plus(sums[d.User], d)
	}
	var out []shownUser
	for _, u := range users {
		ids, err := v.Admin.Store.Identities(v.ctx(), u.ID)
		if err != nil {
			return nil, fmt.Errorf("read identities: %w", err)
		}
		var at []string
		var last time.Time
		for _, i := range ids {
			at = append(at, v.channelName(i.Address.Channel))
			if i.LastUsed.After(last) {
				last = i.LastUsed
			}
		}
		s := sums[u.ID].Usage
		out = append(out, shownUser{ID: u.ID, Name: called(users, u.ID), Addresses: cmp.Or(strings.Join(at, ", "),
			v.words.Admin.NoAddress), Used: v.lastUsed(last),
			Tokens: words.Number(v.lang, s.Prompt+s.Completion), Cost: v.money(s), Owner: u.Role == core.RoleOwner,
			Paused: u.Settings.Paused})
	}
	return out, nil
}

// lastUsed says when somebody wrote last; empty: never.
func (v *visit) lastUsed(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return v.words.Settings.LastUsed + " " + v.ago(t)
}

// signInLink makes a link that signs somebody in, and shows it, once.
func (v *visit) signInLink() error {
	u, err := v.knownUser(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	url, code, err := v.Admin.NewWebLink(u.ID)
	switch {
	case err == nil && u.ID != v.user.ID:
		change := core.AccountSubject{Change: core.ChangeSignIn, Name: u.Name, User: u.ID}
		if sure, err := v.sure(change, "/admin#users", core.NewWebLink{Code: code}); err != nil || !sure {
			return err
		}
	case err == nil:
		err = v.Admin.Store.PutCode(v.ctx(), code)
	}
	if err != nil {
		return fmt.Errorf("make a sign-in link: %w", err)
	}
	v.Log.Info("the owner made a sign-in link", zap.Int64("for", int64(u.ID)))
	w := v.words.Admin
	minutes := words.Number(v.lang, int(code.Expires.Sub(v.now).Minutes()))
	return v.page("secret", w.LinkTitle, secretView{Title: w.LinkTitle,
		Lead: fmt.Sprintf(w.LinkLead, called([]core.User{u}, u.ID), minutes), Secret: url, More: w.LinkMore,
		Back: "/admin#users", BackName: w.Title})
}
