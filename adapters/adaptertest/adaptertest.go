// Package adaptertest is the conformance suite for channels: it checks the contract of
// core.Channel against a fake chat service.
package adaptertest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Fault is a failure of the next call to send.
type Fault string

// Faults.
const (
	Refused     Fault = "refused"     // permanent refusal: *core.Permanent
	Unreachable Fault = "unreachable" // person blocked the account or is gone: *core.Unreachable
	Wait        Fault = "wait"        // rate limit: *core.RetryAfter
	Lost        Fault = "lost"        // carried out, but the answer is lost: *core.Unknown
	Broken      Fault = "broken"      // internal error of the service: *core.Unknown
	Hangs       Fault = "hangs"       // no answer until the caller gives up: *core.Unknown
	Away        Fault = "away"        // service cannot be reached: temporary
)

// Harness is a chat service with one person.
type Harness struct {
	// New returns a channel for the account, as in a new process.
	New func(t *testing.T) core.Channel
	// Mount serves the routes of a channel.Handler to the service, in place of earlier ones;
	// nil if the channel is not a channel.Handler.
	Mount func(routes map[string]http.Handler)
	// To is the person's address.
	To core.Address
	// Say lets the person write text.
	Say func(text string)
	// Again lets the service repeat the person's last message; nil if it never repeats
	// messages, and holds none for the next process.
	Again func()
	// Unacknowledged returns the number of messages without acknowledgement.
	Unacknowledged func() int
	// Sent returns the texts that the service accepted for the person and has not deleted, in order.
	Sent func() []string
	// Fail lets the next call to send fail. It returns false if the service does not
	// support the fault.
	Fail func(f Fault) bool
	// Close ends the service.
	Close func()
}

// patience bounds the wait for an expected event.
const patience = 20 * time.Second

// Test runs the suite. open starts a fresh service for each case. Test must not run in
// parallel with other tests, as it checks for leaked goroutines.
func Test(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		rule string
		run  func(t *testing.T, h Harness)
	}{
		{"what a person says is passed on in order", passesOnInOrder},
		{"a repeat has the event id of the first", repeatsEventIDs},
		{"nothing is acknowledged before it is stored", acknowledgesAfterStoring},
		{"what was stored but not acknowledged is offered to the next process", offersAgainAfterCrash},
		{"parts are sent in order, each with its own id", sendsInOrder},
		{"what was sent can be deleted, more than once", retracts},
		{"an error to send says whether trying again can help", classifiesErrors},
		{"a slow service is given up when the caller does", givesUpWithCaller},
		{"a text at the limit is one message", sendsLongestText},
		{"a channel that settles tells what became of a part whose answer was lost", settlesLostParts},
		{"a long answer arrives whole, in parts", splitsLongAnswers},
		{"markup loses no word and no order", keepsWordsInMarkup},
		{"Run ends within a second", endsPromptly},
		{"Run ends within a second while nothing can be stored", endsWhileStoring},
	} {
		t.Run(c.rule, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			h := open(t)
			c.run(t, h)
			h.Close()
			goleak.VerifyNone(t, before)
		})
	}
}

// store is a core.Receiver that stores each event once, and can fail.
type store struct {
	mu      sync.Mutex
	kept    []core.Inbound
	offered []core.Inbound // repeats and what was not stored included
	before  func(ctx context.Context) error
	after   func() error
	changed chan struct{}
}

func newStore() *store { return &store{changed: make(chan struct{}, 1)} }

func (s *store) Receive(ctx context.Context, in ...core.Inbound) error {
	defer s.signal()
	s.mu.Lock()
	s.offered = append(s.offered, in...)
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	s.keep(in)
	if after != nil {
		return after()
	}
	return nil
}

func (s *store) keep(in []core.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range in {
		same := func(k core.Inbound) bool { return k.EventID == m.EventID }
		if !slices.ContainsFunc(s.kept, same) {
			s.kept = append(s.kept, m)
		}
	}
}

func (s *store) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *store) messages() []core.Inbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []core.Inbound
	for _, m := range s.kept {
		if m.Kind == core.InMessage {
			out = append(out, m)
		}
	}
	return out
}

func (s *store) offers() []core.Inbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.offered)
}

// wait waits until what returns true; it is called after each Receive and periodically.
func (s *store) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-s.changed:
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// process is a running channel.
type process struct {
	ch     core.Channel
	cancel context.CancelFunc
	done   chan error
}

// run starts a channel of h that passes to r.
func run(t *testing.T, h Harness, r core.Receiver) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{ch: h.New(t), cancel: cancel, done: make(chan error, 1)}
	if hd, ok := p.ch.(channel.Handler); ok && h.Mount != nil {
		h.Mount(hd.Routes(r))
	}
	go func() { p.done <- p.ch.Run(ctx, r) }()
	return p
}

// end ends the process, and checks that it ends in time.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.cancel()
	select {
	case err := <-p.done:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v after its context ended", err)
		}
	case <-time.After(time.Second):
		t.Errorf("Run did not end within a second")
		<-p.done
	}
}
