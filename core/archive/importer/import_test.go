package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/store/storetest"
	"github.com/everthread/everthread/core/text/day"
)

// world is a user with an empty history.
type world struct {
	t        testing.TB
	st       *sqlite.Store
	u        core.User
	media    string
	waits    int
	max      int64
	proposed []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	st := sqlitetest.Open(t, t.TempDir())
	a, err := recall.NewAnalyzer([]string{"en"})
	if err != nil {
		t.Fatal(err)
	}
	st.Analyze(a)
	u, err := st.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, st: st, u: u, media: t.TempDir(), max: 1 << 20}
}

func (w *world) calendar() day.Calendar {
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		w.t.Fatal(err)
	}
	return day.Calendar{Zone: zone, Finalize: 3 * time.Hour, Post: 8 * time.Hour}
}

func (w *world) label(t time.Time) string { return w.calendar().Day(w.u.Settings, t).Label }

func (w *world) importer(store importer.Store) *importer.Importer {
	return &importer.Importer{Store: store, Tokens: tokens.New(), User: w.u, Calendar: w.calendar(),
		Media: &importer.Media{Dir: w.media, Max: w.max}, Summaries: true, Now: func() time.Time { return now },
		Wait: func(context.Context, time.Duration) { w.waits++ }, Plans: everyOne{}, MaxReminders: 100, MaxTasks: 3,
		Standing: &standing.Standing{Store: w.st, Tokens: tokens.New(),
			Settings: standing.Settings{MaxActive: 10, MaxTokens: 200}}, Proposer: w}
}

// Propose records what the user is asked about.
func (w *world) Propose(_ context.Context, _ core.User, from string, effects ...core.Effect) (core.Identity, error) {
	for _, e := range effects {
		w.proposed = append(w.proposed, from+": "+e.(effect.ProposeInstruction).Text)
	}
	return core.Identity{ID: 1, Address: core.Address{Channel: "telegram"}}, nil
}

