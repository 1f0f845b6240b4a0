// Package push notifies browsers by Web Push (RFC 8030, 8291 and 8292) of messages that no app rings for: reminders,
// posts and questions of people without one, and answers to what was written on the web page. A session of the page has
// at most one subscription, which ends with it.
package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust/secret"
)

// Store is the part of a store that a Worker uses.
type Store interface {
	store.PushStore
	Sessions(ctx context.Context, user core.UserID, now time.Time) ([]store.Session, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Worker runs the jobs of core.QueuePush. All fields but Plain are required. It is safe for concurrent use.
type Worker struct {
	Store  Store
	Users  core.Users
	Jobs   *job.Worker
	Keys   *Keys
	Client *http.Client // to the push services, whose addresses browsers name
	Sealer func() (*secret.Sealer, error)
	// Open reports whether a page of a session is open and visible.
	Open     func(user core.UserID, session int64) bool
	Contact  string // an https URL by which push services can find the operator
	Plain    bool   // addresses may begin with http
	Language string // of users who chose none
	Meter    core.Counter
	Log      *zap.Logger
	Now      func() time.Time
}

// life is how long a push service keeps a notification for a device that is off, and for how long one is retried.
const life = 12 * time.Hour

// longFailed is how long notifications of a subscription may fail, without one that arrives, before it is ended.
const longFailed = 30 * 24 * time.Hour

// shown bounds the characters of a message in a notification.
const shown = 120

// texts are the words of notifications.
type texts struct {
	New, Test string
}

var say = i18n.In[texts]("push")

// note is the payload of a notification, which the service worker of the page reads.
type note struct {
	Body string `json:"body"`
	Path string `json:"path"` // to open, relative to the scope of the service worker
	Tag  string `json:"tag"`  // a later one with the same tag replaces it

	urgency webpush.Urgency // whether a device that saves power is woken
}

// Take claims the job of a notification and sends it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef) { w.Jobs.Take(ctx, ref, w.notify) }

// notify sends one message to one browser. A message that was seen or removed meanwhile, or a session that ended, ends
// the job.
func (w *Worker) notify(ctx context.Context, j *store.Job) error {
	session, _ := core.ParsePushKey(j.Key)
	s, err := w.session(ctx, j.User, session)
	if err != nil {
		return err
	}
	ms, err := w.Store.Messages(ctx, j.User, []core.MessageID{core.MessageID(j.Ref)})
	if err != nil {
		return err
	}
	if s.Push.Sealed == "" || len(ms) == 0 || ms[0].Redacted || w.Open(j.User, session) || w.Now().Sub(j.Since) > life {
		return w.Jobs.Finish(ctx, j)
	}
	u, err := w.Users.User(ctx, j.User)
	if err != nil {
		return err
	}
	err = w.send(ctx, s, w.note(u, s, ms[0]))
	if again := w.record(ctx, s, err); again != nil {
		return again
	}
	return w.Jobs.Finish(ctx, j)
}

// session returns a session of a user that has not ended; the zero one if there is none.
func (w *Worker) session(ctx context.Context, user core.UserID, id int64) (store.Session, error) {
	all, err := w.Store.Sessions(ctx, user, w.Now())
	for _, s := range all {
		if s.ID == id {
			return s, err
		}
	}
	return store.Session{}, err
}

// note returns the notification of a message.
func (w *Worker) note(u core.User, s store.Session, m core.Message) note {
	out := note{Body: say(w.language(u)).New, Path: fmt.Sprintf("m/%d", m.ID), Tag: fmt.Sprintf("m%d", m.ID), urgency: webpush.UrgencyHigh}
	if m.Kind == core.KindDayPost || m.Kind == core.KindNotice {
		out.urgency = webpush.UrgencyNormal
	}
	if said := text.OneLine(markup.Plain(markup.StripRefs(m.Text))); s.Push.Texts && said != "" {
		out.Body = text.Shorten(said, shown-1)
	}
	return out
}

func (w *Worker) language(u core.User) string { return cmp.Or(u.Settings.Language, w.Language) }

// record stores the outcome of a notification. It returns an error if it is to be sent again.
func (w *Worker) record(ctx context.Context, s store.Session, err error) error {
	next := store.Subscription{Sealed: s.Push.Sealed, Texts: s.Push.Texts}
	result := "sent"
	var temporary error
	since := w.Now()
	if !s.Push.FailedAt.IsZero() {
		since = s.Push.FailedAt
	}
	switch {
	case errors.Is(err, ErrGone), err != nil && w.Now().Sub(since) > longFailed:
		next, result = store.Subscription{}, "gone"
	case err != nil:
		result, next.FailedAt, next.Error = "failed", since, text.Shorten(err.Error(), 300)
		temporary = w.temporary(ctx, err)
	}
	w.Meter.Count("everthread_push_total", 1, result)
	if next != s.Push {
		if changed := w.Store.Subscribe(ctx, s.User, s.ID, s.Push.Sealed, next); changed != nil &&
			!errors.Is(changed, core.ErrNotFound) {
			return changed
		}
	}
	if result == "failed" && temporary == nil {
		w.Log.Warn("notification not sent", zap.Int64("user", int64(s.User)), zap.Int64("session", s.ID), zap.Error(err))
	}
	return temporary
}

// temporary returns the error of a job that is to run again, or nil for an error that a retry cannot help.
func (w *Worker) temporary(ctx context.Context, err error) error {
	var permanent *core.Permanent
	var wait *core.RetryAfter
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &permanent):
		return nil
	case errors.As(err, &wait):
		return &job.Later{At: w.Now().Add(min(wait.After, life)), Err: err}
	}
	return err
}

// Subscribe has a session's browser notified at an address, with texts or without. core.ErrRefused: the address is none.
func (w *Worker) Subscribe(ctx context.Context, s store.Session, a Address, texts bool) error {
	if err := a.check(w.Plain); err != nil {
		return fmt.Errorf("%w: %w", core.ErrRefused, err)
	}
	plain, err := json.Marshal(a)
	if err != nil {
		return err
	}
	sealer, err := w.Sealer()
	if err != nil {
		return err
	}
	sealed, err := sealer.Seal(SealedAs(s.ID), string(plain))
	if err != nil {
		return err
	}
	return w.Store.Subscribe(ctx, s.User, s.ID, "", store.Subscription{Sealed: sealed, Texts: texts})
}

// Test sends a notification to a session's browser. core.ErrNotFound: the user has no such session. ErrGone: it has no
// subscription, or has none any more.
func (w *Worker) Test(ctx context.Context, u core.User, session int64) error {
	s, err := w.session(ctx, u.ID, session)
	if err != nil {
		return err
	}
	if s.ID == 0 {
		return core.ErrNotFound
	}
	if s.Push.Sealed == "" {
		return ErrGone
	}
	err = w.send(ctx, s, note{Body: say(w.language(u)).Test, Tag: "test", urgency: webpush.UrgencyHigh})
	if again := w.record(ctx, s, err); again != nil {
		return again
	}
	return err
}

// Key returns the public key to which browsers bind their subscriptions.
func (w *Worker) Key(ctx context.Context) (string, error) {
	k, err := w.Keys.get(ctx)
	return k.Public, err
}

// SealedAs returns the name under which the subscription of a session is encrypted.
func SealedAs(session int64) string { return fmt.Sprintf("push %d", session) }

// Contact returns the address by which push services can find the operator of a page: its own, or else the project's.
func Contact(public string) string {
	if strings.HasPrefix(public, "https://") {
		return public
	}
	return "https://github.com/everthread/everthread"
}
