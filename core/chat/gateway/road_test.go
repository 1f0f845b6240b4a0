package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/store"
)

func TestReceive_isAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.say("hello")
	if got := w.sent(1); got != "re: hello" {
		t.Errorf("got %q", got)
	}
}

func TestReceive_repeatedUpdateIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	in := w.say("hello")
	w.sent(1)
	w.receive(in, in)
	w.say("next")
	if got := w.sent(2); got != "re: next" {
		t.Errorf("got %q", got)
	}
}

func TestTurn_burstIsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Settings.Debounce = 2 * time.Second })
	w.say("one")
	w.say("two")
	w.say("three")
	if got := w.sent(1); got != "re: one + two + three" {
		t.Errorf("got %q", got)
	}
}

func TestTurn_laterMessagesGoIntoTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	began, goOn := make(chan struct{}, 2), make(chan struct{}, 2)
	w.brain.script = func(_ context.Context, in string, _ core.Progress) (string, error) {
		began <- struct{}{}
		<-goOn
		return "re: " + in, nil
	}
	w.say("one")
	<-began
	w.say("two")
	w.say("three")
	goOn <- struct{}{}
	goOn <- struct{}{}
	if a, b := w.sent(1), w.sent(2); a != "re: one" || b != "re: two + three" {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestStop_keepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	began := make(chan struct{})
	w.brain.script = func(ctx context.Context, _ string, _ core.Progress) (string, error) {
		close(began)
		<-ctx.Done()
		return "half a", context.Cause(ctx)
	}
	w.say("long story")
	<-began
	w.say("/stop")
	got := w.sent(1) + "|" + w.sent(2)
	if !strings.Contains(got, "half a\n\nStopped. /continue goes on.") || strings.Count(got, "Stopped.") != 2 {
		t.Errorf("got %q", got)
	}
}

func TestEdit_restartsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var calls atomic.Int32
	began := make(chan struct{}, 3)
	w.brain.script = func(ctx context.Context, in string, _ core.Progress) (string, error) {
		began <- struct{}{}
		if calls.Add(1) == 1 {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "re: " + in, nil
	}
	in := w.say("helo")
	<-began
	edit := in
	edit.Kind, edit.Target, edit.EventID, edit.Text = core.InEdit, in.NativeID, in.EventID+":e1", "hello"
	w.receive(edit)
	if got := w.sent(1); got != "re: hello" {
		t.Errorf("got %q", got)
	}
}

func TestTurn_deadModelKeepsTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var dead atomic.Bool
	dead.Store(true)
	w.brain.script = func(_ context.Context, in string, _ core.Progress) (string, error) {
		if dead.Load() {
			return "", errDown
		}
		return "re: " + in, nil
	}
	w.say("hello")
	if got := w.sent(1); !strings.Contains(got, "/retry") {
		t.Errorf("got %q", got)
	}
	dead.Store(false)
	w.say("/retry")
	if got := w.sent(2) + w.sent(3); !strings.Contains(got, "re: hello") {
		t.Errorf("got %q", got)
	}
}

func TestTurn_wrongKeyEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Settings.GiveUpAfter = time.Hour })
	w.brain.script = func(context.Context, string, core.Progress) (string, error) {
		return "", &core.ModelError{Kind: core.ModelAuth, Err: errors.New("the server says `no such key`: check llm.api_key")}
	}
	w.say("hello")
	if got := w.sent(1); !strings.Contains(got, "the server says 'no such key': check llm.api_key") ||
		!strings.Contains(got, "/retry") {
		t.Errorf("the owner reads %q", got)
	}
}

// member adds a member, and returns the function that receives a message of theirs.
func (w *world) member() func(text string) {
	w.t.Helper()
	p := w.people()
	bob, err := p.AddUser(w.t.Context(), core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: time.Now()})
	must(w.t, err)
	at := w.address()
	at.External = "8"
	_, err = p.AddIdentity(w.t.Context(), core.Identity{User: bob.ID, Address: at, LastUsed: time.Now()})
	must(w.t, err)
	n := 0
	return func(text string) {
		n++
		w.receive(core.Inbound{Address: at, EventID: fmt.Sprint("bob", n), NativeID: fmt.Sprint("bob", n),
			Kind: core.InMessage, Text: text, SentAt: time.Now()})
	}
}

func TestTurn_wrongKeyIsNoMembersFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Settings.GiveUpAfter = time.Hour })
	fails := func(kind core.ModelErrorKind) {
		w.brain.mu.Lock()
		defer w.brain.mu.Unlock()
		w.brain.script = func(context.Context, string, core.Progress) (string, error) {
			return "", &core.ModelError{Kind: kind, Err: errors.New("the server's words")}
		}
	}
	fails(core.ModelAuth)
	ask := w.member()
	ask("hello")
	got := w.sent(1) + "\n" + w.sent(2) // in either order
	if !strings.Contains(got, "not your fault") || strings.Count(got, "the server's words") != 1 ||
		!strings.Contains(got, "can't answer anyone") {
		t.Errorf("they read %q", got)
	}
	ask("hello")
	if got := w.sent(3); !strings.Contains(got, "not your fault") {
		t.Errorf("the second time: %q", got)
	}
	fails(core.ModelRejected)
	ask("hello")
	if got := w.sent(4); !strings.Contains(got, "didn't accept") { // and the owner is notified only once
		t.Errorf("a refusal: %q", got)
	}
}

