package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
)

// pages says whether somebody follows the previews.
type pages struct{ open atomic.Bool }

func (p *pages) Followed(core.UserID) bool  { return p.open.Load() }
func (p *pages) Preview(*core.Turn, string) {}

// burst is a world whose model answers "re: …" once its inputs are those in whole, and otherwise waits until it is
// interrupted, or for patience.
func burst(t *testing.T, whole string, patience time.Duration, change func(*gateway.Options)) *world {
	w := newWorld(t, func(o *gateway.Options) {
		o.Settings.Join = 5 * time.Second
		if change != nil {
			change(o)
		}
	})
	w.brain.script = func(ctx context.Context, in string, _ core.Progress) (string, error) {
		if in != whole {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(patience):
			}
		}
		return "re: " + in, nil
	}
	return w
}

func TestTurn_messagesOfABurstJoin(t *testing.T) {
	t.Parallel()
	w := burst(t, "one + two + three", 2*time.Second, nil)
	for n, text := range []string{"one", "two", "three"} {
		w.say(text)
		w.brain.called(t, n+1)
	}
	if got := w.sent(1); got != "re: one + two + three" {
		t.Errorf("got %q", got)
	}
	w.say("four")
	if got := w.sent(2); got != "re: four" {
		t.Errorf("the next turn answers %q", got)
	}
	if n := w.line.count(); n != 2 {
		t.Errorf("%d answers, want 2", n)
	}
}

func TestTurn_messagesJoinAtMostThreeTimes(t *testing.T) {
	t.Parallel()
	w := burst(t, "", 300*time.Millisecond, nil)
	var texts []string
	for n := range 5 {
		texts = append(texts, fmt.Sprint(n))
		w.say(texts[n])
		w.brain.called(t, min(n+1, 4))
	}
	got := []string{w.sent(1), w.sent(2)}
	if d := cmp.Diff([]string{"re: " + strings.Join(texts[:4], " + "), "re: 4"}, got); d != "" {
		t.Error(d)
	}
}

func TestTurn_messagesDoNotJoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on     func(on core.Progress)
		change func(o *gateway.Options)
		second func(e *core.Inbound)
	}{
		"once something is visible": {on: func(on core.Progress) { on.Text("re: ") },
			change: func(o *gateway.Options) {
				p := &pages{}
				p.open.Store(true)
				o.Previews = p
			}},
		"once a tool acted outside": {on: func(on core.Progress) { on.Acts() }},
		"later than turn.join": {on: func(core.Progress) { time.Sleep(60 * time.Millisecond) }, // the clock is the real one
			change: func(o *gateway.Options) { o.Settings.Join = 50 * time.Millisecond }},
		"if they are to be answered alone": {second: func(e *core.Inbound) { e.Solo = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *gateway.Options) {
				o.Settings.Join = 5 * time.Second
				if c.change != nil {
					c.change(o)
				}
			})
			began := make(chan struct{}, 9)
			w.brain.script = func(ctx context.Context, in string, on core.Progress) (string, error) {
				if in == "one" {
					if c.on != nil {
						c.on(on)
					}
					began <- struct{}{}
					select {
					case <-ctx.Done():
						return "", ctx.Err()
					case <-time.After(200 * time.Millisecond):
					}
				}
				return "re: " + in, nil
			}
			w.say("one")
			<-began
			in := core.Inbound{Address: w.address(), EventID: "e2", NativeID: "e2", Kind: core.InMessage, Text: "two",
				SentAt: time.Now()}
			if c.second != nil {
				c.second(&in)
			}
			w.receive(in)
			if d := cmp.Diff([]string{"re: one", "re: two"}, []string{w.sent(1), w.sent(2)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTurn_joinCanHappenWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	w := burst(t, "one + two", 10*time.Second, func(o *gateway.Options) { o.Previews = &pages{} })
	w.say("one")
	w.brain.called(t, 1)
	w.say("two")
	if got := w.sent(1); got != "re: one + two" {
		t.Errorf("got %q", got)
	}
}

func TestTurn_interruptedAttemptShowsAndDoesNothing(t *testing.T) {
	t.Parallel()
	p := &pages{}
	w := newWorld(t, func(o *gateway.Options) { o.Settings.Join, o.Previews = 5*time.Second, p })
	late := make(chan bool, 1)
	w.brain.script = func(ctx context.Context, in string, on core.Progress) (string, error) {
		if in == "one" {
			<-ctx.Done()
			p.open.Store(true)
			on.Text("taken back?")
			on.Acts()
			late <- true
			p.open.Store(false)
			return "", ctx.Err()
		}
		return "re: " + in, nil
	}
	w.say("one")
	w.brain.called(t, 1)
	w.say("two")
	<-late
	w.say("three") // may still join: nothing was visible, and nothing was done
	if got := w.sent(1); !strings.HasPrefix(got, "re: one + two") {
		t.Errorf("got %q", got)
	}
}
