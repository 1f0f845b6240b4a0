package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

const reminderColumns = `user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id, tainted`

func scanReminder(row scanner) (core.Reminder, error) {
	var r core.Reminder
	var tainted int64
	err := row.Scan(&r.User, &r.ID, &r.Text, asTime(&r.DueAt), &r.Cron, &r.Zone, &r.State, &r.Source, asTime(&r.CreatedAt),
		asTime(&r.FiredAt), &r.Message, &tainted)
	r.Tainted = tainted&madeTainted != 0
	return r, found(err)
}

// Reminders lists active reminders, soonest first.
func (s *Store) Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error) {
	return list(s.one(ctx), scanReminder, `SELECT `+reminderColumns+
		` FROM reminders WHERE user_id = $1 AND state = 'active' ORDER BY due_at LIMIT $2`, user, limit)
}

// Reminder returns a reminder, or ErrNotFound.
func (s *Store) Reminder(ctx context.Context, user core.UserID, id core.ReminderID) (core.Reminder, error) {
	return scanReminder(s.one(ctx).row(`SELECT `+reminderColumns+` FROM reminders WHERE user_id = $1 AND id = $2`, user,
		id))
}

// DueReminders lists active reminders that are due, oldest first.
func (s *Store) DueReminders(ctx context.Context, now time.Time, limit int) ([]core.Reminder, error) {
	return list(s.one(ctx), scanReminder,
		`SELECT `+reminderColumns+` FROM reminders WHERE state = 'active' AND due_at <= $1
		AND NOT EXISTS (SELECT 1 FROM users WHERE users.id = reminders.user_id AND users.merging = 1) ORDER BY due_at LIMIT $2`, ms(now), limit)
}

// Fire stores one occurrence of a reminder; see core.PlanStore.
func (s *Store) Fire(ctx context.Context, f core.Fire) (core.MessageID, error) {
	var id core.MessageID
	err := s.update(ctx, "fire reminder", f.User, func(t *tx) {
		state, due := core.ReminderActive, f.Next
		if f.Next.IsZero() {
			state, due = core.ReminderDone, f.Due
		}
		t.execOr(core.ErrChanged,
			`UPDATE reminders SET state = $4, due_at = $5, fired_at = $6, message_id = $7 WHERE user_id = $1 AND id = $2 AND state = 'active' AND due_at = $3`,
			t.user, f.Reminder, ms(f.Due), string(state), ms(due), ms(f.Now), t.lastMessage+1)
		id = t.insert(f.Message, place{thread: t.threadOr(0)})
		t.inPlace(f.Deliveries, `SELECT source_message FROM reminders WHERE user_id = $1 AND id = $3`, int64(f.Reminder))
		t.deliverAll(f.Deliveries, []core.MessageID{id}, nil, f.Now)
	})
	return id, err
}

func (t *tx) setReminder(e core.SetReminder) {
	r := e.Reminder
	if r.ID == 0 {
		r.ID = core.ReminderID(t.nextID())
	}
	t.exec(`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, tainted) VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, $8, $9)
		ON CONFLICT (user_id, id) DO NOTHING`, t.user, r.ID, r.Text, ms(r.DueAt), r.Cron, r.Zone, r.Source, ms(e.At), flag(r.Tainted))
}

func (t *tx) cancelReminder(e core.CancelReminder) {
	t.execOr(core.ErrNotFound,
		`UPDATE reminders SET state = 'cancelled', tainted = tainted | $3 WHERE user_id = $1 AND id = $2 AND state = 'active'`, t.user, e.Reminder, ended(e.Tainted))
}

func (t *tx) snoozeReminder(e core.SnoozeReminder) {
	if !e.Until.After(e.At) {
		t.fail(core.ErrRefused)
		return
	}
	t.execOr(core.ErrNotFound,
		`UPDATE reminders SET due_at = $3 WHERE user_id = $1 AND id = $2 AND state = 'active'`, t.user, e.Reminder, ms(e.Until))
}

// redactReminders deletes the reminders that a message requested, and empties their messages.
func (t *tx) redactReminders(m core.Message) {
	for _, r := range listOf(t, scanReminder, `SELECT `+reminderColumns+
		` FROM reminders WHERE user_id = $1 AND source_message = $2 AND source_message > 0`, t.user, m.ID) {
		t.removed(r.Text)
		t.exec(`DELETE FROM reminders WHERE user_id = $1 AND id = $2`, t.user, r.ID)
		t.redactReminded(r)
	}
}

func (t *tx) redactReminded(r core.Reminder) {
	for _, m := range listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND kind = 'reminder' AND redacted = 0`, t.user, r.Source) {
		if strings.Contains(m.Text, r.Text) {
			t.exec(`UPDATE messages SET body = '', tokens = 0, redacted = 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID)
			t.redactDeliveries(m)
		}
	}
}
