package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
)

// anyHost lets a trial reach every address.
func anyHost() channel.Host {
	return channel.Host{Client: func(...string) *http.Client { return &http.Client{} }}
}

// fakeHomeserver has one account, @a:hs, and counts its devices.
type fakeHomeserver struct {
	mu      sync.Mutex
	devices map[string]bool // by token
	flows   string
	owner   string
	refuses map[string]int // status, by path
	code    string
	began   func() // called at a login
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

func TestGuide_triesThePassword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, password string
		change         func(f *fakeHomeserver)
		want           func(w *wording) string
		says           string
		left           int // devices
	}{
		"it opens":       {},
		"not an account": {user: "assistant", want: func(w *wording) string { return w.NoAccount }},
		"a wrong password": {password: "wrong", want: func(w *wording) string { return w.Refused },
			says: "Invalid username or password"},
		"no passwords": {change: func(f *fakeHomeserver) { f.flows = "m.login.token" },
			want: func(w *wording) string { return w.NoHomeserver }},
		"not a homeserver": {change: func(f *fakeHomeserver) { f.refuses["GET login"] = 404 },
			want: func(w *wording) string { return w.NoHomeserver }},
		"another's": {change: func(f *fakeHomeserver) { f.owner = "@b:hs" },
			want: func(w *wording) string { return w.OtherAccount }, says: "@b:hs"},
		"a huge answer": {change: func(f *fakeHomeserver) { f.owner = strings.Repeat("x", 2*tryBytes) },
			want: func(w *wording) string { return w.NoHomeserver }, left: 1},
		"too often": {change: func(f *fakeHomeserver) {
			f.refuses["POST login"], f.code = 429,
				"M_LIMIT_EXCEEDED"
		}, want: func(w *wording) string { return w.Later }},
		"deactivated": {change: func(f *fakeHomeserver) {
			f.refuses["POST login"], f.code = 403,
				"M_USER_DEACTIVATED"
		}, want: func(w *wording) string { return w.Deactivated }},
		"a redirection": {change: func(f *fakeHomeserver) { f.refuses["POST login"] = 307 },
			want: func(w *wording) string { return w.NoHomeserver }},
		"it cannot be read back": {change: func(f *fakeHomeserver) { f.refuses["GET account/whoami"] = 500 },
			want: func(w *wording) string { return w.NoHomeserver }},
		"it cannot sign out": {change: func(f *fakeHomeserver) { f.refuses["POST logout"] = 500 },
			want: func(w *wording) string { return w.DeviceRemains }, says: trialDevice, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, url := newFakeHomeserver(t)
			if c.change != nil {
				c.change(f)
			}
			m := &Config{Homeserver: url + "/", UserID: cmp.Or(c.user, "@a:hs"),
				Password: section.Secret(cmp.Or(c.password, "right"))}
			language := []string{"en", "fr"}[len(name)%2]
			_, err := m.Guide(language, anyHost()).Try(t.Context())
			var fault *channel.Fault
			if errors.As(err, &fault); (err == nil) != (c.want == nil) || err != nil &&
				(fault == nil || fault.Text != c.want(say(language)) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), string(m.Password)) && c.password == "" {
				t.Errorf("the password is in %v", err)
			}
			if len(f.devices) != c.left {
				t.Errorf("devices are left: %v", f.devices)
			}
		})
	}
	var away *channel.Unreached
	nowhere := &Config{Homeserver: "http://127.0.0.1:1", UserID: "@a:hs", Password: "right"}
	if _, err := nowhere.Guide("en", anyHost()).Try(t.Context()); !errors.As(err, &away) ||
		!errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a homeserver that is away: %v", err)
	}
	f, url := newFakeHomeserver(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.began = cancel // Ctrl-C in the middle
	c := &Config{Homeserver: url, UserID: "@a:hs", Password: "right"}
	if _, err := c.Guide("en", anyHost()).Try(ctx); err == nil || len(f.devices) > 0 {
		t.Errorf("given up in the middle: %v, devices %v", err, f.devices)
	}
}
