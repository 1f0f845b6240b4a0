package matrix

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
)

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Option, Homeserver, Help, User, Password, Good, NoAddress, NoAccount, NoHomeserver, Refused, Deactivated, Later,
	OtherAccount, DeviceRemains string
	Findings findings
	Advice   map[string]string // what the owner should do
}

var say = i18n.In[wording]("matrix")

// Guide asks for an account and its password.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language)
	return channel.Guide{
		Option: w.Option,
		Fields: []channel.Field{
			{ID: "matrix_homeserver", Title: w.Homeserver, Help: w.Help, Into: &c.Homeserver},
			{ID: "matrix_user", Title: w.User, Into: &c.UserID},
			{ID: "matrix_password", Title: w.Password, Into: (*string)(&c.Password), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) {
			err := c.try(ctx, h, w)
			return channel.Tried{Said: w.Good, Comment: "docs/matrix.md",
				Keys: []string{"homeserver", c.Homeserver, "user_id", c.UserID, "password", string(c.Password)}}, err
		},
	}
}

// Bounds of each request of a trial.
const (
	tryTimeout = 20 * time.Second
	tryBytes   = 1 << 20 // of the answer
)

// trial tries to sign in to an account.
type trial struct {
	cli   *mautrix.Client
	user  id.UserID
	host  string
	words *wording
}

// try signs in with the password, checks the account, and signs out again, which removes
// the device that signing in created.
func (c *Config) try(ctx context.Context, host channel.Host, w *wording) (err error) {
	t := &trial{user: id.UserID(c.UserID), host: channel.HostOf(c.Homeserver), words: w}
	switch {
	case !mxid.MatchString(c.UserID):
		return &channel.Fault{Text: w.NoAccount, Where: c.UserID}
	case t.host == "":
		return &channel.Fault{Text: w.NoAddress}
	}
	client := *host.Client(c.Homeserver)
	client.Timeout = tryTimeout
	// A redirect would receive the password.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer client.CloseIdleConnections()
	s, err := (&Channel{opts: Options{Config: *c, HTTP: &client}}).newSession("", "")
	if err != nil {
		return &channel.Fault{Text: w.NoAddress, Err: err}
	}
	t.cli = s.cli
	t.cli.ResponseSizeLimit = tryBytes
	if err := t.signIn(ctx, string(c.Password)); err != nil {
		return err
	}
	defer func() { // also if the person gives up meanwhile
		if left := t.signOut(context.WithoutCancel(ctx)); left != nil {
			err = left
		}
	}()
	me, err := t.cli.Whoami(ctx)
	switch {
	case err != nil:
		return t.fault(err, w.NoHomeserver, t.host)
	case me.UserID != t.user:
		return &channel.Fault{Text: w.OtherAccount, Where: me.UserID.String()}
	}
	return nil
}

// fault returns what a request that failed means: text with the homeserver's own words,
// unless the homeserver was not reached. With a nil err the answer was not the expected one.
func (t *trial) fault(err error, text, where string) error {
	f := &channel.Fault{Text: text, Where: where, Detail: "200 OK"}
	var e mautrix.HTTPError
	switch {
	case err == nil:
	case !errors.As(err, &e) || e.Response == nil:
		return &channel.Unreached{Where: t.host, Err: channel.Clean(err, "")}
	case e.RespError != nil:
		f.Detail = strings.TrimSpace(e.RespError.ErrCode + " " + e.RespError.Err)
	default:
		f.Detail = e.Response.Status
	}
	return f
}

// trialDevice is the device of every trial. As it is always the same, a trial removes
// what an earlier one left behind after its answer was lost.
const trialDevice = "EVERTHREADTRIAL"

// signIn opens a session. It ignores the cancellation of ctx, as a created session must be removed again.
func (t *trial) signIn(ctx context.Context, password string) error {
	flows, err := t.cli.GetLoginFlows(ctx)
	if err != nil || !flows.HasFlow(mautrix.AuthTypePassword) {
		return t.fault(err, t.words.NoHomeserver, t.host)
	}
	made, err := t.cli.Login(context.WithoutCancel(ctx), &mautrix.ReqLogin{Type: mautrix.AuthTypePassword,
		Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: t.user.String()},
		Password:   password, DeviceID: trialDevice, InitialDeviceDisplayName: "Everthread, trying the password",
		StoreCredentials: true})
	switch e := refused(clean(err)); {
	case err == nil && made.AccessToken != "":
		return nil
	case e == nil:
	case e.Code == "M_USER_DEACTIVATED":
		return &channel.Fault{Text: t.words.Deactivated, Where: t.user.String()}
	case e.Status == http.StatusTooManyRequests:
		return t.fault(err, t.words.Later, t.host)
	case e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized:
		return t.fault(err, t.words.Refused, t.user.String())
	}
	return t.fault(err, t.words.NoHomeserver, t.host)
}

// signOut ends the session. Its error tells the person about a device that remains.
func (t *trial) signOut(ctx context.Context) error {
	_, err := t.cli.Logout(ctx)
	var e mautrix.HTTPError
	if err == nil || errors.As(err, &e) && e.IsStatus(http.StatusOK) {
		return nil
	}
	err = t.fault(err, t.words.DeviceRemains, t.cli.DeviceID.String())
	if away, ok := errors.AsType[*channel.Unreached](err); ok {
		err = &channel.Fault{Text: t.words.DeviceRemains, Where: t.cli.DeviceID.String(), Detail: away.Err.Error(), Err: away}
	}
	return err
}
