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

// ReminderStore keeps reminders; they are made by the effects SetReminder and
// CancelReminder.
type ReminderStore interface {
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

func (SetReminder) effect()    {}
func (CancelReminder) effect() {}
