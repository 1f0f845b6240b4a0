package signal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
)

// box is a core.Receiver that drops repeats, as the store does.
type box struct {
	mu      sync.Mutex
	in      []core.Inbound
	ids     map[string]bool
	repeats int
	fail    error
	block   bool // the next call waits for the end of its context, and fails
}

func (b *box) Receive(ctx context.Context, in ...core.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.block {
		b.block = false
		b.mu.Unlock()
		<-ctx.Done()
		b.mu.Lock()
		return ctx.Err()
	}
	if b.fail != nil {
		return b.fail
	}
	for _, e := range in {
		if b.ids[e.EventID] {
			b.repeats++
			continue
		}
		b.ids[e.EventID] = true
		b.in = append(b.in, e)
	}
	return nil
}

func (b *box) breaks(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *box) all() []core.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.in)
}

func (b *box) blocks() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.block = true
}

// isBlocked reports whether a call waits.
func (b *box) isBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.block
}

// said returns the texts of a person, in the order of their arrival.
func (b *box) said(person string) []string {
	var out []string
	for _, e := range b.all() {
		if e.Address.External == person {
			out = append(out, e.Text)
		}
	}
	return out
}

// play is a running channel with a fake daemon.
type play struct {
	s  *signaltest.Server
	b  *box
	ch *Channel

	cancel context.CancelFunc // of Run
	stop   func()             // ends Run and waits for it
}

func newPlay(t *testing.T) *play {
	t.Helper()
	s := signaltest.New()
	p := &play{s: s, b: &box{ids: map[string]bool{}}, ch: open(t, Options{Config: Config{APIURL: s.URL()}})}
	p.ch.pace.connect, p.ch.pace.silence = 5*time.Second, 5*time.Second
	t.Cleanup(func() { p.s.Close(); noErrors(t, p.s) })
	return p
}

func (p *play) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.ch.Run(ctx, p.b) }()
	p.cancel = cancel
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if p.s != nil { // what is handed out to a stream that ends is lost
			until(t, "the end of the stream", func() bool { return p.s.Streams() == 0 })
		}
	})
	t.Cleanup(p.stop)
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// wants waits for the texts of a person, and checks that there are no others.
func (p *play) wants(t *testing.T, person string, want ...string) {
	t.Helper()
	until(t, fmt.Sprintf("%d messages", len(want)), func() bool { return len(p.b.said(person)) >= len(want) })
	if got := p.b.said(person); !slices.Equal(got, want) {
		t.Errorf("got %.200q, want %.200q", got, want)
	}
}

func TestRun_backlogComesWholeAndInOrder(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	const n = 5000
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("message %d", i))
		p.s.Say(ada, want[i])
	}
	p.s.DieAfter(1, 700, 1, 2000)
	p.run(t)
	p.wants(t, ada, want...)
	if p.s.Pending() > 0 || p.s.Calls("events") != 5 {
		t.Errorf("%d events wait, after %d streams", p.s.Pending(), p.s.Calls("events"))
	}
}

func TestRun_daemonDiesAndRepeats(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.run(t)
	p.s.Say(ada, "one")
	p.wants(t, ada, "one")
	p.s.Again()
	until(t, "the repeat", func() bool {
		p.b.mu.Lock()
		defer p.b.mu.Unlock()
		return p.b.repeats == 1
	})
	for i := range 3 {
		p.s.Die()
		p.s.Say(ada, fmt.Sprintf("after death %d", i))
		p.wants(t, ada, append([]string{"one"}, []string{"after death 0", "after death 1", "after death 2"}[:i+1]...)...)
	}
	until(t, "no report", func() bool { return p.ch.Check() == nil })
}

