package settings

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"rsc.io/qr"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

const linkLife = 10 * time.Minute

func (r *Room) linkRoutes() []web.Route {
	return []web.Route{
		{Pattern: "POST /settings/home", Serve: r.setHome},
		{Pattern: "POST /settings/channels/link", Serve: r.newLink},
		{Pattern: "GET /settings/channels/arrived", Serve: r.arrived},
		{Pattern: "POST /settings/channels/{id}/unlink", Serve: r.unlink},
		{Pattern: "POST /settings/agents", Serve: r.addAgent},
		{Pattern: "POST /settings/agents/{id}/remove", Serve: web.WithID(r.removeAgent)},
	}
}

type linksView struct {
	Links     []shownLink
	Own       string // the gateway's own channels
	Home      bool   // a home is chosen
	Agents    []shownAgent
	AgentName string // in the form
}

type shownLink struct {
	ID                                core.IdentityID
	Channel, Name, Used, State, Class string
	IsHome, CanHome, Only             bool // Only: the only one on a chat channel
	Browsers                          bool // browsers are signed out with it
}

func (r *Room) fillLinks(v *web.Visit, page *settingsView) error {
	all, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	var own []string
	p := &page.Links
	for _, i := range all {
		if people.Own(i.Address.Channel) {
			own = append(own, v.ChannelName(i.Address.Channel))
			continue
		}
		p.Links = append(p.Links, r.link(v, i))
		p.Home = p.Home || i.ID == v.User.Settings.Home
	}
	sessions, err := r.Store.Sessions(v.Context(), v.User.ID, v.Now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	for n := range p.Links {
		l := &p.Links[n]
		l.Only = len(p.Links) == 1
		l.Browsers = slices.ContainsFunc(sessions, func(s store.Session) bool { return s.EndsWithout(l.ID) })
	}
	slices.Sort(own)
	p.Own = strings.Join(slices.Compact(own), ", ")
	return r.fillAgents(v, p)
}

func (r *Room) link(v *web.Visit, i core.Identity) shownLink {
	w := say(v.Lang).Settings
	can, on := r.Engine.Running(i.Address.Channel)
	s := shownLink{ID: i.ID, Channel: v.ChannelName(i.Address.Channel), Name: cmp.Or(i.Name, i.Address.External),
		IsHome: i.ID == v.User.Settings.Home, CanHome: can.Push, Used: ago(v, i.LastUsed), State: w.LinkOpen}
	switch {
	case !on:
		s.State, s.Class = w.LinkOff, "warn"
	case i.Blocked:
		s.State, s.Class = w.LinkBlocked, "bad"
	case !can.Push:
		s.State = w.LinkNoPush
	case can.Window > 0 && !i.Window.After(v.Now):
		s.State, s.Class = w.LinkClosed, "warn"
	case can.Window > 0:
		s.State = fmt.Sprintf(w.LinkUntil, v.Moment(i.Window))
	}
	return s
}

func ago(v *web.Visit, t time.Time) string {
	w := say(v.Lang).Settings
	switch d := v.Now.Sub(t); {
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
	return v.Moment(t)
}

// identity returns the visitor's identity with an id, or core.ErrNotFound.
func (r *Room) identity(v *web.Visit, id string) (core.Identity, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return core.Identity{}, core.ErrNotFound
	}
	all, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return core.Identity{}, fmt.Errorf("read identities: %w", err)
	}
	at := slices.IndexFunc(all, func(i core.Identity) bool { return i.ID == core.IdentityID(n) })
	if at < 0 {
		return core.Identity{}, core.ErrNotFound
	}
	return all[at], nil
}

func (r *Room) setHome(v *web.Visit) error {
	i, err := r.identity(v, v.R.PostForm.Get("identity"))
	if err != nil {
		return err
	}
	if can, _ := r.Engine.Running(i.Address.Channel); !can.Push {
		return web.Because(http.StatusConflict, say(v.Lang).Settings.HomeCannot)
	}
	s := v.User.Settings
	s.Home = i.ID
	return r.change(v, "channels", fmt.Sprintf(say(v.Lang).Settings.HomeSet, v.ChannelName(i.Address.Channel)),
		effect.SetSettings{Settings: s})
}

// unlink detaches an identity; what was said stays.
func (r *Room) unlink(v *web.Visit) error {
	i, err := r.identity(v, v.R.PathValue("id"))
	if err != nil {
		return err
	}
	name := v.ChannelName(i.Address.Channel) + " (" + cmp.Or(i.Name, i.Address.External) + ")"
	return r.change(v, "channels", fmt.Sprintf(say(v.Lang).Settings.Unlinked, name),
		effect.Unlink{Identity: i.ID, At: v.Now})
}

type codeView struct {
	Code, Command, Until string
	Minutes              int           // that it is valid; 0: until it is used
	First                bool          // it is the owner's first address in an app
	Had                  int           // addresses, before the new one
	QR                   template.HTML // of Command
	Apps                 []codeApp
}

type codeApp struct {
	Name, Channel, URL string
	QR                 template.HTML
}

func (r *Room) newLink(v *web.Visit) error {
	page, err := r.ownerCode(v)
	if err == nil && page.Code == "" {
		page, err = r.linkCode(v)
	}
	if err != nil {
		return err
	}
	if page.Had, err = r.addresses(v); err != nil {
		return err
	}
	if page.QR, err = qrSVG(page.Command); err != nil {
		return err
	}
	for _, a := range r.Engine.Apps(v.Context()) {
		url := a.Link(page.Command)
		if page.First && a.Start != nil {
			url = a.Start(page.Code)
		}
		picture, err := qrSVG(url)
		if err != nil || !strings.HasPrefix(url, "https://") {
			r.Log.Warn("app has no usable link", zap.String("channel", a.Channel), zap.Error(err))
			continue
		}
		page.Apps = append(page.Apps, codeApp{a.Name, v.ChannelName(a.Channel), url, picture})
	}
	return v.Page("link", say(v.Lang).Settings.LinkTitle, page)
}

