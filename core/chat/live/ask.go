package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// AskStore is the part of a store that an Asker uses.
type AskStore interface {
	store.RefStore
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *store.Snapshot, error)
	Turns(ctx context.Context, user core.UserID, limit int) ([]core.Turn, error)
	Timeline(ctx context.Context, q store.TimelineQuery) ([]core.Message, bool, error)
}

// Asker sends messages to the gateway and waits for their answer, for clients with a request-response protocol.
type Asker struct {
	Hub      *Hub
	Receiver core.Receiver
	Store    AskStore
	Budget   Budget
}

// Budget is the daily budget of users.
type Budget interface {
	// Over returns until when the budget of a user is used up; zero: it is not.
	Over(ctx context.Context, user core.UserID) (until time.Time, err error)
}

// Answer is the answer to a question.
type Answer struct {
	User    core.UserID
	Thread  core.ThreadID
	Asked   core.MessageID // the last message of the question
	Turn    core.Turn      // zero if a command was answered
	Message core.Message   // the assistant's last message; its ID is 0 if there is none
	// Calls are calls of the client's tools that wait for their results.
	Calls    []core.ToolCall
	Snapshot *store.Snapshot // nil for a command
}

// Failed is the error of a turn that failed, or was stopped before it had an answer.
type Failed struct {
	Stopped bool
	Dropped bool   // the question does not wait for another turn
	Reason  string // of the model's last error; may be empty
}

// Why returns the reason in words.
func (e *Failed) Why() string { return cmp.Or(e.Reason, "its provider gave no reason") }

// Then says what becomes of the question.
func (e *Failed) Then() string {
	if e.Dropped {
		return "The message is kept, but not tried again: change the request."
	}
	return "The message is kept, and is answered with the next one or after /retry."
}

// Error returns the message.
func (e *Failed) Error() string {
	if e.Stopped {
		return "the answer was stopped"
	}
	return "the model did not answer: " + e.Reason
}

// OverBudget is the error of a question that waits until the next day.
type OverBudget struct{ Until time.Time }

// Error returns the message.
func (e *OverBudget) Error() string {
	return "the day's budget of tokens is used up until " + e.Until.UTC().Format(time.RFC3339)
}

// Ask stores messages of one address, each with a NativeID, and waits until the last one is answered. Repeated messages
// get the earlier answer. onText, unless nil, receives the whole answer so far, each time it grows. If ctx ends, the
// answer is written and stored nevertheless. Errors are those of the receiver, *Failed, *OverBudget and the context's.
func (a *Asker) Ask(ctx context.Context, in []core.Inbound, onText func(soFar string)) (Answer, error) {
	last := in[len(in)-1]
	i, _, err := a.Store.Identify(ctx, last.Address)
	if err != nil {
		return Answer{}, fmt.Errorf("ask: %w", err)
	}
	feed := a.Hub.Follow(i.User)
	defer feed.Close()
	if err := a.Receiver.Receive(ctx, in...); err != nil {
		return Answer{}, err
	}
	id, err := a.Store.Referred(ctx, i.User, i.ID, last.NativeID)
	if err != nil {
		return Answer{}, fmt.Errorf("find the question: %w", err)
	}
	return a.wait(ctx, feed, Answer{User: i.User, Asked: id}, onText)
}

// lookAgain is the interval at which the store is read without news.
const lookAgain = time.Second

func (a *Asker) wait(ctx context.Context, feed *Feed, out Answer, onText func(string)) (Answer, error) {
	for look := true; ; {
		if look {
			done, err := a.look(ctx, &out)
			if done || err != nil {
				return out, err
			}
		}
		news, err := feed.Next(ctx, lookAgain)
		if err != nil {
			return out, err
		}
		look = news.Changed || len(news.Previews) == 0
		for _, p := range news.Previews {
			if onText != nil && p.Turn == out.Turn.ID && p.Missing == 0 {
				onText(p.Text)
			} else if out.Turn.ID == 0 {
				look = true
			}
		}
	}
}

// look reports whether the question is answered, and reads the answer.
func (a *Asker) look(ctx context.Context, out *Answer) (bool, error) {
	ms, err := a.Store.Messages(ctx, out.User, []core.MessageID{out.Asked})
	if err != nil {
		return false, err
	}
	if len(ms) == 0 || ms[0].Redacted {
		return true, &Failed{Stopped: true}
	}
	out.Thread = ms[0].Thread
	if ms[0].Kind == core.KindCommand {
		return true, a.notice(ctx, out)
	}
	if ms[0].Turn == 0 {
		return a.unread(ctx, out, ms[0])
	}
	out.Turn, out.Snapshot, err = a.Store.Turn(ctx, out.User, ms[0].Turn)
	switch {
	case err != nil || out.Turn.State == core.TurnRunning:
		return false, err
	case out.Turn.State == core.TurnFailed:
		return true, &Failed{Dropped: true, Reason: out.Turn.LastError}
	}
	return true, a.answer(ctx, out)
}

// recent bounds the turns that are searched for the last one of a thread.
const recent = 20

// unread checks a question that no turn has read: it waits for a turn, or it fails because
// the last turn of its thread failed after the question.
func (a *Asker) unread(ctx context.Context, out *Answer, asked core.Message) (bool, error) {
	turns, err := a.Store.Turns(ctx, out.User, recent)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(turns, func(t core.Turn) bool { return t.Thread == asked.Thread })
	if i < 0 || turns[i].State != core.TurnFailed {
		return false, a.over(ctx, out.User)
	}
	if t := turns[i]; slices.Contains(t.Inputs, asked.ID) || t.StartedAt.After(asked.SentAt) {
		return true, &Failed{Reason: t.LastError}
	}
	return false, a.over(ctx, out.User)
}

func (a *Asker) over(ctx context.Context, user core.UserID) error {
	until, err := a.Budget.Over(ctx, user)
	if err == nil && !until.IsZero() {
		err = &OverBudget{Until: until}
	}
	return err
}

// answered bounds the messages of a turn that are read: the answer is the last.
const answered = 400

// answer reads the answer of an ended turn.
func (a *Asker) answer(ctx context.Context, out *Answer) error {
	after := out.Turn.Inputs[len(out.Turn.Inputs)-1]
	ms, _, err := a.Store.Timeline(ctx, store.TimelineQuery{User: out.User, Thread: out.Thread,
		After: after, Limit: answered})
	if err != nil {
		return err
	}
	results := map[string]bool{}
	var calls []core.ToolCall
	for _, m := range ms {
		if m.Turn != out.Turn.ID {
			continue
		}
		results[m.ToolCallID] = true
		if m.Role == core.RoleAssistant {
			out.Message, calls = m, m.ToolCalls
		}
	}
	for _, c := range calls {
		if !results[c.ID] {
			out.Calls = append(out.Calls, c)
		}
	}
	if out.Message.ID == 0 {
		return &Failed{Stopped: out.Turn.State == core.TurnStopped, Reason: out.Turn.LastError}
	}
	return nil
}

// notice reads the answer to a command: the message after it.
func (a *Asker) notice(ctx context.Context, out *Answer) error {
	ms, err := a.Store.Messages(ctx, out.User, []core.MessageID{out.Asked + 1})
	if err == nil && len(ms) == 1 && ms[0].Kind == core.KindNotice {
		out.Message = ms[0]
	}
	return err
}

// IsFailed returns the *Failed in err, and reports whether there is one.
func IsFailed(err error) (*Failed, bool) {
	return errors.AsType[*Failed](err)
}
