package service_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/accounts/service/oauthtest"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/trust/secret"
)

const page = "http://127.0.0.1:9"

// world is a store with two people, and a service.
type world struct {
	t        *testing.T
	store    *sqlite.Store
	at       *oauthtest.Service
	config   service.Service
	services *service.Services
	client   *mcp.Client
	later    atomic.Int64 // how far the clock is ahead, in seconds
	ada, bob core.User
	told     atomic.Int32
}

// plan is a planner that knows no app, and counts.
type plan struct{ *world }

func (p plan) Plan(context.Context, core.User, bool) ([]core.Target, error) {
	p.told.Add(1)
	return nil, nil
}

func newWorld(t *testing.T, o oauthtest.Options, change ...func(s *service.Service)) *world {
	t.Helper()
	w := &world{t: t, store: sqlitetest.Open(t, t.TempDir()), at: oauthtest.New(t, o)}
	w.config = service.Service{Name: "tracker", URL: w.at.URL, May: func(core.User) bool { return true }}
	for _, c := range change {
		c(&w.config)
	}
	w.services = w.process(w.store)
	w.ada, w.bob = w.person("Ada", core.RoleOwner), w.person("Bob", core.RoleMember)
	return w
}

// process returns the services of another process.
func (w *world) process(st service.Store) *service.Services {
	return service.New(service.Options{Services: []service.Service{w.config}, Store: st, Language: "en",
		Planner: plan{w}, Life: 10 * time.Minute, Log: zap.NewNop(), Now: w.now, Rand: rand.Reader,
		Sealer: func() (*secret.Sealer, error) { return secret.New(rand.Reader, "key") }})
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.later.Load()) * time.Second) }

