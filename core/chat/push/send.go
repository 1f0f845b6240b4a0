package push

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/egress"
)

// Address is where a browser's notifications are sent, and the browser's keys, which only it and the gateway know.
type Address struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh"` // public key, unpadded base64url
	Auth     string `json:"auth"`   // 16 bytes, unpadded base64url
}

// longest bounds an endpoint.
const longest = 2000

// check reports why an address is none. plain: it may begin with http.
func (a Address) check(plain bool) error {
	u, err := url.Parse(a.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || len(a.Endpoint) > longest || u.Scheme != "https" && (u.Scheme != "http" || !plain) {
		return errors.New("the address of the push service is not an https URL")
	}
	key, err := base64.RawURLEncoding.DecodeString(a.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return errors.New("the browser's key is not one of P-256")
	}
	if auth, err := base64.RawURLEncoding.DecodeString(a.Auth); err != nil || len(auth) != 16 {
		return errors.New("the browser's secret does not have 16 bytes")
	}
	return nil
}

// ErrGone means that the browser has ended its subscription.
var ErrGone = errors.New("the browser no longer takes notifications")

// Bounds of a request to a push service.
const (
	sendTime  = 15 * time.Second
	mostHeard = 4 << 10 // bytes of an answer
)

// send sends a notification. The error is ErrGone, a *core.RetryAfter, a *core.Permanent, or one of the network.
func (w *Worker) send(ctx context.Context, s store.Session, n note) error {
	to, err := w.open(s)
	if err != nil {
		return &core.Permanent{Err: err}
	}
	pair, err := w.Keys.get(ctx)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(egress.For(ctx, s.User), sendTime)
	defer cancel()
	resp, err := webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{Endpoint: to.Endpoint,
		Keys: webpush.Keys{P256dh: to.P256dh, Auth: to.Auth}}, &webpush.Options{HTTPClient: w.Client, Subscriber: w.Contact,
		Topic: n.Tag, TTL: int(life.Seconds()), Urgency: n.urgency, VAPIDPublicKey: pair.Public, VAPIDPrivateKey: pair.Private})
	if err != nil {
		err = fmt.Errorf("the push service at %s: %w", channel.HostOf(to.Endpoint), channel.Clean(err, ""))
		if errors.Is(err, egress.ErrPrivate) || errors.Is(err, egress.ErrUnlisted) {
			return &core.Permanent{Err: err}
		}
		return err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, mostHeard)) // only for the report
	return w.judge(resp, channel.HostOf(to.Endpoint), strings.TrimSpace(string(said)))
}

// open decrypts where a session's browser is notified.
func (w *Worker) open(s store.Session) (to Address, err error) {
	sealer, err := w.Sealer()
	if err != nil {
		return to, err
	}
	plain, err := sealer.Open(SealedAs(s.ID), s.Push.Sealed)
	if err != nil {
		return to, err
	}
	return to, json.Unmarshal([]byte(plain), &to)
}

// judge returns the error that an answer of a push service means.
func (w *Worker) judge(resp *http.Response, host, said string) error {
	err := fmt.Errorf("the push service at %s answered %d: %s", host, resp.StatusCode, said)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusNotFound, code == http.StatusGone:
		return ErrGone
	case code == http.StatusTooManyRequests, code >= 500:
		if after := retryAfter(resp.Header.Get("Retry-After"), w.Now()); after > 0 {
			return &core.RetryAfter{After: after, Err: err}
		}
		return err
	}
	return &core.Permanent{Err: err}
}

// retryAfter reads seconds or a date; 0: neither.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, min(n, int(life.Seconds())))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// pair is the key pair of the gateway, in unpadded base64url.
type pair struct{ Private, Public string }

// Keys hold the key pair by which push services recognise the gateway. It is made once, and stored encrypted. Browsers
// bind their subscriptions to it. Both fields are required; it is safe for concurrent use.
type Keys struct {
	Keeper core.Keeper // values whose keys begin with "secret" are encrypted
	// While runs f unless another process holds the lease of Account; see engine.Process.
	While func(ctx context.Context, name string, f func(context.Context) error) error

	mu    sync.Mutex
	known pair
}

// Account is the name of the state and of the lease of the key pair, and keyState its key there.
const (
	Account  = "push"
	keyState = "secret.vapid"
)

// get returns the key pair, and makes it if there is none.
func (k *Keys) get(ctx context.Context) (pair, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.known == (pair{}) {
		if err := k.read(ctx); err != nil || k.known != (pair{}) {
			return k.known, err
		}
		if err := k.While(ctx, Account, k.make); err != nil {
			return pair{}, fmt.Errorf("make the key of notifications: %w", err)
		}
		if k.known == (pair{}) { // another process makes it
			job.Wait(ctx, job.Renew/10)
		}
		if ctx.Err() != nil {
			return pair{}, ctx.Err()
		}
	}
	return k.known, nil
}

func (k *Keys) read(ctx context.Context) error {
	text, err := k.Keeper.State(ctx, keyState)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &k.known)
	}
	if err != nil {
		return fmt.Errorf("read the key of notifications: %w", err)
	}
	return nil
}

// make makes and stores the key pair, unless there is one.
func (k *Keys) make(ctx context.Context) error {
	if err := k.read(ctx); err != nil || k.known != (pair{}) {
		return err
	}
	var made pair
	var err error
	if made.Private, made.Public, err = webpush.GenerateVAPIDKeys(); err != nil {
		return err
	}
	text, err := json.Marshal(made)
	if err == nil {
		err = k.Keeper.SetState(ctx, map[string]string{keyState: string(text)})
	}
	if err == nil {
		k.known = made
	}
	return err
}
