package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	effects "github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
)

type shownRequest struct {
	Code, Hash, Channel, Who, Asked, Until string
	Users                                  []choice
}

func (r *Room) requests(v *web.Visit, users []core.User) ([]shownRequest, error) {
	codes, err := r.Store.Codes(v.Context(), effects.CodePair, v.Now)
	if err != nil {
		return nil, fmt.Errorf("read pairing requests: %w", err)
	}
	known := []choice{{Value: "", Name: say(v.Lang).Admin.NewUser, Here: true}}
	for _, u := range users {
		if !u.Group() {
			known = append(known, choice{Value: strconv.FormatInt(int64(u.ID), 10), Name: called(u)})
		}
	}
	var out []shownRequest
	for _, c := range codes[:min(len(codes), peopleShown)] {
		known := known
		if c.Group { // it becomes a user of its own
			known = []choice{{Value: "", Name: say(v.Lang).Admin.NewGroup, Here: true}}
		}
		out = append(out, shownRequest{Code: c.Hint, Hash: c.Hash, Channel: v.ChannelName(c.Address.Channel),
			Who: cmp.Or(c.Name, c.Address.External), Asked: ago(v, c.Created),
			Until: c.Expires.In(v.Zone).Format(web.HourMinute), Users: known})
	}
	return out, nil
}

// waits counts the people who wait to be let in.
func (r *Room) waits(v *web.Visit) (int, string, error) {
	codes, err := r.Store.Codes(v.Context(), effects.CodePair, v.Now)
	if err != nil {
		return 0, "", fmt.Errorf("count pairing requests: %w", err)
	}
	return len(codes), say(v.Lang).Admin.Waits.Of(len(codes)), nil
}

func (r *Room) decide(v *web.Visit) error {
	f, w := v.R.PostForm, say(v.Lang).Admin
	var effect core.Effect = effects.Deny{CodeHash: f.Get("code"), At: v.Now}
	toast := w.Denied
	if f.Get("do") == "approve" {
		e := effects.Approve{CodeHash: f.Get("code"), Name: web.OneLine(f.Get("name")), At: v.Now}
		if err := v.Within(maxName, e.Name); err != nil {
			return err
		}
		if f.Get("user") != "" {
			n, err := r.knownUser(v, f.Get("user"))
			if err != nil {
				return err
			}
			e.User = n.ID
		}
		effect, toast = e, w.Approved
	}
	_, err := r.Gateway.Act(v.Context(), v.User.ID, effect)
	if errors.Is(err, core.ErrExists) {
		return web.Because(http.StatusConflict, say(v.Lang).Admin.Taken)
	}
	if web.IsRefused(err) {
		return web.Because(http.StatusConflict, say(v.Lang).Admin.CodeGone)
	}
	if err != nil {
		return fmt.Errorf("decide on a request: %w", err)
	}
	return v.Back("/admin/requests", toast)
}

// knownUser returns the user with an id, or core.ErrNotFound.
func (r *Room) knownUser(v *web.Visit, id string) (core.User, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return core.User{}, core.ErrNotFound
	}
	return r.Store.User(v.Context(), core.UserID(n))
}

type peoplePage struct {
	Words         string
	Before, After string // paths of the neighbouring pages; empty: none
	Range         string // empty: all are shown
}

const peopleShown = 50

func (r *Room) somePeople(v *web.Visit) ([]core.User, peoplePage, error) {
	q := v.R.URL.Query()
	p := peoplePage{Words: web.OneLine(q.Get("who"))}
	if err := v.Within(maxName, p.Words); err != nil {
		return nil, p, err
	}
	n, _ := strconv.Atoi(q.Get("page"))
	n = min(max(n, 0), math.MaxInt32/peopleShown)
	shown, total, err := r.Store.FindUsers(v.Context(), p.Words, n*peopleShown, peopleShown)
	last := max(0, total-1) / peopleShown
	if err == nil && n > last {
		n = last
		shown, total, err = r.Store.FindUsers(v.Context(), p.Words, n*peopleShown, peopleShown)
	}
	if err != nil {
		return nil, p, fmt.Errorf("find users: %w", err)
	}
	to := func(n int) string {
		return "/admin/users?" + url.Values{"who": {p.Words}, "page": {strconv.Itoa(n)}}.Encode()
	}
	if n > 0 {
		p.Before = to(n - 1)
	}
	if n < last {
		p.After = to(n + 1)
	}
	if last > 0 {
		p.Range = fmt.Sprintf(say(v.Lang).Admin.UsersOf, i18n.Number(v.Lang, n*peopleShown+1),
			i18n.Number(v.Lang, n*peopleShown+len(shown)), i18n.Number(v.Lang, total))
	}
	return shown, p, nil
}

type shownUser struct {
	ID                                  core.UserID
	Name, Addresses, Used, Tokens, Cost string
	Owner, Group, Paused                bool
}

func (r *Room) shownUsers(v *web.Visit, users []core.User, bills map[core.UserID]core.Bill) ([]shownUser, error) {
	var out []shownUser
	for _, u := range users {
		ids, err := r.Store.Identities(v.Context(), u.ID)
		if err != nil {
			return nil, fmt.Errorf("read identities: %w", err)
		}
		var at []string
		var last time.Time
		for _, i := range ids {
			at = append(at, v.ChannelName(i.Address.Channel))
			if i.LastUsed.After(last) {
				last = i.LastUsed
			}
		}
		out = append(out, shownUser{ID: u.ID, Name: called(u), Addresses: cmp.Or(strings.Join(at, ", "),
			say(v.Lang).Admin.NoAddress), Used: lastUsed(v, last),
			Tokens: i18n.Number(v.Lang, bills[u.ID].Total().Tokens()), Cost: r.cost(v, bills[u.ID]), Owner: u.Role == core.RoleOwner,
			Group: u.Group(), Paused: u.Settings.Paused})
	}
	return out, nil
}

// lastUsed describes when a user last wrote; empty: never.
func lastUsed(v *web.Visit, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return say(v.Lang).Settings.LastUsed + " " + ago(v, t)
}

// signInLink creates a link that signs a user in, and shows it once.
func (r *Room) signInLink(v *web.Visit) error {
	u, err := r.knownUser(v, v.R.PathValue("id"))
	if err != nil {
		return err
	}
	if u.Group() { // nobody signs in as it
		return core.ErrNotFound
	}
	url, code, err := r.Engine.WebLink(u.ID)
	switch {
	case err == nil && u.ID != v.User.ID:
		change := effects.AccountSubject{Change: effects.ChangeSignIn, Name: u.Name, User: u.ID}
		if sure, err := r.sure(v, change, "/admin/users", effects.NewWebLink{Code: code}); err != nil || !sure {
			return err
		}
	case err == nil:
		err = r.Store.PutCode(v.Context(), code)
	}
	if err != nil {
		return fmt.Errorf("create a sign-in link: %w", err)
	}
	r.Log.Info("sign-in link created by the owner", zap.Int64("for", int64(u.ID)))
	w := say(v.Lang).Admin
	minutes := i18n.Number(v.Lang, int(code.Expires.Sub(v.Now).Minutes()))
	return v.Page("secret", w.LinkTitle, secretView{Title: w.LinkTitle,
		Lead: fmt.Sprintf(w.LinkLead, called(u), minutes), Secret: url, More: w.LinkMore,
		Back: "/admin/users", BackName: w.Title})
}
