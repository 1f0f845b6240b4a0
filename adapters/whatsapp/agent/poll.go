package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Keys of the stored state of an account.
const (
	cursorKey  = "cursor"  // cursor of the next poll, decimal
	creatorKey = "creator" // address of the person who created the agent
)

const (
	pollLimit   = 100
	codeReplace = 1752041 // a newer poll took over
	codeGone    = 100     // with 400: unknown key
)

type place struct {
	cursor  int64
	creator string // "" until the person first writes
}

// poll receives until ctx ends. It returns errStopped if the key can no longer be used,
// and core.ErrFenced if another process holds the account.
func (a *agent) poll(ctx context.Context, r core.Receiver) error {
	keeper := a.c.opts.Store.Keeper(a.account)
	at, err := a.place(ctx, keeper)
	if err != nil {
		a.report(err)
		return err
	}
	for wait := (waits{pace: a.c.pace}); ctx.Err() == nil; {
		if err := a.limits.updates.wait(ctx, a.c.now); err != nil {
			return err
		}
		err := a.step(ctx, r, keeper, &at)
		switch {
		case err == nil:
			wait.next = 0
			a.report(nil)
			continue
		case ctx.Err() != nil, errors.Is(err, core.ErrFenced):
			return err
		case errors.Is(err, errStopped):
			a.report(err)
			return err
		}
		if err := a.rest(ctx, &wait, err); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (a *agent) place(ctx context.Context, k core.Keeper) (place, error) {
	cursor, err := k.State(ctx, cursorKey)
	if err != nil {
		return place{}, fmt.Errorf("read cursor: %w", err)
	}
	creator, err := k.State(ctx, creatorKey)
	if err != nil {
		return place{}, fmt.Errorf("read creator: %w", err)
	}
	at := place{creator: creator}
	if cursor != "" {
		if at.cursor, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return place{}, fmt.Errorf("read cursor: %w", err)
		}
	}
	return at, nil
}

// step polls once, stores the messages, and then the cursor.
func (a *agent) step(ctx context.Context, r core.Receiver, k core.Keeper, at *place) error {
	var raw json.RawMessage
	c := graph.Call{
		Op: "poll", Method: http.MethodGet, Timeout: a.c.pace.longPoll + 15*time.Second,
		Path: fmt.Sprintf("updates?offset=%d&limit=%d&timeout=%d", at.cursor, pollLimit, int(a.c.pace.longPoll.Seconds())),
	}
	answer, err := a.api.Do(ctx, c, &raw)
	switch {
	case unknownKey(err):
		return fmt.Errorf("%w: %w", deadKey(err), errStopped)
	case err != nil:
		return err
	case answer.Status == http.StatusNoContent:
		return nil
	}
	got := Normalise(a.key, raw, a.c.now())
	next := *at
	held := next.admit(&got)
	if len(got.In) > 0 {
		if err := r.Receive(ctx, got.In...); err != nil {
			return fmt.Errorf("store messages: %w", err)
		}
	}
	if held != nil {
		return held
	}
	if got.Next == nil {
		return errors.New("the service's answer has no next_offset")
	}
	next.cursor = *got.Next
	err = k.SetState(ctx, map[string]string{cursorKey: strconv.FormatInt(next.cursor, 10), creatorKey: next.creator})
	if err != nil {
		return fmt.Errorf("store cursor: %w", err)
	}
	*at = next
	a.markRead(ctx, got.Last)
	return nil
}

// admit learns the creator of the agent from the first message, and cuts off messages of anybody else. Their account is
// not the one to which the key was bound, so nothing is delivered until a person has checked.
func (p *place) admit(got *Updates) error {
	for i, in := range got.In {
		if in.Kind == core.InReceipt || in.Address.External == "" {
			continue
		}
		if p.creator == "" {
			p.creator = in.Address.External
		}
		if in.Address.External != p.creator {
			got.In = got.In[:i]
			return fmt.Errorf(
				"the WhatsApp account behind this agent changed, so its messages are held: if it is still the same person, remove the key and add it again: %w", errStopped)
		}
	}
	return nil
}

// unknownKey reports whether the service refused a key that it does not know.
func unknownKey(err error) bool {
	e, ok := errors.AsType[*graph.Error](err)
	return ok && (e.HTTP == http.StatusUnauthorized || e.HTTP == http.StatusBadRequest && e.Code == codeGone)
}

func deadKey(err error) error {
	return fmt.Errorf(
		"the key of this personal agent is not valid any more; make a new one in WhatsApp (chat info of the agent, API key) and add it with everthread users agent add: %w", err)
}

// markRead marks a message as read at the service. As that may remove it there, it is
// done last, and failures are ignored.
func (a *agent) markRead(ctx context.Context, wamid string) {
	if wamid == "" || a.limits.statuses.take(a.c.now()) > 0 {
		return
	}
	err := a.api.MarkRead(ctx, "mark as read", "statuses", callTimeout, wamid, false)
	if err != nil && ctx.Err() == nil {
		a.log.Debug("message not marked as read", zap.Error(err))
	}
}

// waits holds the growing pause between attempts, and the recent takeovers by other pollers.
type waits struct {
	pace      pace
	next      time.Duration
	conflicts []time.Time
}

// rest pauses for as long as err requires, and reports lasting failures.
func (a *agent) rest(ctx context.Context, w *waits, err error) error {
	w.next = min(max(2*w.next, w.pace.firstPause), w.pace.lastPause)
	d := w.next
	var refused *graph.Error
	isRefusal := errors.As(err, &refused)
	switch {
	case isRefusal && (refused.HTTP == http.StatusConflict || refused.Code == codeReplace):
		d = w.pace.standDown
		now := a.c.now()
		w.conflicts = append(slices.DeleteFunc(w.conflicts, func(at time.Time) bool {
			return now.Sub(at) > w.pace.conflictsIn
		}), now)
		if len(w.conflicts) < w.pace.conflicts {
			return channel.Pause(ctx, d)
		}
		err = fmt.Errorf("another program receives with the key of this personal agent: end it, or make a new key: %w", err)
	case isRefusal && refused.HTTP == http.StatusTooManyRequests:
		d = max(d, refused.Wait, w.pace.busyPause)
	}
	a.report(err)
	return channel.Pause(ctx, d)
}
