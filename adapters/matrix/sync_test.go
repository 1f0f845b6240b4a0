package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/internal/fulltest"
)

// inbox is a core.Receiver that stores each event once.
type inbox struct {
	mu      sync.Mutex
	all     []core.Inbound
	ids     map[string]bool
	batches int
	before  func() error
}

func (b *inbox) Receive(_ context.Context, in ...core.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.before != nil {
		if err := b.before(); err != nil {
			return err
		}
	}
	b.batches++
	if b.ids == nil {
		b.ids = map[string]bool{}
	}
	for _, e := range in {
		if !b.ids[e.EventID] {
			b.ids[e.EventID] = true
			b.all = append(b.all, e)
		}
	}
	return nil
}

func (b *inbox) of(kinds ...core.InboundKind) []core.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []core.Inbound
	for _, e := range b.all {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

func texts(in []core.Inbound) []string {
	out := []string{}
	for _, e := range in {
		out = append(out, e.Text)
	}
	return out
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 15 s", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails unless got equals want; about says what they are.
func same(t testing.TB, got, want any, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
		t.Fatalf("%v -want +got:\n%s", about, diff)
	}
}

// world is a running channel on a homeserver.
type world struct {
	*matrixtest.Server
	c    *Channel
	k    *keeper
	in   *inbox
	stop func()
}

// start runs a channel on s with the state of k; stop ends it.
func start(t *testing.T, s *matrixtest.Server, k *keeper, change func(*Options)) *world {
	t.Helper()
	w := &world{Server: s, k: k, in: &inbox{}, c: open(t, s, k, change)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.c.Run(ctx, w.in) }()
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			must(t, <-done)
		})
	}
	t.Cleanup(w.stop)
	return w
}

// begin starts a homeserver, and a channel that has synced before.
func begin(t *testing.T) *world {
	t.Helper()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	return start(t, s, newKeeper(map[string]string{keySync: s.Position()}), nil)
}

// barrier waits until all posted events are acknowledged.
func (w *world) barrier(t *testing.T) {
	t.Helper()
	room := w.Direct("@barrier:hs.test")
	id := w.Say(room, "@barrier:hs.test", "barrier")
	eventually(t, "the barrier", func() bool {
		return slices.ContainsFunc(w.in.of(core.InMessage), func(e core.Inbound) bool { return e.NativeID == id })
	})
}

// messages returns what was said in direct chats.
func (w *world) messages() []string {
	var out []core.Inbound
	for _, e := range w.in.of(core.InMessage) {
		if e.Address.External != "@barrier:hs.test" && e.Group == nil {
			out = append(out, e)
		}
	}
	return texts(out)
}

var (
	toAda   = core.Address{Channel: Name, Account: us, External: ada}
	toAlice = core.Address{Channel: "signal", Account: us, External: alice}
)

func TestSync_messageWithInvitation(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Invite(ada)
	w.Say(room, ada, "first words")
	eventually(t, "the message", func() bool { return slices.Equal(w.messages(), []string{"first words"}) })
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "welcome", Key: "k1"})
	must(t, err)
	same(t, w.Membership(room, us), "join")
}

