package matrix

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// renewal is when the store was last found to be older than what the homeserver
// has: it comes from a backup.
type renewal struct {
	// Salt begins the transaction ids since. A restored store counts on from the
	// backup, and the homeserver takes a transaction that it knows for a repeat.
	Salt string `json:"salt"`
	At   int64  `json:"at"` // in milliseconds
}

func (c *Channel) renewal(ctx context.Context) (r renewal, err error) {
	kept, err := c.kept(ctx, keyRenewal)
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &r)
	}
	return r, err
}

func (c *Channel) keepRenewal(ctx context.Context) error {
	b := make([]byte, 4)
	if _, err := io.ReadFull(c.opts.Rand, b); err != nil {
		return fmt.Errorf("make a salt: %w", err)
	}
	raw, err := json.Marshal(renewal{Salt: "r" + hex.EncodeToString(b) + "-", At: c.now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("keep that the keys are renewed: %w", err)
	}
	return c.keep(ctx, map[string]string{keyRenewal: string(raw)})
}

// transaction is the id of what is sent with a key of the gateway's, "" of none.
func (r renewal) transaction(key string) string {
	if key == "" {
		return ""
	}
	return r.Salt + key
}

// key is the gateway's key of a transaction id; "" if it was not given by this
// store.
func (r renewal) key(txn string) string {
	key, ok := strings.CutPrefix(txn, r.Salt)
	if !ok {
		return ""
	}
	return key
}

// twinSlack is how far the homeserver's clock may be ahead of ours before what was
// sent in our name is taken for what another copy of this gateway sends now.
const twinSlack = time.Minute

// errTwin is that another copy of this gateway is at work.
var errTwin = errors.New(
	"another program writes with the keys of this device: a second copy of this gateway, such as the one that a backup was restored from. Stop one of them, or answers are lost")

// ours looks at an encrypted event of ours. One that was written with keys that are
// not here shows that the store is older than they are, or that another copy of it
// is at work.
func (b *batch) ours(ctx context.Context, room string, e event, err error) error {
	if !b.s.crypto.foreign(ctx, room, e, err) {
		return nil
	}
	switch at := e.time(); {
	case at.After(b.s.opened.Add(twinSlack)):
		b.c.log.Error("another copy of this gateway is at work", zap.String("room", room), zap.String("event", e.ID))
		b.c.twin = b.c.now()
		b.state[keyTwin] = strconv.FormatInt(b.c.twin.UnixMilli(), 10)
	case at.Before(b.s.opened) && e.TS > b.s.renewal.At:
		if err := b.s.crypto.behind(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: the store is older than the homeserver", errReload)
	}
	return nil
}

// twinFor is how long another copy is spoken of after it was last noticed.
const twinFor = time.Hour

// well is the state of an account whose sync works.
func (c *Channel) well() error {
	if !c.twin.IsZero() && c.now().Sub(c.twin) < twinFor {
		return errTwin
	}
	return nil
}

// copies tells of another copy that was noticed of late.
func (c *Channel) copies(ctx context.Context, w *findings) []core.Finding {
	kept, err := c.kept(ctx, keyTwin)
	ms, _ := strconv.ParseInt(kept, 10, 64)
	if err != nil || ms == 0 || c.now().Sub(time.UnixMilli(ms)) >= twinFor {
		return nil
	}
	return []core.Finding{finding(false, w.Copies)}
}

// What is known of a room after a restore: answered tells that a life that was lost
// wrote there, and that what it answered may be answered again; returned that the
// person has written since; assured that they were answered since then.
const (
	doubtAnswered = "answered"
	doubtReturned = "returned"
	doubtAssured  = "assured"
)

// doubtFor is how long after a restore answers may be repeats.
const doubtFor = 24 * time.Hour

// doubt returns what is known of a room after a restore, "" if nothing.
func (c *Channel) doubt(ctx context.Context, s *session, room string) (string, error) {
	if s.renewal.Salt == "" || c.now().Sub(time.UnixMilli(s.renewal.At)) > doubtFor {
		return "", nil
	}
	if d, ok := c.memory.doubt(room); ok {
		return d, nil
	}
	d, err := c.kept(ctx, keyDoubt+room)
	if err == nil {
		c.memory.setDoubt(room, d)
	}
	return d, err
}

// doubts notes what an event tells of what a lost life answered in a room.
func (b *batch) doubts(ctx context.Context, r room, e event) error {
	was, err := b.c.doubt(ctx, b.s, r.id)
	lost, now := e.TS <= b.s.renewal.At, was
	switch {
	case err != nil || b.s.renewal.Salt == "" || e.Type != typeMessage && e.Type != typeEncrypted:
		return err
	case lost && (e.Sender == b.c.rooms.home.self || was != ""): // its key may come late
		now = doubtAnswered
	case e.Sender != b.c.rooms.home.self && was != "":
		now = doubtReturned
	}
	if now != was {
		b.state[keyDoubt+r.id] = now
		b.c.memory.setDoubt(r.id, now)
	}
	return nil
}

// qualify has a part say that it may be a repeat, where a lost life wrote too.
func (c *Channel) qualify(ctx context.Context, s *session, r room, p *core.Part) error {
	d, err := c.doubt(ctx, s, r.id)
	if err == nil && (d == doubtAnswered || d == doubtReturned) {
		*p = repeated(*p)
	}
	return err
}

// assured notes that a part was sent: the first since the person has written again
// is the last that may be a repeat.
func (c *Channel) assured(ctx context.Context, s *session, r room) {
	if d, err := c.doubt(ctx, s, r.id); err != nil || d != doubtReturned {
		return
	}
	if err := c.opts.Keeper.SetState(ctx, map[string]string{keyDoubt + r.id: doubtAssured}); err != nil {
		c.log.Warn("keep that an answer was marked", zap.Error(err))
		return
	}
	c.memory.setDoubt(r.id, doubtAssured)
}

const repeatMark = "(may be a repeat)"

// repeated is a part that says that it may have arrived before.
func repeated(p core.Part) core.Part {
	if !strings.HasSuffix(p.Text, repeatMark) {
		p.Text = strings.TrimLeft(p.Text+"\n\n", "\n") + repeatMark
	}
	return p
}
