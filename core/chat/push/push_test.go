package push

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/secret"
)

// world is a worker with one session and one message, and a push service that answers as set.
type world struct {
	*Worker
	t        *testing.T
	session  store.Session
	message  core.Message
	open     bool
	status   int
	header   http.Header
	requests []*http.Request
	finished int
	retry    time.Time
	counted  []string
	state    map[string]string
}

var now = time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, status: http.StatusCreated, header: http.Header{}, state: map[string]string{},
		session: store.Session{User: 1, ID: 7}, message: core.Message{ID: 12, Text: "soup", Kind: core.KindChat}}
	sealer, err := secret.New(rand.Reader, "secret")
	if err != nil {
		t.Fatal(err)
	}
	w.Worker = &Worker{Store: w, Users: w, Sealer: func() (*secret.Sealer, error) { return sealer, nil }, Client: &http.Client{Transport: w}, Meter: w, Log: zap.NewNop(),
		Keys: &Keys{Keeper: w, While: func(ctx context.Context, _ string, f func(context.Context) error) error { return f(ctx) }},
		Open: func(core.UserID, int64) bool { return w.open }, Contact: Contact(""), Language: "en",
		Now:  func() time.Time { return now },
		Jobs: &job.Worker{Store: w, Lease: time.Minute, Now: func() time.Time { return now }, Rand: func() float64 { return 0 }, Log: zap.NewNop()}}
	if err := w.Worker.Subscribe(t.Context(), w.session, address(t), false); err != nil {
		t.Fatal(err)
	}
	return w
}

// address returns that of a browser.
func address(t *testing.T) Address {
	t.Helper()
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Address{Endpoint: "https://push.example/abc", P256dh: base64.RawURLEncoding.EncodeToString(k.PublicKey().Bytes()),
		Auth: base64.RawURLEncoding.EncodeToString(make([]byte, 16))}
}

func (w *world) Subscribe(_ context.Context, _ core.UserID, _ int64, was string, s store.Subscription) error {
	if was != "" && was != w.session.Push.Sealed {
		return core.ErrNotFound
	}
	w.session.Push = s
	return nil
}
func (w *world) Subscriptions(context.Context, time.Time) (all, failing int, err error) {
	return 0, 0, nil
}
func (w *world) Sessions(context.Context, core.UserID, time.Time) ([]store.Session, error) {
	return []store.Session{{ID: 6}, w.session}, nil
}
func (w *world) Messages(context.Context, core.UserID, []core.MessageID) ([]core.Message, error) {
	return []core.Message{w.message}, nil
}
func (w *world) User(context.Context, core.UserID) (core.User, error) { return core.User{ID: 1}, nil }
func (w *world) Owner(context.Context) (core.User, error)             { return core.User{}, core.ErrNotFound }
func (w *world) Claim(context.Context, store.JobRef, store.Claim) (*store.Job, error) {
	return &store.Job{ID: 3, User: 1, Key: core.PushKey(7), Ref: 12, Since: now}, nil
}
func (w *world) Extend(context.Context, core.UserID, core.Lease, time.Time) error { return nil }
func (w *world) Finish(context.Context, core.UserID, core.Lease, string) error {
	w.finished++
	return nil
}
func (w *world) RetryJob(_ context.Context, _ core.UserID, _ core.Lease, at time.Time, _ string) error {
	w.retry = at
	return nil
}
func (w *world) Count(_ string, _ float64, labels ...string) {
	w.counted = append(w.counted, labels...)
}
func (w *world) State(_ context.Context, key string) (string, error) { return w.state[key], nil }
func (w *world) SetState(_ context.Context, values map[string]string) error {
	for k, v := range values {
		w.state[k] = v
	}
	return nil
}
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.requests = append(w.requests, r)
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(strings.NewReader("said so"))}, nil
}

func TestTake_outcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		after    string
		counted  string
		finished int
		retry    time.Duration // 0: none
		left     bool          // the subscription
		failed   string
	}{
		"sent":                  {201, "", "sent", 1, 0, true, ""},
		"gone":                  {410, "", "gone", 1, 0, false, ""},
		"not found":             {404, "", "gone", 1, 0, false, ""},
		"too many":              {429, "120", "failed", 0, 2 * time.Minute, true, "429"},
		"too many, with a date": {429, now.Add(time.Hour).Format(http.TimeFormat), "failed", 0, time.Hour, true, "429"},
		"broken":                {503, "", "failed", 0, 5 * time.Second, true, "503"},
		"refused":               {403, "", "failed", 1, 0, true, "403"},
		"redirected":            {302, "", "failed", 1, 0, true, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.status = c.status
			w.header.Set("Retry-After", c.after)
			w.Take(t.Context(), store.JobRef{User: 1, ID: 3})
			var retry time.Duration
			if !w.retry.IsZero() {
				retry = w.retry.Sub(now)
			}
			if len(w.requests) != 1 || len(w.counted) != 1 || w.counted[0] != c.counted || w.finished != c.finished ||
				retry != c.retry || (w.session.Push.Sealed != "") != c.left || !strings.Contains(w.session.Push.Error, c.failed) ||
				w.session.Push.FailedAt.IsZero() != (c.failed == "") {
				t.Errorf("counted %v, finished %d, retried after %s, %+v", w.counted, w.finished, retry, w.session.Push)
			}
		})
	}
}

