package store

import (
	"time"

	"github.com/everthread/everthread/core"
)

// TurnFlags holds the requests to a running turn.
type TurnFlags struct {
	Stop    bool
	Restart int  // counts edits, redactions and /retry since the claim
	More    bool // messages of the turn's identity wait, and could join it
}

// Window holds the store's data for one context, read at one instant. Its size is
// bounded by the request, never by the history.
type Window struct {
	Epoch *Epoch // the thread's current one; nil: none yet
	// Messages holds the newest messages with a position, oldest first, up to the turn's inputs; only KindChat.
	Messages []core.Message
	// UncoveredBefore counts the uncovered conversation messages older than
	// Messages[0], at most 1,000; tool results and redacted messages do not count.
	UncoveredBefore int
	More            bool // there are messages older than Messages[0]
	// Opener is the thread's first message, or that of the epoch if it continues, if it was asked for and is older than
	// Messages[0]; else nil.
	Opener *core.Message
	// Thread counts the thread's messages by the user and the assistant; 0 if an epoch continues.
	Thread       int
	Edits        int64        // the thread's count of edits, redactions and regenerations
	Today        core.Segment // of the turn; zero in plain threads
	TodaySummary *core.Summary
	Last         core.Segment // the newest earlier one; zero if there is none
	LastSummary  *core.Summary
	Loops        []core.Loop // open ones, newest mention first, at most 20
	// Days holds the newest summaries of days before Last, newest first, at most 14; none if an epoch continues.
	Days []core.Summary
	// Sent holds the newest three messages that were sent unasked since the turn before, oldest first.
	Sent []Unasked
	// Failed says why a part could not be read, by its name: last, loops, today, days, sent or news.
	Failed map[string]string
	// News counts the changes to the contents of heads; those after Told are not in the thread's prompt yet. If an
	// epoch continues, Changes holds them, and Last is the day in its head, with its summary if that is newer.
	News, Told int64
	Changes    HeadChanges
	// Compressed counts the compression runs that changed pages of the thread.
	Compressed int64
	// Pages holds the newest requested pages, oldest first, with the text of their
	// current form; PagesBefore counts older ones.
	Pages       []Page
	PagesBefore int
}

// Unasked is a message that no turn wrote: a reminder, a posted summary, a note on a task, or the answer to a command.
type Unasked struct {
	core.Message
	Label string // of the day that a posted summary is about
}

// HeadChanges holds the changes to the head that a thread's prompt has not shown yet.
type HeadChanges struct {
	Loops  []core.Loop  // opened or closed, the newest change first, at most 20
	Themes []core.Theme // with changed active items, the newest change first, at most 10
}

// Grant requests tokens of a day for a process.
type Grant struct {
	Day    string // YYYY-MM-DD in UTC
	Worker string
	Used   int // tokens of its grant that the process has used so far
	Want   int // additional tokens; 0: none, as with an Until that has passed
	PerDay int // limit of all processes together
	Now    time.Time
	Until  time.Time // end of the lease on the grant
}

// Budget bounds a user's turns. Zero limits mean none.
type Budget struct {
	TokensPerDay   int
	Reserve        int       // tokens to reserve for this turn
	Least          int       // fallback if Reserve is not available; 0: none
	Day            string    // label of today
	NextDay        time.Time // when tomorrow begins
	TurnsPerMinute int
	// TaskTokensPerDay limits the tokens of tasks, besides TokensPerDay.
	TaskTokensPerDay int
	// Closed: no turn of any user begins before this time, as the daily tokens of all
	// users are used up; zero: they are not.
	Closed time.Time
}
