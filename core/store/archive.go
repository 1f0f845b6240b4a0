package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// ImportStore imports conversations from archives.
type ImportStore interface {
	// Import stores messages of an archive in one transaction, each at the position of its time. Messages that were
	// imported before (by their Key) are left out. Imported messages are neither answered nor posted. core.ErrChanged if a
	// turn is running in whose range some of them belong; nothing is stored then, and the batch can be offered again
	// later.
	Import(ctx context.Context, b ImportBatch) (Imported, error)
	// PrepareImport does the slow part of Import that needs no lock: it finds the
	// Terms of new messages. It is safe for concurrent use on several batches.
	PrepareImport(ctx context.Context, b *ImportBatch) error
	// ImportSummary stores the versions of a day's summary, oldest first, if the day
	// exists, was imported and has none. Otherwise it does nothing and returns false.
	ImportSummary(ctx context.Context, user core.UserID, label string, versions []core.Summary) (bool, error)
	// Plans returns all loops, reminders and tasks, in any state, oldest first.
	Plans(ctx context.Context, user core.UserID) (Plans, error)
	// ImportPlans stores loops, reminders and tasks unchanged, except those that exist
	// already or rest on a redacted message, and returns the number of each.
	ImportPlans(ctx context.Context, user core.UserID, p Plans) (PlansIn, error)
	// SummarizeImported enqueues the newest imported day that lacks a summary for each
	// of at most limit users who have no such job, and returns how many it enqueued.
	SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error)
}

// PlansIn counts imported plans.
type PlansIn struct{ Loops, Reminders, Tasks int }

// Plans holds loops, reminders and tasks.
type Plans struct {
	Loops []core.Loop
	Plans []core.Plan
}

// ImportBatch holds messages to import; about a thousand is a good size.
type ImportBatch struct {
	User     core.UserID
	Thread   *ImportThread // nil: the continuous one
	Messages []ImportMessage
	// Summaries requests summaries of the days that receive messages.
	Summaries bool
	Now       time.Time
	// Terms holds the search terms of each message, in order; nil before PrepareImport.
	Terms [][]string
	// Taken is the value that the preceding batch of the thread returned, if any. It
	// avoids repeated scans over many messages of the same moment.
	Taken Taken
}

// Taken is a range of positions of a thread, in microseconds since 1970, that is full.
type Taken struct{ From, To int64 }

// ImportThread is a plain thread, created with its first message. Name is unique per
// user, at most 200 bytes, and never shown.
type ImportThread struct{ Name, Title string }

// ImportMessage is one message of an archive. In the continuous thread it belongs to Day.
type ImportMessage struct {
	core.NewMessage
	Key     string // identifies it in its source; a key is imported once per user
	Channel string
	Was     core.MessageID // its id here, if it was exported from this user
	// Place is its preferred position, in microseconds since 1970; 0: its sending time.
	Place     int64
	Revisions []Revision
	Redacted  bool
}

// Imported is the result of an Import.
type Imported struct {
	Messages []core.MessageID // of the whole batch, including those imported before
	Fresh    int              // number of messages stored now
	Days     int              // number of day segments opened
	Taken    Taken            // for the next batch
}

// SealedKind is the kind of an encrypted value.
type SealedKind string

// Kinds of encrypted values.
const (
	SealedAgent    SealedKind = "agent"    // the key of a personal agent
	SealedState    SealedKind = "state"    // a value of a channel's account
	SealedGrant    SealedKind = "grant"    // the access that a user granted to a service
	SealedPush     SealedKind = "push"     // where the notifications of a session are sent
	SealedSettings SealedKind = "settings" // the key of a user's own embeddings
)

// Sealed is an encrypted value and its place in the store.
type Sealed struct {
	Kind         SealedKind
	Agent        int64  // for SealedAgent: the key's id; for SealedPush: the session's
	Account, Key string // for SealedState; for SealedGrant Key is the service
	Text         string
}