// The order is the daemon's, also if it is not that of the times.
func TestRun_keepsTheOrderOfTheDaemon(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	for _, text := range []string{"a", "b", "c"} {
		p.s.Say(ada, text)
	}
	p.s.Shuffle()
	p.run(t)
	p.wants(t, ada, "c", "b", "a")
	if in := p.b.all(); !in[0].SentAt.After(in[2].SentAt) {
		t.Errorf("sent at %s and %s", in[0].SentAt, in[2].SentAt)
	}
}

// alarms lets a test decide when the waits of a stream are over: each stream has one for the daemon's answer, and then one
// for its silence.
func (p *play) alarms() <-chan func() {
	all := make(chan func(), 100)
	p.ch.pace.after = func(_ time.Duration, f func()) *time.Timer {
		all <- f
		return time.AfterFunc(time.Hour, f)
	}
	return all
}

func TestRun_leavesASilentStream(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	alarms := p.alarms()
	p.run(t)
	<-alarms
	silent := <-alarms
	until(t, "a stream", func() bool { return p.s.Streams() == 1 })
	p.s.Stall()
	p.s.Say(ada, "are you there?")
	silent()
	p.wants(t, ada, "are you there?")
	if n := p.s.Calls("events"); n != 2 {
		t.Errorf("%d streams", n)
	}
}

func TestRun_leavesADaemonThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	warned, logs := observer.New(zap.WarnLevel)
	p.ch.log = zap.New(warned)
	alarms := p.alarms()
	p.s.Fail("events", 1, signaltest.Failure{})
	p.s.Say(ada, "hello")
	p.run(t)
	late := <-alarms
	until(t, "the request", func() bool { return p.s.Calls("events") == 1 })
	late()
	p.wants(t, ada, "hello")
	if all := logs.All(); len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].ContextMap()), "does not answer; start it") {
		t.Errorf("logged %+v", all)
	}
}

func TestRun_saysWhatToDo(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{400: "check channels.signal.account", 421: "like its --http",
		404: "Check channels.signal.api_url", 500: "log of signal-cli"} {
		p := newPlay(t)
		p.s.Fail("events", 100, signaltest.Failure{HTTP: status})
		p.run(t)
		until(t, "the report", func() bool { return p.ch.Check() != nil })
		if err := p.ch.Check(); !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
		p.s.Fail("events", 0, signaltest.Failure{})
		until(t, "no report", func() bool { return p.ch.Check() == nil })
		p.stop()
	}
}

// While nothing can be stored the rest stays with the daemon, and afterwards all of it comes.
func TestRun_readsNoFurtherThanItStores(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.ch.pace.silence = 2 * time.Second
	p.b.breaks(errors.New("disk full"))
	const n = 600
	long := strings.Repeat("long ", 8000)
	for i := range n {
		p.s.Say(ada, fmt.Sprintf("%d %s", i, long))
	}
	p.run(t)
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	time.Sleep(5 * p.ch.pace.silence / 2) // our own pause does not count as silence of the daemon
	left := p.s.Pending()
	if left == 0 || p.s.Calls("events") != 1 {
		t.Errorf("%d of %d events are left to the daemon, after %d streams", left, n, p.s.Calls("events"))
	}
	p.b.breaks(nil)
	until(t, "all messages", func() bool { return len(p.b.said(ada)) == n })
	for i, text := range p.b.said(ada) {
		if !strings.HasPrefix(text, fmt.Sprintf("%d ", i)) {
			t.Fatalf("message %d is %.20q", i, text)
		}
	}
}

// What the daemon has handed out when Run ends is stored, if it ends its stream.
func TestRun_endsWithoutLoss(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.ch.pace.grace, p.ch.pace.quiet = time.Hour, time.Hour
	var want []string
	for round := range 3 {
		p.b.blocks()
		p.run(t)
		for i := range 200 { // more than the queue holds
			want = append(want, fmt.Sprintf("%d.%d", round, i))
			p.s.Say(ada, want[len(want)-1])
		}
		until(t, "everything is handed out", func() bool { return p.s.Pending() == 0 && p.b.isBlocked() })
		p.cancel()
		p.s.HangUp()
		p.stop()
		if got := p.b.said(ada); !slices.Equal(got, want) {
			t.Fatalf("after the end of round %d: got %d messages, want %d", round, len(got), len(want))
		}
	}
}

