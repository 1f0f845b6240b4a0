package gateway_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMain(m *testing.M) {
	fulltest.Waits()
	goleak.VerifyTestMain(m)
}

// world is a gateway over an embedded store, with a channel and a model that the test controls.
type world struct {
	t     *testing.T
	store *sqlite.Store
	line  *line
	brain *brain
	gw    *gateway.Gateway
	stop  func()
	n     int
}

func newWorld(t *testing.T, change func(*gateway.Options)) *world {
	t.Helper()
	s := sqlitetest.Open(t, t.TempDir())
	w := &world{t: t, store: s, line: newLine(), brain: &brain{store: s.Messages}}
	p := w.people()
	u, err := p.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: time.Now()})
	must(t, err)
	_, err = p.AddIdentity(t.Context(), core.Identity{User: u.ID, Address: w.address(), LastUsed: time.Now()})
	must(t, err)
	w.start(change)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) people() *people.People {
	return &people.People{Store: w.store, Log: zap.NewNop(), Now: time.Now, Rand: rand.Reader,
		Settings: people.Settings{Policy: people.Pairing, CodeLife: time.Hour, MaxCodes: 3},
		Channels: plain{}}
}

func (w *world) start(change func(*gateway.Options)) {
	o := gateway.Options{Store: w.store, Wakes: w.store, Jobs: worker(w.store), Files: noFiles{}, People: w.people(),
		Commands: noCommands{}, Prompts: w.brain, Agent: w.brain, Tasks: chores{},
		Calendar: day.Calendar{Finalize: 3 * time.Hour,
			Post: 8 * time.Hour}, Limiter: gateway.NewMemoryLimiter(),
		Tokens: byLength{}, Channels: gateway.NewChannels(w.line), Slots: make(job.Slots, 8),
		Settings: gateway.Settings{GiveUpAfter: time.Second, Poll: 50 * time.Millisecond, Language: "en"},
		Log:      zap.NewNop(), Now: time.Now, Rand: mrand.New(mrand.NewPCG(1, 2))}
	if change != nil {
		change(&o)
	}
	w.gw = gateway.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.gw.Run(ctx, time.Second) }()
	w.stop = sync.OnceFunc(func() { cancel(); must(w.t, <-done) })
}

// noFiles is a store without attachments.
type noFiles struct{}

func (noFiles) Read(string) ([]byte, error) { return nil, os.ErrNotExist }
func (noFiles) Remove([]string) error       { return nil }

// worker returns a worker of a process that never yields.
func worker(s job.Store) *job.Worker {
	return &job.Worker{Store: s, Name: "test", Lease: 2 * time.Second, Now: time.Now, Rand: func() float64 { return 0 },
		Log: zap.NewNop()}
}

func (w *world) address() core.Address {
	return core.Address{Channel: "line", Account: "1", External: "7"}
}

// say receives a message of Ada and returns its event.
func (w *world) say(text string) core.Inbound {
	w.n++
	in := core.Inbound{Address: w.address(), EventID: fmt.Sprint(w.n), NativeID: fmt.Sprint(w.n), Kind: core.InMessage,
		Text: text, SentAt: time.Now()}
	w.receive(in)
	return in
}

func (w *world) receive(in ...core.Inbound) {
	w.t.Helper()
	must(w.t, w.gw.Receive(w.t.Context(), in...))
}

// sent waits for the n-th part that was sent, and returns its text.
func (w *world) sent(n int) string {
	w.t.Helper()
	return w.line.wait(w.t, n)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// line is a channel whose service the test controls.
type line struct {
	mu    sync.Mutex
	parts []core.Part
	fail  []error       // for the next sends, in order
	most  int           // bytes in a part; 0: no limit
	rate  float64       // messages a second; 0: no limit
	page  bool          // nothing is sent there, and devices are notified instead
	held  chan struct{} // sends wait until it is closed, unless it is nil
	more  chan struct{}
}

func newLine() *line { return &line{more: make(chan struct{}, 100)} }

func (l *line) Name() string                                   { return "line" }
func (l *line) Run(ctx context.Context, _ core.Receiver) error { <-ctx.Done(); return nil }
func (l *line) Capabilities() core.Capabilities {
	l.mu.Lock()
	defer l.mu.Unlock()
	return core.Capabilities{Push: !l.page, Rings: l.page, MaxText: l.most, RatePerChat: l.rate}
}

// limit bounds the bytes of later parts.
func (l *line) limit(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = most
}

// plain returns the same properties for every channel, without a limit.
type plain struct{}

func (plain) Capabilities(string) core.Capabilities { return core.Capabilities{} }

func (l *line) Send(_ context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		<-held
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fail) > 0 {
		err := l.fail[0]
		l.fail = l.fail[1:]
		if err != nil {
			return core.Receipt{}, err
		}
	}
	l.parts = append(l.parts, p)
	l.more <- struct{}{}
	return core.Receipt{NativeID: fmt.Sprintf("out%d", len(l.parts))}, nil
}

