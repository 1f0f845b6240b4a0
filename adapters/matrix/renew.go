package matrix

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// renewal records that the store was found to be older than the homeserver's state: it was restored from a backup.
type renewal struct {
	// Salt is the prefix of transaction ids since then. A restored store continues the
	// ids of the backup, and the homeserver takes a known transaction for a repeat.
	Salt string `json:"salt"`
	At   int64  `json:"at"` // in milliseconds
}

func (c *Channel) keepRenewal(ctx context.Context) error {
	salt, err := c.random(4)
	if err != nil {
		return err
	}
	return c.keep(ctx, map[string]string{keyRenewal: encoded(renewal{Salt: "r" + salt + "-", At: c.now().UnixMilli()})})
}

// transaction returns the transaction id for a key, or "" for "".
func (r renewal) transaction(key string) string {
	if key == "" {
		return ""
	}
	return r.Salt + key
}

// key returns the key of a transaction id, or "" if the id is from before the renewal.
func (r renewal) key(txn string) string {
	key, ok := strings.CutPrefix(txn, r.Salt)
	if !ok {
		return ""
	}
	return key
}

// twinSlack is the time after the login within which an event with foreign keys does not
// yet count as a sign of another copy, as the homeserver's clock may be ahead.
const twinSlack = time.Minute

var errTwin = errors.New(
	"another program writes with the keys of this device: a second copy of this gateway, such as the one that a backup was restored from. Stop one of them, or answers are lost")

// ours checks an encrypted event of the account. If it uses keys that are not in the
// store, the store is outdated, or another copy of it is in use.
func (b *batch) ours(ctx context.Context, room string, e event, err error) error {
	if !b.s.crypto.foreign(ctx, room, e, err) {
		return nil
	}
	switch at := e.time(); {
	case at.After(b.s.opened.Add(twinSlack)):
		b.c.log.Error("another copy of this gateway is running", zap.String("room", room), zap.String("event", e.ID))
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

const twinFor = time.Hour

// well returns the state of an account whose sync works.
func (c *Channel) well() error {
	if !c.twin.IsZero() && c.now().Sub(c.twin) < twinFor {
		return errTwin
	}
	return nil
}

// copies reports another copy that was noticed recently.
func (c *Channel) copies(ctx context.Context, w *findings) []core.Finding {
	ms, err := keptAs[int64](ctx, c, keyTwin)
	if err != nil || ms == 0 || c.now().Sub(time.UnixMilli(ms)) >= twinFor {
		return nil
	}
	return []core.Finding{finding(false, w.Copies)}
}

// States of a room after a restore.
const (
	doubtAnswered = "answered" // a process whose state was lost wrote there: answers may be repeats
	doubtReturned = "returned" // the person has written since
	doubtAssured  = "assured"  // and was answered since
)

const doubtFor = 24 * time.Hour

// doubt returns the state of a room after a restore, or "".
func (c *Channel) doubt(ctx context.Context, s *session, room string) (string, error) {
	if s.renewal.Salt == "" || c.now().Sub(time.UnixMilli(s.renewal.At)) > doubtFor {
		return "", nil
	}
	if d, ok := c.memory.doubts.Get(room); ok {
		return d, nil
	}
	d, err := c.kept(ctx, keyDoubt+room)
	if err == nil {
		c.memory.doubts.Set(room, d)
	}
	return d, err
}

// doubts updates the state of a room after a restore from an event.
func (b *batch) doubts(ctx context.Context, r room, e event) error {
	was, err := b.c.doubt(ctx, b.s, r.id)
	lost, now := e.TS <= b.s.renewal.At, was
	switch {
	case err != nil || b.s.renewal.Salt == "" || e.Type != typeMessage && e.Type != typeEncrypted:
		return err
	case lost && (e.Sender == b.c.rooms.home.self || was != ""): // the key of an older event may arrive late
		now = doubtAnswered
	case e.Sender != b.c.rooms.home.self && was != "":
		now = doubtReturned
	}
	if now != was {
		b.state[keyDoubt+r.id] = now
		b.c.memory.doubts.Set(r.id, now)
	}
	return nil
}

// qualify marks a part as a possible repeat if a lost process wrote to the room too.
func (c *Channel) qualify(ctx context.Context, s *session, r room, p *core.Part) error {
	d, err := c.doubt(ctx, s, r.id)
	if err == nil && (d == doubtAnswered || d == doubtReturned) {
		*p = repeated(*p)
	}
	return err
}

// assured records that a part was sent: the first one after the person wrote again is the last that may be a repeat.
func (c *Channel) assured(ctx context.Context, s *session, r room) {
	if d, err := c.doubt(ctx, s, r.id); err != nil || d != doubtReturned {
		return
	}
	if err := c.opts.Keeper.SetState(ctx, map[string]string{keyDoubt + r.id: doubtAssured}); err != nil {
		c.log.Warn("state after a restore not stored", zap.Error(err))
		return
	}
	c.memory.doubts.Set(r.id, doubtAssured)
}

const repeatMark = "(may be a repeat)"

// repeated returns a part with the remark that it may be a repeat.
func repeated(p core.Part) core.Part {
	if !strings.HasSuffix(p.Text, repeatMark) {
		p.Text = strings.TrimLeft(p.Text+"\n\n", "\n") + repeatMark
	}
	return p
}