func TestDeliver_temporaryErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.line.failNext(&core.RetryAfter{After: 20 * time.Millisecond, Err: errors.New("slow down")})
	w.say("hello")
	if got := w.sent(1); got != "re: hello" {
		t.Errorf("got %q", got)
	}
}

func TestDeliver_unknownIsRepeatedOnceAndMarked(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	w := newWorld(t, func(o *gateway.Options) { // its clock is fast, because a part in an unknown state waits
		o.Now = func() time.Time { return begin.Add(10 * time.Since(begin)) }
		o.Jobs.Now, o.Jobs.Lease, o.Settings.GiveUpAfter = o.Now, time.Minute, time.Minute
	})
	unknown := &core.Unknown{Err: errors.New("timeout")}
	w.line.failNext(unknown)
	w.say("hello")
	if got := w.sent(1); got != "re: hello\n\n(may be a repeat)" {
		t.Errorf("got %q", got)
	}
	w.line.failNext(unknown, unknown)
	w.say("again")
	w.say("after")
	if got := w.sent(2); got != "re: after" {
		t.Errorf("got %q", got)
	}
}

func TestDeliver_partsInOrderNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.brain.script = func(context.Context, string, core.Progress) (string, error) { return "a b c", nil }
	w.line.limit(1)
	w.line.failNext(nil, &core.RetryAfter{After: time.Millisecond, Err: errors.New("wait")})
	w.say("hello")
	if got := w.sent(1) + w.sent(2) + w.sent(3); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// streamer is a line that streams answers. It reports how many parts had been sent when a stream
// began.
type streamer struct {
	*line
	after chan int
}

func (s streamer) PreviewEvery() time.Duration { return time.Hour }

func (s streamer) Preview(context.Context, core.Address, string, string) error {
	s.after <- s.count()
	return nil
}

func TestPreview_neverAboveAnOpenAnswer(t *testing.T) {
	t.Parallel()
	s := streamer{newLine(), make(chan int, 10)}
	w := newWorld(t, func(o *gateway.Options) { o.Channels = gateway.NewChannels(s) })
	began, goOn := make(chan struct{}, 2), make(chan struct{}, 2)
	w.brain.script = func(_ context.Context, in string, on core.Progress) (string, error) {
		if in == "two" {
			on.Text("re: ")
			began <- struct{}{}
			<-goOn
		}
		return "re: " + in, nil
	}
	s.failNext(&core.RetryAfter{After: 2 * time.Second, Err: errors.New("busy")})
	w.say("one")
	waitFor(t, func() bool { return s.failures() == 0 })
	w.say("two")
	<-began
	select {
	case sent := <-s.after:
		if sent != 1 {
			t.Errorf("a preview was shown after %d answers", sent)
		}
	case <-time.After(10 * time.Second):
		t.Error("no preview was shown after the first answer")
	}
	goOn <- struct{}{}
	if got := s.wait(t, 2); got != "re: two" {
		t.Errorf("got %q", got)
	}
}

func TestDeliver_blockedGetsAllWhenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.line.failNext(&core.Unreachable{Err: errors.New("blocked")})
	w.say("hello")
	waitFor(t, func() bool {
		ds, err := w.store.Deliveries(t.Context(), store.DeliveryQuery{States: []core.DeliveryState{core.DeliveryParked},
			Limit: 5})
		must(t, err)
		return len(ds) == 1
	})
	w.say("I am back")
	got := w.sent(1) + "," + w.sent(2)
	if got != "re: I am back,re: hello" {
		t.Errorf("got %q", got)
	}
}

// TestDeliver_waitingReplyKeepsItsSlot checks that replies that are ready while an earlier one is being
// sent take only one slot each of the address's rate, and that a failed claim takes none.
func TestDeliver_waitingReplyKeepsItsSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gateway.Options) { o.Store = &forestalled{Store: o.Store} })
	held := make(chan struct{})
	w.line.mu.Lock()
	w.line.rate, w.line.held = 0.001, held // three at once
	w.line.mu.Unlock()
	for n, text := range []string{"one", "two", "three"} {
		w.say(text)
		w.brain.called(t, n+1)
	}
	close(held)
	for n, want := range []string{"re: one", "re: two", "re: three"} {
		if got := w.sent(n + 1); got != want {
			t.Errorf("part %d is %q, want %q", n+1, got, want)
		}
	}
}

// forestalled is a store whose first delivery to be claimed has already been claimed.
type forestalled struct {
	gateway.Store
	claimed atomic.Bool
}

func (f *forestalled) ClaimDelivery(ctx context.Context, ref store.JobRef, c store.Claim) (*core.Delivery, error) {
	if f.claimed.CompareAndSwap(false, true) {
		return nil, nil
	}
	return f.Store.ClaimDelivery(ctx, ref, c)
}

