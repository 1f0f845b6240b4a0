package settings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// Push notifies browsers, as push.Worker does.
type Push interface {
	// Key returns the public key to which browsers bind their subscriptions.
	Key(ctx context.Context) (string, error)
	// Subscribe has a session's browser notified, with texts or without. core.ErrRefused: the address is none.
	Subscribe(ctx context.Context, s store.Session, a push.Address, texts bool) error
	// Test sends a notification. core.ErrNotFound: the session's browser takes none.
	Test(ctx context.Context, u core.User, session int64) error
}

func (r *Room) pushRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /settings/push/key", Serve: r.pushKey},
		{Pattern: "POST /settings/push", Serve: r.subscribe},
		{Pattern: "POST /settings/push/texts", Serve: r.setPushTexts},
		{Pattern: "POST /settings/push/{id}/off", Serve: web.WithID(r.unsubscribe)},
		{Pattern: "POST /settings/push/{id}/test", Serve: web.WithID(r.testPush)},
	}
}

const pushSection = "/settings#notifications"

// pushView lists the browsers that are notified. This is the session of the visitor's, 0 if it is none of them.
type pushView struct {
	This    int64
	Texts   bool // of the visitor's
	Devices []shownDevice
}

type shownDevice struct {
	ID             int64
	Browser, State string
	Failed         string // when and why the last notification failed
	This           bool
}

func (r *Room) fillPush(v *web.Visit, page *settingsView) error {
	all, err := r.Store.Sessions(v.Context(), v.User.ID, v.Now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	w := say(v.Lang).Settings
	for _, s := range all {
		if s.Push.Sealed == "" {
			continue
		}
		d := shownDevice{ID: s.ID, Browser: people.Browser(v.Lang, s.Browser), State: w.PushHides, This: s.ID == v.Session.ID}
		if s.Push.Texts {
			d.State = w.PushShows
		}
		if !s.Push.FailedAt.IsZero() {
			d.Failed = fmt.Sprintf(w.PushFailed, ago(v, s.Push.FailedAt), s.Push.Error)
		}
		if d.This {
			page.Push.This, page.Push.Texts = s.ID, s.Push.Texts
		}
		page.Push.Devices = append(page.Push.Devices, d)
	}
	return nil
}

func (r *Room) pushKey(v *web.Visit) error {
	key, err := r.Push.Key(v.Context())
	if err != nil {
		return fmt.Errorf("read the key of notifications: %w", err)
	}
	return v.JSON(http.StatusOK, map[string]string{"key": key})
}

// subscribe has the visitor's browser notified. keep keeps whether texts are shown.
func (r *Room) subscribe(v *web.Visit) error {
	f := v.R.PostForm
	texts := f.Get("texts") != ""
	if f.Get("keep") != "" {
		texts = v.Session.Push.Texts
	}
	err := r.Push.Subscribe(v.Context(), v.Session, push.Address{Endpoint: f.Get("endpoint"), P256dh: f.Get("p256dh"),
		Auth: f.Get("auth")}, texts)
	if errors.Is(err, core.ErrRefused) {
		return v.BadForm(err)
	}
	if err != nil {
		return fmt.Errorf("turn notifications on: %w", err)
	}
	return v.Back(pushSection, v.Words.Push.Done)
}

// setPushTexts chooses whether the visitor's browser is shown texts.
func (r *Room) setPushTexts(v *web.Visit) error {
	s := v.Session.Push
	if s.Sealed == "" {
		return core.ErrNotFound
	}
	was := s.Sealed
	s.Texts = v.R.PostForm.Get("texts") != ""
	if err := r.Store.Subscribe(v.Context(), v.User.ID, v.Session.ID, was, s); err != nil {
		return fmt.Errorf("choose what notifications show: %w", err)
	}
	return v.Back(pushSection, say(v.Lang).Settings.Saved)
}

func (r *Room) unsubscribe(v *web.Visit, n int64) error {
	if err := r.Store.Subscribe(v.Context(), v.User.ID, n, "", store.Subscription{}); err != nil {
		return fmt.Errorf("turn notifications off: %w", err)
	}
	return v.Back(pushSection, say(v.Lang).Settings.PushEnded)
}

func (r *Room) testPush(v *web.Visit, n int64) error {
	w := say(v.Lang).Settings
	all, err := r.Store.Sessions(v.Context(), v.User.ID, v.Now)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	if !slices.ContainsFunc(all, func(s store.Session) bool { return s.ID == n }) {
		return core.ErrNotFound
	}
	err = r.Push.Test(v.Context(), v.User, n)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return v.Back(pushSection, w.PushGone)
	case err != nil:
		return v.Back(pushSection, fmt.Sprintf(w.PushRefused, text.Shorten(err.Error(), 200)))
	}
	return v.Back(pushSection, w.PushTested)
}
