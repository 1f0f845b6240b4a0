package core

import (
	"context"
	"time"
)

// ReminderState says whether a reminder is still to come.
type ReminderState string

// States of reminders.
const (
	ReminderActive    ReminderState = "active"
	ReminderDone      ReminderState = "done"
	ReminderCancelled ReminderState = "cancelled"
)

// Reminder is something that a person wants to be told at a time.
type Reminder struct {
	User  UserID
	ID    ReminderID
	Text  string
	DueAt time.Time // the next time
	// Cron makes it recur: five fields, in Zone. Empty: once.
	Cron      string
	Zone      string // IANA name, of the time that the person meant
	State     ReminderState
	Source    MessageID // what asked for it; 0: none
	CreatedAt time.Time
	FiredAt   time.Time // last; zero: never
	Message   MessageID // of the last time
	Tainted   bool      // made from words that the person did not write
}

// PlanStore keeps open loops and reminders; they are changed by effects, such as
// SetReminder, SnoozeReminder and CancelReminder.
type PlanStore interface {
	// Reminders lists active ones, soonest first.
	Reminders(ctx context.Context, user UserID, limit int) ([]Reminder, error)
	// Reminder returns one of any state, or ErrNotFound.
	Reminder(ctx context.Context, user UserID, id ReminderID) (Reminder, error)
	// DueReminders lists active ones of all users that are due, oldest first.
	DueReminders(ctx context.Context, now time.Time, limit int) ([]Reminder, error)
	// Fire stores the message of a reminder with its deliveries and when it is
	// next due. ErrChanged if it is no longer active or not due at f.Due.
	Fire(ctx context.Context, f Fire) (MessageID, error)
	// DeliveriesOf lists the deliveries of a message.
	DeliveriesOf(ctx context.Context, user UserID, m MessageID) ([]Delivery, error)
	// Loops lists open loops, newest mention first, at most limit.
	Loops(ctx context.Context, user UserID, limit int) ([]Loop, error)
	// Undoable returns what the effect Undo takes back, by the number of the item, loop
	// or reminder, or ErrNotFound. A cancelled reminder whose time is over is not there.
	Undoable(ctx context.Context, user UserID, id int64, now time.Time) (Undoable, error)
}

// Fire is one time of a reminder.
type Fire struct {
	User       UserID
	Reminder   ReminderID
	Due        time.Time // DueAt as it was read
	Next       time.Time // zero: it is done
	Message    NewMessage
	Deliveries []NewDelivery
	Now        time.Time
}

// SetReminder makes a reminder; Reminder.ID 0: the store gives one.
type SetReminder struct {
	Reminder Reminder
	At       time.Time
}

// CancelReminder cancels a reminder. It fails with ErrNotFound if none is active.
type CancelReminder struct {
	Reminder ReminderID
	At       time.Time
	Text     string // what it says, for telling
	Tainted  bool   // it can be taken back by Undo
}

// SnoozeReminder puts off the next time of an active reminder; one that recurs goes on
// by its rule from then. It fails with ErrNotFound if none is active, and with
// ErrRefused if Until is not after At.
type SnoozeReminder struct {
	Reminder  ReminderID
	Until, At time.Time
}

func (SetReminder) effect()    {}
func (CancelReminder) effect() {}
func (SnoozeReminder) effect() {}
