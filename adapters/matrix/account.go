package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.mau.fi/util/retryafter"
	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Keys of the stored state of an account. A room, address or network follows a colon.
const (
	keySync    = "sync"         // token of the last sync
	keySynced  = "synced"       // its time, in milliseconds
	keyDevice  = "device"       // of the login
	keyToken   = "secret.token" // of a login with the password; the keeper encrypts it
	keyInvites = "invites"      // invitations still to accept
	keyUnread  = "unread"       // events that could not be decrypted

	keyRoom    = "room:"    // address → its room
	keyWho     = "who:"     // room → the last address it belonged to
	keyLast    = "last:"    // room → the last event passed on
	keyJoined  = "joined:"  // room → time of the invitation, in milliseconds
	keyLate    = "late:"    // room → time since which ghosts write without bridge state
	keySent    = "sent:"    // address → 1: something was sent there
	keyPreview = "preview:" // room → the shown preview
	keyStatus  = "status:"  // network → 1: its bridge sends message status events
	keyLogin   = "login:"   // network → the last state of its login
	keyRenewal = "renewal"  // time of the restore, and the prefix of transaction ids since
	keyDoubt   = "doubt:"   // room → 1: answers may be repeats of lost ones
	keyTwin    = "twin"     // last sign of another copy of this gateway, in milliseconds
)

func keyOf(prefix string, a core.Address) string { return prefix + a.Channel + ":" + a.External }

// kept returns the stored value of a key, or "".
func (c *Channel) kept(ctx context.Context, key string) (string, error) {
	v, err := c.opts.Keeper.State(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read the stored state of matrix: %w", err)
	}
	return v, nil
}

// keptAs returns the stored value of a key, read as JSON; the zero value: none.
func keptAs[T any](ctx context.Context, c *Channel, key string) (v T, err error) {
	kept, err := c.kept(ctx, key)
	_ = json.Unmarshal([]byte(kept), &v)
	return v, err
}

// encoded returns a value of one of the stored types as JSON.
func encoded(v any) string {
	raw, _ := json.Marshal(v) // it can always be encoded
	return string(raw)
}

// keep stores values. It retries until it succeeds, ctx ends or another process holds the account.
func (c *Channel) keep(ctx context.Context, values map[string]string) error {
	for pause := (channel.Backoff{}); ; {
		err := c.opts.Keeper.SetState(ctx, values)
		if err == nil || errors.Is(err, core.ErrFenced) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.Report(fmt.Errorf("the state of matrix cannot be stored: %w", err))
		c.log.Error("state not stored", zap.Error(err))
		pause.Wait(ctx, 0)
	}
}

