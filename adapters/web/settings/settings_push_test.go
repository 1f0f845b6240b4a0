package settings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
)

// fakePush stores subscriptions unencrypted, and sends nothing.
type fakePush struct {
	*sqlite.Store
	err error // of Test
}

func (f *fakePush) Key(context.Context) (string, error) { return "the-key", nil }

func (f *fakePush) Subscribe(ctx context.Context, s store.Session, a push.Address, texts bool) error {
	if a.P256dh == "" {
		return core.ErrRefused
	}
	return f.Store.Subscribe(ctx, s.User, s.ID, "", store.Subscription{Sealed: a.Endpoint, Texts: texts})
}

func (f *fakePush) Test(context.Context, core.User, int64) error { return f.err }

func TestPush_ofOneDevice(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/settings/notifications").Wants(t, http.StatusOK, "Notifications need JavaScript", `action="/settings/push"`)
	p.Get("/settings/push/key").Wants(t, http.StatusOK, `{"key":"the-key"}`)
	p.Post("/settings/push", url.Values{"endpoint": {"https://push.example"}}).Wants(t, http.StatusBadRequest)
	p.Post("/settings/push", url.Values{"endpoint": {"https://push.example/1"}, "p256dh": {"k"}}).Wants(t, http.StatusSeeOther)
	p.Get("/settings/notifications").Wants(t, http.StatusOK, "only says that there is a message", `action="/settings/push/texts"`)
	p.Post("/settings/push/texts", url.Values{"texts": {"1"}}).Wants(t, http.StatusSeeOther)
	p.Get("/settings/notifications").Wants(t, http.StatusOK, "shows the text")
	p.Post("/settings/push", url.Values{"endpoint": {"https://push.example/2"}, "p256dh": {"k"}, "keep": {"1"}}).Wants(t, http.StatusSeeOther)
	all, err := f.Store.Sessions(t.Context(), p.User.ID, f.Clock.Now())
	f.Must(err)
	if len(all) != 1 || all[0].Push != (store.Subscription{Sealed: "https://push.example/2", Texts: true}) {
		t.Fatalf("got %+v", all)
	}
	failed := all[0].Push
	failed.FailedAt, failed.Error = f.Clock.Now(), "it answered 403"
	f.Must(f.Store.Subscribe(t.Context(), p.User.ID, all[0].ID, "", failed))
	p.Get("/settings/notifications").Wants(t, http.StatusOK, "the first failed just now: it answered 403")
	at := fmt.Sprintf("/settings/push/%d/", all[0].ID)
	for cause, said := range map[error]string{nil: "is on its way", push.ErrGone: "does not take", errors.New("403"): "could not be sent: 403"} {
		f.push.err = cause
		p.Post(at+"test", nil).Wants(t, http.StatusSeeOther)
		p.Get("/settings/notifications").Wants(t, http.StatusOK, said)
	}
	f.Bob.SignedIn().Post(at+"off", nil).Wants(t, http.StatusNotFound)
	p.Post(at+"off", nil).Wants(t, http.StatusSeeOther)
	p.Get("/settings/notifications").Wants(t, http.StatusOK, `action="/settings/push"`)
	p.Post("/settings/push/texts", nil).Wants(t, http.StatusNotFound)
}
