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
		b.state[keyTwin] = strconv.FormatInt(b.c.now().UnixMilli(), 10)
	case at.Before(b.s.opened) && e.TS > b.s.renewal.At:
		if err := b.s.crypto.behind(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: the store is older than the homeserver", errReload)
	}
	return nil
}

const twinFor = time.Hour

// twin returns errTwin if another copy was noticed recently.
func (c *Channel) twin(ctx context.Context) error {
	ms, err := keptAs[int64](ctx, c, keyTwin)
	if err == nil && ms > 0 && c.now().Sub(time.UnixMilli(ms)) < twinFor {
		return errTwin
	}
	return err
}

// doubtFor is the time after a restore in which answers are marked.
const doubtFor = 24 * time.Hour

// marks reports whether the store was restored lately, so that answers may be repeats.
func (r renewal) marks(now time.Time) bool {
	return r.Salt != "" && now.Sub(time.UnixMilli(r.At)) <= doubtFor
}

// doubts records whether a process whose state was lost wrote in a room, and its person has not written since.
func (b *batch) doubts(room string, e event) {
	if !b.s.renewal.marks(b.c.now()) || e.Type != typeMessage && e.Type != typeEncrypted {
		return
	}
	switch lost, ours := e.TS <= b.s.renewal.At, e.Sender == b.c.rooms.home.self; {
	case lost && ours:
		b.state[keyDoubt+room] = "1"
	case !lost && !ours:
		b.state[keyDoubt+room] = ""
	}
}

// qualify returns a part, with a remark if it may be a repeat of one that was sent before the restore.
func (c *Channel) qualify(ctx context.Context, s *session, room string, p core.Part) (core.Part, error) {
	if !s.renewal.marks(c.now()) {
		return p, nil
	}
	doubt, err := c.kept(ctx, keyDoubt+room)
	if p.Again || doubt != "" {
		p.Text = strings.TrimLeft(p.Text+"\n\n", "\n") + repeatMark
	}
	return p, err
}

const repeatMark = "(may be a repeat)"
