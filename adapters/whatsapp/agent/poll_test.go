package agent

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/core"
)

// inbox is a core.Receiver.
type inbox struct {
	mu    sync.Mutex
	in    []core.Inbound
	woken chan struct{}
}

func newInbox() *inbox { return &inbox{woken: make(chan struct{}, 1)} }

func (b *inbox) Receive(_ context.Context, in ...core.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in = append(b.in, in...)
	select {
	case b.woken <- struct{}{}:
	default:
	}
	return nil
}

func (b *inbox) texts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, in := range b.in {
		if in.Kind == core.InMessage {
			out = append(out, in.Text)
		}
	}
	return out
}

// scene is a channel on a service with one person's agent, key id 7.
type scene struct {
	s    *agenttest.Server
	ch   *Channel
	keys *list
	kept *keepers
	b    *inbox
}

var (
	keyOfAlex = Key{ID: 7, User: 3, Secret: "secret-7"}
	keyOfSam  = Key{ID: 8, User: 4, Secret: "secret-8"}
)

// play starts a scene without Run.
func play(t *testing.T) *scene {
	t.Helper()
	p := &scene{s: agenttest.New(), kept: newKeepers(), keys: &list{keys: []Key{keyOfAlex}}, b: newInbox()}
	p.s.Add(keyOfAlex.Secret, alex)
	p.s.Add(keyOfSam.Secret, "user:6")
	p.ch = open(t, p.s, p.kept, p.keys, nil)
	t.Cleanup(func() { p.s.Close(); noErrors(t, p.s) })
	return p
}

// run starts Run, which ends with the test or with the returned function.
func (p *scene) run(t *testing.T) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.ch.Run(ctx, p.b) }()
	end := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// until waits until what returns true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("waited for: %s", what)
		}
	}
}

func (p *scene) said(t *testing.T, want ...string) {
	t.Helper()
	until(t, strings.Join(want, ", "), func() bool { return slices.Equal(p.b.texts(), want) })
}

func TestPoll_cursorIsKeptExactly(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.s.Say(keyOfAlex.Secret, "one")
	end := p.run(t)
	p.said(t, "one")
	want := agenttest.FirstOffset + 1
	until(t, "the cursor", func() bool { return p.kept.cursor("7") == want })
	end()
	offsets := p.s.Offsets(keyOfAlex.Secret)
	if offsets[0] != 0 {
		t.Errorf("the first poll was from %d", offsets[0])
	}
	next := &scene{s: p.s, kept: p.kept, keys: p.keys, b: newInbox(), ch: open(t, p.s, p.kept, p.keys, nil)}
	p.s.Say(keyOfAlex.Secret, "two")
	next.run(t)
	next.said(t, "two")
	if got := p.s.Offsets(keyOfAlex.Secret)[len(offsets)]; got != want {
		t.Errorf("the next process polled from %d, want %d", got, want)
	}
}

// Reading removes a message, so it follows the storing of the cursor.
func TestPoll_readsAfterTheCursorIsStored(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.kept.mu.Lock()
	p.kept.err = errors.New("disk full")
	p.kept.mu.Unlock()
	p.s.Say(keyOfAlex.Secret, "keep me")
	p.run(t)
	until(t, "two attempts", func() bool { return len(p.b.texts()) >= 2 })
	if n := p.s.Behind(keyOfAlex.Secret, 0); n != 1 {
		t.Errorf("%d messages are left before the cursor is stored", n)
	}
	until(t, "a report", func() bool { return p.ch.Check() != nil })
	p.kept.mu.Lock()
	p.kept.err = nil
	p.kept.mu.Unlock()
	until(t, "the read mark", func() bool { return p.s.Behind(keyOfAlex.Secret, 0) == 0 })
}

// A poll that takes over ends when another process gets the account.
func TestPoll_fencedStops(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.kept.err = core.ErrFenced
	p.s.Say(keyOfAlex.Secret, "x")
	a := p.ch.newAgent(keyOfAlex)
	if err := a.poll(t.Context(), p.b); !errors.Is(err, core.ErrFenced) {
		t.Errorf("%v", err)
	}
}

func TestPoll_skipsOlderThanTheKey(t *testing.T) {
	t.Parallel()
	p := play(t)
	k := keyOfAlex
	k.CreatedAt = time.Now().Add(-time.Hour)
	p.keys.set(nil, k)
	p.s.Write(k.Secret, time.Now().Add(-2*time.Hour),
		map[string]any{"type": "text", "text": map[string]any{"body": "long ago"}})
	p.s.Say(k.Secret, "now")
	p.run(t)
	p.said(t, "now")
}

func TestKey_deadStopsAlone(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.keys.set(nil, keyOfAlex, keyOfSam)
	p.s.Revoke(keyOfAlex.Secret)
	p.run(t)
	until(t, "the report", func() bool { a := p.ch.CheckAccounts(); return len(a) == 2 && a["7"] != nil && a["8"] == nil })
	p.s.Say(keyOfSam.Secret, "sam is here")
	p.said(t, "sam is here")
	if err := p.ch.Check(); err != nil {
		t.Errorf("one dead key is the channel's: %v", err)
	}
}

