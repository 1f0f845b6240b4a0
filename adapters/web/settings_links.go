package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/trust"
)

// linkLife is how long a code of /link is valid (SPEC 2).
const linkLife = 10 * time.Minute

func (c *Channel) linkRoutes() []route {
	all := []route{
		{Pattern: "POST /settings/home", Serve: (*visit).setHome},
		{Pattern: "POST /settings/channels/link", Serve: (*visit).newLink},
		{Pattern: "POST /settings/channels/{id}/unlink", Serve: (*visit).unlink},
	}
	if c.Settings.Agents != nil {
		all = append(all, route{Pattern: "POST /settings/agents", Serve: (*visit).addAgent},
			route{Pattern: "POST /settings/agents/{id}/remove", Serve: (*visit).removeAgent})
	}
	return all
}

// linksView is from where a person writes.
type linksView struct {
	Links      []shownLink
	Own        string // doors of the gateway itself
	Home       bool   // one was chosen
	WithAgents bool
	Agents     []shownAgent
	AgentName  string // in the form
}

// shownLink is an identity as it is shown.
type shownLink struct {
	ID                           core.IdentityID
	Channel, Name, Used          string
	State, Class                 string
	IsHome, CanHome, Only, Alone bool // Only: of those that can be written to; Alone: of all
}

func (v *visit) fillLinks(page *settingsView) error {
	all, err := v.Settings.Store.Identities(v.ctx(), v.user.ID)
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	var own []string
	p := &page.Links
	for _, i := range all {
		if people.Own(i.Address.Channel) {
			own = append(own, v.channelName(i.Address.Channel))
			continue
		}
		p.Links = append(p.Links, v.link(i))
		p.Home = p.Home || i.ID == v.user.Settings.Home
	}
	for n := range p.Links {
		p.Links[n].Only, p.Links[n].Alone = len(p.Links) == 1, len(all) == 1
	}
	slices.Sort(own)
	p.Own = strings.Join(slices.Compact(own), ", ")
	return v.fillAgents(p)
}

// link is an identity as it is shown, with whether it can be written to.
func (v *visit) link(i core.Identity) shownLink {
	w := v.words.Settings
	can, on := v.Settings.Capabilities(i.Address.Channel)
	s := shownLink{ID: i.ID, Channel: v.channelName(i.Address.Channel), Name: cmp.Or(i.Name, i.Address.External),
		IsHome: i.ID == v.user.Settings.Home, CanHome: can.Push, Used: v.ago(i.LastUsed), State: w.LinkOpen}
	switch {
	case !on:
		s.State, s.Class = w.LinkOff, "warn"
	case i.Blocked:
		s.State, s.Class = w.LinkBlocked, "bad"
	case !can.Push:
		s.State = w.LinkNoPush
	case can.Window > 0 && !i.Window.After(v.now):
		s.State, s.Class = w.LinkClosed, "warn"
	case can.Window > 0:
		s.State = fmt.Sprintf(w.LinkUntil, moment(v.lang, i.Window.In(v.zone)))
	}
	return s
}

// ago says how long ago something was.
func (v *visit) ago(t time.Time) string {
	w := v.words.Settings
	switch d := v.now.Sub(t); {
	case t.IsZero():
		return w.Never
	case d < 2*time.Minute:
		return w.JustNow
	case d < time.Hour:
		return w.MinutesAgo.Of(int(d.Minutes()))
	case d < 24*time.Hour:
		return w.HoursAgo.Of(int(d.Hours()))
	case d < 30*24*time.Hour:
		return w.DaysAgo.Of(int(d.Hours() / 24))
	}
	return moment(v.lang, t.In(v.zone))
}

// identity is the identity of the visitor that a form or an address names.
func (v *visit) identity(id string) (core.Identity, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return core.Identity{}, core.ErrNotFound
	}
	all, err := v.Settings.Store.Identities(v.ctx(), v.user.ID)
	if err != nil {
		return core.Identity{}, fmt.Errorf("read identities: %w", err)
	}
	for _, i := range all {
		if i.ID == core.IdentityID(n) {
			return i, nil
		}
	}
	return core.Identity{}, core.ErrNotFound
}

func (v *visit) setHome() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	i, err := v.identity(v.r.PostForm.Get("identity"))
	if err != nil {
		return err
	}
	if can, _ := v.Settings.Capabilities(i.Address.Channel); !can.Push {
		return because(http.StatusConflict, func(w *texts) string { return w.Settings.HomeCannot })
	}
	s := v.user.Settings
	s.Home = i.ID
	return v.change("channels", fmt.Sprintf(v.words.Settings.HomeSet, v.channelName(i.Address.Channel)),
		core.SetSettings{Settings: s})
}

// unlink detaches an identity; with split, what came through it goes to a user of
// its own.
func (v *visit) unlink() error {
	i, err := v.identity(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	w, name := v.words.Settings, v.channelName(i.Address.Channel)+" ("+cmp.Or(i.Name, i.Address.External)+")"
	if v.r.PostForm.Get("how") != "split" {
		return v.change("channels", fmt.Sprintf(w.Unlinked, name), core.Unlink{Identity: i.ID, At: v.now})
	}
	all, err := v.Settings.Store.Identities(v.ctx(), v.user.ID)
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	if len(all) == 1 {
		return because(http.StatusConflict, func(w *texts) string { return w.Settings.SplitLast })
	}
	return v.change("channels", fmt.Sprintf(w.Splitting, name), core.Split{Identity: i.ID, At: v.now})
}

// codeView is a code of /link with the ways to use it.
type codeView struct {
	Code, Command, Until string
	Minutes              int
	QR                   template.HTML // of Command
	Apps                 []codeApp
}

type codeApp struct {
	Name, Channel string
	URL           string
	QR            template.HTML
}

// newLink makes a code and shows it, once.
func (v *visit) newLink() error {
	door, err := v.People.Door(v.ctx(), v.user.ID, Name)
	if err != nil {
		return fmt.Errorf("find the door: %w", err)
	}
	code, err := v.Settings.NewCode()
	if err != nil {
		return err
	}
	link := core.NewLink{Code: core.Code{Kind: core.CodeLink, Hash: trust.CodeHash(code), User: v.user.ID,
		Address: door.Address, Name: v.user.Name, Created: v.now, Expires: v.now.Add(linkLife)}}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, link); err != nil {
		return refusal(fmt.Errorf("make a code: %w", err))
	}
	page := codeView{Code: code, Command: "/link " + code, Minutes: int(linkLife.Minutes()),
		Until: link.Code.Expires.In(v.zone).Format(hoursMinutes)}
	if page.QR, err = qrSVG(page.Command); err != nil {
		return err
	}
	if v.Settings.Apps != nil {
		for _, a := range v.Settings.Apps(v.ctx()) {
			url := a.Link(page.Command)
			picture, err := qrSVG(url)
			if err != nil || !strings.HasPrefix(url, "https://") {
				v.Log.Warn("an app without a link", zap.String("channel", a.Channel), zap.Error(err))
				continue
			}
			page.Apps = append(page.Apps, codeApp{a.Name, v.channelName(a.Channel), url, picture})
		}
	}
	return v.page("link", v.words.Settings.LinkTitle, page)
}

// isUnreadable reports whether a key is none: it is one word.
func isUnreadable(key string) bool {
	return key == "" || len(key) > 1000 || strings.ContainsAny(key, " \n\t\r\x00")
}
