package matrix

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/words"
)

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Option, Homeserver, Help, User, Password, Good, NoAddress, NoAccount, NoHomeserver, Refused, Deactivated, Later,
	OtherAccount, DeviceRemains string
	Findings findings
	Advice   map[string]string // what the owner should do
}

var say = words.In[wording]("matrix")

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

const tryTimeout = 20 * time.Second

// try signs in with the password, checks the account, and signs out again, which removes
// the device that signing in created.
func (c *Config) try(ctx context.Context, host channel.Host, w *wording) (err error) {
	if !mxid.MatchString(c.UserID) {
		return &channel.Fault{Text: w.NoAccount, Where: c.UserID}
	}
	h := &trial{base: strings.TrimRight(c.Homeserver, "/") + "/_matrix/client/v3/", user: c.UserID,
		http: host.Client(c.Homeserver), words: w}
	if err := h.open(ctx); err != nil {
		return err
	}
	made, err := h.signIn(ctx, string(c.Password))
	if err != nil {
		return err
	}
	defer func() { // also if the person gives up meanwhile
		if left := h.signOut(context.WithoutCancel(ctx), made); left != nil {
			err = left
		}
	}()
	return h.check(ctx, made)
}

func (h *trial) check(ctx context.Context, made said) error {
	me, err := h.ask(ctx, http.MethodGet, "account/whoami", made.Token, nil)
	switch {
	case err != nil:
		return err
	case me.status != http.StatusOK:
		return &channel.Fault{Text: h.words.NoHomeserver, Where: channel.HostOf(h.base), Detail: me.detail()}
	case me.User != h.user:
		return &channel.Fault{Text: h.words.OtherAccount, Where: me.User}
	}
	return nil
}

// trial tries to sign in to an account.
type trial struct {
	base, user string
	http       *http.Client
	words      *wording
}

type said struct {
	status int
	line   string // status line
	User   string `json:"user_id"`
	Token  string `json:"access_token"`
	Device string `json:"device_id"`
	Code   string `json:"errcode"`
	Error  string `json:"error"`
	Flows  []struct {
		Type string `json:"type"`
	} `json:"flows"`
}

// detail returns the homeserver's error text.
func (s said) detail() string { return cmp.Or(strings.TrimSpace(s.Code+" "+s.Error), s.line) }

// ask sends a request. It follows no redirects, which would receive the password.
func (h *trial) ask(ctx context.Context, method, path, token string, body any) (said, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	var out said
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return out, err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, sent)
	if err != nil || req.URL.Host == "" {
		return out, &channel.Fault{Text: h.words.NoAddress, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	client := *h.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return out, &channel.Unreached{Where: channel.HostOf(h.base), Err: channel.Clean(err, "")}
	}
	defer resp.Body.Close()
	out.status, out.line = resp.StatusCode, resp.Status
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out) != nil {
		out = said{status: out.status, line: out.line}
	}
	return out, nil
}

func (h *trial) open(ctx context.Context) error {
	a, err := h.ask(ctx, http.MethodGet, "login", "", nil)
	if err != nil {
		return err
	}
	for _, f := range a.Flows {
		if a.status == http.StatusOK && f.Type == "m.login.password" {
			return nil
		}
	}
	return &channel.Fault{Text: h.words.NoHomeserver, Where: channel.HostOf(h.base), Detail: a.detail()}
}

// trialDevice is the device of every trial. As it is always the same, a trial removes
// what an earlier one left behind after its answer was lost.
const trialDevice = "EVERTHREADTRIAL"

// signIn opens a session. It ignores the cancellation of ctx, as a created session must be removed again.
func (h *trial) signIn(ctx context.Context, password string) (said, error) {
	a, err := h.ask(context.WithoutCancel(ctx), http.MethodPost, "login", "",
		map[string]any{"type": "m.login.password", "password": password,
			"identifier": map[string]string{"type": "m.id.user", "user": h.user}, "device_id": trialDevice,
			"initial_device_display_name": "Everthread, trying the password"})
	switch {
	case err != nil:
		return a, err
	case a.status == http.StatusOK && a.Token != "":
		return a, nil
	case a.Code == "M_USER_DEACTIVATED":
		err = &channel.Fault{Text: h.words.Deactivated, Where: h.user}
	case a.status == http.StatusTooManyRequests:
		err = &channel.Fault{Text: h.words.Later, Where: channel.HostOf(h.base), Detail: a.detail()}
	case a.status == http.StatusForbidden || a.status == http.StatusUnauthorized:
		err = &channel.Fault{Text: h.words.Refused, Where: h.user, Detail: a.detail()}
	default:
		err = &channel.Fault{Text: h.words.NoHomeserver, Where: channel.HostOf(h.base), Detail: a.detail()}
	}
	return a, err
}

// signOut ends the session. Its error tells the person about a device that remains.
func (h *trial) signOut(ctx context.Context, made said) error {
	a, err := h.ask(ctx, http.MethodPost, "logout", made.Token, struct{}{})
	if err == nil && a.status == http.StatusOK {
		return nil
	}
	f := &channel.Fault{Text: h.words.DeviceRemains, Where: made.Device, Detail: a.detail(), Err: err}
	if away, ok := errors.AsType[*channel.Unreached](err); ok {
		f.Detail = away.Err.Error()
	}
	return f
}
