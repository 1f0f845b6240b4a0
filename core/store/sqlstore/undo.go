package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// Bits of the columns tainted.
const (
	madeTainted  = 1 // derived from words that the person did not write
	endedTainted = 2 // ended by a tainted turn
)

// ended returns the tainted bit of something that ends.
func ended(tainted bool) int64 { return flag(tainted) * endedTainted }

// undoable finds changes by tainted turns: objects that still exist after their creation, and
// objects that are still ended.
const undoable = `SELECT kind, body, ended FROM (
	SELECT 'item' AS kind, content AS body, status <> 'active' AS ended, tainted FROM items WHERE user_id = $1 AND id = $2
	UNION ALL SELECT 'loop', body, state <> 'open', tainted FROM loops WHERE user_id = $1 AND id = $2
	UNION ALL SELECT 'reminder', body, state <> 'active', tainted FROM reminders WHERE user_id = $1 AND id = $2 AND (state = 'active' OR state = 'cancelled' AND (cron <> '' OR due_at > $3))) AS things
	WHERE NOT ended AND (tainted & 1) <> 0 OR ended AND (tainted & 2) <> 0`

func undoableOf(q reader, user core.UserID, id int64, now time.Time) (core.Undoable, error) {
	x := core.Undoable{ID: id}
	return x, found(q.row(undoable, user, id, ms(now)).Scan(&x.Kind, &x.Text, &x.Ended))
}

// Undoable returns the change that Undo would revert; see core.PlanStore.
func (s *Store) Undoable(ctx context.Context, user core.UserID, id int64, now time.Time) (core.Undoable, error) {
	return undoableOf(s.one(ctx), user, id, now)
}

// undo reverts a change.
func (t *tx) undo(e core.Undo) error {
	x, err := undoableOf(t, t.user, e.X.ID, e.At)
	if errors.Is(err, core.ErrNotFound) || err == nil && (x.Kind != e.X.Kind || x.Ended != e.X.Ended) {
		return core.ErrRefused
	}
	if err != nil {
		return err
	}
	switch {
	case x.Kind == core.UndoItem && x.Ended:
		if err = t.restoreItem(core.RestoreItem{Item: core.ItemID(x.ID), At: e.At}); errors.Is(err, core.ErrExists) {
			return nil
		}
		return err
	case x.Kind == core.UndoItem:
		return t.archiveItem(core.ArchiveItem{Item: core.ItemID(x.ID), At: e.At})
	case x.Kind == core.UndoLoop && x.Ended:
		return t.exec(
			`UPDATE loops SET state = 'open', mentioned_at = $3, changed = $4, tainted = tainted & 1 WHERE user_id = $1 AND id = $2`, t.user, x.ID, ms(e.At), t.change())
	case x.Kind == core.UndoLoop:
		return t.applyOne(core.CloseLoop{Loop: core.LoopID(x.ID), At: e.At}, nil)
	case x.Ended:
		return t.exec(`UPDATE reminders SET state = 'active', tainted = tainted & 1 WHERE user_id = $1 AND id = $2`, t.user,
			x.ID)
	}
	return t.cancelReminder(core.CancelReminder{Reminder: core.ReminderID(x.ID), At: e.At})
}
