package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/everthread/everthread/cmd/everthread/setup"
	"github.com/everthread/everthread/core/trust/egress"
)

// Matrix signs in with the password, asks whose it is, and signs out again: that
// removes the device that signing in made.
func (trials) Matrix(ctx context.Context, m setup.Matrix) (err error) {
	if !strings.HasPrefix(m.User, "@") || !strings.Contains(m.User, ":") {
		return &setup.Fault{Wrong: setup.WrongAccount, Where: m.User}
	}
	s := &homeserver{base: strings.TrimRight(m.Homeserver, "/") + "/_matrix/client/v3/", user: m.User}
	if err := s.open(ctx); err != nil {
		return err
	}
	made, err := s.signIn(ctx, m.Password)
	if err != nil {
		return err
	}
	defer func() { // also if the person gives up meanwhile
		if left := s.signOut(context.WithoutCancel(ctx), made); left != nil {
			err = left
		}
	}()
	me, err := s.ask(ctx, http.MethodGet, "account/whoami", made.Token, nil)
	if err != nil {
		return err
	}
	if me.status != http.StatusOK {
		return &setup.Fault{Wrong: setup.WrongHomeserver, Where: host(s.base), Detail: me.detail()}
	}
	if me.User != m.User {
		return &setup.Fault{Wrong: setup.WrongOtherAccount, Where: me.User}
	}
	return nil
}

// homeserver is asked whether an account opens.
type homeserver struct{ base, user string }

// said is what a homeserver answers, as far as it matters here.
type said struct {
	status int
	line   string // of the status
	User   string `json:"user_id"`
	Token  string `json:"access_token"`
	Device string `json:"device_id"`
	Code   string `json:"errcode"`
	Error  string `json:"error"`
	Flows  []struct {
		Type string `json:"type"`
	} `json:"flows"`
}

// detail is what it says was wrong.
func (s said) detail() string { return cmp.Or(strings.TrimSpace(s.Code+" "+s.Error), s.line) }

// ask sends a request. Redirections are not followed: the password would go along.
func (h *homeserver) ask(ctx context.Context, method, path, token string, body any) (said, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
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
		return out, &setup.Fault{Wrong: setup.WrongAddress, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	client := (*egress.Gate)(nil).Client(h.base)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return out, unreached(host(h.base), err)
	}
	defer resp.Body.Close()
	if out.status, out.line = resp.StatusCode, resp.Status; json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&out) != nil {
		out = said{status: out.status, line: out.line}
	}
	return out, nil
}

// open makes sure that it lets people in with a password.
func (h *homeserver) open(ctx context.Context) error {
	a, err := h.ask(ctx, http.MethodGet, "login", "", nil)
	if err != nil {
		return err
	}
	for _, f := range a.Flows {
		if a.status == http.StatusOK && f.Type == "m.login.password" {
			return nil
		}
	}
	return &setup.Fault{Wrong: setup.WrongHomeserver, Where: host(h.base), Detail: a.detail()}
}

// trialDevice is the device that a trial makes: always the same, so that the next
// trial takes away what one left whose answer was lost.
const trialDevice = "EVERTHREADTRIAL"

// signIn makes a session. It does not stop half-way: what the homeserver has made
// is to be removed again.
func (h *homeserver) signIn(ctx context.Context, password string) (said, error) {
	a, err := h.ask(context.WithoutCancel(ctx), http.MethodPost, "login", "", map[string]any{"type": "m.login.password", "password": password,
		"identifier": map[string]string{"type": "m.id.user", "user": h.user}, "device_id": trialDevice, "initial_device_display_name": "Everthread, trying the password"})
	switch {
	case err != nil:
		return a, err
	case a.status == http.StatusOK && a.Token != "":
		return a, nil
	case a.Code == "M_USER_DEACTIVATED":
		err = &setup.Fault{Wrong: setup.WrongDeactivated, Where: h.user}
	case a.status == http.StatusTooManyRequests:
		err = &setup.Fault{Wrong: setup.WrongLater, Where: host(h.base), Detail: a.detail()}
	case a.status == http.StatusForbidden || a.status == http.StatusUnauthorized:
		err = &setup.Fault{Wrong: setup.WrongPassword, Where: h.user, Detail: a.detail()}
	default:
		err = &setup.Fault{Wrong: setup.WrongHomeserver, Where: host(h.base), Detail: a.detail()}
	}
	return a, err
}

// signOut ends the session. The person is told of a device that stays.
func (h *homeserver) signOut(ctx context.Context, made said) error {
	a, err := h.ask(ctx, http.MethodPost, "logout", made.Token, struct{}{})
	if err == nil && a.status == http.StatusOK {
		return nil
	}
	f := &setup.Fault{Wrong: setup.WrongDeviceRemains, Where: made.Device, Detail: a.detail(), Err: err}
	if away := (*setup.Fault)(nil); errors.As(err, &away) {
		f.Reason, f.Detail = away.Reason, away.Detail
	}
	return f
}
