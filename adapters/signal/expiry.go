package signal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// expiryKey is the key of the stored timers.
const expiryKey = "expiry"

const (
	// leastLife is the shortest life of a message here, so that it can be answered.
	leastLife = time.Minute
	// expiryPause is between two looks for messages whose time is over.
	expiryPause = 5 * time.Second
)

// expiry removes the messages of chats with a timer from the conversation, those of the person and ours, as apps do.
type expiry struct {
	keeper core.Keeper // nil: the timers are lost with the process

	mu    sync.Mutex
	kept  timers
	saved bool // kept is stored
}

// timers are what is stored.
type timers struct {
	Chats    map[string]int64 `json:"chats"` // seconds, by person
	Messages []mortal         `json:"messages"`
}

// mortal is a message with the end of its life.
type mortal struct {
	Person string `json:"person"`
	At     int64  `json:"at"`
	Ends   int64  `json:"ends"`             // Unix seconds
	Author string `json:"author,omitempty"` // in a group
}

// load reads the stored timers.
func (x *expiry) load(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept, x.saved = timers{Chats: map[string]int64{}}, true
	if x.keeper == nil {
		return nil
	}
	stored, err := x.keeper.State(ctx, expiryKey)
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &x.kept)
	}
	if err != nil {
		return fmt.Errorf("read the timers of messages: %w", err)
	}
	return nil
}

// add notes what an event says of timers: that of the chat, the messages under it, and our messages that arrived there.
func (x *expiry) add(e *event, in []core.Inbound, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if person, seconds, ok := e.timer(); ok && x.kept.Chats[person] != seconds {
		if x.saved = false; seconds == 0 {
			delete(x.kept.Chats, person)
		} else {
			x.kept.Chats[person] = seconds
		}
	}
	for _, m := range in {
		id := map[core.InboundKind]string{core.InMessage: m.NativeID, core.InByHand: m.NativeID,
			core.InReceipt: m.Target}[m.Kind]
		at, author, err := identified(id)
		seconds := x.kept.Chats[m.Address.External]
		if err != nil || seconds == 0 || slices.ContainsFunc(x.kept.Messages, func(one mortal) bool {
			return one.Person == m.Address.External && one.At == at && one.Author == author
		}) {
			continue
		}
		life := max(time.Duration(seconds)*time.Second, leastLife)
		x.kept.Messages = append(x.kept.Messages, mortal{m.Address.External, at, now.Add(life).Unix(), author})
		x.saved = false
	}
}

// save stores the timers if they have changed.
func (x *expiry) save(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.saved || x.keeper == nil {
		return nil
	}
	raw, err := json.Marshal(x.kept)
	if err == nil {
		err = x.keeper.SetState(ctx, map[string]string{expiryKey: string(raw)})
	}
	if err != nil {
		return fmt.Errorf("store the timers of messages: %w", err)
	}
	x.saved = true
	return nil
}

// over returns the messages whose life is over.
func (x *expiry) over(now time.Time) []mortal {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []mortal
	for _, m := range x.kept.Messages {
		if m.Ends <= now.Unix() {
			out = append(out, m)
		}
	}
	return out
}

// drop drops messages that are gone.
func (x *expiry) drop(gone []mortal) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept.Messages = slices.DeleteFunc(x.kept.Messages, func(m mortal) bool { return slices.Contains(gone, m) })
	x.saved = false
}

// expire removes messages at the end of their lives until ctx ends. A failure is repeated with the next look.
func (c *Channel) expire(ctx context.Context, r core.Receiver) {
	look := time.NewTicker(c.pace.expiry)
	defer look.Stop()
	for {
		if gone := c.expiry.over(c.now()); len(gone) > 0 {
			var in []core.Inbound
			for _, m := range gone {
				one := core.Inbound{Address: core.Address{Channel: Name, Account: c.opts.Account, External: m.Person},
					Kind: core.InRedaction, SentAt: c.now(), ReceivedAt: c.now()}
				if m.Author != "" {
					one.Group = &core.Group{Speaker: m.Author}
				}
				one.Target = native(&one, m.At, m.Author)
				one.EventID = m.Person + ":expired:" + one.Target
				in = append(in, one)
			}
			err := r.Receive(ctx, in...)
			if err == nil {
				c.expiry.drop(gone)
				err = c.expiry.save(ctx)
			}
			if err != nil && ctx.Err() == nil {
				c.log.Error("messages not removed at the end of their timer", zap.Int("messages", len(gone)), zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