// ownerCode returns the code that makes an address the owner's, if the visitor is the owner and has none in an app yet.
func (r *Room) ownerCode(v *web.Visit) (page codeView, err error) {
	if v.User.Role != core.RoleOwner {
		return page, nil
	}
	_, page.Code, err = r.People.EnsureOwner(v.Context())
	page.Command, page.First = "/start "+page.Code, true
	return page, err
}

// linkCode returns a new code that joins an address to the visitor's.
func (r *Room) linkCode(v *web.Visit) (codeView, error) {
	door, err := r.People.Door(v.Context(), v.User.ID, web.Name)
	if err != nil {
		return codeView{}, fmt.Errorf("find the door: %w", err)
	}
	code, err := r.People.NewLinkCode()
	if err != nil {
		return codeView{}, err
	}
	link := effect.NewLink{Code: effect.Code{Kind: effect.CodeLink, Hash: trust.CodeHash(code), User: v.User.ID,
		Address: door.Address, Name: v.User.Name, Created: v.Now, Expires: v.Now.Add(linkLife)}}
	if _, err := r.Gateway.Act(v.Context(), v.User.ID, link); err != nil {
		return codeView{}, v.Refusal(fmt.Errorf("create a code: %w", err))
	}
	return codeView{Code: code, Command: "/link " + code, Minutes: int(linkLife.Minutes()),
		Until: link.Code.Expires.In(v.Zone).Format(web.HourMinute)}, nil
}

// addresses returns the number of the visitor's addresses.
func (r *Room) addresses(v *web.Visit) (int, error) {
	ids, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return 0, fmt.Errorf("read the identities: %w", err)
	}
	return len(ids), nil
}

// arrived answers 200 once the visitor has more addresses than they had, else 204.
func (r *Room) arrived(v *web.Visit) error {
	now, err := r.addresses(v)
	if err != nil {
		return err
	}
	if had, err := strconv.Atoi(v.R.URL.Query().Get("had")); err != nil || now <= had {
		v.W.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// isUnreadable reports whether a text cannot be a key, which is a single word.
func isUnreadable(key string) bool {
	return key == "" || len(key) > 1000 || strings.ContainsAny(key, " \n\t\r\x00")
}

func qrSVG(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	const quiet = 4
	side := code.Size + 2*quiet
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg class="qr" viewBox="0 0 %d %d" width="%d" height="%d" shape-rendering="crispEdges" aria-hidden="true"><path class="qr-paper" d="M0 0h%dv%dH0z"/><path class="qr-ink" d="`, side, side, side*4, side*4, side, side)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers only
}

// Agents stores the keys of personal WhatsApp agents.
type Agents interface {
	// List lists a user's agents, oldest first.
	List(ctx context.Context, user core.UserID) ([]store.PersonalAgent, error)
	// Check tries a key. The text of the error is for the person.
	Check(ctx context.Context, key string) error
	// Add stores a key, encrypted.
	Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error
	// Remove removes a user's agent, or returns core.ErrNotFound.
	Remove(ctx context.Context, user core.UserID, id int64) error
}

const checkTime = 20 * time.Second

type shownAgent struct {
	ID                 int64
	Name, Since, Wrong string
}

func (r *Room) fillAgents(v *web.Visit, p *linksView) error {
	all, err := r.Agents.List(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	for _, a := range all {
		s := shownAgent{ID: a.ID, Name: a.Name, Since: v.Moment(a.Since)}
		if a.Err != nil {
			s.Wrong = a.Err.Error()
		}
		p.Agents = append(p.Agents, s)
	}
	return nil
}

func (r *Room) addAgent(v *web.Visit) error {
	w := say(v.Lang).Settings
	name := cmp.Or(web.OneLine(v.R.PostForm.Get("name")), w.AgentDefault)
	key := strings.TrimSpace(v.R.PostForm.Get("key"))
	if err := v.Within(maxName, name); err != nil {
		return err
	}
	page := settingsView{Links: linksView{AgentName: name}}
	if isUnreadable(key) {
		return r.wrong(v, problem{"channels", "agent-key", w.AgentNoKey}, page)
	}
	ctx, cancel := context.WithTimeout(v.Context(), checkTime)
	defer cancel()
	if err := r.Agents.Check(ctx, key); err != nil {
		return r.wrong(v, problem{"channels", "agent-key", fmt.Sprintf(w.AgentRefused, err.Error())}, page)
	}
	if err := r.Agents.Add(v.Context(), v.User.ID, name, key, v.Now); err != nil {
		return fmt.Errorf("add an agent: %w", err)
	}
	change := effect.AccountSubject{Change: effect.ChangeAgent, Name: name}
	if err := r.People.Made(v.Context(), v.User, v.Session, change); err != nil {
		return fmt.Errorf("tell of an agent: %w", err)
	}
	return v.Back("/settings/channels", w.AgentAdded)
}

func (r *Room) removeAgent(v *web.Visit, n int64) error {
	if err := r.Agents.Remove(v.Context(), v.User.ID, n); err != nil {
		return fmt.Errorf("remove an agent: %w", err)
	}
	return v.Back("/settings/channels", say(v.Lang).Settings.AgentRemoved)
}
