package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func TestNewKey(t *testing.T) {
	t.Parallel()
	owner := core.User{ID: 1, Role: core.RoleOwner}
	k, secret, err := client.NewKey(rand.Reader, owner, "  Open \n WebUI ", []string{"read", "chat", "read"}, noon())
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^et_[A-Za-z0-9]{40}$`).MatchString(secret) {
		t.Errorf("the key is %q", secret)
	}
	if k.Hash != client.Hash(secret) || k.Hint != secret[:7] || k.Name != "Open WebUI" || k.User != 1 ||
		!k.CreatedAt.Equal(noon()) {
		t.Errorf("stored as %+v", k)
	}
	if !slices.Equal(k.Scopes, []core.Capability{core.CanTalk, core.CanRead}) {
		t.Errorf("scopes %v", k.Scopes)
	}
	_, other, _ := client.NewKey(rand.Reader, owner, "a", []string{"chat"}, noon())
	if other == secret {
		t.Error("two keys are the same")
	}
}

// TestNewKey_signsAreFair checks that bytes that would favour some characters are skipped.
func TestNewKey_signsAreFair(t *testing.T) {
	t.Parallel()
	random := bytes.NewReader(append(bytes.Repeat([]byte{255, 248}, 50), bytes.Repeat([]byte{0, 61, 62, 247}, 10)...))
	_, secret, err := client.NewKey(random, core.User{}, "a", []string{"chat"}, noon())
	if want := "et_" + strings.Repeat("A9A9", 10); err != nil || secret != want {
		t.Errorf("got %q, %v, want %q", secret, err, want)
	}
}

func TestNewKey_refuses(t *testing.T) {
	t.Parallel()
	member := core.User{ID: 2, Role: core.RoleMember}
	for name, c := range map[string]struct {
		name   string
		scopes []string
		want   string
	}{
		"a member's admin": {"a", []string{"admin"}, "only the owner's"},
		"no scope":         {"a", nil, "at least one scope"},
		"unknown scope":    {"a", []string{"write"}, "no scope"},
		"no name":          {" ", []string{"chat"}, "a name of 1 to"},
		"long name":        {strings.Repeat("x", 101), []string{"chat"}, "a name of 1 to"},
	} {
		if _, _, err := client.NewKey(rand.Reader, member, c.name, c.scopes, noon()); !errors.Is(err, core.ErrRefused) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// keys is a store of keys that counts its calls.
type keys struct {
	mu    sync.Mutex
	all   map[string]core.APIKey
	asked int
	uses  []time.Time
	err   error
}

func (s *keys) APIKey(_ context.Context, hash string) (core.APIKey, core.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	k, ok := s.all[hash]
	if s.err != nil {
		return k, core.User{}, s.err
	}
	if !ok {
		return k, core.User{}, core.ErrNotFound
	}
	return k, core.User{ID: k.User, Role: core.RoleMember}, nil
}

func (s *keys) UseAPIKey(_ context.Context, _ core.UserID, _ int64, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses = append(s.uses, at)
	return nil
}

// gate is a guard with a clock that the test sets.
type gate struct {
	*client.Guard
	store  *keys
	now    time.Time
	secret string
}

func newGate(t *testing.T, scopes ...string) *gate {
	t.Helper()
	g := &gate{store: &keys{all: map[string]core.APIKey{}}, now: noon()}
	k, secret, err := client.NewKey(rand.Reader, core.User{ID: 7}, "a", append(scopes, "chat"), noon())
	if err != nil {
		t.Fatal(err)
	}
	g.secret, g.store.all[k.Hash] = secret, k
	g.Guard = client.NewGuard(client.GuardOptions{Store: g.store, Log: zap.NewNop(),
		Now: func() time.Time { return g.now }})
	return g
}

func request(authorization, from string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":1234"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// try returns the HTTP status for a request.
func (g *gate) try(t *testing.T, authorization, from string, scope core.Capability) int {
	t.Helper()
	_, err := g.Admit(request(authorization, from), scope)
	var r *client.Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	if err != nil {
		t.Fatal(err)
	}
	return http.StatusOK
}

func TestGuard(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	wrong := "et_" + strings.Repeat("x", 40)
	for name, c := range map[string]struct {
		authorization string
		scope         core.Capability
		want          int
	}{
		"a good key":         {"Bearer " + g.secret, core.CanTalk, 200},
		"in other letters":   {"bearer  " + g.secret + " ", core.CanTalk, 200},
		"another scope":      {"Bearer " + g.secret, core.CanRead, 403},
		"no key":             {"", core.CanTalk, 401},
		"an empty key":       {"Bearer ", core.CanTalk, 401},
		"another kind":       {"Basic " + g.secret, core.CanTalk, 401},
		"a wrong key":        {"Bearer " + wrong, core.CanTalk, 401},
		"a key and a letter": {"Bearer " + g.secret + "x", core.CanTalk, 401},
		"no key at all":      {"Bearer sk-123", core.CanTalk, 401},
	} {
		if got := g.try(t, c.authorization, "192.0.2.1", c.scope); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestCaller_adminIsTheOwners checks that the admin scope has no effect on a member's key.
func TestCaller_adminIsTheOwners(t *testing.T) {
	t.Parallel()
	k := core.APIKey{Scopes: []core.Capability{core.CanAdmin}}
	if (client.Caller{Key: k, User: core.User{Role: core.RoleMember}}).Allows(core.CanAdmin) {
		t.Error("a member's key has the admin capability")
	}
	if !(client.Caller{Key: k, User: core.User{Role: core.RoleOwner}}).Allows(core.CanAdmin) {
		t.Error("the owner's key does not have the admin capability")
	}
}

// TestGuard_slowsDownWrongKeys checks that after ten wrong keys a minute only known good keys of that
// address are still checked, and that other addresses are not affected.
func TestGuard_slowsDownWrongKeys(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	good, wrong := "Bearer "+g.secret, "Bearer et_"+strings.Repeat("x", 40)
	if got := g.try(t, good, "192.0.2.1", core.CanTalk); got != 200 {
		t.Fatal(got)
	}
	for n := range 10 {
		if got := g.try(t, wrong, "192.0.2.1", core.CanTalk); got != 401 {
			t.Fatalf("wrong key %d: %d", n, got)
		}
		g.now = g.now.Add(time.Second)
	}
	asked := g.store.asked
	_, err := g.Admit(request(wrong, "192.0.2.1"), core.CanTalk)
	var r *client.Refusal
	if !errors.As(err, &r) || r.Status != 429 || r.After != 50*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	if g.store.asked != asked {
		t.Error("a key that is refused anyway was looked up")
	}
	if got := g.try(t, good, "192.0.2.1", core.CanTalk); got != 200 {
		t.Errorf("a good key of the same address: %d", got)
	}
	if got := g.try(t, wrong, "192.0.2.2", core.CanTalk); got != 401 {
		t.Errorf("another address: %d", got)
	}
	g.now = g.now.Add(51 * time.Second)
	if got := g.try(t, wrong, "192.0.2.1", core.CanTalk); got != 401 {
		t.Errorf("a minute later: %d", got)
	}
}

// TestGuard_revokedKeys checks that a revoked key is refused immediately, and then counts as wrong.
func TestGuard_revokedKeys(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	key := "Bearer " + g.secret
	if got := g.try(t, key, "192.0.2.1", core.CanTalk); got != 200 {
		t.Fatal(got)
	}
	clear(g.store.all)
	for n := range 10 {
		if got := g.try(t, key, "192.0.2.1", core.CanTalk); got != 401 {
			t.Fatalf("%d: %d", n, got)
		}
	}
	if got := g.try(t, key, "192.0.2.1", core.CanTalk); got != 429 {
		t.Errorf("the eleventh: %d", got)
	}
}

func TestGuard_recordsUseOnceAMinute(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	for range 7 {
		g.try(t, "Bearer "+g.secret, "192.0.2.1", core.CanTalk)
		g.now = g.now.Add(20 * time.Second)
	}
	if want := []time.Time{noon(), noon().Add(time.Minute), noon().Add(2 * time.Minute)}; !slices.Equal(g.store.uses,
		want) {
		t.Errorf("recorded %v", g.store.uses)
	}
}

func TestAdmit_storeIsAway(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.err = errors.New("connection refused")
	_, err := g.Admit(request("Bearer "+g.secret, "192.0.2.1"), core.CanTalk)
	var r *client.Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("got %v: a store that is away is no wrong key", err)
	}
}

func TestOrigin_behindProxies(t *testing.T) {
	t.Parallel()
	proxies, err := client.ParseProxies([]string{"10.0.0.0/8", "192.0.2.9"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"203.0.113.5", "", "203.0.113.5"},
		{"203.0.113.5", "198.51.100.1", "203.0.113.5"}, // not sent by a trusted proxy
		{"10.1.2.3", "198.51.100.1", "198.51.100.1"},
		{"10.1.2.3", "198.51.100.1, 203.0.113.7", "203.0.113.7"}, // the client may have invented the first
		{"10.1.2.3", "198.51.100.1, 192.0.2.9", "198.51.100.1"},
		{"10.1.2.3", "", "10.1.2.3"},
	} {
		r := request("", c.peer)
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := proxies.Origin(r).String(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if _, err := client.ParseProxies([]string{"proxy"}); err == nil {
		t.Error("a name is accepted as an address")
	}
}

func TestReadJSON(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		body   string
		status int // 0: it is accepted
		want   string
	}{
		"an object":          {` {"a": [1, {"a": 2}], "b": {"a": 1}} `, 0, ""},
		"nothing":            {" \n", 400, "is empty"},
		"half an object":     {`{"a": 1`, 400, "not valid JSON"},
		"no JSON":            {`{'a': 1}`, 400, "not valid JSON"},
		"an array":           {`[1]`, 400, "one JSON object"},
		"a number":           {`1`, 400, "one JSON object"},
		"two objects":        {`{} {}`, 400, "one JSON object"},
		"something after it": {`{} x`, 400, "not valid JSON"},
		"a key twice":        {`{"a": 1, "b": 2, "a": 3}`, 400, `"a" stands twice`},
		"a key twice inside": {`{"a": [{"b": 1, "b": 2}]}`, 400, `"b" stands twice`},
		"64 levels":          {nested(64), 0, ""},
		"65 levels":          {nested(65), 400, "deeper than 64"},
		"many levels":        {strings.Repeat("[", 1<<10), 400, "one JSON object"},
		"many open levels":   {`{"a":` + strings.Repeat("[", 1<<10), 400, "deeper than 64"},
		"other bytes":        {"{\"a\": \"\xff\"}", 400, "UTF-8"},
		"too much":           {`{"a": "` + strings.Repeat("x", 2000) + `"}`, 413, "larger than 2000 bytes"},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		data, err := client.ReadJSON(httptest.NewRecorder(), r, 2000)
		var bad *client.BadBody
		switch {
		case c.status == 0 && (err != nil || string(data) != c.body):
			t.Errorf("%s: %v", name, err)
		case c.status != 0 && (!errors.As(err, &bad) || bad.Status != c.status || !strings.Contains(bad.Message, c.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	type inner struct {
		N int `json:"n"`
	}
	type form struct {
		A string  `json:"a"`
		B []inner `json:"b"`
		C bool    `json:"c"`
		D float64 `json:"d"`
	}
	for body, want := range map[string]string{
		`{"a": "x", "b": [{"n": 1}]}`: "",
		`{"a": 1}`:                    "a must be a string, not a number.",
		`{"b": {}}`:                   "b must be an array, not an object.",
		`{"b": [{"n": "1"}]}`:         "b.n must be a whole number, not a string.",
		`{"b": [{"n": 1.5}]}`:         "b.n must be a whole number, not 1.5.",
		`{"c": "yes"}`:                "c must be true or false, not a string.",
		`{"d": true}`:                 "d must be a number, not true or false.",
		`{"e": 1}`:                    "There is no field e.",
	} {
		var f form
		got := ""
		if err := client.Decode([]byte(body), &f, "", true); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	err := client.Decode([]byte(`{"a": 1}`), &form{}, "messages[3]", false)
	var bad *client.BadBody
	if !errors.As(err, &bad) || bad.Param != "messages[3].a" {
		t.Errorf("%+v", bad)
	}
}

// FuzzReadJSON checks that every accepted body is one object without duplicate keys, and that
// nothing panics.
func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[{"b":null}]}`, `{"a":1,"a":2}`, `[[]]`, `{"a"}`, `{]`,
		`{"a":{}}}`, `{"":{"":[]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		data, err := client.ReadJSON(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(body)), 1<<16)
		var bad *client.BadBody
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		var out map[string]any
		if err == nil {
			if err := client.Decode(data, &out, "", false); err != nil {
				t.Fatalf("%q was accepted, but is not an object: %v", body, err)
			}
		}
	})
}
