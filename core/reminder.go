package core

import (
	"context"
	"time"
)

// ReminderState is the state of a reminder.
type ReminderState string

// States of reminders.
const (
	ReminderActive    ReminderState = "active"
	ReminderDone      ReminderState = "done"
	ReminderCancelled ReminderState = "cancelled"
)

// Reminder is a text that a person wants to receive at a time.
type Reminder struct {
	User  UserID
	ID    ReminderID
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name of the zone in which the person gave the time
	State     ReminderState
	Source    MessageID // the message that requested it; 0: none
	CreatedAt time.Time
	FiredAt   time.Time // the last time; zero: never
	Message   MessageID // sent the last time
	Tainted   bool      // derived from words that the person did not write
}

// PlanStore reads open loops and reminders, and fires reminders. Effects such as
// SetReminder, SnoozeReminder and CancelReminder change them.
type PlanStore interface {
	// Reminders lists active reminders, soonest first.
	Reminders(ctx context.Context, user UserID, limit int) ([]Reminder, error)
	// Reminder returns a reminder in any state, or ErrNotFound.
	Reminder(ctx context.Context, user UserID, id ReminderID) (Reminder, error)
	// DueReminders lists due active reminders of all users, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]Reminder, error)
	// Fire stores the message of a reminder with its deliveries, and its next due
	// time. ErrChanged if it is no longer active or no longer due at f.Due.
	Fire(ctx context.Context, f Fire) (MessageID, error)
	// DeliveriesOf lists the deliveries of a message.
	DeliveriesOf(ctx context.Context, user UserID, m MessageID) ([]Delivery, error)
	// Loops lists open loops, newest mention first, at most limit.
	Loops(ctx context.Context, user UserID, limit int) ([]Loop, error)
	// Undoable returns the change that the effect Undo would revert, by the id of the
	// item, loop or reminder, or ErrNotFound. A cancelled reminder is not undoable once
	// its time has passed.
	Undoable(ctx context.Context, user UserID, id int64, now time.Time) (Undoable, error)
}

// Fire is one occurrence of a reminder.
type Fire struct {
	User       UserID
	Reminder   ReminderID
	Due        time.Time // DueAt as it was read
	Next       time.Time // zero: the reminder is done
	Message    NewMessage
	Deliveries []NewDelivery
	Now        time.Time
}

// SetReminder creates a reminder; with Reminder.ID 0 the store assigns an id.
type SetReminder struct {
	Reminder Reminder
	At       time.Time
}

// CancelReminder cancels a reminder. It fails with ErrNotFound if it is not active.
type CancelReminder struct {
	Reminder ReminderID
	At       time.Time
	Text     string // its text, for the person
	Tainted  bool   // Undo can revert it
}

// SnoozeReminder postpones the next occurrence of an active reminder; a recurring one
// follows its rule again from then on. It fails with ErrNotFound if the reminder is not
// active, and with ErrRefused if Until is not after At.
type SnoozeReminder struct {
	Reminder  ReminderID
	Until, At time.Time
}

func (SetReminder) effect()    {}
func (CancelReminder) effect() {}
func (SnoozeReminder) effect() {}