func TestKey_deadIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.s.Revoke(keyOfAlex.Secret)
	p.run(t)
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	if err := p.ch.Check(); !strings.Contains(err.Error(), "make a new one") ||
		strings.Contains(err.Error(), keyOfAlex.Secret) {
		t.Errorf("got Check %v", err)
	}
	p.s.Add("secret-new", alex)
	p.keys.set(nil, Key{ID: 7, User: 3, Secret: "secret-new"})
	p.ch.Refresh()
	p.s.Say("secret-new", "back")
	p.said(t, "back")
	until(t, "no report", func() bool { return p.ch.Check() == nil })
}

func TestPoll_anotherPersonIsHeld(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.s.Say(keyOfAlex.Secret, "it is me")
	p.run(t)
	p.said(t, "it is me")
	until(t, "the cursor", func() bool { return p.kept.cursor("7") > 0 })
	before := p.kept.cursor("7")
	p.s.Become(keyOfAlex.Secret, "user:99")
	p.s.Say(keyOfAlex.Secret, "somebody else")
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	if err := p.ch.Check(); !strings.Contains(err.Error(), "account behind this agent changed") {
		t.Errorf("got Check %v", err)
	}
	if got := p.b.texts(); !slices.Equal(got, []string{"it is me"}) || p.kept.cursor("7") != before {
		t.Errorf("delivered %q, cursor %d", got, p.kept.cursor("7"))
	}
	relinked := Key{ID: 9, User: 3, Secret: keyOfAlex.Secret, CreatedAt: time.Now().Add(-time.Minute)}
	p.keys.set(nil, relinked)
	p.ch.Refresh()
	p.said(t, "it is me", "somebody else")
}

func TestPoll_anotherProgramIsReported(t *testing.T) {
	t.Parallel()
	p := play(t)
	conflict := agenttest.Failure{HTTP: http.StatusConflict, Code: codeReplace}
	p.s.Fail("updates", 2, conflict)
	p.run(t)
	p.s.Say(keyOfAlex.Secret, "still here")
	p.said(t, "still here")
	if err := p.ch.Check(); err != nil {
		t.Errorf("two conflicts are reported: %v", err)
	}
	p.s.Fail("updates", 5, conflict)
	p.s.Say(keyOfAlex.Secret, "wake up")
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	if err := p.ch.Check(); !strings.Contains(err.Error(), "another program") {
		t.Errorf("got Check %v", err)
	}
}

func TestRefresh_keysComeAndGo(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.keys.set(errors.New("store away"))
	p.run(t)
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	p.keys.set(nil)
	p.ch.Refresh()
	until(t, "no report", func() bool { return p.ch.Check() == nil })
	p.keys.set(nil, keyOfSam)
	p.ch.Refresh()
	p.s.Say(keyOfSam.Secret, "added")
	p.said(t, "added")
	p.keys.set(nil)
	p.ch.Refresh()
	until(t, "no agents", func() bool { return len(p.ch.CheckAccounts()) == 0 })
	_, err := p.ch.Send(t.Context(), core.Address{Account: "8", External: "user:6"}, core.Part{Text: "x"})
	if classOf(err) != "permanent" {
		t.Errorf("send with a removed key: %v", err)
	}
}

// leased is a Store with the leases that mine reports.
type leased struct {
	Store
	mine func(account string) bool
}

func (l leased) Lease(ctx context.Context, account string, run func(context.Context) error) error {
	if !l.mine(account) {
		return nil
	}
	return run(ctx)
}

// Only the process with the lease polls.
func TestPoll_onlyUnderALease(t *testing.T) {
	t.Parallel()
	p := play(t)
	var mu sync.Mutex
	mine := false
	p.ch.opts.Store = leased{p.ch.opts.Store, func(account string) bool {
		mu.Lock()
		defer mu.Unlock()
		return mine && account == "7"
	}}
	p.s.Say(keyOfAlex.Secret, "who takes it?")
	p.run(t)
	until(t, "the keys", func() bool { return len(p.ch.CheckAccounts()) == 1 })
	if n := len(p.s.Offsets(keyOfAlex.Secret)); n > 0 {
		t.Errorf("polled %d times without the lease", n)
	}
	mu.Lock()
	mine = true
	mu.Unlock()
	p.said(t, "who takes it?")
}

func TestLimit(t *testing.T) {
	t.Parallel()
	l := &limit{most: 3}
	now := time.Unix(1790000000, 0)
	for i := range 3 {
		if d := l.take(now.Add(time.Duration(i) * time.Second)); d != 0 {
			t.Errorf("call %d waits %s", i, d)
		}
	}
	if d := l.take(now.Add(10 * time.Second)); d != 50*time.Second {
		t.Errorf("the fourth waits %s", d)
	}
	if d := l.take(now.Add(time.Minute)); d != 0 {
		t.Errorf("a minute later it waits %s", d)
	}
	if d := l.take(now.Add(time.Minute)); d != time.Second {
		t.Errorf("the next waits %s", d)
	}
}

// However fast messages and receipts arrive, the next poll follows soon.
func TestLimits_pollsAreSpreadOverTheMinute(t *testing.T) {
	t.Parallel()
	l := newLimits(usual()).updates
	now, longest := time.Unix(1000, 0), time.Duration(0)
	calls := 0
	for end := now.Add(5 * time.Minute); now.Before(end); calls++ {
		for wait := l.take(now); wait > 0; wait = l.take(now) {
			longest = max(longest, wait)
			now = now.Add(wait)
		}
		now = now.Add(10 * time.Millisecond) // each poll brings something
	}
	if calls > 5*14+1 || longest > 5*time.Second {
		t.Errorf("%d polls in five minutes, and up to %s without one", calls, longest)
	}
}