// stopError is an error that retries do not fix; it says what to do.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// login opens the channel's session with the configured or stored token, or else with
// the password. It retries until the server answers.
func (c *Channel) login(ctx context.Context) (*session, error) {
	if s := c.session.Load(); s != nil {
		return s, nil
	}
	select {
	case c.entry <- struct{}{}:
		defer func() { <-c.entry }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := c.session.Load(); s != nil {
		return s, nil
	}
	for pause := (channel.Backoff{}); ; {
		s, err := c.open(ctx)
		if err == nil {
			c.session.Store(s)
			return s, nil
		}
		var stop stopError
		if ctx.Err() != nil || errors.As(err, &stop) || errors.Is(err, core.ErrFenced) {
			return nil, err
		}
		c.Report(fmt.Errorf("matrix: %w", err))
		c.log.Warn("matrix login failed", zap.Error(err))
		pause.Wait(ctx, retryAfterOf(err))
	}
}

// logout forgets the session, so that the next login opens another.
func (c *Channel) logout(s *session) { c.session.CompareAndSwap(s, nil) }

func (c *Channel) open(ctx context.Context) (*session, error) {
	s, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	s.opened = c.now()
	if s.crypto, err = c.openCrypto(ctx, s); err != nil {
		return nil, err
	}
	s.renewal, err = keptAs[renewal](ctx, c, keyRenewal)
	return s, err
}

// enter opens a session without its encryption keys.
func (c *Channel) enter(ctx context.Context) (*session, error) {
	device, err := c.kept(ctx, keyDevice)
	if err != nil {
		return nil, err
	}
	token := string(c.opts.AccessToken)
	if token == "" {
		if token, err = c.kept(ctx, keyToken); err != nil {
			return nil, err
		}
	}
	s, err := c.newSession(token, device)
	if err != nil {
		return nil, stopError{err}
	}
	err = errNoToken
	if token != "" {
		err = c.whoami(ctx, s)
	}
	// With the password, a missing or refused token is replaced.
	e := refused(err)
	if e != nil && e.loggedOut() && !e.SoftLogout {
		device = "" // the server has deleted the stored one
	}
	if c.opts.Password != "" && (errors.Is(err, errNoToken) || e != nil && e.loggedOut()) {
		err = c.password(ctx, s, device)
	}
	if err != nil {
		return nil, explain(err)
	}
	return s, nil
}

var errNoToken = errors.New("there is no access token")

// explain adds advice to the refusal of a login.
func explain(err error) error {
	e := refused(err)
	switch {
	case e == nil:
		return err
	case e.loggedOut():
		return stopped("session_ended", err)
	case e.Code == "M_FORBIDDEN":
		return stopped("password_refused", err)
	case e.Code == "M_USER_DEACTIVATED":
		return stopped("deactivated", err)
	case e.Status == http.StatusNotFound:
		return stopped("no_homeserver", err)
	}
	return err
}

// stopped returns an error that ends the channel, with advice for the owner.
func stopped(advice string, err error, args ...any) error {
	return stopError{fmt.Errorf("start matrix: %w", &channel.Trouble{Err: err, Advice: func(language string) string {
		return fmt.Sprintf(say(language).Advice[advice], args...)
	}})}
}

// whoami checks that the token belongs to the account, and stores its device.
func (c *Channel) whoami(ctx context.Context, s *session) error {
	me, err := within(ctx, callTimeout, s.cli.Whoami)
	if err != nil {
		return err
	}
	if me.UserID.String() != c.opts.UserID {
		return stopped("other_account", errors.New("whoami"), me.UserID, c.opts.UserID)
	}
	s.cli.DeviceID = me.DeviceID
	return c.keepUnless(ctx, keyDevice, me.DeviceID.String())
}

// keepUnless stores a value unless it is stored already.
func (c *Channel) keepUnless(ctx context.Context, key, value string) error {
	if was, err := c.kept(ctx, key); err != nil || was == value {
		return err
	}
	return c.keep(ctx, map[string]string{key: value})
}

// password logs in and stores the token and the device. A known device stays the same,
// so that encrypted rooms and transaction ids continue.
func (c *Channel) password(ctx context.Context, s *session, device string) error {
	s.cli.AccessToken = ""
	got, err := within(ctx, callTimeout, func(ctx context.Context) (*mautrix.RespLogin, error) {
		return s.cli.Login(ctx, &mautrix.ReqLogin{Type: mautrix.AuthTypePassword,
			Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: c.opts.UserID},
			Password:   string(c.opts.Password), DeviceID: id.DeviceID(device), InitialDeviceDisplayName: "Everthread",
			StoreCredentials: true})
	})
	if err != nil {
		return err
	}
	if err := c.keep(ctx, map[string]string{keyToken: got.AccessToken, keyDevice: got.DeviceID.String()}); err != nil {
		return err
	}
	return c.whoami(ctx, s)
}

const (
	callTimeout = 30 * time.Second
	showTimeout = 5 * time.Second // for dispensable requests
)

// session is a login: the client with its token, and the encryption of rooms.
type session struct {
	cli    *mautrix.Client
	crypto cryptor // nil: encrypted rooms cannot be read

	opened  time.Time
	renewal renewal
}

