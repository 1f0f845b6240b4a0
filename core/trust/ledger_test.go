package trust_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// grants stores what processes were granted, as a store does.
type grants struct {
	mu      sync.Mutex
	rows    map[string]store.Grant
	has     map[string]int
	charged map[core.UserID]int
	bills   map[core.UserID]core.Bill
}

func (g *grants) Grant(_ context.Context, a store.Grant) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	others, key := 0, a.Day+a.Worker
	for k, r := range g.rows {
		if k != key && r.Day == a.Day && r.Until.After(a.Now) {
			others += g.has[k]
		} else if k != key && r.Day == a.Day {
			others += r.Used
		}
	}
	has := max(g.has[key], a.Used)
	has += max(0, min(a.Want, a.PerDay-others-has))
	g.rows[key], g.has[key] = a, has
	return has, nil
}

func (g *grants) Spend(_ context.Context, user core.UserID, _ string, spent core.Bill) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.charged[user] += spent.Total().Tokens()
	g.bills[user] = g.bills[user].And(spent)
	return nil
}

// words counts words as tokens.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// answers is a model that answers with n words and counts its calls.
type answers struct {
	n     int
	asked atomic.Int64
}

func (m *answers) Stream(context.Context, core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		m.asked.Add(1)
		time.Sleep(time.Millisecond) // others call concurrently
		yield(core.Delta{Text: strings.Repeat("x ", m.n), Finish: core.FinishStop,
			Usage: &core.Usage{Prompt: 6, Completion: m.n}}, nil)
	}
}

func (m *answers) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.asked.Add(int64(len(texts)))
	return make([][]float32, len(texts)), nil
}

func (m *answers) Transcribe(context.Context, core.Recording) (string, error) {
	m.asked.Add(1)
	return "four words of speech", nil
}

func (m *answers) Speak(context.Context, core.Speech) ([]byte, error) {
	m.asked.Add(1)
	return make([]byte, 2000), nil
}

func (g *grants) ReserveCall(_ context.Context, user core.UserID, _ string, n, limit int) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.charged[user]+n > limit {
		return false, nil
	}
	g.charged[user] += n
	return true, nil
}

func (g *grants) SettleCall(_ context.Context, user core.UserID, _ string, n int, spent core.Bill) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.charged[user] += spent.Total().Tokens() - n
	return nil
}

// TestLedger_dayBoundsEveryCall checks that the budget also applies to embeddings,
// transcription and speech.
func TestLedger_dayBoundsEveryCall(t *testing.T) {
	t.Parallel()
	g, m := newGrants(), &answers{}
	l := ledger(g, "p", 0, noon)
	l.PerUser = core.DailyTokens{Person: 100, Group: 50}
	text := strings.TrimSpace(strings.Repeat("word ", 60))
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := l.Embedder(m, "vectors", 7).Embed(t.Context(), []string{text}); err != nil {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if refused.Load() != 199 || g.charged[7] != 60 {
		t.Errorf("%d of 200 calls were refused, charged %v", refused.Load(), g.charged)
	}
	if _, err := l.Transcriber(m, "ears").Transcribe(t.Context(),
		core.Recording{User: 7, Data: make([]byte, 20_000)}); err == nil || !strings.Contains(err.Error(), "tokens_per_day") {
		t.Errorf("a recording: %v", err)
	}
	if _, err := l.Speaker(m, "voice").Speak(t.Context(), core.Speech{User: 7, Text: strings.Repeat("word ", 100)}); err == nil ||
		!strings.Contains(err.Error(), "tokens_per_day") {
		t.Errorf("an answer to be spoken: %v", err)
	}
	if _, err := l.Embedder(m, "vectors", 8).Embed(t.Context(), []string{text}); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := l.Embedder(m, "vectors", group).Embed(t.Context(), []string{text}); err == nil || g.charged[group] != 0 {
		t.Errorf("a group has the budget of a person: %v", g.charged)
	}
	l.PerUser.Group = 0
	if _, err := l.Embedder(m, "vectors", group).Embed(t.Context(), []string{text}); err != nil || g.charged[group] != 0 {
		t.Errorf("a group without a limit: %v, %v", err, g.charged)
	}
}

// group is the user of a group chat.
const group = 9

func newGrants() *grants {
	return &grants{rows: map[string]store.Grant{}, has: map[string]int{}, charged: map[core.UserID]int{}, bills: map[core.UserID]core.Bill{}}
}

func ledger(g *grants, worker string, perDay int, now func() time.Time) *trust.Ledger {
	return &trust.Ledger{Store: g, PerDay: perDay, Worker: worker, Lease: time.Minute, Tokens: words{}, MaxOutput: 50,
		Log: zap.NewNop(), Now: now, Day: func(_ context.Context, user core.UserID) (core.User, core.Day, error) {
			u := core.User{ID: user}
			if user == group {
				u.Role = core.RoleGroup
			}
			return u, core.Day{Label: "2026-11-19", End: noon().Add(12 * time.Hour)}, nil
		}}
}

func noon() time.Time { return time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC) }