func TestInvitation_ofStrangersIsLeftOpen(t *testing.T) {
	t.Parallel()
	w := begin(t)
	evil := w.Invite("@eve:evil.test")
	w.barrier(t)
	same(t, w.Membership(evil, us), "invite")
	if got := w.messages(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func TestInvitation_isTriedAgain(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	k := newKeeper(map[string]string{keySync: s.Position()})
	s.Fail("join", 2, matrixtest.Failure{Code: 502, Err: "M_UNKNOWN"})
	room := s.Invite(ada)
	s.Say(room, ada, "hello?")
	w := start(t, s, k, nil)
	w.barrier(t)
	w.barrier(t)
	eventually(t, "the message", func() bool { return slices.Equal(w.messages(), []string{"hello?"}) })
}

func TestSync_firstSkipsHistory(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	s.SetNow(time.Now().Add(-48 * time.Hour))
	old := s.Direct(ada)
	s.Say(old, ada, "long ago")
	portal := s.Portal(alice)
	s.PostAt(portal, matrixtest.Ghost(alice), "m.room.message", message0("ages ago"), time.Now().Add(-time.Hour))
	s.PostAt(portal, matrixtest.Ghost(alice), "m.room.message", message0("just now"), time.Now().Add(-time.Minute))
	for _, who := range []string{"@x:hs.test", "@y:hs.test"} {
		s.Member(old, who, "join")
	}
	s.SetNow(time.Now())
	s.Say(old, "@x:hs.test", "/help us")
	invited := s.Invite("@bob:hs.test")
	s.Say(invited, "@bob:hs.test", "with the invitation")
	w := start(t, s, newKeeper(nil), nil)
	eventually(t, "both", func() bool { return len(w.messages()) >= 2 })
	w.barrier(t)
	same(t, slices.Sorted(slices.Values(w.messages())), []string{"just now", "with the invitation"})
	if got := w.in.of(core.InGroup); len(got) > 0 {
		t.Fatalf("that we are in a group is no news: %v", got)
	}
}

func message0(text string) map[string]any { return map[string]any{"msgtype": "m.text", "body": text} }

func TestSync_gapOfTenThousandEvents(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	room := s.Direct(ada)
	k := newKeeper(map[string]string{keySync: s.Position()})
	before := start(t, s, k, nil)
	s.Say(room, ada, "before")
	eventually(t, "the first message", func() bool { return len(before.messages()) == 1 })
	before.stop()
	want := []string{}
	for i := range fulltest.Size(2_000, 10_000) {
		want = append(want, fmt.Sprintf("message %d", i))
		s.Say(room, ada, want[i])
	}
	w := start(t, s, k, nil)
	eventually(t, "all of them", func() bool { return len(w.messages()) == len(want) })
	same(t, w.messages(), want)
	same(t, w.in.batches, 1, "in one batch")
	if got := s.Calls("messages"); got >= 40 {
		t.Fatalf("%v", got)
	}
}

func TestSync_gapAcrossFailures(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	room := s.Direct(ada)
	k := newKeeper(map[string]string{keySync: s.Position()})
	for i := range 700 {
		s.Say(room, ada, fmt.Sprint(i))
	}
	s.Fail("messages", 1, matrixtest.Failure{Code: 502, Err: "M_UNKNOWN"})
	s.Fail("state", 1, matrixtest.Failure{Code: 500, Err: "M_UNKNOWN"})
	w := start(t, s, k, nil)
	eventually(t, "all of them", func() bool { return len(w.messages()) == 700 })
	same(t, w.messages()[0], "0")
}

func TestSync_restartOffersAgain(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	room := s.Direct(ada)
	k := newKeeper(map[string]string{keySync: s.Position()})
	k.before = func(v map[string]string) error {
		if v[keySync] != "" {
			return errors.New("disk full")
		}
		return nil
	}
	s.Say(room, ada, "stored, not acknowledged")
	first := start(t, s, k, nil)
	eventually(t, "it", func() bool { return len(first.messages()) == 1 })
	first.stop()
	k.mu.Lock()
	k.before = nil
	k.mu.Unlock()
	next := start(t, s, k, nil)
	eventually(t, "it again", func() bool { return len(next.messages()) == 1 })
	same(t, next.in.all[0].EventID, first.in.all[0].EventID)
}

func TestSync_fencedStops(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	k := newKeeper(map[string]string{keySync: s.Position()})
	k.before = func(map[string]string) error { return core.ErrFenced }
	s.Say(s.Direct(ada), ada, "hi")
	c := open(t, s, k, nil)
	if err := c.Run(t.Context(), &inbox{}); !errors.Is(err, core.ErrFenced) {
		t.Fatalf("%v", err)
	}
}

func TestRun_wrongAccountSaysSo(t *testing.T) {
	t.Parallel()
	s := matrixtest.New("@other:hs.test")
	t.Cleanup(s.Close)
	err := open(t, s, newKeeper(nil), nil).Run(t.Context(), &inbox{})
	if err == nil || !strings.Contains(err.Error(), "the access token belongs to @other:hs.test") {
		t.Fatalf("%v", err)
	}
}

func TestRun_endedSessionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	c := open(t, s, newKeeper(map[string]string{keySync: s.Position()}), nil)
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context(), &inbox{}) }()
	eventually(t, "a sync", func() bool { return s.Calls("sync") > 0 })
	s.Revoke()
	s.Direct(ada) // ends the long poll
	err := <-done
	if err == nil || !strings.Contains(err.Error(), "log in again") {
		t.Fatalf("%v", err)
	}
	same(t, c.Check(), err)
}

