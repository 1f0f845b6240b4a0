package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server with real recall and memory over a real store. Messages are only
// stored.
type world struct {
	*sqlite.Store
	t      testing.TB
	server *httptest.Server
	now    time.Time
	ada    person
	eve    person
	seen   *seen // answers so far; nil: not recorded

	mu       sync.Mutex
	asked    []core.Inbound
	proposed []string
	fail     error
	cut      bool // answers are like those to commands
}

// person is a user with a key for everything.
type person struct {
	core.User
	key     string
	message core.MessageID // the person's message
	reply   core.MessageID
	segment core.SegmentID
	turn    core.TurnID
	item    core.ItemID
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := sqlitetest.Open(t, t.TempDir())
	w := &world{Store: s, t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	analyzer, err := recall.NewAnalyzer([]string{"en"})
	check(t, err)
	s.Analyze(analyzer)
	search := &recall.Searcher{Store: s, Days: s, Analyzer: analyzer, Tokens: tokens.New(),
		Settings: recall.Default(), Log: zap.NewNop()}
	clock := func() time.Time { return w.now }
	c := api.New(api.Options{Guard: client.NewGuard(client.GuardOptions{Store: s, Log: zap.NewNop(), Now: clock}),
		Asker: w, Actor: w, Proposer: w, Names: recall.UserNames(s), Zone: time.UTC, Log: zap.NewNop(),
		Store: s, Searcher: search, Memory: &items.Memory{Store: s, Signals: search}, Now: clock,
		Standing: &standing.Standing{Store: s, Tokens: tokens.New(),
			Settings: standing.Settings{MaxActive: 3, MaxTokens: 200}}})
	mux := http.NewServeMux()
	for pattern, h := range c.Routes() {
		mux.Handle(pattern, h)
	}
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	w.ada = w.person("Ada", core.RoleOwner, "The dinghy is called Kestrel.")
	w.eve = w.person("Eve", core.RoleMember, "The parrot is called Captain.")
	return w
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// person returns a user with a message, an answer and a memory item.
func (w *world) person(name string, role core.UserRole, said string) person {
	w.t.Helper()
	ctx := context.Background()
	u, err := w.AddUser(ctx, core.User{Name: name, Role: role, CreatedAt: w.now,
		Settings: core.Settings{Zone: "Europe/Paris"}})
	check(w.t, err)
	p := person{User: u, key: w.newKey(u, "chat", "read", "memory")}
	i, err := w.AddIdentity(ctx, core.Identity{User: u.ID, Address: core.Address{Channel: "telegram",
		Account: "1", External: name}})
	check(w.t, err)
	p.message, p.reply, p.turn = w.say(i, w.now, said, "Noted: "+said)
	g, err := w.Day(ctx, u.ID, "2026-11-21")
	check(w.t, err)
	p.segment = g.ID
	w.summarize(g, p)
	m := &items.Memory{Store: w.Store}
	a, err := m.Add(ctx, core.Item{User: u.ID, Content: said, Type: core.ItemFact, Theme: "Boats & birds",
		Tags: []string{"name"}, SourceMessage: p.message, SourceThread: g.Thread}, w.now)
	check(w.t, err)
	_, err = w.Act(ctx, u.ID, effect.Taint(*a.Effect))
	check(w.t, err)
	p.item = a.Item.ID
	return p
}

// say stores a message and its answer, which may have steps before it.
func (w *world) say(i core.Identity, at time.Time, said, answer string,
	steps ...core.NewMessage) (core.MessageID, core.MessageID, core.TurnID) {
	w.t.Helper()
	ctx := context.Background()
	start := at.Truncate(24 * time.Hour)
	day := core.Day{Label: at.Format(time.DateOnly), Zone: "Europe/Paris", Start: start, End: start.Add(24 * time.Hour),
		Finalize: start.Add(27 * time.Hour), Post: start.Add(32 * time.Hour)}
	id := fmt.Sprintf("%d-%d", i.User, at.UnixNano())
	out, err := w.Append(ctx, store.Append{User: i.User, Identity: i.ID, Now: at, RunAt: at,
		Events: []core.Inbound{{Address: i.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: said, SentAt: at,
			ReceivedAt: at}}, Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: said, Tokens: 7,
			SentAt: at, Day: day}},
		Claim: &store.Claim{Worker: "w", Now: at, Until: at.Add(time.Minute)}})
	check(w.t, err)
	snapshot := &store.Snapshot{Session: 1, Trace: strings.Repeat("ab", 16),
		Reduced: []core.Reduction{core.ReducedRoles}, Strategy: "continuous", Epoch: out.Turn.ID, NewEpoch: "first",
		Messages: core.NewIDSet(out.Messages...), Revisions: map[core.MessageID]int{out.Messages[0]: 1},
		Parts: []store.PartTokens{{Name: "instructions", Tokens: 9}, {Name: "memory", Error: "away"}}, ClientTokens: 3,
		Total: 90, Cap: 6150, Model: "demo", Usage: core.Usage{Prompt: 90, Completion: 5}, Steps: 1, Finish: core.FinishStop}
	done, err := w.Commit(ctx, store.Reply{Turn: out.Turn, State: core.TurnDone, Now: at,
		Day: day.Label, Snapshot: snapshot, Epoch: &store.Epoch{ID: out.Turn.ID, StartedAt: at, Strategy: "continuous"},
		Messages: append(steps, core.NewMessage{Role: core.RoleAssistant, Kind: core.KindChat, Text: answer, Tokens: 7,
			SentAt: at.Add(time.Second), Tainted: true, Unfinished: core.FinishLength})}, nil)
	check(w.t, err)
	return out.Messages[0], done.Messages[len(done.Messages)-1], out.Turn.ID
}