// TestTake_longFailuresEndIt checks that a subscription ends after 30 days in which nothing arrived, and not before.
func TestTake_longFailuresEndIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.status = http.StatusForbidden
	at := func(days int) store.Subscription {
		w.Now = func() time.Time { return now.AddDate(0, 0, days) }
		_ = w.Test(t.Context(), core.User{ID: 1}, 7)
		return w.session.Push
	}
	if s := at(0); !s.FailedAt.Equal(now) {
		t.Errorf("failed since %v", s.FailedAt)
	}
	if s := at(29); s.Sealed == "" || !s.FailedAt.Equal(now) {
		t.Errorf("after 29 days: %+v", s)
	}
	w.status = http.StatusCreated
	if s := at(29); !s.FailedAt.IsZero() || s.Error != "" {
		t.Errorf("after one that arrived: %+v", s)
	}
	w.status = http.StatusForbidden
	if s := at(31); s.Sealed == "" {
		t.Error("it counts failures before one that arrived")
	}
	if s := at(62); s != (store.Subscription{}) {
		t.Errorf("after 31 days: %+v", s)
	}
}

func TestTake_staysQuiet(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"an open page":       func(w *world) { w.open = true },
		"a redacted message": func(w *world) { w.message.Redacted = true },
		"no subscription":    func(w *world) { w.session.Push = store.Subscription{} },
		"an ended session":   func(w *world) { w.session.ID = 8 },
		"yesterday's": func(w *world) {
			w.Now = func() time.Time { return now.Add(life + time.Second) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change(w)
			w.Take(t.Context(), store.JobRef{User: 1, ID: 3})
			if len(w.requests) > 0 || w.finished != 1 {
				t.Errorf("%d requests, finished %d", len(w.requests), w.finished)
			}
		})
	}
}

func TestNote_showsTextsOnlyOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := core.Message{ID: 12, Kind: core.KindChat, Text: "The **soup** is " + strings.Repeat("hot ", 60) + "[#3]"}
	hidden := w.note(core.User{}, w.session, m)
	if hidden.Body != "You have a new message." || hidden.Path != "m/12" || hidden.Tag != "m12" {
		t.Errorf("hidden: %+v", hidden)
	}
	w.session.Push.Texts = true
	n := w.note(core.User{}, w.session, m)
	if got := n.Body; !strings.HasPrefix(got, "The soup is hot") || len([]rune(got)) > shown {
		t.Errorf("shown: %q", got)
	}
	german := core.User{Settings: core.Settings{Language: "de"}}
	if got := w.note(german, w.session, core.Message{ID: 1}).Body; got != "Du hast eine neue Nachricht." {
		t.Errorf("without a text: %q", got)
	}
}

func TestSubscribe_refusesOtherAddresses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *Address){
		"http":         func(a *Address) { a.Endpoint = "http://push.example/abc" },
		"a file":       func(a *Address) { a.Endpoint = "file:///etc/passwd" },
		"a password":   func(a *Address) { a.Endpoint = "https://a:b@push.example/" },
		"very long":    func(a *Address) { a.Endpoint += strings.Repeat("x", longest) },
		"no key":       func(a *Address) { a.P256dh = "" },
		"another key":  func(a *Address) { a.P256dh = a.Auth },
		"short secret": func(a *Address) { a.Auth = "AAAA" },
	} {
		w := newWorld(t)
		a, before := address(t), w.session.Push
		change(&a)
		if err := w.Worker.Subscribe(t.Context(), w.session, a, true); !errors.Is(err, core.ErrRefused) ||
			w.session.Push != before {
			t.Errorf("%s: got %v", name, err)
		}
	}
	w := newWorld(t)
	w.Plain = true
	a := address(t)
	a.Endpoint = "http://127.0.0.1:1/abc"
	if err := w.Worker.Subscribe(t.Context(), w.session, a, true); err != nil || !w.session.Push.Texts ||
		strings.Contains(w.session.Push.Sealed, "127.0.0.1") {
		t.Errorf("got %v, %+v", err, w.session.Push)
	}
}

func TestTest_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.Test(t.Context(), core.User{ID: 1}, 7); err != nil {
		t.Error(err)
	}
	w.status = http.StatusForbidden
	if err := w.Test(t.Context(), core.User{ID: 1}, 7); err == nil || !strings.Contains(err.Error(), "push.example answered 403: said so") {
		t.Errorf("got %v", err)
	}
	w.status = http.StatusGone
	for range 2 { // the second has no subscription any more
		if err := w.Test(t.Context(), core.User{ID: 1}, 7); !errors.Is(err, ErrGone) {
			t.Errorf("got %v", err)
		}
	}
}

func TestKeys_areMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.Key(t.Context())
	if err != nil || first == "" {
		t.Fatal(err)
	}
	tries := 0
	other := &Keys{Keeper: w, While: func(context.Context, string, func(context.Context) error) error {
		tries++
		return nil // another process has the lease
	}}
	if p, err := other.get(t.Context()); err != nil || p.Public != first || tries > 0 {
		t.Errorf("got %+v, %v after %d tries", p, err, tries)
	}
	empty := newWorld(t)
	waits := &Keys{Keeper: empty}
	waits.While = func(context.Context, string, func(context.Context) error) error {
		empty.state[keyState] = w.state[keyState] // of another process
		return nil
	}
	if p, err := waits.get(t.Context()); err != nil || p.Public != first {
		t.Errorf("got %+v, %v", p, err)
	}
}
