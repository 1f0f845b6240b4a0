package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/cmd/everthread/setup"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
)

// fakeHomeserver has one account, @a:hs, and counts its devices.
type fakeHomeserver struct {
	mu      sync.Mutex
	devices map[string]bool // by token
	flows   string
	owner   string
	refuses map[string]int // status, by path
	code    string
	began   func() // when somebody signed in
}

func newFakeHomeserver(t *testing.T) (*fakeHomeserver, string) {
	t.Helper()
	f := &fakeHomeserver{devices: map[string]bool{}, flows: "m.login.password", owner: "@a:hs", refuses: map[string]int{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return f, s.URL
}

func (f *fakeHomeserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, found := strings.CutPrefix(r.URL.Path, "/_matrix/client/v3/")
	body, _ := io.ReadAll(r.Body)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	status, out := http.StatusOK, map[string]any{}
	switch {
	case !found:
		status = http.StatusNotFound
	case f.refuses[r.Method+" "+path] > 0:
		status, out = f.refuses[r.Method+" "+path], map[string]any{"errcode": f.code, "error": "No."}
	case r.Method == http.MethodGet && path == "login":
		out["flows"] = []map[string]string{{"type": "m.login.sso"}, {"type": f.flows}}
	case path == "login" && !strings.Contains(string(body), `"password":"right"`):
		status, out = http.StatusForbidden, map[string]any{"errcode": "M_FORBIDDEN", "error": "Invalid username or password"}
	case path == "login":
		f.devices["token"] = true
		out["user_id"], out["access_token"], out["device_id"] = f.owner, "token", trialDevice
		if f.began != nil {
			f.began()
		}
	case !f.devices[token]:
		status = http.StatusUnauthorized
	case path == "account/whoami":
		out["user_id"] = f.owner
	case path == "logout":
		delete(f.devices, token)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

func TestThePasswordOfMatrixIsTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, password string
		change         func(f *fakeHomeserver)
		want           setup.Wrong
		says           string
		left           int // devices
	}{
		"it opens":               {},
		"no account":             {user: "assistant", want: setup.WrongAccount},
		"a wrong password":       {password: "wrong", want: setup.WrongPassword, says: "Invalid username or password"},
		"no passwords":           {change: func(f *fakeHomeserver) { f.flows = "m.login.token" }, want: setup.WrongHomeserver},
		"no homeserver":          {change: func(f *fakeHomeserver) { f.refuses["GET login"] = 404 }, want: setup.WrongHomeserver},
		"another's":              {change: func(f *fakeHomeserver) { f.owner = "@b:hs" }, want: setup.WrongOtherAccount, says: "@b:hs"},
		"too often":              {change: func(f *fakeHomeserver) { f.refuses["POST login"], f.code = 429, "M_LIMIT_EXCEEDED" }, want: setup.WrongLater},
		"deactivated":            {change: func(f *fakeHomeserver) { f.refuses["POST login"], f.code = 403, "M_USER_DEACTIVATED" }, want: setup.WrongDeactivated},
		"a redirection":          {change: func(f *fakeHomeserver) { f.refuses["POST login"] = 307 }, want: setup.WrongHomeserver},
		"it cannot be read back": {change: func(f *fakeHomeserver) { f.refuses["GET account/whoami"] = 500 }, want: setup.WrongHomeserver},
		"it cannot sign out":     {change: func(f *fakeHomeserver) { f.refuses["POST logout"] = 500 }, want: setup.WrongDeviceRemains, says: trialDevice, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, url := newFakeHomeserver(t)
			if c.change != nil {
				c.change(f)
			}
			m := setup.Matrix{Homeserver: url + "/", User: "@a:hs", Password: "right"}
			if c.user != "" {
				m.User = c.user
			}
			if c.password != "" {
				m.Password = c.password
			}
			err := trials{}.Matrix(t.Context(), m)
			var fault *setup.Fault
			if errors.As(err, &fault); (err == nil) != (c.want == "") || err != nil && (fault == nil || fault.Wrong != c.want || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), m.Password) && c.want != setup.WrongPassword {
				t.Errorf("the password is in %v", err)
			}
			if len(f.devices) != c.left {
				t.Errorf("devices are left: %v", f.devices)
			}
		})
	}
	f, url := newFakeHomeserver(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.began = cancel // Ctrl-C in the middle
	if err := (trials{}).Matrix(ctx, setup.Matrix{Homeserver: url, User: "@a:hs", Password: "right"}); err == nil || len(f.devices) > 0 {
		t.Errorf("given up in the middle: %v, devices %v", err, f.devices)
	}
}

// TestWhatTrialsFindIsTold: each way in which a trial fails has words of its own,
// also in French, and no secret in them.
func TestWhatTrialsFindIsTold(t *testing.T) {
	t.Parallel()
	const key, away = "sk-secret-0123456789", "http://127.0.0.1:1"
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	ask := func(base string) error {
		return trials{configs.Default()}.Model(t.Context(), setup.Model{Provider: "openai", BaseURL: base, Key: key, Name: "m"})
	}
	list := func(base string) error {
		_, err := trials{}.Models(t.Context(), setup.Model{Provider: "openai", BaseURL: base, Key: key})
		return err
	}
	bot := func(base string) error {
		c := configs.Default()
		c.Channels.Telegram.APIURL = base
		_, err := trials{c}.Bot(t.Context(), key)
		return err
	}
	number := func(base string) error {
		c := configs.Default()
		c.Channels.WhatsApp.APIURL = base
		return trials{c}.WhatsApp(t.Context(), setup.WhatsApp{Number: "1", Token: key})
	}
	database := func(address string) error { return trials{configs.Default()}.Database(t.Context(), address) }
	for name, c := range map[string]struct {
		err    error
		want   setup.Wrong
		reason setup.Reason
		kind   core.ModelErrorKind
	}{
		"no server of models":        {list(away), setup.WrongUnreached, setup.ReasonRefused, core.ModelDown},
		"no machine":                 {list("http://nowhere.invalid"), setup.WrongUnreached, setup.ReasonNoHost, core.ModelDown},
		"a list for another key":     {list(answers(401, "")), setup.WrongKey, "", core.ModelAuth},
		"a model that is away":       {ask(away), setup.WrongUnreached, setup.ReasonRefused, core.ModelDown},
		"a model for another key":    {ask(answers(401, `{"error":{"message":"Incorrect API key `+key+`"}}`)), setup.WrongKey, "", core.ModelAuth},
		"a model that is not there":  {ask(answers(404, `{"error":{"message":"no"}}`)), setup.WrongModel, "", core.ModelConfig},
		"a model without credit":     {ask(answers(429, `{"error":{"code":"insufficient_quota"}}`)), setup.WrongModelBusy, "", core.ModelBusy},
		"a model that refuses":       {ask(answers(400, `{"error":{"message":"no"}}`)), setup.WrongModelRefuses, "", core.ModelRejected},
		"a model with a problem":     {ask(answers(503, "")), setup.WrongModelDown, "", core.ModelDown},
		"no Telegram":                {bot(away), setup.WrongUnreached, setup.ReasonRefused, ""},
		"a server that is something": {bot(answers(200, "<html>")), setup.WrongTelegram, "", ""},
		"a token that is refused":    {bot(answers(401, `{"ok":false,"description":"Unauthorized"}`)), setup.WrongToken, "", ""},
		"no Meta":                    {number(away), setup.WrongUnreached, setup.ReasonRefused, ""},
		"a number of nobody":         {number(answers(400, "{}")), setup.WrongNumber, "", ""},
		"no address of a database":   {database("mysql://x"), setup.WrongDatabaseURL, "", ""},
		"no database":                {database("postgres://u:" + key + "@127.0.0.1:1/d"), setup.WrongDatabase, setup.ReasonRefused, ""},
	} {
		var f *setup.Fault
		if !errors.As(c.err, &f) || f.Wrong != c.want || f.Reason != c.reason {
			t.Errorf("%s: got %+v (%v)", name, f, c.err)
			continue
		}
		var m *core.ModelError
		if errors.As(c.err, &m); c.kind != "" && (m == nil || m.Kind != c.kind) {
			t.Errorf("%s: the kind is %v", name, m)
		}
		if strings.Contains(c.err.Error(), key) {
			t.Errorf("%s: the secret is in %v", name, c.err)
		}
	}
	if dsn := os.Getenv("TEST_POSTGRES_DSN"); dsn != "" {
		user, rest, _ := strings.Cut(strings.TrimPrefix(dsn, "postgres://"), ":")
		_, rest, _ = strings.Cut(rest, "@")
		var f *setup.Fault
		if err := database("postgres://" + user + ":" + key + "@" + rest); !errors.As(err, &f) || f.Reason != setup.ReasonPassword || strings.Contains(err.Error(), key) {
			t.Errorf("a wrong password: %v", err)
		}
	}
}