func (l *line) failNext(errs ...error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = append(l.fail, errs...)
}

// failures returns the number of sends that are still to fail.
func (l *line) failures() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.fail)
}

func (l *line) wait(t *testing.T, n int) string {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		if len(l.parts) >= n {
			defer l.mu.Unlock()
			return l.parts[n-1].Text
		}
		l.mu.Unlock()
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("part %d was not sent", n)
		}
	}
}

func (l *line) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.parts)
}

// brain builds prompts and is the model: script makes the answer from the texts of the turn's
// inputs.
type brain struct {
	mu     sync.Mutex
	store  func(context.Context, core.UserID, []core.MessageID) ([]core.Message, error)
	script func(ctx context.Context, inputs string, on core.Progress) (string, error)
	calls  int
	// Prompts in the order in which they were answered.
	prompts []store.Prompt
	// effects and question are part of every answer.
	effects  []core.Effect
	question *core.Question
	finish   core.Finish
	files    []core.Attachment // of every prompt
}

// called waits until the model has been called n times.
func (b *brain) called(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		calls := b.calls
		b.mu.Unlock()
		if calls >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the model was called %d times, want %d", calls, n)
		}
	}
}

func (b *brain) Prompt(_ context.Context, t *core.Turn, _ core.User, _ time.Time) (store.Prompt, error) {
	return store.Prompt{Sources: t.Inputs, Files: b.files}, nil
}

func (b *brain) Answer(ctx context.Context, t *core.Turn, _ core.User, p store.Prompt,
	on core.Progress) (core.Answer, error) {
	ms, err := b.store(ctx, t.User, t.Inputs)
	if err != nil {
		return core.Answer{}, err
	}
	var texts []string
	for _, m := range ms {
		texts = append(texts, m.Text)
	}
	b.mu.Lock()
	b.calls++
	b.prompts = append(b.prompts, p)
	script := b.script
	b.mu.Unlock()
	text, err := "re: "+strings.Join(texts, " + "), error(nil)
	if script != nil {
		text, err = script(ctx, strings.Join(texts, " + "), on)
	}
	if text == "" {
		return core.Answer{}, err
	}
	return core.Answer{Messages: []core.NewMessage{{Role: core.RoleAssistant, Text: text}}, Effects: b.effects,
		Question: b.question, Finish: b.finish}, err
}

type noCommands struct{}

func (noCommands) Answers(string) bool { return false }

func (noCommands) Command(_ context.Context, _ core.User, i core.Identity, in core.Inbound,
	_ time.Time) (core.Outcome, bool, error) {
	switch in.Text {
	case "/stop":
		return core.Outcome{Text: "Stopped.", Effects: []core.Effect{effect.StopTurn{Thread: 1}}}, true, nil
	case "/continue", "!continue":
		return core.Outcome{Asks: core.ContinueCommand}, true, nil
	case "/retry":
		return core.Outcome{Text: "Again.", Effects: []core.Effect{effect.RetryTurn{Thread: 1, At: time.Now()}}}, true, nil
	}
	return core.Outcome{}, false, nil
}

type byLength struct{}

func (byLength) Count(s string) int { return len(s) / 4 }

var errDown = &core.ModelError{Kind: core.ModelDown, Err: errors.New("no answer")}

func TestDeliver_waitsUntilTheGatewayRuns(t *testing.T) {
	t.Parallel()
	g := gateway.New(gateway.Options{Log: zap.NewNop()}) // reading would break it
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := g.Deliver(ctx, "line"); err != nil {
		t.Error(err)
	}
}