// tap is a network that counts the whole events that were read.
type tap struct {
	*http.Transport
	mu   sync.Mutex
	read bytes.Buffer
}

func (n *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.Transport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/events") {
		resp.Body = &tapped{resp.Body, n}
	}
	return resp, err
}

func (n *tap) events() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(regexp.MustCompile(`(?m)^data:.*\n\n`).FindAll(n.read.Bytes(), -1))
}

type tapped struct {
	io.ReadCloser
	to *tap
}

func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.mu.Lock()
	defer b.to.mu.Unlock()
	b.to.read.Write(p[:n])
	return n, err
}

// Whatever was read of a stream that goes on is stored when Run ends.
func TestRun_endStoresWhatWasRead(t *testing.T) {
	t.Parallel()
	for round := range 10 {
		p := newPlay(t)
		network := &tap{Transport: &http.Transport{}}
		p.ch = open(t, Options{Config: Config{APIURL: p.s.URL()}, HTTP: &http.Client{Transport: network}})
		p.ch.pace.quiet = 0
		p.run(t)
		for i := range 2000 {
			p.s.Say(ada, fmt.Sprint(i))
		}
		until(t, "some messages", func() bool { return len(p.b.said(ada)) > 100*round })
		p.stop()
		if got, want := len(p.b.said(ada)), network.events(); got != want {
			t.Errorf("%d messages are stored, and %d were read", got, want)
		}
	}
}