func (w *world) person(name string, role core.UserRole) core.User {
	w.t.Helper()
	u, err := w.store.AddUser(w.t.Context(), core.User{Name: name, Role: role, CreatedAt: w.now()})
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// begin presses the button of a new link, and returns where the browser is sent, and the state.
func (w *world) begin(u core.User) (address, state string, err error) {
	w.t.Helper()
	code, stored, err := w.services.Link(u, "Tracker")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.PutCode(w.t.Context(), stored); err != nil {
		w.t.Fatal(err)
	}
	address, state, _, err = w.services.Begin(w.t.Context(), code, page)
	return address, state, err
}

// answer reads the address that a browser is sent back to.
func (w *world) answer(back string) service.Answer {
	w.t.Helper()
	u, err := url.Parse(back)
	if err != nil || !strings.HasPrefix(back, page+service.BackPath+"?") {
		w.t.Fatalf("sent back to %s", back)
	}
	q := u.Query()
	return service.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

// connect connects the service for a person with an account there.
func (w *world) connect(u core.User, account string) {
	w.t.Helper()
	address, _, err := w.begin(u)
	if err != nil {
		w.t.Fatal(err)
	}
	asked, err := w.services.Complete(w.t.Context(), w.answer(oauthtest.NewBrowser(w.t).Consent(w.at, address, account)))
	if err != nil || asked.User.ID != u.ID {
		w.t.Fatalf("connected for %+v, %v", asked.User, err)
	}
}

// user returns a person as stored.
func (w *world) user(u core.User) core.User {
	w.t.Helper()
	u, err := w.store.User(w.t.Context(), u.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// run runs the client of tool servers until the test ends.
func (w *world) run() {
	w.t.Helper()
	w.client = mcp.New(mcp.Options{Servers: []mcp.Server{{Name: "tracker", URL: w.at.URL, OAuth: true,
		Roles: []core.UserRole{core.RoleOwner, core.RoleMember}}}, Grants: w.services, Tokenizer: words{}, Log: zap.NewNop(),
		Now: w.now, Rand: func() float64 { return 0 }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.client.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// tool waits for the tool of the service.
func (w *world) tool() core.Tool {
	w.t.Helper()
	for range 1000 {
		if all := w.client.Tools(); len(all) == 1 {
			return all[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatal("the tool did not appear")
	return nil
}

// call calls the tool in a turn of a person.
func (w *world) call(u core.User) (string, error) {
	w.t.Helper()
	res, err := w.tool().Use(w.t.Context(), core.ToolUse{User: u.ID, Arguments: json.RawMessage(`{}`)})
	return res.Text, err
}

func (w *world) calls(u core.User, want string) {
	w.t.Helper()
	if got, err := w.call(u); got != want || err != nil {
		w.t.Errorf("%s: got %q, %v, want %q", u.Name, got, err, want)
	}
}

// TestServices_actForTheirPersonOnly: each person's calls use what they granted, and nobody else's.
func TestServices_actForTheirPersonOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.run()
	w.connect(w.ada, oauthtest.Ada)
	w.client.Meet(w.user(w.ada))
	tool := w.tool().(core.GuardedTool)
	if !tool.May(w.user(w.ada)) || tool.May(w.user(w.bob)) {
		t.Error("the tool is not for those who connected the service only")
	}
	w.calls(w.ada, "the account of id1")
	if got, err := w.call(w.bob); err == nil || !strings.Contains(err.Error(), "ask them to send /connect tracker") {
		t.Errorf("without a grant: got %q, %v", got, err)
	}
	w.connect(w.bob, oauthtest.Bob)
	w.calls(w.bob, "the account of id2")
	w.calls(w.ada, "the account of id1")
	if !tool.May(w.user(w.bob)) {
		t.Error("the tool is not for a person who connected the service")
	}
	w.connect(w.bob, oauthtest.Ada) // Bob connects another account: the old connection must not stay
	w.calls(w.bob, "the account of id1")
	for _, r := range w.at.Resources() {
		if r != w.at.URL {
			t.Errorf("a token was requested for %q", r)
		}
	}
	if w.at.Clients() != 1 {
		t.Errorf("%d registrations, want one of the installation", w.at.Clients())
	}
	all, err := w.services.Of(t.Context(), w.bob)
	if err != nil || len(all) != 1 || all[0].Since.IsZero() || all[0].Host != "127.0.0.1" {
		t.Errorf("services %+v, %v", all, err)
	}
	list, err := w.services.List(t.Context(), "tracker")
	if err != nil || !strings.Contains(list, "whoami") {
		t.Errorf("the kept list is %q, %v", list, err)
	}
	grants, err := w.store.ServiceGrants(t.Context(), w.ada.ID)
	if err != nil || len(grants) != 1 || !strings.HasPrefix(grants[0].Sealed, "sealed:") {
		t.Errorf("grants %+v, %v", grants, err)
	}
}

// TestServices_startWithTheKeptList: another start has the tools before anybody connects.
func TestServices_startWithTheKeptList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	if err := w.services.SetList(t.Context(), "tracker", `[{"name":"whoami","inputSchema":{"type":"object"}}]`); err != nil {
		t.Fatal(err)
	}
	w.run()
	if name := w.tool().Spec().Name; name != "tracker_whoami" || w.at.Hits("/mcp") != 0 {
		t.Errorf("the tool is %s, after %d requests", name, w.at.Hits("/mcp"))
	}
}

// TestTools_listWhatIsNotConnected: the model learns what to tell a person, until there is nothing left to connect.
func TestTools_listWhatIsNotConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{}, func(s *service.Service) {
		s.May = func(u core.User) bool { return u.Role == core.RoleOwner }
	})
	tool := w.services.Tools()[0]
	may := tool.(core.GuardedTool).May
	if !may(w.ada) || may(w.bob) {
		t.Error("the tool is not for those who may connect a service only")
	}
	list := func(u core.User) string {
		t.Helper()
		res, err := tool.Use(t.Context(), core.ToolUse{User: u.ID, Arguments: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		return res.Text
	}
	if got := list(w.ada); !strings.Contains(got, `"/connect tracker"`) {
		t.Errorf("got %s", got)
	}
	if got := list(w.bob); strings.Contains(got, "tracker") {
		t.Errorf("who may not: got %s", got)
	}
	w.connect(w.ada, oauthtest.Ada)
	if may(w.user(w.ada)) || strings.Contains(list(w.ada), "tracker") {
		t.Error("what is connected is listed")
	}
}

func TestAccess_renewsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.run()
	w.connect(w.ada, oauthtest.Ada)
	w.client.Meet(w.user(w.ada))
	w.calls(w.ada, "the account of id1")
	before := w.at.Hits("/oauth/token")
	w.later.Add(3600)
	w.calls(w.ada, "the account of id1")
	if n := w.at.Hits("/oauth/token") - before; n != 1 {
		t.Errorf("%d renewals, want 1", n)
	}
	g, err := w.store.ServiceGrant(t.Context(), w.ada.ID, "tracker")
	if err != nil || g.Version != 1 {
		t.Errorf("grant %+v, %v", g, err)
	}
}

// TestServices_idleConnectionEnds: the server is told, and the next call connects again.
func TestServices_idleConnectionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.run()
	w.connect(w.ada, oauthtest.Ada)
	w.client.Meet(w.user(w.ada))
	w.calls(w.ada, "the account of id1")
	before := w.at.Hits("/mcp")
	w.later.Add(11 * 60)
	for range 1000 {
		if w.at.Hits("/mcp") > before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := w.at.Hits("/mcp") - before; n != 1 {
		t.Errorf("%d requests while it was idle, want the one that ends it", n)
	}
	w.calls(w.ada, "the account of id1")
	if n := w.at.Hits("/mcp") - before; n < 4 {
		t.Errorf("%d requests, want a new connection", n)
	}
}

func TestAccess_renewsWhatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.run()
	w.connect(w.ada, oauthtest.Ada)
	w.client.Meet(w.user(w.ada))
	w.calls(w.ada, "the account of id1")
	w.at.Close(true)
	if _, err := w.call(w.ada); err == nil || !strings.Contains(err.Error(), "does not accept the access") {
		t.Errorf("refused: %v", err)
	}
	w.at.Close(false)
	w.calls(w.ada, "the account of id1")
	if w.at.Hits("/oauth/token") != 2 {
		t.Errorf("%d requests for tokens, want one to connect and one renewal", w.at.Hits("/oauth/token"))
	}
}

// TestAccess_renewsOnceAmongProcesses: two processes that find the token old use the rotating refresh token once.
func TestAccess_renewsOnceAmongProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.connect(w.ada, oauthtest.Ada)
	w.later.Add(3600)
	second := w.process(w.store)
	tokens := make([]string, 12)
	var wg sync.WaitGroup
	for n := range tokens {
		by := []*service.Services{w.services, second}[n%2]
		wg.Go(func() {
			token, _, err := by.Access(t.Context(), w.ada.ID, "tracker", "")
			if err != nil {
				t.Error(err)
			}
			tokens[n] = token
		})
	}
	wg.Wait()
	for _, got := range tokens {
		if got == "" || got != tokens[0] {
			t.Errorf("the calls have different tokens")
		}
	}
	if n := w.at.Hits("/oauth/token"); n != 2 {
		t.Errorf("%d requests for tokens, want one to connect and one renewal", n)
	}
}

// TestAccess_endsWithTheServices: what was revoked at the service is deleted, and the person told once.
func TestAccess_endsWithTheServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.connect(w.ada, oauthtest.Ada)
	w.at.SignOut(t, "id1")
	w.later.Add(3600)
	for range 2 {
		if _, _, err := w.services.Access(t.Context(), w.ada.ID, "tracker", ""); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	}
	if u := w.user(w.ada); len(u.Services) != 0 || w.told.Load() != 1 {
		t.Errorf("services %v, told %d times", u.Services, w.told.Load())
	}
	ms, _, err := w.store.Timeline(t.Context(), store.TimelineQuery{User: w.ada.ID, Limit: 10})
	if err != nil || len(ms) != 1 || !strings.Contains(ms[0].Text, "send `/connect tracker`") {
		t.Errorf("messages %+v, %v", ms, err)
	}
}

func TestDisconnect_revokesAndDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.connect(w.ada, oauthtest.Ada)
	w.connect(w.bob, oauthtest.Bob)
	token, _, err := w.services.Access(t.Context(), w.ada.ID, "tracker", "")
	if err != nil {
		t.Fatal(err)
	}
	if revoked, err := w.services.Disconnect(t.Context(), w.ada, "TRACKER"); !revoked || err != nil {
		t.Errorf("revoked %v, %v", revoked, err)
	}
	if _, err := w.services.Disconnect(t.Context(), w.ada, "tracker"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(w.at.URL, "/mcp")+"/userinfo", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	if resp, err := oauthtest.NewBrowser(t).Do(req); err != nil || resp.StatusCode == http.StatusOK {
		t.Errorf("the token is still good: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	revoke := w.services.Leaving(t.Context(), w.bob.ID)
	if _, err := w.store.DeleteUser(t.Context(), w.bob.ID); err != nil {
		t.Fatal(err)
	}
	before := w.at.Hits("/revoke")
	if revoke(t.Context()); w.at.Hits("/revoke") != before+1 {
		t.Errorf("%d revocations of a deleted user, want 1", w.at.Hits("/revoke")-before)
	}
}

// TestAccess_otherAddress: a grant is for the address it was made at, even under the same name.
func TestAccess_otherAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	w.connect(w.ada, oauthtest.Ada)
	w.config.URL = "https://elsewhere.example/mcp"
	if _, _, err := w.process(w.store).Access(t.Context(), w.ada.ID, "tracker", ""); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestBegin_withoutRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{NoRegistration: true})
	if _, _, err := w.begin(w.ada); !errors.Is(err, service.ErrUnregistered) {
		t.Errorf("got %v, want ErrUnregistered", err)
	}
	w = newWorld(t, oauthtest.Options{NoRegistration: true}, func(s *service.Service) {
		s.ClientID, s.ClientSecret, s.Scopes = "by-hand", "hunter2", []string{"openid", "profile"}
	})
	w.at.Register("by-hand", "hunter2", page+service.BackPath)
	w.connect(w.ada, oauthtest.Ada)
	if token, _, err := w.services.Access(t.Context(), w.ada.ID, "tracker", ""); token == "" || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
}

func TestLink_onlyForThoseWhoMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{}, func(s *service.Service) {
		s.May = func(u core.User) bool { return u.Role == core.RoleOwner }
	})
	if _, _, err := w.services.Link(w.bob, "tracker"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if all, err := w.services.Of(t.Context(), w.bob); len(all) != 0 || err != nil {
		t.Errorf("services %+v, %v", all, err)
	}
}

// TestComplete_stateIsItsPersonsAndUsedOnce tries what an attacker could send back.
func TestComplete_stateIsItsPersonsAndUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	address, state, err := w.begin(w.ada)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := url.Parse(address)
	if q.Query().Get("code_challenge_method") != "S256" || q.Query().Get("resource") != w.at.URL || q.Query().Get("state") != state {
		t.Errorf("the address is %s", address)
	}
	a := w.answer(oauthtest.NewBrowser(t).Consent(w.at, address, oauthtest.Ada))
	_, other, err := w.begin(w.bob)
	if err != nil {
		t.Fatal(err)
	}
	swapped := a // the code of Ada's account with Bob's state: PKCE does not fit
	swapped.State = other
	if asked, err := w.services.Complete(t.Context(), swapped); !errors.Is(err, service.ErrAway) || asked.User.ID != w.bob.ID {
		t.Errorf("with the state of another person: %+v, %v", asked.User, err)
	}
	if len(w.user(w.bob).Services) != 0 {
		t.Error("Bob has Ada's account")
	}
	for what, bad := range map[string]service.Answer{"no state": {Code: a.Code}, "a wrong state": {State: "X" + a.State, Code: a.Code}} {
		if _, err := w.services.Complete(t.Context(), bad); !errors.Is(err, core.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, change := range map[string]func(a *service.Answer){
		"another issuer": func(a *service.Answer) { a.Issuer = "https://evil.example" },
		"a refusal":      func(a *service.Answer) { a.Code, a.Error = "", "access_denied" },
	} {
		_, state, err := w.begin(w.ada)
		if err != nil {
			t.Fatal(err)
		}
		bad := service.Answer{State: state, Code: "x"}
		change(&bad)
		want := map[bool]error{true: service.ErrDenied, false: service.ErrAway}[bad.Error != ""]
		if _, err := w.services.Complete(t.Context(), bad); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		if _, err := w.services.Complete(t.Context(), bad); !errors.Is(err, core.ErrRefused) {
			t.Errorf("%s, a second time: %v", what, err)
		}
	}
	address, _, err = w.begin(w.ada)
	if err != nil {
		t.Fatal(err)
	}
	a = w.answer(oauthtest.NewBrowser(t).Consent(w.at, address, oauthtest.Ada))
	w.later.Add(16 * 60)
	if _, err := w.services.Complete(t.Context(), a); !errors.Is(err, core.ErrRefused) {
		t.Errorf("too late: %v", err)
	}
	if len(w.user(w.ada).Services) != 0 {
		t.Error("Ada is connected")
	}
}

func TestBegin_linkIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oauthtest.Options{})
	code, stored, err := w.services.Link(w.ada, "tracker")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.PutCode(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	asked, err := w.services.Asked(t.Context(), code)
	if err != nil || asked.User.Name != "Ada" || asked.Service.Name != "tracker" {
		t.Errorf("asked %+v, %v", asked, err)
	}
	if _, _, _, err := w.services.Begin(t.Context(), code, page); err != nil {
		t.Error(err)
	}
	if _, _, _, err := w.services.Begin(t.Context(), code, page); !errors.Is(err, core.ErrRefused) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := w.services.Asked(t.Context(), code); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestBegin_metadataThatLies: nobody is sent anywhere, and no inner address is reached.
func TestBegin_metadataThatLies(t *testing.T) {
	t.Parallel()
	var inner atomic.Int32
	secretPlace := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	t.Cleanup(secretPlace.Close)
	set := func(key string, value any) func(m map[string]any) { return func(m map[string]any) { m[key] = value } }
	for name, lie := range map[string]func(m map[string]any){
		"another issuer":               set("issuer", "https://evil.example"),
		"no PKCE":                      func(m map[string]any) { delete(m, "code_challenge_methods_supported") },
		"plain PKCE":                   set("code_challenge_methods_supported", []string{"plain"}),
		"a script as a page":           set("authorization_endpoint", "javascript:alert(1)"),
		"an app as a page":             set("authorization_endpoint", "app://127.0.0.1/x"),
		"tokens without https":         set("token_endpoint", "http://evil.example/token"),
		"registration inside":          set("registration_endpoint", secretPlace.URL),
		"registration without https":   set("registration_endpoint", "http://evil.example/register"),
		"registration at the metadata": set("registration_endpoint", "https://169.254.169.254/latest"),
	} {
		w := newWorld(t, oauthtest.Options{Metadata: lie})
		if address, _, err := w.begin(w.ada); !errors.Is(err, service.ErrAway) {
			t.Errorf("%s: sent to %q, %v", name, address, err)
		}
	}
	if inner.Load() != 0 {
		t.Errorf("an inner address was reached %d times", inner.Load())
	}
}

// TestBegin_answersThatLie has the service itself answer strangely.
func TestBegin_answersThatLie(t *testing.T) {
	t.Parallel()
	var inner atomic.Int32
	secretPlace := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	t.Cleanup(secretPlace.Close)
	asJSON := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.ReplaceAll(text, "SELF", "http://"+r.Host)))
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"HTML":              func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello")) },
		"nothing":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"an endless body":   endless,
		"another resource":  asJSON(`{"resource":"https://other.example","authorization_servers":["SELF"]}`),
		"no server":         asJSON(`{"resource":"SELF/mcp"}`),
		"an inner server":   asJSON(`{"resource":"SELF/mcp","authorization_servers":["` + secretPlace.URL + `"]}`),
		"a server of files": asJSON(`{"resource":"SELF/mcp","authorization_servers":["file:///etc/passwd"]}`),
		"a redirect inside": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, secretPlace.URL, http.StatusFound)
		},
		"metadata inside": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+secretPlace.URL+`/x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar := httptest.NewServer(h)
			t.Cleanup(liar.Close)
			w := newWorld(t, oauthtest.Options{}, func(s *service.Service) { s.URL = liar.URL + "/mcp" })
			began := time.Now()
			if address, _, err := w.begin(w.ada); !errors.Is(err, service.ErrAway) {
				t.Errorf("sent to %q, %v", address, err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	t.Cleanup(func() {
		if inner.Load() != 0 {
			t.Errorf("an inner address was reached %d times", inner.Load())
		}
	})
}

// endless answers with JSON that does not end.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	text := strings.Repeat(" ", 64<<10)
	for {
		if _, err := w.Write([]byte(text)); err != nil {
			return
		}
	}
}

// TestBegin_hostsOfThePolicy: what the operator allows is what an authorization server elsewhere needs.
func TestBegin_hostsOfThePolicy(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t, oauthtest.Options{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"resource":"http://` + r.Host + `/mcp","authorization_servers":["` +
			strings.TrimSuffix(at.URL, "/mcp") + `"]}`))
	}))
	t.Cleanup(front.Close)
	w := newWorld(t, oauthtest.Options{}, func(s *service.Service) { s.URL = front.URL + "/mcp" })
	if _, _, err := w.begin(w.ada); !errors.Is(err, service.ErrAway) {
		t.Errorf("an authorization server inside: %v", err)
	}
	w.services = service.New(service.Options{Services: w.services.Services, Store: w.store, Life: time.Minute, Log: zap.NewNop(),
		Now: w.now, Rand: rand.Reader, Sealer: w.services.Sealer, Way: egress.New(egress.Options{AllowPrivate: true})})
	if _, _, err := w.begin(w.ada); err != nil {
		t.Errorf("with allow_private_urls: %v", err)
	}
}
