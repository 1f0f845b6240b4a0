package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server with real recall and memory over a real store.
type world struct {
	*sqlite.Store
	t      *testing.T
	server *mcp.Server
	http   *httptest.Server
	now    time.Time
	ada    core.User
	eve    core.User
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := sqlitetest.Open(t, t.TempDir())
	analyzer, err := recall.NewAnalyzer([]string{"en"})
	check(t, err)
	s.Analyze(analyzer)
	w := &world{Store: s, t: t, now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	search := &recall.Searcher{Store: s, Days: s, Analyzer: analyzer, Tokens: tokens.New(),
		Settings: recall.Default(), Log: zap.NewNop()}
	tools := append(recall.Tools(search, nil), (&items.Memory{Store: s, Signals: search}).Tools()...)
	tools = append(tools, other{})
	clock := func() time.Time { return w.now }
	w.server, err = mcp.New(mcp.Options{Tools: tools, Actor: w, Days: s,
		Guard:     client.NewGuard(client.GuardOptions{Store: s, Log: zap.NewNop(), Now: clock}),
		PublicURL: "https://chat.example.org",
		Version:   "1.2.3", Zone: time.UTC, Log: zap.NewNop(), Now: clock})
	check(t, err)
	mux := http.NewServeMux()
	mux.Handle(mcp.Path, w.server.Handler())
	w.http = httptest.NewServer(mux)
	t.Cleanup(w.http.Close)
	w.ada = w.person("Ada", core.RoleOwner, "The dinghy is called Kestrel.")
	w.eve = w.person("Eve", core.RoleMember, "The parrot is called Captain.")
	return w
}

// other is a tool that programs must not use.
type other struct{}

func (other) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "reminder_set", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (other) Use(context.Context, core.ToolUse) (core.ToolResult, error) {
	return core.ToolResult{Text: "no"}, nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Act applies effects.
func (w *world) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error) {
	return w.Note(ctx, store.Note{User: user, Effects: effects, Now: w.now})
}

// person is a user with a message.
func (w *world) person(name string, role core.UserRole, said string) core.User {
	w.t.Helper()
	u, err := w.AddUser(context.Background(), core.User{Name: name, Role: role, CreatedAt: w.now,
		Settings: core.Settings{Zone: "Europe/Paris"}})
	check(w.t, err)
	i, err := w.AddIdentity(context.Background(), core.Identity{User: u.ID, Address: core.Address{Channel: "telegram",
		Account: "1", External: name}})
	check(w.t, err)
	w.say(i, w.now, said)
	return u
}

func (w *world) say(i core.Identity, at time.Time, said string) {
	w.t.Helper()
	start := at.Truncate(24 * time.Hour)
	day := core.Day{Label: at.Format(time.DateOnly), Zone: "Europe/Paris", Start: start, End: start.Add(24 * time.Hour),
		Finalize: start.Add(27 * time.Hour), Post: start.Add(32 * time.Hour)}
	id := fmt.Sprint(at.UnixNano())
	_, err := w.Append(context.Background(), store.Append{User: i.User, Identity: i.ID, Now: at,
		Events: []core.Inbound{{Address: i.Address, EventID: i.Address.External + id, NativeID: id, Kind: core.InMessage,
			Text: said, SentAt: at}}, Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: said,
			Tokens: 7, SentAt: at, Day: day}}})
	check(w.t, err)
}

func (w *world) key(u core.User, scopes ...string) string {
	w.t.Helper()
	k, secret, err := client.NewKey(rand.Reader, u, "test", scopes, w.now)
	check(w.t, err)
	_, err = w.AddAPIKey(context.Background(), k)
	check(w.t, err)
	return secret
}

// bearer adds a key to requests.
type bearer struct {
	key  string
	base *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.base.RoundTrip(r)
}

// connect returns a client of the official library over HTTP.
func (w *world) connect(key string) *sdk.ClientSession {
	w.t.Helper()
	base := &http.Transport{}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: w.http.URL + mcp.Path,
		HTTPClient: &http.Client{Transport: bearer{key, base}}, DisableStandaloneSSE: true}, nil)
	check(w.t, err)
	w.t.Cleanup(func() { _ = s.Close(); base.CloseIdleConnections() })
	return s
}

// stdio returns a client of the official library over pipes.
func (w *world) stdio(u core.User) *sdk.ClientSession {
	w.t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- w.server.Stdio(context.Background(), u, toServer, fromServer) }()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	check(w.t, err)
	w.t.Cleanup(func() {
		_ = s.Close()
		_ = fromClient.Close()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	return s
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// post sends a request unchanged.
func (w *world) post(key string, header ...string) *http.Response {
	w.t.Helper()
	return w.send("POST", ping, key, header...)
}

func (w *world) send(method, body, key string, header ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequest(method, w.http.URL+mcp.Path, strings.NewReader(body))
	check(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+key)
	for n := 0; n < len(header); n += 2 {
		if header[n] == "Host" {
			r.Host = header[n+1]
		}
		r.Header.Set(header[n], header[n+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	check(w.t, err)
	_, err = io.Copy(io.Discard, res.Body)
	check(w.t, err)
	check(w.t, res.Body.Close())
	return res
}

// closed is a buffer with an end.
type closed struct{ io.Writer }

func (closed) Close() error { return nil }
