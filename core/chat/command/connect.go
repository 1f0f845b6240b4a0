package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// Services connects people with services.
type Services interface {
	// Of lists the services that a user may use.
	Of(ctx context.Context, u core.User) ([]store.Service, error)
	// Link returns a code that begins to connect a service, and its stored form. core.ErrNotFound if there is none.
	Link(u core.User, name string) (code string, stored effect.Code, err error)
	// Disconnect ends a user's access to a service, and reports whether the service confirmed it. core.ErrNotFound: it is
	// not connected. It takes a bounded time.
	Disconnect(ctx context.Context, u core.User, name string) (revoked bool, err error)
}

// connect lists the services of a person, answers with a link that connects one, or ends its connection.
func (c *Commands) connect(ctx context.Context, r *request) (core.Outcome, error) {
	all, err := c.Services.Of(ctx, r.user)
	if err != nil {
		return core.Outcome{}, err
	}
	words := strings.Fields(r.arg)
	switch {
	case len(all) == 0:
		return r.say(r.words.ConnectNone), nil
	case len(words) == 0:
		return c.services(r, all), nil
	}
	var one store.Service
	for _, s := range all {
		if strings.EqualFold(s.Name, words[0]) {
			one = s
		}
	}
	switch {
	case one.Name == "":
		return r.sayf(r.words.ConnectWhich, line{word: words[0]}.shown()), nil
	case len(words) > 1 && means(strings.ToLower(words[1]), func(t *typed) []string { return t.Remove }):
		return c.disconnect(ctx, r, one)
	case c.ConnectLink == nil:
		return r.say(r.words.ConnectNoPage), nil
	}
	code, stored, err := c.Services.Link(r.user, one.Name)
	if err != nil {
		return core.Outcome{}, err
	}
	address := c.ConnectLink(code)
	out := r.sayf(r.words.ConnectLink, one.Name, address, minutes(stored.Expires.Sub(r.now)))
	if link, err := url.Parse(address); err == nil && c.elsewhere(r, link) {
		out.Text += "\n\n" + r.words.WebHere
	}
	return out.With(effect.NewConnect{Code: stored}), nil
}

// services lists services, and how to connect one.
func (c *Commands) services(r *request, all []store.Service) core.Outcome {
	return list(r.words.ConnectTitle, all, func(s store.Service) string {
		state := r.words.ConnectNot
		if !s.Since.IsZero() {
			since := c.Calendar.Day(r.user.Settings, s.Since).Label
			state = fmt.Sprintf(r.words.ConnectSince, day.Name(since, r.today.Label, r.lang))
		}
		return "- " + bold(s.Name) + " (" + s.Host + ") · " + state
	}, "", r.words.ConnectMore)
}

// disconnect ends the connection of a service.
func (c *Commands) disconnect(ctx context.Context, r *request, one store.Service) (core.Outcome, error) {
	revoked, err := c.Services.Disconnect(ctx, r.user, one.Name)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return r.sayf(r.words.ConnectWasNot, one.Name), nil
	case err != nil:
		return core.Outcome{}, err
	case !revoked:
		return r.sayf(r.words.ConnectGoneUnsure, one.Name), nil
	}
	return r.sayf(r.words.ConnectGone, one.Name), nil
}