// When Run ends while nothing can be stored, it does not wait for the store.
func TestRun_endsSoonWithoutAStore(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.ch.pace.grace = time.Minute
	p.b.breaks(errors.New("disk full"))
	p.run(t)
	p.s.Say(ada, "lost")
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// keeper keeps state, as a store does.
type keeper struct {
	mu     sync.Mutex
	values map[string]string
	fail   error
}

func (k *keeper) State(_ context.Context, key string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.values[key], k.fail
}

func (k *keeper) SetState(_ context.Context, values map[string]string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail == nil {
		maps.Copy(k.values, values)
	}
	return k.fail
}

func (k *keeper) breaks(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = err
}

// Apps name an edited message by the time of any of its versions, also after a restart.
func TestRun_knowsVersionsOfMessages(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	kept := &keeper{values: map[string]string{}}
	now := func() time.Time { return time.UnixMilli(1790000000000).Add(time.Hour) }
	process := func() {
		p.ch = open(t, Options{Config: Config{APIURL: p.s.URL()}, Keeper: kept, Now: now})
		p.run(t)
	}
	process()
	first := p.s.Say(ada, "on tuesday")
	p.wants(t, ada, "on tuesday")
	kept.breaks(errors.New("disk full"))
	second := p.s.Edit(ada, first, "on Wednesday")
	until(t, "the report", func() bool { return p.ch.Check() != nil })
	if n := len(p.b.all()); n != 1 {
		t.Errorf("%d events are stored, and the version is not", n)
	}
	kept.breaks(nil)
	p.wants(t, ada, "on tuesday", "on Wednesday")
	third := p.s.Edit(ada, second, "on Thursday")
	p.wants(t, ada, "on tuesday", "on Wednesday", "on Thursday")
	p.stop()
	process()
	p.s.Edit(ada, third, "on Friday")
	p.s.Write(ada, map[string]any{"remoteDelete": map[string]any{"timestamp": third}})
	until(t, "all events", func() bool { return len(p.b.all()) == 5 })
	for _, e := range p.b.all()[1:] {
		if e.Target != fmt.Sprint(first) {
			t.Errorf("%s of %s, want %d", e.Kind, e.Target, first)
		}
	}
	now = func() time.Time { return time.UnixMilli(first + 4).Add(versionsFor) }
	p.stop()
	process()
	last := p.s.Edit(ada, 77, "another")
	until(t, "the last event", func() bool { return len(p.b.all()) == 6 })
	p.stop()
	if got := kept.values[versionsKey]; strings.Contains(got, fmt.Sprint(first)) || !strings.Contains(got, fmt.Sprint(last)) {
		t.Errorf("kept %s", got)
	}
}

// Messages of a chat with a timer are removed when it is over: the person's and ours, also after a restart.
func TestRun_removesWhatDisappears(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	kept := &keeper{values: map[string]string{}}
	var now atomic.Int64
	now.Store(1790000000)
	process := func() {
		p.ch = open(t, Options{Config: Config{APIURL: p.s.URL()}, Keeper: kept,
			Now: func() time.Time { return time.Unix(now.Load(), 0) }})
		p.ch.pace.expiry = time.Millisecond
		p.run(t)
	}
	process()
	removed := func() (out []string) {
		for _, e := range p.b.all() {
			if e.Kind == core.InRedaction {
				out = append(out, e.Address.External[:4]+" "+e.Target)
			}
		}
		return out
	}
	p.s.Say(ada, "stays")
	p.s.Say(bob, "stays too")
	day := p.s.Write(ada, map[string]any{"message": "a day", "expiresInSeconds": 86400})
	receipt, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "an answer"})
	if err != nil {
		t.Fatal(err)
	}
	answer := p.s.Sent(ada)[0].Timestamp
	p.s.Receipt(ada, false, answer)
	p.s.Receipt(ada, true, answer)
	short := p.s.Write(ada, map[string]any{"message": "five seconds", "expiresInSeconds": 5})
	p.s.Write(ada, map[string]any{"isExpirationUpdate": true})
	p.s.Say(ada, "stays again")
	until(t, "all events", func() bool { return len(p.b.all()) == 7 })
	now.Add(5) // it is answered first
	time.Sleep(20 * time.Millisecond)
	if got := removed(); len(got) > 0 {
		t.Errorf("removed %q already", got)
	}
	now.Add(60)
	until(t, "the first end", func() bool { return len(removed()) == 1 })
	p.stop()
	now.Add(86400)
	p.b.breaks(errors.New("disk full"))
	process()
	time.Sleep(20 * time.Millisecond)
	p.b.breaks(nil)
	until(t, "the other ends", func() bool { return len(removed()) >= 3 })
	want := []string{fmt.Sprint("2f9a ", short), fmt.Sprint("2f9a ", day), "2f9a " + receipt.NativeID}
	if got := removed(); !slices.Equal(got, want) {
		t.Errorf("removed %q, want %q", got, want)
	}
	until(t, "nothing is left", func() bool {
		stored, _ := kept.State(t.Context(), expiryKey)
		return stored == `{"chats":{},"messages":[]}`
	})
}

func TestRun_noteToSelf(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.run(t)
	self := core.Address{Channel: Name, Account: signaltest.Account, External: signaltest.Self}
	if _, err := p.ch.Send(t.Context(), self, core.Part{Text: "an answer"}); err != nil {
		t.Fatal(err)
	}
	p.s.Echo(p.s.Sent(signaltest.Self)[0]) // which would be a loop
	p.s.NoteTo(bob, "to somebody else")
	p.s.NoteTo(signaltest.Self, "remember the milk")
	p.wants(t, signaltest.Self, "remember the milk")
	if in := p.b.all(); len(in) != 2 || in[0].Kind != core.InByHand || in[0].Address.External != bob ||
		in[0].Text != "to somebody else" {
		t.Errorf("got %+v", in)
	}
	if err := p.ch.Typing(t.Context(), self, ""); err != nil || len(p.s.Typed()) > 0 {
		t.Errorf("typing to oneself: %v, %q", err, p.s.Typed())
	}
}

