package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/internal/fulltest"
)

// defectEnv names the defect of the channel of TestMemory.
const defectEnv = "ADAPTERTEST_DEFECT"

func TestMain(m *testing.M) {
	fulltest.Waits()
	os.Exit(m.Run())
}

// A channel of a few lines passes the suite.
func TestMemory(t *testing.T) {
	Test(t, func(*testing.T) Harness { return newService(os.Getenv(defectEnv)).harness() })
}

// Every rule matters: a channel with a defect fails.
func TestSuite_findsDefects(t *testing.T) {
	for defect, rule := range map[string]string{
		"new event ids":  "a_repeat_has_the_event_id_of_the_first",
		"out of order":   "what_a_person_says_is_passed_on_in_order",
		"all temporary":  "an_error_to_send_says_whether_trying_again_can_help",
		"ends late":      "Run_ends_within_a_second$",
		"leaks":          "what_a_person_says_is_passed_on_in_order",
		"acknowledges":   "what_was_stored_but_not_acknowledged_is_offered_to_the_next_process",
		"one id for all": "parts_are_sent_in_order",
		"deletes none":   "what_was_sent_can_be_deleted",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$/^"+rule)
			cmd.Env = append(os.Environ(), defectEnv+"="+defect)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMemory/"+strings.TrimSuffix(rule, "$")) {
				t.Errorf("passed: %v\n%s", err, out)
			}
		})
	}
}

// service is a chat service in memory.
type service struct {
	defect string

	mu      sync.Mutex
	changed chan struct{}
	said    []string
	queue   []int // indexes of said, not acknowledged
	sent    []string
	fault   Fault
}

func newService(defect string) *service {
	return &service{defect: defect, changed: make(chan struct{})}
}

func (s *service) harness() Harness {
	return Harness{
		New:   func(*testing.T) core.Channel { return &memory{s} },
		To:    core.Address{Channel: "memory", Account: "us", External: "them"},
		Say:   func(text string) { s.offer(func() int { s.said = append(s.said, text); return len(s.said) - 1 }) },
		Again: func() { s.offer(func() int { return len(s.said) - 1 }) },
		Unacknowledged: func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.queue)
		},
		Sent: func() []string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return slices.DeleteFunc(slices.Clone(s.sent), func(text string) bool { return text == "" })
		},
		Fail: func(f Fault) bool {
			s.fault = f
			return true
		},
		Close: func() {},
	}
}

func (s *service) offer(which func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, which())
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *service) waiting() ([]int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue), s.changed
}

func (s *service) acknowledge(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = s.queue[n:]
}

// memory is a channel on a service.
type memory struct{ s *service }

func (m *memory) Name() string { return "memory" }

func (m *memory) Run(ctx context.Context, r core.Receiver) error {
	if m.s.defect == "leaks" {
		go func() { select {} }()
	}
	for ctx.Err() == nil {
		batch, changed := m.s.waiting()
		if len(batch) > 0 {
			m.hand(ctx, r, batch)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	if m.s.defect == "ends late" {
		<-time.After(2 * time.Second)
	}
	return nil
}

func (m *memory) hand(ctx context.Context, r core.Receiver, batch []int) {
	var in []core.Inbound
	for _, i := range batch {
		in = append(in, m.inbound(i))
	}
	if m.s.defect == "out of order" {
		slices.Reverse(in)
	}
	err := r.Receive(ctx, in...)
	if err == nil || m.s.defect == "acknowledges" {
		m.s.acknowledge(len(batch))
	}
}

func (m *memory) inbound(i int) core.Inbound {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	id := fmt.Sprint(i)
	if m.s.defect == "new event ids" {
		id = time.Now().String()
	}
	return core.Inbound{
		Address: core.Address{Channel: "memory", Account: "us", External: "them"}, Kind: core.InMessage,
		EventID: id, NativeID: fmt.Sprint(i), Text: m.s.said[i], ReceivedAt: time.Now(), Raw: []byte(m.s.said[i]),
	}
}

func (m *memory) Send(ctx context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	fault := m.s.fault
	m.s.fault = ""
	if fault != "" {
		return core.Receipt{}, m.fails(ctx, fault)
	}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.sent = append(m.s.sent, p.Text)
	if m.s.defect == "one id for all" {
		return core.Receipt{NativeID: "1"}, nil
	}
	return core.Receipt{NativeID: fmt.Sprint("sent", len(m.s.sent))}, nil
}

func (m *memory) Retract(_ context.Context, to core.Address, native string) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	n, err := strconv.Atoi(strings.TrimPrefix(native, "sent"))
	if err != nil || to.External != "them" {
		return &core.Permanent{Err: fmt.Errorf("there is no message %s of %s", native, to)}
	}
	if m.s.defect != "deletes none" {
		m.s.sent[n-1] = ""
	}
	return nil
}

func (m *memory) fails(ctx context.Context, f Fault) error {
	err := errors.New(string(f))
	if m.s.defect == "all temporary" {
		return err
	}
	switch f {
	case Refused:
		return &core.Permanent{Err: err}
	case Unreachable:
		return &core.Unreachable{Err: err}
	case Wait:
		return &core.RetryAfter{After: time.Second, Err: err}
	case Away:
		return err
	case Hangs:
		<-ctx.Done()
	}
	return &core.Unknown{Err: err}
}