func TestSoftLogout_logsInOnTheSameDevice(t *testing.T) {
	t.Parallel()
	s := matrixtest.New(us)
	t.Cleanup(s.Close)
	k := newKeeper(map[string]string{keySync: s.Position()})
	w := start(t, s, k, func(o *Options) { o.AccessToken, o.Password = "", matrixtest.Password })
	room := s.Direct(ada)
	s.Say(room, ada, "one")
	eventually(t, "one", func() bool { return len(w.messages()) == 1 })
	before := s.Devices()
	s.Revoke()
	s.Say(room, ada, "two")
	eventually(t, "two", func() bool { return len(w.messages()) == 2 })
	eventually(t, "the login", func() bool { return len(s.Devices()) == 1 })
	for _, device := range s.Devices() {
		if !slices.Contains(before, device) {
			t.Fatalf("%s is not among %v", device, before)
		}
	}
	same(t, s.Calls("login"), 2)
	eventually(t, "its token", func() bool { // a waiting sync may have brought the message before
		token, err := k.State(t.Context(), keyToken)
		return err == nil && token == "login-2"
	})
	w.stop()
	again := start(t, s, k, func(o *Options) { o.AccessToken, o.Password = "", matrixtest.Password })
	s.Say(room, ada, "three")
	eventually(t, "three", func() bool { return len(again.messages()) == 1 })
	same(t, s.Calls("login"), 2, "the token was kept")
}

func TestPerson_foundAfterRestartAndUpgrade(t *testing.T) {
	t.Parallel()
	w := begin(t)
	old := w.Direct(ada)
	w.Say(old, ada, "hi")
	eventually(t, "hi", func() bool { return len(w.messages()) == 1 })
	w.stop()
	w = start(t, w.Server, w.k, nil)
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "found", Key: "a"})
	must(t, err)
	if got := w.Sent(old); len(got) != 1 {
		t.Fatalf("%d, want %d: %v", len(got), 1, got)
	}

	next := w.Invite(ada)
	w.State(old, ada, "m.room.tombstone", "", map[string]string{"body": "moved", "replacement_room": next})
	eventually(t, "joined", func() bool { return w.Membership(next, us) == "join" })
	w.barrier(t)
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "moved too", Key: "b"})
	must(t, err)
	if got := w.Sent(next); len(got) != 1 {
		t.Fatalf("%d, want %d: %v", len(got), 1, got)
	}

	w.Member(next, ada, "leave")
	eventually(t, "blocked", func() bool { return len(w.in.of(core.InBlocked)) == 1 })
	same(t, w.in.of(core.InBlocked)[0].Address, toAda)
	var gone *core.Unreachable
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "anybody?", Key: "c"})
	if !errors.As(err, &gone) {
		t.Fatalf("%v", err)
	}
	before := len(w.in.of(core.InUnblocked))
	w.Member(next, ada, "join")
	eventually(t, "unblocked", func() bool { return len(w.in.of(core.InUnblocked)) == before+1 })
	same(t, w.in.of(core.InUnblocked)[before].Address, toAda)
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "welcome back", Key: "d"})
	must(t, err)
}

func TestGroup_isNotAPersonsChat(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "alone")
	eventually(t, "alone", func() bool { return len(w.messages()) == 1 })
	w.Member(room, "@bob:hs.test", "join")
	w.Say(room, ada, "not for you")
	w.Member(room, "@carol:hs.test", "join")
	w.Say(room, "@bob:hs.test", "/help")
	w.barrier(t)
	same(t, w.messages(), []string{"alone"})
	groups := w.in.of(core.InGroup)
	same(t, texts(groups), []string{""})
	same(t, groups[0].Address.External, room)
	said := w.in.of(core.InMessage)
	said = slices.DeleteFunc(said, func(e core.Inbound) bool { return e.Group == nil })
	same(t, texts(said), []string{"not for you", "/help"})
	same(t, *said[1].Group, core.Group{Title: "ada, bob, carol", Speaker: "@bob:hs.test"})
	_, err := w.c.Send(t.Context(), groups[0].Address, core.Part{Text: "I only talk in direct chats.", Key: "g"})
	must(t, err)
	var gone *core.Unreachable
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "private", Key: "p"})
	if !errors.As(err, &gone) {
		t.Fatalf("what is for one person is not said in a group: %v", err)
	}
}

func TestReadMark_onlyForPeopleWeWroteTo(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "stranger")
	w.barrier(t)
	reads := func() int {
		return len(slices.DeleteFunc(w.Marks(), func(m string) bool { return !strings.HasPrefix(m, "read "+room) }))
	}
	if got := reads(); got != 0 {
		t.Fatalf("%v", got)
	}
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "hello", Key: "k"})
	must(t, err)
	id := w.Say(room, ada, "again")
	eventually(t, "a read mark", func() bool { return slices.Contains(w.Marks(), "read "+room+" "+id) })
}