func TestRun_namesArePeoplesOwn(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.s.Name(bob, "bob.42") // only a username, which is looked up
	p.s.Envelope(bob, map[string]any{"typingMessage": map[string]any{"action": "STARTED"}})
	p.run(t)
	p.s.Write(ada, map[string]any{"message": "ask \uFFFC", "mentions": []any{map[string]any{"uuid": bob, "start": 4, "length": 1}}})
	p.wants(t, ada, "ask @bob.42")
	if in := p.b.all(); len(in) != 1 {
		t.Errorf("%d events, want one: a typing notice is none", len(in))
	}
}

func TestMarkRead_afterStoringAndWithAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.run(t)
	p.s.Say(ada, "one")
	p.s.Say(ada, "two")
	p.s.Say(bob, "three")
	p.wants(t, ada, "one", "two")
	p.wants(t, bob, "three")
	if p.s.Calls("sendReceipt") > 0 {
		t.Error("marked as read before anything was answered")
	}
	until(t, "the read marks", func() bool {
		if err := p.ch.Typing(t.Context(), toAda, ""); err != nil {
			t.Fatal(err)
		}
		return p.s.Unread(ada) == 0
	})
	if p.s.Unread(bob) != 1 {
		t.Errorf("%d unread messages of somebody else", p.s.Unread(bob))
	}
	to := toAda
	to.External = bob
	if _, err := p.ch.Send(t.Context(), to, core.Part{Text: "hi"}); err != nil || p.s.Unread(bob) != 0 {
		t.Errorf("%d unread messages after the answer, %v", p.s.Unread(bob), err)
	}
}

func TestReceipts_areStatesOfDeliveries(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.run(t)
	r, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	at := p.s.Sent(ada)[0].Timestamp
	p.s.Receipt(ada, false, at)
	p.s.Receipt(ada, true, at, at+1)
	until(t, "the receipts", func() bool { return len(p.b.all()) == 3 })
	in := p.b.all()
	if in[0].Status.State != core.DeliveryDelivered || in[1].Status.State != core.DeliveryRead ||
		in[0].Target != r.NativeID || in[1].Target != r.NativeID || in[2].Target == r.NativeID ||
		in[0].Kind != core.InReceipt || in[0].Address != toAda {
		t.Errorf("got %+v", in)
	}
}

// Streams that no daemon of ours writes.
func TestRun_oddStreams(t *testing.T) {
	t.Parallel()
	event := func(at int, text string) string {
		return fmt.Sprintf(`{"envelope":{"sourceUuid":%q,"sourceName":"Ada","timestamp":%d,"dataMessage":{"timestamp":%d,"message":%q}}}`, ada, at, at, text)
	}
	huge := "data:" + strings.Repeat("x", maxEvent+1) + "\n\n"
	stream := ":\n\nevent:receive\r\ndata:" + event(1, "crlf") + "\r\n\r\nid:7\nretry:1\n\n" + huge +
		"data:" + strings.Replace(event(2, "two lines"), `,"timestamp"`, ",\ndata:"+`"timestamp"`, 1) + "\n\n" +
		"data:not JSON\n\ndata:" + event(3, "last") + "\n\ndata:" + event(4, "cut off")
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		once.Do(func() { _, _ = io.WriteString(w, stream) })
	}))
	t.Cleanup(s.Close)
	p := &play{b: &box{ids: map[string]bool{}}, ch: open(t, Options{Config: Config{APIURL: s.URL}})}
	p.run(t)
	p.wants(t, ada, "crlf", "two lines", "last")
	var raw []string
	for _, e := range p.b.all() {
		if e.Kind == core.InUnsupported {
			raw = append(raw, string(e.Raw))
		}
	}
	if !slices.Equal(raw, []string{"not JSON"}) {
		t.Errorf("kept raw: %q", raw)
	}
	p.stop()
}
