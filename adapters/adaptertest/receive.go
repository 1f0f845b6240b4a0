package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everthread/everthread/core"
)

func passesOnInOrder(t *testing.T, h Harness) {
	s := newStore()
	p := run(t, h, s)
	defer p.end(t)
	const n = 25
	for i := range n {
		h.Say(fmt.Sprintf("message %d", i))
	}
	s.wait(t, "all messages", func() bool { return len(s.messages()) >= n })
	ids := map[string]bool{}
	for i, m := range s.messages() {
		if want := fmt.Sprintf("message %d", i); m.Text != want {
			t.Errorf("message %d has text %q", i, m.Text)
		}
		if m.Address != h.To {
			t.Errorf("message of %v, want %v", m.Address, h.To)
		}
		if m.EventID == "" || ids[m.EventID] {
			t.Errorf("event id %q is empty or not unique", m.EventID)
		}
		if m.NativeID == "" || m.ReceivedAt.IsZero() || len(m.Raw) == 0 {
			t.Errorf("message without native id, time of receipt or raw bytes: %+v", m)
		}
		ids[m.EventID] = true
	}
	if p.ch.Name() != h.To.Channel {
		t.Errorf("channel %q has addresses of %q", p.ch.Name(), h.To.Channel)
	}
}

func repeatsEventIDs(t *testing.T, h Harness) {
	if h.Again == nil {
		return
	}
	s := newStore()
	p := run(t, h, s)
	defer p.end(t)
	h.Say("once")
	s.wait(t, "the message", func() bool { return len(s.offers()) >= 1 })
	h.Again()
	s.wait(t, "its repeat", func() bool { return len(s.offers()) >= 2 })
	o := s.offers()
	if o[0].EventID != o[1].EventID {
		t.Errorf("event ids %q and %q", o[0].EventID, o[1].EventID)
	}
	if n := len(s.messages()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func acknowledgesAfterStoring(t *testing.T, h Harness) {
	s := newStore()
	var failed atomic.Int32
	s.before = func(context.Context) error {
		if h.Unacknowledged() == 0 {
			t.Error("acknowledged before it was stored")
		}
		if failed.Add(1) <= 3 {
			return errors.New("disk full")
		}
		return nil
	}
	p := run(t, h, s)
	defer p.end(t)
	h.Say("keep me")
	s.wait(t, "the message after three failures", func() bool { return len(s.messages()) == 1 })
	if failed.Load() < 4 {
		t.Errorf("offered %d times", failed.Load())
	}
	for _, o := range s.offers() {
		if o.EventID != s.messages()[0].EventID {
			t.Errorf("offered as %q, then as %q", o.EventID, s.messages()[0].EventID)
		}
	}
	s.wait(t, "the acknowledgement", func() bool { return h.Unacknowledged() == 0 })
}

func offersAgainAfterCrash(t *testing.T, h Harness) {
	if h.Again == nil {
		return
	}
	s := newStore()
	died := make(chan struct{})
	var die sync.Once
	var p *process
	started := make(chan struct{})
	s.after = func() error {
		<-started
		if h.Mount != nil {
			h.Mount(map[string]http.Handler{})
		}
		p.cancel()
		die.Do(func() { close(died) })
		return context.Canceled
	}
	h.Say("stored, not acknowledged")
	p = run(t, h, s)
	close(started)
	<-died
	p.end(t)
	if h.Unacknowledged() == 0 {
		t.Fatal("acknowledged by a process that died first")
	}
	s.mu.Lock()
	s.after = nil
	s.mu.Unlock()
	next := run(t, h, s)
	defer next.end(t)
	s.wait(t, "the acknowledgement by the next process", func() bool { return h.Unacknowledged() == 0 })
	if n := len(s.messages()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	if len(s.offers()) < 2 {
		t.Error("not offered again")
	}
}

func endsPromptly(t *testing.T, h Harness) {
	s := newStore()
	p := run(t, h, s)
	h.Say("are you there?")
	s.wait(t, "the message", func() bool { return len(s.messages()) == 1 })
	p.end(t)
}

func endsWhileStoring(t *testing.T, h Harness) {
	s := newStore()
	s.before = func(context.Context) error { return errors.New("disk full") }
	p := run(t, h, s)
	h.Say("hello")
	s.wait(t, "an attempt", func() bool { return len(s.offers()) >= 2 })
	p.end(t)
}

var _ core.Receiver = (*store)(nil)
