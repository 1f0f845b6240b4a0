package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	mid "maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	syncWait    = 30 * time.Second // for which the server holds a sync open
	syncTimeout = 2 * time.Minute  // the first sync, and one after a long pause, is slow
	syncLimit   = 100              // events of one room in a response; the rest is paged
)

// syncResponse holds the used parts of the response of /sync. Its events are read one by one: mautrix reads all or none,
// and anybody can send an event that it cannot read, such as one with a number of 400 digits.
type syncResponse struct {
	NextBatch string `json:"next_batch"`
	Rooms     struct {
		Join   map[string]joinedRoom  `json:"join"`
		Invite map[string]invitedRoom `json:"invite"`
		Leave  map[string]joinedRoom  `json:"leave"`
	} `json:"rooms"`

	ToDevice    eventList           `json:"to_device"`
	DeviceLists mautrix.DeviceLists `json:"device_lists"`
	KeyCounts   mautrix.OTKCount    `json:"device_one_time_keys_count"`
}

type eventList struct {
	Events []json.RawMessage `json:"events"`
}

type joinedRoom struct {
	State     eventList `json:"state"`
	Ephemeral eventList `json:"ephemeral"`
	Timeline  struct {
		eventList
		Limited   bool   `json:"limited"`
		PrevBatch string `json:"prev_batch"`
	} `json:"timeline"`
}

type invitedRoom struct {
	State eventList `json:"invite_state"`
}

func stateTypes() []string {
	return []string{typeMember, typeCreate, typeEncryption, typeTombstone, typeBridge, typeHalfShot, typeService,
		typeHistory, typeJoins, typeName}
}

func timelineTypes() []string {
	types := append(stateTypes(), typeMessage, typeEncrypted, typeReaction, typeRedaction, typeStatus)
	return append(types, slices.Sorted(maps.Keys(asMessages))...)
}

func filter() string {
	none := map[string]any{"types": []string{}}
	f := map[string]any{
		"presence": none, "account_data": none,
		"room": map[string]any{
			"account_data": none,
			"ephemeral":    map[string]any{"types": []string{typeReceipt}},
			"state":        map[string]any{"types": stateTypes(), "lazy_load_members": true},
			"timeline":     map[string]any{"types": timelineTypes(), "limit": syncLimit, "lazy_load_members": true},
		},
	}
	b, _ := json.Marshal(f)
	return string(b)
}

// receive logs in and syncs until ctx ends or the server permanently refuses the session.
func (c *Channel) receive(ctx context.Context, r core.Receiver) error {
	var background sync.WaitGroup
	defer background.Wait()
	defer func() { c.end(c.session.Load()) }()
	for pause := (channel.Backoff{}); ctx.Err() == nil; {
		s, err := c.login(ctx)
		if err != nil {
			return err
		}
		err = c.step(ctx, s, r, &background)
		switch e := refused(err); {
		case err == nil:
			pause = channel.Backoff{}
			c.Report(c.twin(ctx))
		case errors.Is(err, core.ErrFenced):
			return err
		case e != nil && e.loggedOut():
			c.log.Warn("session ended by the server", zap.Bool("soft", e.SoftLogout))
			c.end(s)
			pause.Wait(ctx, 0)
		case ctx.Err() == nil:
			if errors.Is(err, errReload) {
				c.end(s)
			}
			c.Report(fmt.Errorf("sync matrix: %w", err))
			c.log.Warn("sync failed", zap.Error(err))
			pause.Wait(ctx, retryAfterOf(err))
		}
	}
	return ctx.Err()
}

// end closes a session, if there is one.
func (c *Channel) end(s *session) {
	if s != nil && s.crypto != nil {
		s.crypto.close()
	}
	c.logout(s)
}

// recall returns the token of the last sync, and loads the states of bridges.
func (c *Channel) recall(ctx context.Context) (since string, err error) {
	for _, b := range c.rooms.home.bridges {
		login, err := keptAs[loginState](ctx, c, keyLogin+b.Network)
		if err != nil {
			return "", err
		}
		c.memory.logins.Set(b.Network, login)
	}
	return c.kept(ctx, keySync)
}

// step syncs once: r stores the events, and then step stores the token.
func (c *Channel) step(ctx context.Context, s *session, r core.Receiver, background *sync.WaitGroup) error {
	since, err := c.recall(ctx)
	if err != nil {
		return err
	}
	resp, err := c.poll(ctx, s, since)
	if err != nil {
		return err
	}
	if s.crypto != nil {
		if err := s.crypto.sync(ctx, resp, since); err != nil {
			return fmt.Errorf("receive keys: %w", err)
		}
	}
	b := &batch{c: c, s: s, first: since == "", state: map[string]string{}, read: map[string]string{}}
	if err := b.fill(ctx, resp); err != nil {
		return err
	}
	if err := c.hand(ctx, r, b.in); err != nil {
		return err
	}
	b.state[keySync] = resp.NextBatch
	b.state[keySynced] = strconv.FormatInt(c.now().UnixMilli(), 10)
	if err := c.keep(ctx, b.state); err != nil {
		return err
	}
	background.Go(func() { c.after(ctx, s, b) })
	return c.sayUnreadable(ctx, s)
}

func (c *Channel) poll(ctx context.Context, s *session, since string) (*syncResponse, error) {
	q := url.Values{"filter": {filter()}, "timeout": {"0"}}
	if since != "" {
		q.Set("since", since)
		q.Set("timeout", strconv.FormatInt(c.patience().Milliseconds(), 10))
	}
	var resp syncResponse
	err := s.get(ctx, syncTimeout+syncWait, q, &resp, "v3", "sync")
	if err == nil && resp.NextBatch == "" {
		err = errors.New("the homeserver's sync response has no token")
	}
	return &resp, err
}

// patience returns the time for which a sync may be held open: shorter while invitations are still to be accepted, and
// zero after a start, as keys of unread events may have arrived.
func (c *Channel) patience() time.Duration {
	switch {
	case c.retried.IsZero():
		return 0
	case c.failedJoins == 0:
		return syncWait
	}
	return min(syncWait, 100*time.Millisecond<<min(c.failedJoins, 10))
}

// hand passes events to r until they are stored or ctx ends.
func (c *Channel) hand(ctx context.Context, r core.Receiver, in []core.Inbound) error {
	return channel.Hand(ctx, r, in, channel.Tries, func(err error) {
		c.Report(fmt.Errorf("messages from matrix cannot be stored: %w", err))
		c.log.Error("events not stored", zap.Int("events", len(in)), zap.Error(err))
	})
}

// after marks messages as read, once everything is stored, if something was sent to
// their sender before. Strangers do not learn that they were read.
func (c *Channel) after(ctx context.Context, s *session, b *batch) {
	for _, id := range slices.Sorted(maps.Keys(b.read)) {
		r, _ := c.rooms.Get(id)
		who, ok := r.person(c.rooms.home)
		if !ok || !c.hasSpokenTo(ctx, who) {
			continue
		}
		_, err := within(ctx, showTimeout, func(ctx context.Context) (any, error) {
			return nil, s.cli.MarkRead(ctx, mid.RoomID(id), mid.EventID(b.read[id]))
		})
		if err != nil && ctx.Err() == nil {
			c.log.Debug("message not marked as read", zap.Error(err))
		}
	}
}

func (c *Channel) hasSpokenTo(ctx context.Context, a core.Address) bool {
	v, err := c.kept(ctx, keyOf(keySent, a))
	return err == nil && v != ""
}
