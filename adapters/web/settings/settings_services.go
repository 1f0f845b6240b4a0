package settings

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// Services connects people with services.
type Services interface {
	Of(ctx context.Context, u core.User) ([]store.Service, error)
	Link(u core.User, name string) (code string, stored effect.Code, err error)
	Asked(ctx context.Context, code string) (service.Asked, error)
	Begin(ctx context.Context, code, base string) (address, state string, asked service.Asked, err error)
	Complete(ctx context.Context, a service.Answer) (service.Asked, error)
	Disconnect(ctx context.Context, u core.User, name string) (revoked bool, err error)
}

// connectRoutes returns the pages that connect a service. A link from a chat opens them without a session: its code, and
// then its state, say for whom.
func (r *Room) connectRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /connect", Serve: r.connectPage, Open: true},
		{Pattern: "POST /connect", Serve: r.connect, Open: true},
		{Pattern: "GET " + service.BackPath, Serve: r.connected, Open: true},
	}
}

func (r *Room) serviceRoutes() []web.Route {
	return []web.Route{
		{Pattern: "POST /settings/services/{name}/connect", Serve: r.newConnection},
		{Pattern: "POST /settings/services/{name}/remove", Serve: r.disconnect},
	}
}

type shownService struct {
	Name, Host, Since string // Since: empty if it is not connected
}

func (r *Room) fillServices(v *web.Visit, page *settingsView) error {
	all, err := r.Services.Of(v.Context(), v.User)
	if err != nil {
		return fmt.Errorf("read services: %w", err)
	}
	page.Services = web.Each(all, func(s store.Service) shownService {
		out := shownService{Name: s.Name, Host: s.Host}
		if !s.Since.IsZero() {
			out.Since = v.DayName(v.DayAt(s.Since).Label)
		}
		return out
	})
	return nil
}

// newConnection leads to the page that connects a service.
func (r *Room) newConnection(v *web.Visit) error {
	code, stored, err := r.Services.Link(v.User, v.R.PathValue("name"))
	if err != nil {
		return err
	}
	if _, err := r.Gateway.Act(v.Context(), v.User.ID, effect.NewConnect{Code: stored}); err != nil {
		return v.Refusal(fmt.Errorf("create a link: %w", err))
	}
	return v.Back("/connect?code="+url.QueryEscape(code), "")
}

// disconnect ends the connection of a service.
func (r *Room) disconnect(v *web.Visit) error {
	w, name := say(v.Lang).Connect, v.R.PathValue("name")
	revoked, err := r.Services.Disconnect(v.Context(), v.User, name)
	switch {
	case err != nil:
		return v.Refusal(err)
	case !revoked:
		return v.Back("/settings/services", fmt.Sprintf(w.GoneUnsure, name))
	}
	return v.Back("/settings/services", fmt.Sprintf(w.Gone, name))
}

// connectView is the page that begins to connect a service. It says whose assistant gets access to what: somebody could
// have passed on their own link.
type connectView struct {
	Code, Service, Host, User string
	Other                     string // another person is signed in here
	Until                     string
}

// connectPage shows a button. A GET never uses a code up, as chat apps fetch links for their previews.
func (r *Room) connectPage(v *web.Visit) error {
	code := web.Short(v.R.URL.Query().Get("code"), 100)
	asked, err := r.Services.Asked(v.Context(), code)
	if errors.Is(err, core.ErrNotFound) {
		return r.oldLink(v)
	}
	if err != nil {
		return fmt.Errorf("find what a link connects: %w", err)
	}
	w := say(v.Lang).Connect
	page := connectView{Code: code, Service: asked.Service.Name, Host: asked.Service.Host(), User: asked.User.Name,
		Until: fmt.Sprintf(w.Until, asked.Until.In(v.ZoneOf(asked.User.Settings)).Format(web.HourMinute))}
	if v.User.ID != 0 && v.User.ID != asked.User.ID {
		page.Other = fmt.Sprintf(w.Other, v.User.Name, asked.User.Name)
	}
	return v.Page("connect", fmt.Sprintf(w.Title, asked.Service.Name), page)
}

// connectLife is how long a browser remembers that it began.
const connectLife = 15 * time.Minute

// connectCookie returns the name of the cookie of a state. Only the browser that pressed the button has it, so nobody
// can begin and have another person go on at the service.
func connectCookie(v *web.Visit, state string) string {
	return v.HostCookie("connect-" + trust.CodeHash(state)[:12])
}

// connect leads to the service. It is no redirect: browsers follow none to another site after a form.
func (r *Room) connect(v *web.Visit) error {
	w := say(v.Lang).Connect
	address, state, asked, err := r.Services.Begin(v.Context(), v.R.PostForm.Get("code"), v.Base())
	if err != nil {
		return r.notConnected(v, asked, err)
	}
	v.SetCookie(connectCookie(v, state), trust.CodeHash(state), int(connectLife.Seconds()))
	v.W.Header().Set("Refresh", "0; url="+address)
	return v.Page("connecting", fmt.Sprintf(w.Title, asked.Service.Name), connectingView{Service: asked.Service.Name, Address: address})
}

type connectingView struct{ Service, Address string }

// connected takes what the authorization server sent the browser back with.
func (r *Room) connected(v *web.Visit) error {
	w, q := say(v.Lang).Connect, v.R.URL.Query()
	a := service.Answer{State: web.Short(q.Get("state"), 100), Code: q.Get("code"), Issuer: q.Get("iss"),
		Error: web.Short(q.Get("error"), 100)}
	name := connectCookie(v, a.State)
	k, err := v.R.Cookie(name)
	if err != nil || subtle.ConstantTimeCompare([]byte(k.Value), []byte(trust.CodeHash(a.State))) != 1 {
		return r.connectEnd(v, http.StatusForbidden, w.OldTitle, w.Elsewhere)
	}
	v.SetCookie(name, "", -1)
	asked, err := r.Services.Complete(v.Context(), a)
	if err != nil {
		return r.notConnected(v, asked, err)
	}
	return r.connectEnd(v, http.StatusOK, fmt.Sprintf(w.DoneTitle, asked.Service.Name),
		fmt.Sprintf(w.Done, asked.User.Name, asked.Service.Name))
}

// notConnected tells why a service was not connected.
func (r *Room) notConnected(v *web.Visit, asked service.Asked, err error) error {
	w, name := say(v.Lang).Connect, asked.Service.Name
	status, why := http.StatusBadGateway, w.Away
	switch {
	case web.IsRefused(err):
		return r.oldLink(v)
	case errors.Is(err, service.ErrDenied):
		status, why = http.StatusOK, w.Denied
	case errors.Is(err, service.ErrUnregistered):
		why = w.Unregistered
	case !errors.Is(err, service.ErrAway):
		return fmt.Errorf("connect a service: %w", err)
	}
	return r.connectEnd(v, status, fmt.Sprintf(w.FailedTitle, name), fmt.Sprintf(why, name))
}

// connectEndView is the page at the end.
type connectEndView struct {
	Text   string
	Signed bool // it has a link to the settings
}

func (r *Room) connectEnd(v *web.Visit, status int, title, text string) error {
	return v.Render(status, "connected", title, connectEndView{text, v.User.ID != 0})
}

// oldLink says that a link is not valid.
func (r *Room) oldLink(v *web.Visit) error {
	w := say(v.Lang).Connect
	return r.connectEnd(v, http.StatusNotFound, w.OldTitle, w.Old)
}
