package openai_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server with one user and a key, over a real store. It stores messages and
// returns prepared answers.
type world struct {
	*sqlite.Store
	t      testing.TB
	server *httptest.Server
	user   core.User
	key    string
	keyID  int64

	mu       sync.Mutex
	asked    [][]core.Inbound
	answers  map[string]live.Answer // by event
	next     func(ctx context.Context, in []core.Inbound, onText func(string)) (live.Answer, error)
	directly []core.ModelRequest
	direct   func(req core.ModelRequest) (core.Delta, error)
	kept     []core.File
	over     time.Time      // until when no tokens are available
	took     core.Usage     // charged usage
	timeline []core.Message // in place of the stored one
}

func newWorld(t testing.TB, change ...func(*openai.Options)) *world {
	t.Helper()
	s := sqlitetest.Open(t, t.TempDir())
	w := &world{Store: s, t: t, answers: map[string]live.Answer{}}
	var err error
	w.user, err = s.AddUser(context.Background(), core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: time.Now()})
	check(t, err)
	w.key, w.keyID = w.newKey(w.user, "chat")
	o := openai.Options{Guard: client.NewGuard(client.GuardOptions{Store: s, Log: zap.NewNop(), Now: time.Now}), Asker: w,
		Director: w, Keeper: w, Store: w, Tokens: tokens.New(), Log: zap.NewNop(), Now: time.Now}
	for _, f := range change {
		f(&o)
	}
	mux := http.NewServeMux()
	for pattern, h := range openai.New(o).Routes() {
		mux.Handle(pattern, h)
	}
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) newKey(u core.User, scopes ...string) (string, int64) {
	w.t.Helper()
	k, secret, err := client.NewKey(rand.Reader, u, "test", scopes, time.Now())
	check(w.t, err)
	k, err = w.AddAPIKey(context.Background(), k)
	check(w.t, err)
	return secret, k.ID
}

// Ask stores messages and answers. A repeat gets the same answer.
func (w *world) Ask(ctx context.Context, in []core.Inbound, onText func(string)) (live.Answer, error) {
	last := in[len(in)-1]
	i, _, err := w.Identify(ctx, last.Address)
	if err != nil {
		return live.Answer{}, err
	}
	a := store.Append{User: i.User, Identity: i.ID, Events: in, Now: time.Now(), Thread: last.Thread}
	day := core.Day{Label: "2026-11-21", Zone: "UTC", Start: time.Now(), End: time.Now().Add(time.Hour)}
	for _, e := range in {
		m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: e.Text, SentAt: e.SentAt, Day: day, Solo: e.Solo,
			Attachments: e.Attachments}
		if e.ToolCallID != "" {
			m.Role, m.ToolCallID = core.RoleTool, e.ToolCallID
		}
		a.Messages = append(a.Messages, m)
	}
	out, err := w.Append(ctx, a)
	if err != nil {
		return live.Answer{}, err
	}
	w.mu.Lock()
	next := w.next
	if out.Duplicates > 0 {
		defer w.mu.Unlock()
		return w.answers[last.EventID], nil
	}
	w.asked = append(w.asked, in)
	w.mu.Unlock()
	if next == nil {
		next = func(_ context.Context, in []core.Inbound, _ func(string)) (live.Answer, error) {
			return said("You said: " + in[len(in)-1].Text), nil
		}
	}
	answer, err := next(ctx, in, onText)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[last.EventID] = answer
	return answer, err
}

func said(text string) live.Answer {
	return live.Answer{Turn: core.Turn{ID: 5}, Message: core.Message{ID: 9, Role: core.RoleAssistant, Text: text,
		SentAt: time.Unix(1_800_000_000, 0)},
		Snapshot: &store.Snapshot{Usage: core.Usage{Prompt: 120, Cached: 100, Completion: 7}, Finish: core.FinishStop}}
}

// Afford grants everything, unless the test sets over.
func (w *world) Afford(context.Context, core.UserID, int) (func(core.Bill) error, error) {
	if !w.over.IsZero() {
		return nil, &live.OverBudget{Until: w.over}
	}
	return func(spent core.Bill) error { w.took = w.took.Add(spent.Total()); return nil }, nil
}

func (w *world) Direct(_ context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if user != w.user.ID || req.User != w.user.ID {
		w.t.Errorf("the model is asked for user %d", user)
	}
	w.directly = append(w.directly, req)
	if w.direct != nil {
		return w.direct(req)
	}
	return core.Delta{Text: `{"title": "Boats"}`, Finish: core.FinishStop, Usage: &core.Usage{Prompt: 30, Completion: 4}},
		nil
}

func (w *world) Keep(_ context.Context, user core.UserID, f core.File) (core.Attachment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, f)
	kind := "photo"
	if f.Name != "" {
		kind = "document"
	}
	return core.Attachment{Kind: kind, Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Path: "1/a"}, nil
}

func (w *world) Timeline(ctx context.Context, q store.TimelineQuery) ([]core.Message, bool, error) {
	if w.timeline != nil && q.User == w.user.ID {
		return w.timeline, false, nil
	}
	return w.Store.Timeline(ctx, q)
}

// questions returns the received messages.
func (w *world) questions() [][]core.Inbound {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// call sends a request with the world's key.
func (w *world) call(method, path, body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, w.server.URL+path, strings.NewReader(body))
	check(w.t, err)
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	check(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	check(w.t, err)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return res, string(text)
}

func (w *world) chat(body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	return w.call("POST", "/v1/chat/completions", body, header...)
}

// ok returns the answer to a request that must succeed.
func (w *world) ok(body string, header ...string) map[string]any {
	w.t.Helper()
	res, text := w.chat(body, header...)
	if res.StatusCode != 200 {
		w.t.Fatalf("%s: %d %s", body, res.StatusCode, text)
	}
	var out map[string]any
	check(w.t, json.Unmarshal([]byte(text), &out))
	return out
}

// content returns the text of an answer.
func content(t testing.TB, out map[string]any) string {
	t.Helper()
	message := out["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)
	s, _ := message["content"].(string)
	return s
}

// told returns the error in an answer.
type told struct {
	Message, Type, Code, Param string
}

func readError(t testing.TB, text string) told {
	t.Helper()
	var out struct{ Error told }
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&out); err != nil || out.Error.Message == "" || out.Error.Type == "" {
		t.Errorf("no error in OpenAI's shape: %s", text)
	}
	return out.Error
}
