package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Keys of what is kept for an account. Those that end in a colon are followed by
// a room or an address.
const (
	keySync    = "sync"         // the token of the last sync
	keySynced  = "synced"       // when that was, in milliseconds
	keyDevice  = "device"       // of our login
	keyToken   = "secret.token" // of a login with the password; the keeper encrypts it
	keyInvites = "invites"      // that are to be accepted still
	keyUnread  = "unread"       // events that could not be decrypted

	keyRoom    = "room:"    // address → its room
	keyWho     = "who:"     // room → the address it was last the room of
	keyLast    = "last:"    // room → its last event that was passed on
	keyJoined  = "joined:"  // room → when we were invited, in milliseconds
	keyLate    = "late:"    // room → when ghosts began to speak without bridge state
	keySent    = "sent:"    // address → 1: we have sent something to them
	keyPreview = "preview:" // room → the answer that is being shown
	keyStatus  = "status:"  // network → 1: its bridge sends message status events
	keyLogin   = "login:"   // network → what its bridge last said of its login
	keyRenewal = "renewal"  // when the store was restored, and what its transactions begin with since
	keyDoubt   = "doubt:"   // room → whether a life that was lost wrote there
	keyTwin    = "twin"     // when another copy of this gateway was last noticed, in milliseconds
)

func keyOf(prefix string, a core.Address) string { return prefix + a.Channel + ":" + a.External }

// kept returns what is stored, "" if nothing is.
func (c *Channel) kept(ctx context.Context, key string) (string, error) {
	v, err := c.opts.Keeper.State(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read what is kept of matrix: %w", err)
	}
	return v, nil
}

// keep stores values until they are stored, or another process has the account.
func (c *Channel) keep(ctx context.Context, values map[string]string) error {
	for pause := (channel.Backoff{}); ; {
		err := c.opts.Keeper.SetState(ctx, values)
		if err == nil || errors.Is(err, core.ErrFenced) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.report(fmt.Errorf("what must be kept of matrix cannot be stored: %w", err))
		c.log.Error("keep state", zap.Error(err))
		pause.Wait(ctx, 0)
	}
}

// stopError is an error that no waiting mends; it says what to do.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// login opens a session and makes it the channel's: with the token that is
// configured or kept, else with the password. It tries until the server answers.
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
		c.report(fmt.Errorf("matrix: %w", err))
		c.log.Warn("matrix login", zap.Error(err))
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
	if s.renewal, err = c.renewal(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// enter opens a session without its keys.
func (c *Channel) enter(ctx context.Context) (*session, error) {
	device, err := c.device(ctx)
	if err != nil {
		return nil, err
	}
	token := c.opts.AccessToken
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
	if e := refused(err); e != nil && e.loggedOut() && !e.SoftLogout {
		device = c.opts.DeviceID // the server has deleted ours
	}
	if c.mayLogin(err) {
		err = c.password(ctx, s, device)
	}
	if err != nil {
		return nil, explain(err)
	}
	return s, nil
}

var errNoToken = errors.New("there is no access token")

// mayLogin reports whether the password is to be used after err.
func (c *Channel) mayLogin(err error) bool {
	e := refused(err)
	return c.opts.Password != "" && (errors.Is(err, errNoToken) || e != nil && e.loggedOut())
}

func (c *Channel) device(ctx context.Context) (string, error) {
	if c.opts.DeviceID != "" {
		return c.opts.DeviceID, nil
	}
	return c.kept(ctx, keyDevice)
}

// explain makes the refusal of a login say what to do.
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

// stopped is an error that ends the channel, with what the owner is to do.
func stopped(advice string, err error, args ...any) error {
	return stopError{fmt.Errorf("start matrix: %w", &channel.Trouble{Err: err, Advice: func(language string) string {
		return fmt.Sprintf(say(language).Advice[advice], args...)
	}})}
}

// whoami makes sure that the token is the account's, and learns its device.
func (c *Channel) whoami(ctx context.Context, s *session) error {
	me, err := s.cli.Whoami(ctx)
	if err != nil {
		return clean(err)
	}
	if me.UserID.String() != c.opts.UserID {
		return stopped("other_account", errors.New("whoami"), me.UserID, c.opts.UserID)
	}
	s.cli.DeviceID = me.DeviceID
	return c.keepUnless(ctx, keyDevice, me.DeviceID.String())
}

// keepUnless stores a value that is not stored already.
func (c *Channel) keepUnless(ctx context.Context, key, value string) error {
	if was, err := c.kept(ctx, key); err != nil || was == value {
		return err
	}
	return c.keep(ctx, map[string]string{key: value})
}

// password logs in and keeps the token and the device. The device stays the same
// where one is known, so that encrypted rooms and transaction ids go on.
func (c *Channel) password(ctx context.Context, s *session, device string) error {
	var got struct {
		UserID string `json:"user_id"`
		Token  string `json:"access_token"`
		Device string `json:"device_id"`
	}
	body := map[string]any{
		"type": "m.login.password", "identifier": map[string]string{"type": "m.id.user", "user": c.opts.UserID},
		"password": c.opts.Password, "initial_device_display_name": "Everthread",
	}
	if device != "" {
		body["device_id"] = device
	}
	s.cli.AccessToken = ""
	if err := s.call(ctx, callTimeout, request{method: http.MethodPost, path: []any{"v3", "login"}, body: body,
		result: &got}); err != nil {
		return err
	}
	s.cli.AccessToken = got.Token
	if err := c.keep(ctx, map[string]string{keyToken: got.Token, keyDevice: got.Device}); err != nil {
		return err
	}
	return c.whoami(ctx, s)
}
