package live_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/store"
)

// thread is a store with one question, message 1, and its turn.
type thread struct {
	mu       sync.Mutex
	question core.Message
	turn     core.Turn
	snapshot *store.Snapshot
	after    []core.Message
	failed   []core.Turn
	asked    []core.Inbound
	refused  error
}

func (s *thread) Identify(context.Context, core.Address) (core.Identity, core.User, error) {
	return core.Identity{User: 1, ID: 3}, core.User{ID: 1}, nil
}

func (s *thread) Referred(_ context.Context, user core.UserID, identity core.IdentityID,
	native string) (core.MessageID, error) {
	if user != 1 || identity != 3 || native != "n1" {
		return 0, core.ErrNotFound
	}
	return 1, nil
}

func (s *thread) Messages(_ context.Context, _ core.UserID, ids []core.MessageID) ([]core.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range append([]core.Message{s.question}, s.after...) {
		if m.ID == ids[0] {
			return []core.Message{m}, nil
		}
	}
	return nil, nil
}

func (s *thread) Turn(context.Context, core.UserID, core.TurnID) (core.Turn, *store.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn, s.snapshot, nil
}

func (s *thread) Turns(context.Context, core.UserID, int) ([]core.Turn, error) { return s.failed, nil }

func (s *thread) Timeline(_ context.Context, q store.TimelineQuery) ([]core.Message, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.After != 1 || q.Thread != 5 {
		return nil, false, core.ErrNotFound
	}
	return s.after, false, nil
}

func (s *thread) Receive(_ context.Context, in ...core.Inbound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, in...)
	return s.refused
}

func (s *thread) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// budget returns when a used-up budget ends.
type budget func() time.Time

func (b budget) Over(context.Context, core.UserID) (time.Time, error) {
	if b == nil {
		return time.Time{}, nil
	}
	return b(), nil
}

// asking runs Ask in a bubble while script changes the store.
func asking(t *testing.T, s *thread, over func() time.Time,
	script func(hub *live.Hub)) (out live.Answer, texts []string, err error) {
	synctest.Test(t, func(t *testing.T) {
		_, _, hubs := processes(t)
		a := &live.Asker{Hub: hubs[0], Receiver: s, Store: s, Budget: budget(over)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err = a.Ask(ctx, []core.Inbound{{NativeID: "n1"}}, func(soFar string) { texts = append(texts, soFar) })
		}()
		synctest.Wait()
		if script != nil {
			script(hubs[0])
		}
		<-done
	})
	return out, texts, err
}

var question = core.Message{User: 1, ID: 1, Thread: 5, Kind: core.KindChat, Role: core.RoleUser}

func by(id core.MessageID, turn core.TurnID, role core.Role, text string, calls ...core.ToolCall) core.Message {
	return core.Message{User: 1, ID: id, Thread: 5, Turn: turn, Kind: core.KindChat, Role: role,
		Text: text, ToolCalls: calls}
}

func TestAsk_answeredWhenItsTurnIs(t *testing.T) {
	t.Parallel()
	s := &thread{question: question}
	out, texts, err := asking(t, s, func() time.Time { return time.Time{} }, func(hub *live.Hub) {
		turn := core.Turn{User: 1, ID: 7, Thread: 5, State: core.TurnRunning, Inputs: []core.MessageID{1}}
		s.change(func() { s.question.Turn, s.turn = 7, turn })
		hub.Preview(&core.Turn{User: 1, ID: 9}, "another turn's")
		time.Sleep(2 * time.Second) // fake time: synctest
		synctest.Wait()
		hub.Preview(&turn, "Go")
		synctest.Wait()
		hub.Preview(&turn, "Good mor")
		synctest.Wait()
		s.change(func() {
			s.after = []core.Message{by(2, 7, core.RoleAssistant, "", core.ToolCall{ID: "a"}),
				{ID: 3, Turn: 7, Role: core.RoleTool, ToolCallID: "a"}, by(4, 7, core.RoleAssistant, "Good morning"),
				by(5, 8, core.RoleAssistant, "of the next turn")}
			s.snapshot, s.turn.State = &store.Snapshot{Model: "m"}, core.TurnDone
		})
	})
	if err != nil || out.Message.Text != "Good morning" || len(out.Calls) != 0 || out.Snapshot.Model != "m" ||
		out.Turn.ID != 7 || len(s.asked) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	if got := strings.Join(texts, "|"); got != "Go|Good mor" {
		t.Errorf("previews: %s", got)
	}
}

func TestAsk_callsWaitForTheirResults(t *testing.T) {
	t.Parallel()
	s := &thread{question: question, turn: core.Turn{ID: 7, State: core.TurnDone, Inputs: []core.MessageID{1}}}
	s.question.Turn = 7
	s.after = []core.Message{by(2, 7, core.RoleAssistant, "", core.ToolCall{ID: "own"}, core.ToolCall{ID: "client"}),
		{ID: 3, Turn: 7, Role: core.RoleTool, ToolCallID: "own"},
		{ID: 4, Turn: 8, Role: core.RoleTool, ToolCallID: "client"}} // a later result does not change this answer
	out, _, err := asking(t, s, nil, nil)
	if err != nil || len(out.Calls) != 1 || out.Calls[0].ID != "client" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestAsk_saysWhyNoAnswer(t *testing.T) {
	t.Parallel()
	tomorrow := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	answered := func(state core.TurnState) *thread {
		s := &thread{question: question, turn: core.Turn{ID: 7, State: state, Inputs: []core.MessageID{1}, LastError: "down"}}
		s.question.Turn = 7
		return s
	}
	redacted := question
	redacted.Redacted = true
	for name, c := range map[string]struct {
		s    *thread
		over time.Time
		want func(error) bool
	}{
		"stopped": {answered(core.TurnStopped), time.Time{},
			func(err error) bool { f, ok := live.IsFailed(err); return ok && f.Stopped }},
		"gave up": {&thread{question: question, failed: []core.Turn{{ID: 6, Thread: 5, State: core.TurnFailed,
			Inputs: []core.MessageID{1}, LastError: "down"}}}, time.Time{},
			func(err error) bool { f, ok := live.IsFailed(err); return ok && !f.Stopped && f.Reason == "down" }},
		"refused for good": {answered(core.TurnFailed), time.Time{},
			func(err error) bool { f, ok := live.IsFailed(err); return ok && f.Dropped && f.Reason == "down" }},
		"taken back": {&thread{question: redacted}, time.Time{},
			func(err error) bool { _, ok := live.IsFailed(err); return ok }},
		"budget": {&thread{question: question}, tomorrow,
			func(err error) bool { var o *live.OverBudget; return errors.As(err, &o) && o.Until.Equal(tomorrow) }},
		"not received": {&thread{question: question, refused: core.ErrChanged}, time.Time{},
			func(err error) bool { return errors.Is(err, core.ErrChanged) }},
		"too long": {&thread{question: question}, time.Time{},
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := asking(t, c.s, func() time.Time { return c.over }, nil); !c.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAsk_commandIsAnsweredWithItsNotice(t *testing.T) {
	t.Parallel()
	s := &thread{question: question}
	s.question.Kind = core.KindCommand
	s.after = []core.Message{{ID: 2, Kind: core.KindNotice, Role: core.RoleAssistant, Text: "Today: nothing yet."}}
	out, _, err := asking(t, s, nil, nil)
	if err != nil || out.Message.Text != "Today: nothing yet." || out.Snapshot != nil {
		t.Errorf("got %+v, %v", out, err)
	}
}