func (c *Channel) newSession(token, device string) (*session, error) {
	cli, err := mautrix.NewClient(c.opts.Homeserver, id.UserID(c.opts.UserID), token)
	if err != nil {
		return nil, fmt.Errorf("homeserver: %w", err)
	}
	cli.DeviceID = id.DeviceID(device)
	cli.Client, cli.ExternalClient = c.opts.HTTP, c.opts.HTTP
	cli.Log = zerolog.Nop()
	cli.IgnoreRateLimit = true // deliveries wait, not requests
	return &session{cli: cli}, nil
}

// within calls f and ends it after timeout. Its errors are *failure.
func within[T any](ctx context.Context, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := f(ctx)
	return got, clean(err)
}

// get reads what mautrix would read as a whole, such as events of which it cannot read one; see syncResponse.
func (s *session) get(ctx context.Context, timeout time.Duration, query url.Values, result any, path ...any) error {
	address := s.cli.BuildURL(mautrix.ClientURLPath(path))
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	_, err := within(ctx, timeout, func(ctx context.Context) ([]byte, error) {
		return s.cli.MakeRequest(ctx, http.MethodGet, address, nil, result)
	})
	return err
}

// failure is a request that failed. Its text holds no address.
type failure struct {
	Status     int    // 0: there was no answer
	Code       string // such as M_FORBIDDEN
	RetryAfter time.Duration
	SoftLogout bool
	Left       bool // without an answer: it may have reached the homeserver
	err        error
}

func (e *failure) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("the homeserver cannot be reached: %v", e.err)
	}
	return strings.TrimSpace(fmt.Sprintf("the homeserver answered %d %v", e.Status, e.err))
}

func (e *failure) Unwrap() error { return e.err }

// clean returns an error of the client as a *failure.
func clean(err error) error {
	var e mautrix.HTTPError
	switch {
	case !errors.As(err, &e):
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return &failure{Left: true, err: err}
		}
		return err
	case e.Response == nil || e.Response.StatusCode/100 == 2:
		cause := cmp.Or(e.WrappedError, err)
		if u, ok := errors.AsType[*url.Error](cause); ok {
			cause = u.Err
		}
		op, ok := errors.AsType[*net.OpError](cause)
		return &failure{Left: !ok || op.Op != "dial", err: cause}
	}
	f := &failure{Status: e.Response.StatusCode, err: errors.New("")}
	if e.RespError != nil {
		f.Code, f.err = e.RespError.ErrCode, errors.New(e.RespError.ErrCode+" "+e.RespError.Err)
		f.SoftLogout, _ = e.RespError.ExtraData["soft_logout"].(bool)
		ms, _ := e.RespError.ExtraData["retry_after_ms"].(float64)
		f.RetryAfter = time.Duration(min(max(ms, 0), 1e9)) * time.Millisecond
	}
	f.RetryAfter = min(retryafter.Parse(e.Response.Header.Get("Retry-After"), f.RetryAfter), 24*time.Hour)
	return f
}

// refused returns err as an answer of the homeserver, or nil.
func refused(err error) *failure {
	if e, _ := errors.AsType[*failure](err); e != nil && e.Status != 0 {
		return e
	}
	return nil
}

// forGood reports whether err is a refusal that retries do not fix.
func forGood(err error) bool {
	e := refused(err)
	return e != nil && e.Status/100 == 4 && e.Status != http.StatusTooManyRequests && !e.loggedOut()
}

// loggedOut reports whether the access token is no longer valid.
func (e *failure) loggedOut() bool {
	return e.Code == "M_UNKNOWN_TOKEN" || e.Code == "M_MISSING_TOKEN" || e.Status == http.StatusUnauthorized
}

func retryAfterOf(err error) time.Duration {
	if e := refused(err); e != nil {
		return e.RetryAfter
	}
	return 0
}