// TestLedger_parallelCallsKeepToTheCap makes 200 concurrent calls from four processes.
func TestLedger_parallelCallsKeepToTheCap(t *testing.T) {
	t.Parallel()
	g, m := newGrants(), &answers{n: 40}
	var wg sync.WaitGroup
	var took, refused atomic.Int64
	for p := range 4 {
		model := ledger(g, fmt.Sprint("p", p), 2_000, noon).Model(m)
		for range 50 {
			wg.Go(func() {
				for d, err := range model.Stream(t.Context(),
					core.ModelRequest{Messages: []core.ModelMessage{{Content: "one two"}}}) {
					var busy *core.ModelError
					if err != nil && (!errors.As(err, &busy) || busy.Kind != core.ModelBusy ||
						!strings.Contains(err.Error(), "00:00 UTC")) {
						t.Errorf("got %v", err)
					}
					if err != nil {
						refused.Add(1)
						continue
					}
					took.Add(int64(d.Usage.Prompt + d.Usage.Completion))
				}
			})
		}
	}
	wg.Wait()
	if took.Load() > 2_000 || took.Load() < 1_000 || refused.Load() == 0 || m.asked.Load()+refused.Load() != 200 {
		t.Errorf("%d tokens of 2,000 were used by %d calls, %d were refused", took.Load(), m.asked.Load(), refused.Load())
	}
}

func TestLedger_dayBeginsAnew(t *testing.T) {
	t.Parallel()
	g, m, now := newGrants(), &answers{n: 10}, noon()
	l := ledger(g, "p", 100, func() time.Time { return now })
	e := l.Embedder(m, "vectors", 7)
	text := strings.TrimSpace(strings.Repeat("word ", 60))
	if _, err := e.Embed(t.Context(), []string{text}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if until := l.Closed(t.Context(), 60); !until.Equal(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("closed until %s", until)
	}
	if _, err := e.Embed(t.Context(), []string{text}); err == nil || m.asked.Load() != 1 {
		t.Errorf("a second time: %v", err)
	}
	if until := l.Closed(t.Context(), 30); !until.IsZero() {
		t.Errorf("30 are left: closed until %s", until)
	}
	now = now.Add(12 * time.Hour)
	if _, err := e.Embed(t.Context(), []string{text}); err != nil {
		t.Errorf("tomorrow: %v", err)
	}
	l.Close(t.Context())
	if g.charged[7] != 120 {
		t.Errorf("charged %v", g.charged)
	}
}

func TestLedger_recordingsAreChargedToTheirUser(t *testing.T) {
	t.Parallel()
	g, m := newGrants(), &answers{}
	l := ledger(g, "p", 0, noon)
	said, err := l.Transcriber(m, "ears").Transcribe(t.Context(), core.Recording{User: 3, Data: make([]byte, 2000),
		Duration: 1200 * time.Millisecond})
	if err != nil || said != "four words of speech" {
		t.Fatal(said, err)
	}
	l.Close(t.Context())
	if g.charged[3] != 11+4 {
		t.Errorf("charged %v", g.charged)
	}
	if _, err := l.Speaker(m, "voice").Speak(t.Context(), core.Speech{User: 4, Text: "four words of speech"}); err != nil {
		t.Fatal(err)
	}
	l.Close(t.Context())
	if g.charged[4] != 4+11 {
		t.Errorf("speech: charged %v", g.charged)
	}
	for user, want := range map[core.UserID]core.Spent{
		3: {Model: "ears", Purpose: core.ForHeard, Calls: 1, Usage: core.Usage{Prompt: 11, Completion: 4}, Amount: 2},
		4: {Model: "voice", Purpose: core.ForSpoken, Calls: 1, Usage: core.Usage{Prompt: 4, Completion: 11}, Amount: 20},
	} {
		if got := g.bills[user]; !slices.Equal(got, core.Bill{want}) {
			t.Errorf("user %d: got %+v, want %+v", user, got, want)
		}
	}
	if l.Embedder(nil, "x", 1) != nil || l.Transcriber(nil, "x") != nil || l.Speaker(nil, "x") != nil {
		t.Error("a missing provider was wrapped")
	}
}