// TestClaim_lostConfirmationIsTakenUpAgain checks that work that was committed although the
// connection broke before the confirmation continues long before its lease expires.
func TestClaim_lostConfirmationIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{"append": "re: hello",
		"commit": "re: hello\n\n(may be a repeat)"} { // as after a crash while it was sent
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			s := &cut{op: op}
			s.done.Store(true)
			w := newWorld(t, func(o *gateway.Options) {
				s.Store = o.Store
				o.Store, o.Jobs.Lease = s, time.Minute
			})
			w.say("first")
			w.sent(1)
			waitFor(t, func() bool {
				busy, err := w.store.Delivering(t.Context(), 1, w.address())
				must(t, err)
				return !busy
			})
			s.done.Store(false)
			in := core.Inbound{Address: w.address(), EventID: "2", NativeID: "2", Kind: core.InMessage, Text: "hello",
				SentAt: time.Now()}
			for err := w.gw.Receive(t.Context(), in); err != nil; err = w.gw.Receive(t.Context(), in) {
				if !errors.Is(err, errCut) {
					t.Fatal(err)
				}
			}
			if got := w.sent(2); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if !s.done.Load() {
				t.Error("no confirmation was lost")
			}
		})
	}
}

var errCut = errors.New("the connection was cut")

// cut is a store that loses the response to the first op with a claim.
type cut struct {
	gateway.Store
	op   string
	done atomic.Bool
}

func (c *cut) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	out, err := c.Store.Append(ctx, a)
	if c.op == "append" && out.Turn != nil && c.done.CompareAndSwap(false, true) {
		return store.Appended{}, errCut
	}
	return out, err
}

func (c *cut) Commit(ctx context.Context, r store.Reply, claim *store.Claim) (store.Committed, error) {
	out, err := c.Store.Commit(ctx, r, claim)
	if c.op == "commit" && out.Delivery != nil && c.done.CompareAndSwap(false, true) {
		return store.Committed{}, errCut
	}
	return out, err
}

func TestRestart_goesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	began := make(chan struct{}, 1)
	w.brain.script = func(ctx context.Context, in string, _ core.Progress) (string, error) {
		began <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}
	w.say("hello")
	<-began
	w.stop()
	w.brain.script = nil
	w.start(nil)
	if got := w.sent(1); got != "re: hello" {
		t.Errorf("got %q", got)
	}
	if n := w.line.count(); n != 1 {
		t.Errorf("got %d parts, want 1", n)
	}
}

func TestReceive_farOffDayIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for n, sent := range []time.Time{time.Unix(0, 0), time.Now().Add(24 * time.Hour)} {
		in := core.Inbound{Address: w.address(), EventID: "far" + string(rune('0'+n)), Kind: core.InMessage,
			Text: "when?", SentAt: sent}
		w.receive(in)
		w.sent(n + 1)
	}
	days, err := w.store.Days(t.Context(), 1, "", 10)
	must(t, err)
	if len(days) != 1 || days[0].Day.Label != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("got days %v", days)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("timed out")
		}
	}
}

// summaries takes claimed summaries while there is room.
type summaries struct {
	full  atomic.Bool
	begun chan *store.Job
}

func (s *summaries) Free() bool         { return !s.full.Load() }
func (s *summaries) Begin(j *store.Job) { s.begun <- j }

func TestTurn_claimsItsSummary(t *testing.T) {
	t.Parallel()
	s := &summaries{begun: make(chan *store.Job, 1)}
	w := newWorld(t, func(o *gateway.Options) { o.Summaries, o.Settings.SummarizeAfter = s, 2 })
	due := func() int {
		refs, _, err := w.store.Due(t.Context(), []string{core.QueueSummarize}, time.Now(), 9, store.Share{})
		must(t, err)
		return len(refs)
	}
	w.say("one")
	j := <-s.begun
	if n := due(); j.Queue != core.QueueSummarize || j.Worker != "test" || n != 0 {
		t.Errorf("claimed %+v, %d others due", j, n)
	}
	must(t, w.store.Finish(t.Context(), j.User, j.Lease, ""))
	s.full.Store(true)
	w.say("two")
	waitFor(t, func() bool { return due() == 1 })
}

// TestReceive_noEventEndsTheProcess checks that a time that no calendar has is replaced, and that a panic about an event
// is an error.
func TestReceive_noEventEndsTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	in := core.Inbound{Address: w.address(), Kind: core.InMessage, Text: "hello there"}
	for n, at := range []time.Time{time.UnixMilli(1 << 51), time.UnixMilli(-1 << 60), {}} {
		in.EventID = fmt.Sprint("odd", n)
		in.NativeID, in.Address.External, in.SentAt = in.EventID, "a stranger "+in.EventID, at
		w.receive(in)
	}
	broken := gateway.New(gateway.Options{Store: struct{ gateway.Store }{}, Commands: noCommands{}, Log: zap.NewNop(),
		Now: time.Now})
	if err := broken.Receive(t.Context(), in); err == nil {
		t.Error("a panic is no error")
	}
}