// summarize stores a summary of a day.
func (w *world) summarize(g core.Segment, p person) {
	w.t.Helper()
	ctx := context.Background()
	check(w.t, func() error {
		_, err := w.Act(ctx, g.User, effect.Summarize{Segment: g.ID, At: w.now})
		return err
	}())
	refs, _, err := w.Due(ctx, []string{core.QueueSummarize}, w.now, 10, store.Share{})
	check(w.t, err)
	for _, ref := range refs {
		j, err := w.Claim(ctx, ref, store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)})
		check(w.t, err)
		g, err := w.Segment(ctx, g.User, g.ID)
		check(w.t, err)
		check(w.t, w.PutSummary(ctx, store.PutSummary{Lease: j.Lease, ReadTo: p.reply, Edits: g.Edits,
			Now: w.now, Day: g.Day.Label, Summary: core.Summary{User: g.User, Segment: g.ID, Label: g.Day.Label,
				Markdown: "## Summary\n\n" + p.Name +
					" named something.", Tokens: 9, Covers: core.NewIDSet(p.message, p.reply), Model: "demo", CreatedAt: w.now},
			Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: "A summary.", SentAt: w.now}}))
	}
}

func (w *world) newKey(u core.User, scopes ...string) string {
	w.t.Helper()
	k, secret, err := client.NewKey(rand.Reader, u, "test", scopes, w.now)
	check(w.t, err)
	_, err = w.AddAPIKey(context.Background(), k)
	check(w.t, err)
	return secret
}

// Act applies effects.
func (w *world) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error) {
	return w.Note(ctx, store.Note{User: user, Effects: effects, Now: w.now})
}

// Propose records the question, and asks on telegram.
func (w *world) Propose(ctx context.Context, u core.User, from string, effects ...core.Effect) (core.Identity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range effects {
		w.proposed = append(w.proposed, from+": "+e.(effect.ProposeInstruction).Text)
	}
	ids, err := w.Identities(ctx, u.ID)
	n := slices.IndexFunc(ids, func(i core.Identity) bool { return i.Address.Channel == "telegram" })
	if err != nil || n < 0 {
		return core.Identity{}, err
	}
	return ids[n], nil
}

// Ask records the messages and answers.
func (w *world) Ask(ctx context.Context, in []core.Inbound, _ func(string)) (live.Answer, error) {
	i, _, err := w.Identify(ctx, in[0].Address)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, in...)
	if err == nil {
		err = w.fail
	}
	a := live.Answer{User: i.User, Turn: core.Turn{ID: 3}, Message: core.Message{ID: 4, Text: "You said: " + in[0].Text,
		Attachments: []core.Attachment{{Kind: "photo", Name: "a.png"}}, Unfinished: core.FinishCut}}
	if w.cut {
		a.Turn.ID, a.Message.Unfinished = 0, ""
	}
	return a, err
}

// call sends a request of a person.
func (w *world) call(p person, method, path, body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.server.URL+path, strings.NewReader(body))
	check(w.t, err)
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	check(w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	check(w.t, err)
	if w.seen != nil {
		w.seen.take(method, r.URL.Path, res.StatusCode, res.Header.Get("Content-Type"), text)
	}
	return res, string(text)
}

// get returns the answer to a request that must succeed.
func (w *world) get(p person, status int, method, path, body string, header ...string) map[string]any {
	w.t.Helper()
	res, text := w.call(p, method, path, body, header...)
	if res.StatusCode != status {
		w.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	var out map[string]any
	check(w.t, json.Unmarshal([]byte(text), &out))
	return out
}

// refused checks that a request is refused with a status and a text.
func (w *world) refused(p person, status int, want, method, path, body string, header ...string) {
	w.t.Helper()
	res, text := w.call(p, method, path, body, header...)
	var out struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || res.StatusCode != status || out.Error.Code == "" ||
		!strings.Contains(out.Error.Message, want) || strings.HasSuffix(out.Error.Message, "..") {
		w.t.Errorf("%s %s %s: %d %s, want %d %q", method, path, body, res.StatusCode, text, status, want)
	}
}