// bring imports an archive in which the user is called me.
func (w *world) bring(format, file, me string) importer.Result {
	w.t.Helper()
	a := open(w.t, file)
	o := paris(w.t)
	o.Me = me
	s, err := importer.NewSurvey(a, format, o, me, w.u.Name, w.label)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := w.importer(w.st).Run(w.t.Context(), a, format, o, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// said returns the messages of a thread in order of display.
func (w *world) said(thread core.ThreadID) string {
	w.t.Helper()
	ms, err := w.st.History(w.t.Context(), w.u.ID, thread, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, m := range ms {
		from := ""
		if m.ForwardedFrom != "" {
			from = ", from " + m.ForwardedFrom
		}
		out = append(out, fmt.Sprintf("%s %s%s: %s", m.Role, m.Kind, from, m.Text))
	}
	return strings.Join(out, "\n")
}

func TestImport_exportComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.bring("jsonl", "testdata/jsonl/export", "")
	storetest.Check(t, w.st.DB())
	if out.Fresh != 6 || out.Days != 2 || out.Files != 1 || len(out.Missing) != 1 || out.Summaries != 1 ||
		out.Items != 2 || out.Loops != 1 {
		t.Errorf("got %+v", out)
	}
	want := "user chat: [photo: the <mat>]\nassistant chat: The key is under it.\nsystem day_summary: ## Summary\nA key.\nuser chat: \nuser command: /thread Trip"
	if got := w.said(0); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	threads, err := w.st.Threads(t.Context(), w.u.ID, 10)
	if err != nil || len(threads) != 1 || threads[0].Title != "A trip to Rome" {
		t.Fatalf("threads %+v, %v", threads, err)
	}
	if got := w.said(threads[0].ID); got != "user chat: in the thread" {
		t.Errorf("thread: %s", got)
	}
	g, err := w.st.Day(t.Context(), w.u.ID, "2026-11-18")
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := w.st.Summaries(t.Context(), w.u.ID, g.ID, 10)
	if err != nil || len(summaries) != 1 {
		t.Fatalf("summaries %v, %v", summaries, err)
	}
	if got, want := summaries[0].Markdown,
		"## Summary\nA key.\n## Decisions\n- It is under the mat. [#2]\n- Elsewhere.\n- Both [#1]."; got != want {
		t.Errorf("summary %s", got)
	}
	items, err := w.st.Items(t.Context(), store.ItemQuery{User: w.u.ID, Limit: 10})
	if err != nil || len(items) != 2 {
		t.Fatalf("items %+v, %v", items, err)
	}
	for _, i := range items {
		if archived := i.Status == core.ItemArchived; i.Theme != "home" || archived != strings.Contains(i.Content, "lost") ||
			!archived && i.SourceMessage != 2 {
			t.Errorf("item %+v", i)
		}
	}
	revisions, err := w.st.Revisions(t.Context(), w.u.ID, 2)
	if err != nil || len(revisions) != 1 {
		t.Errorf("revisions %v, %v", revisions, err)
	}
	ms, err := w.st.Messages(t.Context(), w.u.ID, []core.MessageID{1})
	if err != nil || len(ms) != 1 {
		t.Fatalf("message %v, %v", ms, err)
	}
	if b, err := os.ReadFile(filepath.Join(w.media, ms[0].Attachments[0].Path)); err != nil || string(b) != "jpg!" {
		t.Errorf("file %q, %v", b, err)
	}
	before := storetest.Dump(t, w.st.DB())
	if again := w.bring("jsonl", "testdata/jsonl/export", ""); again.Fresh+again.Summaries+again.Items+again.Loops != 0 {
		t.Errorf("imported again: %+v", again)
	}
	if storetest.Dump(t, w.st.DB()) != before {
		t.Error("importing the same file again changed the store")
	}
}

func TestImport_everyFormatTwice(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{"telegram/one": 7, "telegram/all": 6, "whatsapp/ios": 7, "whatsapp/android": 5,
		"whatsapp/german": 4, "chatgpt/tree": 2, "claude/two": 4, "openclaw/branch": 2, "picoclaw/meta": 2,
		"picoclaw/whole": 2} {
		w := newWorld(t)
		format := filepath.Dir(file)
		if out := w.bring(format, "testdata/"+file, "ada"); out.Fresh != want {
			t.Errorf("%s: got %+v, want %d messages", file, out, want)
		}
		if out := w.bring(format, "testdata/"+file, "Ada"); out.Fresh != 0 || out.Known != want {
			t.Errorf("%s again: got %+v", file, out)
		}
	}
}

func TestSurvey_whoIsWho(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bring("whatsapp", "testdata/whatsapp/android", "Bob")
	want := "user chat, from Ada: Meet at 12:30 - or later?\nuser chat: [photo: the view]\nuser chat: [file]\nuser chat, from Cy: hello\nuser chat, from Ada: see https://example.org: nice"
	if got := w.said(0); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, me := range []string{"Nobody", ""} {
		_, err := importer.NewSurvey(open(t, "testdata/whatsapp/android"), "whatsapp", paris(t), me, "Zoe", w.label)
		if !errors.Is(err, importer.ErrMe) || !strings.Contains(err.Error(), "Ada, Bob, Cy") {
			t.Errorf("me %q: %v", me, err)
		}
	}
}

func TestImport_replyStaysWithItsQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	line := func(role, at, text string) string {
		b, err := json.Marshal(map[string]string{"role": role, "sent_at": at, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n"
	}
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	text := line("user", "2024-03-01T22:58:00Z", "late") + line("assistant", "2024-03-01T23:02:00Z", "reply") +
		line("assistant", "2024-03-04T12:00:00Z", "by itself")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.bring("jsonl", file, "")
	days, err := w.st.Days(t.Context(), w.u.ID, "", 10)
	if err != nil || len(days) != 2 || days[0].Day.Label != "2024-03-04" || days[1].Day.Label != "2024-03-01" ||
		days[1].Messages != 2 {
		t.Errorf("days %+v, %v", days, err)
	}
}

// flaky is a store whose imports fail after left batches, and find the store busy before each.
type flaky struct {
	*sqlite.Store
	left int
	busy bool
}

var errDown = errors.New("down")

func (f *flaky) Import(ctx context.Context, b store.ImportBatch) (store.Imported, error) {
	if f.busy = !f.busy; f.busy {
		return store.Imported{}, core.ErrChanged
	}
	if f.left--; f.left < 0 {
		return store.Imported{}, errDown
	}
	return f.Store.Import(ctx, b)
}

func TestImport_goesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := many(t, 2200)
	a, o := open(t, file), paris(t)
	s, err := importer.NewSurvey(a, "telegram", o, "", "Ada", w.label)
	if err != nil || s.Messages != 2200 {
		t.Fatalf("survey %+v, %v", s, err)
	}
	out, err := w.importer(&flaky{Store: w.st, left: 1}).Run(t.Context(), a, "telegram", o, s)
	if !errors.Is(err, errDown) || out.Fresh != 1000 || w.waits != 2 {
		t.Errorf("got %+v after %d waits, %v", out, w.waits, err)
	}
	if out := w.bring("telegram", file, ""); out.Fresh != 1200 || out.Known != 1000 {
		t.Errorf("run again: got %+v", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.importer(w.st).Run(ctx, a, "telegram", o, s); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestMedia_tooLargeFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.max = 10
	out := w.bring("telegram", "testdata/telegram/one", "")
	if out.Files != 0 || len(out.Missing) != 2 || !strings.Contains(out.Missing[0], "larger than 10 bytes") {
		t.Errorf("got %+v", out)
	}
	left, err := filepath.Glob(w.media + "/*/*")
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// many writes a Telegram export of n messages.
func many(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		from := []string{"user5", "user7"}[i%2]
		fmt.Fprintf(&b,
			`{"id":%d,"type":"message","date_unixtime":"%d","from":"x","from_id":"%s","text":"message number %d says something of the weather in town %d","text_entities":[]}`, i+1, 1_600_000_000+i*300, from, i, i%97)
	}
	b.WriteString("]}")
	file := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// BenchmarkImport reports how many messages a second are imported and indexed.
func BenchmarkImport(b *testing.B) {
	const n = 50_000
	file := many(b, n)
	for b.Loop() {
		w := newWorld(b)
		began := time.Now()
		w.bring("telegram", file, "")
		b.ReportMetric(n/time.Since(began).Seconds(), "messages/s")
	}
}

// everyOne admits every plan.
type everyOne struct{}

func (everyOne) Admit(core.Plan, time.Time) error { return nil }

// TestImport_ownWordsAreOwn checks that what the named owner of an archive wrote counts as the person's own words, and
// nothing else of the archive does.
func TestImport_ownWordsAreOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ me, want string }{
		"named":     {"Max Muster", "own: Hi Ana, [photo] from Ana"},
		"not named": {"", "own: "},
	} {
		w := newWorld(t)
		file := filepath.Join(t.TempDir(), "chat.txt")
		text := "[19.11.26, 08:10:00] Max Muster: Hi Ana\n[19.11.26, 08:11:00] Max Muster: [photo] from Ana\n"
		if c.me != "" {
			text += "[19.11.26, 08:12:00] Ana: Hello Max\n[19.11.26, 08:13:00] Ana: and again\n[19.11.26, 08:14:00] Ben: me too\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		w.bring("whatsapp", file, c.me)
		ms, err := w.st.History(t.Context(), w.u.ID, 0, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var own []string
		for _, m := range ms {
			if !m.Foreign() {
				own = append(own, m.Text)
			}
		}
		if got := "own: " + strings.Join(own, ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
