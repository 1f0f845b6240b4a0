package core

import (
	"context"
	"time"
)

// ImportKey is the key of the jobs that summarize a user's imported days, one
// after another, newest first: they delay none of SummaryKey. Their Ref is the segment.
const ImportKey = "imported days"

// ImportStore brings in what was said elsewhere, before.
type ImportStore interface {
	// Import stores messages of an archive in one transaction, each at the place of
	// its time. What came in before (its Key) is left out. Nothing of it is answered
	// or posted. ErrChanged: a turn runs that some of it would have to stand in;
	// ErrMoving: the user is being moved. Nothing was stored then, and it can be
	// offered again later.
	Import(ctx context.Context, b ImportBatch) (Imported, error)
	// PrepareImport does beforehand what takes Import long and no lock: it finds the
	// Terms of what is new. Several batches can be prepared at once.
	PrepareImport(ctx context.Context, b *ImportBatch) error
	// ImportSummary stores the versions of a day's summary, oldest first, if the day
	// is there, was imported and has none; else it does nothing (false).
	ImportSummary(ctx context.Context, user UserID, label string, versions []Summary) (bool, error)
	// Plans returns all open loops and closed ones, and all reminders and tasks of any
	// state, oldest first.
	Plans(ctx context.Context, user UserID) (Plans, error)
	// ImportPlans stores loops, reminders and tasks as they are, but for those that are here
	// already or rest on a message that was redacted, and tells how many of each.
	ImportPlans(ctx context.Context, user UserID, p Plans) (PlansIn, error)
	// SummarizeImported enqueues, of at most limit users with imported days that wait
	// for a summary, the newest of these if none is under way, and tells how many.
	SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error)
}

// PlansIn is how many plans came in.
type PlansIn struct{ Loops, Reminders, Tasks int }

// Plans are what is or was still to come.
type Plans struct {
	Loops     []Loop
	Reminders []Reminder
	Tasks     []Task
}

// ImportBatch is messages to be imported; about a thousand are a good size.
type ImportBatch struct {
	User     UserID
	Thread   *ImportThread // nil: the continuous one
	Messages []ImportMessage
	// Summaries are wanted of the days that get messages.
	Summaries bool
	Now       time.Time
	// Terms are what messages are found by, in their order; nil before PrepareImport.
	Terms [][]string
	// Taken is what the batch before it in the thread returned, if any: without it many
	// messages of one moment would be looked through again and again.
	Taken Taken
}

// Taken are places of a thread, in microseconds since 1970, that nothing can be
// put in any more.
type Taken struct{ From, To int64 }

// ImportThread is a plain thread, made when its first message comes. Name is
// unique of the user, at most 200 bytes, and shown nowhere.
type ImportThread struct{ Name, Title string }

// ImportMessage is one message of an archive. In the continuous thread Day is
// where it belongs.
type ImportMessage struct {
	NewMessage
	Key     string // of its source; the same key comes in once per user
	Channel string
	Was     MessageID // its number, if it was exported from here
	// Place is where it wants to stand, in microseconds since 1970; 0: at the time of
	// its sending.
	Place     int64
	Revisions []Revision
	Redacted  bool
}

// Imported is what became of an ImportBatch.
type Imported struct {
	Messages []MessageID // of all of the batch, those that came in before too
	Fresh    int         // that were stored now
	Days     int         // that were opened
	Taken    Taken       // for the next batch
}
