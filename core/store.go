package core

import (
	"context"
	"time"
)

// The ports of the store. Every method is one transaction (or one consistent
// read), takes or carries the user, and touches that user's rows only. A
// consumer declares the few methods that it needs; Store is their sum and what
// the conformance suite core/store/storetest checks.

// InboundStore takes what people write.
type InboundStore interface {
	// Identify returns who is at an address, or ErrNotFound.
	Identify(ctx context.Context, a Address) (Identity, User, error)
	// Known returns who this process saw at an address last, and what it saw, for an
	// Append that verifies it; false: it saw nobody.
	Known(a Address) (i Identity, u User, as string, ok bool)
	// Append stores inbound messages of one identity in order, with their events,
	// day segments and the turn job. Repeated events are left out. With a claim,
	// and if the thread is idle, the turn is claimed in the same transaction.
	Append(ctx context.Context, a Append) (Appended, error)
	// Edit replaces the text of the message that e.Target means, keeps the earlier
	// one as a revision and asks a running turn of it to restart; one that waits without
	// a turn gets one. ErrNotFound if the message was never seen: the caller then appends it.
	Edit(ctx context.Context, user UserID, identity IdentityID, e Inbound, m NewMessage, now time.Time) error
	// Note stores events that are not conversation, with the effects, messages and
	// deliveries that answer them. A repeated event does nothing (Noted.Duplicate).
	Note(ctx context.Context, n Note) (Noted, error)
	// Hold keeps an event of an address that is nobody's yet, or that means
	// nothing: user 0. With a code or a delivery these are stored with it.
	Hold(ctx context.Context, h Hold) (duplicate bool, err error)
	// Settle stores what e.Status says of a part of ours. A state never falls
	// behind one that it had, but for one that is to be sent again; what means no
	// part of ours is kept as an event only.
	Settle(ctx context.Context, user UserID, identity IdentityID, e Inbound, now time.Time) error
	// Readdress gives an identity another External and other aliases; what is on
	// its way to it goes there. ErrExists if that address is somebody's.
	Readdress(ctx context.Context, i Identity, external string, aliases []string) error
}

// RefStore finds messages by the ids that services gave them.
type RefStore interface {
	// Referred returns the message that a service knows by native, or ErrNotFound.
	Referred(ctx context.Context, user UserID, identity IdentityID, native string) (MessageID, error)
}

// Append is messages of one identity to be stored. Events and Messages go together.
type Append struct {
	User     UserID
	Identity IdentityID
	Events   []Inbound
	Messages []NewMessage
	Now      time.Time
	RunAt    time.Time // when the turn may start
	Paused   bool      // no turn
	Claim    *Claim    // nil: a worker finds the turn
	Budget   Budget
	Window   time.Time // of Identity from now on; zero: as it was
	// As is what Known saw of the sender; ErrChanged if they are not so any more, and
	// nothing is stored. Empty: nobody went by it.
	As string
	// Thread is where the messages go; 0: where the identity is. ErrNotFound if it is
	// not there.
	Thread ThreadID
}

// Appended is the result of an Append.
type Appended struct {
	Messages   []MessageID // of the new ones
	Duplicates int
	Turn       *Turn // claimed, or nil
	Postponed  *Postponed
}

// Postponed says why a turn does not start yet.
type Postponed struct {
	Until  time.Time
	Budget bool // the day's tokens are used up; else the rate of turns
	Tell   bool // nobody was told today
}

// Note is words of the gateway itself, with or without an inbound event.
type Note struct {
	User     UserID
	Identity IdentityID // whose event it is; 0 without one
	Event    *Inbound
	Command  *NewMessage // the event as a transcript row; nil: it leaves none
	Effects  []Effect
	// Messages are appended to the continuous thread (or Thread, if set); the
	// deliveries carry the last one.
	Messages   []NewMessage
	Thread     ThreadID
	Segment    SegmentID
	Deliveries []NewDelivery
	Now        time.Time
	Window     time.Time // of Identity from now on; zero: as it was
	// Once makes the note happen once per user and key; later ones are duplicates.
	Once string
}

// Noted is the result of a Note.
type Noted struct {
	Duplicate bool
	Messages  []MessageID
	Released  []Inbound // held events of an approved address, to be received now
	StopTurns []TurnID  // turns that were asked to stop or restart
	Files     []string  // attachments below data_dir/media that are to be removed
}

// Hold is an event that is not a known user's.
type Hold struct {
	Event Inbound
	Keep  bool // to be received when the address is somebody's
	// Code and Delivery are left out if the address has a code already, or
	// MaxCodes of its channel are pending. Of addresses that end in Origin at most
	// MaxOrigin codes stay: a new one takes the place of the oldest. Empty: each
	// address stands for itself.
	Code      *Code
	MaxCodes  int
	Origin    string
	MaxOrigin int
	Delivery  *NewDelivery
	Now       time.Time
}

// TurnStore runs turns.
type TurnStore interface {
	// ClaimTurn takes a due turn job, gives its inputs their positions and
	// returns the turn; nil if it was taken, is not due or nothing is pending.
	ClaimTurn(ctx context.Context, ref JobRef, c Claim, b Budget) (*Turn, *Postponed, error)
	// Flags reads what was asked of a running turn.
	Flags(ctx context.Context, user UserID, turn TurnID) (TurnFlags, error)
	// Window reads what a context is built from: messages from position `from`
	// on, or, if that is 0, the newest until their tokens (tool outputs count at
	// most 200) reach `tokens`, and at most `limit`.
	Window(ctx context.Context, t *Turn, q WindowQuery) (Window, error)
	// ReserveMore reserves b.Reserve more tokens for a running turn, and adds them to
	// t.Reserved; false: they are not to be had. ErrFenced if the lease was lost.
	ReserveMore(ctx context.Context, t *Turn, b Budget) (bool, error)
	// Commit writes a reply and ends the turn. Deliveries that were parked for its
	// identity follow it. With a claim, the first delivery
	// is stored already claimed, its first part sending, and returned.
	// ErrFenced if the lease was lost.
	Commit(ctx context.Context, r Reply, c *Claim) (Committed, error)
	// RetryTurn gives a failed turn back to run again at `at`.
	RetryTurn(ctx context.Context, t *Turn, at time.Time, cause string) error
}

// WindowQuery bounds a Window.
type WindowQuery struct {
	// Tokens and Limit bound what is read when a new epoch begins.
	Tokens int
	Limit  int
	// Stale: an epoch that was last used before it is not continued.
	Stale time.Time
	// Budgets is the fingerprint that an epoch must have to be continued.
	Budgets string
	// Pages is how many tokens of pages are read when a new epoch begins; the
	// messages that stand on pages are not read then. 0: no pages.
	Pages int
}

// Committed is the result of a Commit.
type Committed struct {
	Messages []MessageID
	Delivery *Delivery
	Again    bool // messages are pending, and a job for them exists
}

// TurnReader shows turns to people.
type TurnReader interface {
	// Turn returns a turn and what it sent; the snapshot is nil before it replied.
	Turn(ctx context.Context, user UserID, id TurnID) (Turn, *Snapshot, error)
	// Turns lists the newest turns, at most limit.
	Turns(ctx context.Context, user UserID, limit int) ([]Turn, error)
	// Epoch returns the epoch that the turn id began.
	Epoch(ctx context.Context, user UserID, id TurnID) (*Epoch, error)
	// Messages returns the messages of ids that exist, by position, then time.
	Messages(ctx context.Context, user UserID, ids []MessageID) ([]Message, error)
	// History returns the newest messages of a thread (0: the continuous one) in
	// the order of display, before message `before` if that is not 0.
	History(ctx context.Context, user UserID, thread ThreadID, before MessageID, limit int) ([]Message, error)
}

// ThreadReader shows threads to people. Thread 0 is the continuous one.
type ThreadReader interface {
	// Thread returns a thread, or ErrNotFound.
	Thread(ctx context.Context, user UserID, id ThreadID) (Thread, error)
	// Threads lists the plain threads, newest first, at most limit.
	Threads(ctx context.Context, user UserID, limit int) ([]Thread, error)
	// ThreadNamed returns the plain thread that a client calls name, made if there is
	// none; name is at most 200 bytes, and its first title.
	ThreadNamed(ctx context.Context, user UserID, name string, now time.Time) (Thread, error)
	// Backlog tells what of a thread nobody has answered yet.
	Backlog(ctx context.Context, user UserID, id ThreadID) (Backlog, error)
}

// Backlog is what of a thread waits for an answer.
type Backlog struct {
	Pending int  // messages that no turn reads yet
	Turn    bool // a turn reads some: it runs, or waits to be tried again
	Running bool // that turn runs now
}

// QueueStat is the depth of a queue.
type QueueStat struct {
	Queue  string
	State  JobState
	Depth  int
	Oldest time.Time
}

// DayStore keeps day segments and their summaries.
type DayStore interface {
	// Days lists segments of the continuous thread, newest first, with labels
	// before `before` (empty: all).
	Days(ctx context.Context, user UserID, before string, limit int) ([]Segment, error)
	// Day returns the segment of a label, or ErrNotFound.
	Day(ctx context.Context, user UserID, label string) (Segment, error)
	// Segment returns a segment by its id, with its Edits, or ErrNotFound.
	Segment(ctx context.Context, user UserID, id SegmentID) (Segment, error)
	// DayMessages returns a day's conversation in order, from message `after` on.
	DayMessages(ctx context.Context, user UserID, id SegmentID, after MessageID, limit int) ([]Message, error)
	// DayMessagesBefore returns the last messages of a day's conversation before one, in order.
	DayMessagesBefore(ctx context.Context, user UserID, id SegmentID, before MessageID, limit int) ([]Message, error)
	// Summaries returns the versions of a day's summary, newest first.
	Summaries(ctx context.Context, user UserID, id SegmentID, limit int) ([]Summary, error)
}

// SummaryStore writes what the nights decide.
type SummaryStore interface {
	// DueSegments lists open segments whose finalization is due and final ones
	// that are stale, oldest first. Those with a summary job are left out.
	DueSegments(ctx context.Context, now time.Time, limit int) ([]Segment, error)
	// DuePosts lists segments whose summary is to be posted by now, newest first
	// per user.
	DuePosts(ctx context.Context, now time.Time, limit int) ([]Segment, error)
	// PutSummary stores a new version and what it implies, and ends its job. A
	// final one closes the segment if nothing arrived since q.ReadTo (ErrChanged).
	PutSummary(ctx context.Context, p PutSummary) error
	// FailSummary records on the segment that the job gave up, and ends it.
	FailSummary(ctx context.Context, user UserID, id SegmentID, l Lease, cause string, now time.Time) error
	// PutPost stores the post of a day with its deliveries, or that there is
	// none. ErrExists if that was decided before.
	PutPost(ctx context.Context, p PutPost) error
}

// PutSummary is a summary to be stored.
type PutSummary struct {
	Summary Summary   // Version is given by the store; Markdown empty: nothing to say, only finalize
	ReadTo  MessageID // last message of the segment that was read
	Edits   int64     // Segment.Edits when it was read
	Lease   Lease
	Entry   NewMessage // the system entry of the transcript
	Opened  []string   // open loops that it names
	Sources [][]MessageID
	// SameLoop recognises one of Opened among the loops that are open: it was
	// mentioned again. nil: none is.
	SameLoop func(text string, open []Loop) (LoopID, bool)
	Final    bool
	Post     PostState // for a final one: PostDue or PostSkipped
	Day      string    // label of today, for the usage
	Now      time.Time
}

// PutPost is a post to be stored.
type PutPost struct {
	User       UserID
	Segment    SegmentID
	State      PostState // PostDone or PostSkipped
	Message    NewMessage
	Deliveries []NewDelivery
	Now        time.Time
}

// MediaStore records what became of attachments.
type MediaStore interface {
	// SetAttachment stores what became of an attachment and ends the job.
	// ErrNotFound: the message was redacted or removed, and the file is to go too.
	SetAttachment(ctx context.Context, f Fetched) error
}

// Fetched is what became of attachment Index of a message.
type Fetched struct {
	User       UserID
	Message    MessageID
	Index      int
	Attachment Attachment
	// Text replaces the message's, if it is not empty and the message still is of
	// Revision; it is no revision of its own. Tokens are its tokens. If something stays
	// unheard, the job runs again when Attachment says.
	Text     string
	Tokens   int
	Revision int
	Lease    Lease
}

// JournalStore remembers calls of outside tools.
type JournalStore interface {
	Lookup(ctx context.Context, user UserID, turn TurnID, step, index int) (text string, ok bool, err error)
	// Record keeps a call, and writes the audit of one that may change something.
	Record(ctx context.Context, user UserID, r CallRecord) error
}

// UsageStore keeps what each user's calls took.
type UsageStore interface {
	// Reserve takes n tokens of a day's budget for a job, in place of what it had
	// reserved; false: they are not to be had. They are given back when it ends.
	Reserve(ctx context.Context, user UserID, l Lease, day string, n, limit int) (bool, error)
	// ReserveCall takes n tokens of a day's budget for a call that is no turn's and no
	// job's; false: they are not to be had. SettleCall puts what it took in their
	// place. What a process that died had reserved so stays so until the day ends.
	ReserveCall(ctx context.Context, user UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user UserID, day string, n int, u Usage) error
	// Spend adds a background call's tokens to a day.
	Spend(ctx context.Context, user UserID, day string, u Usage) error
	// Grant gives a process tokens of a day of all users, and returns what it has of
	// them in all, used or not: never more than all may have together. What a process
	// was granted counts as used by it until its lease ends.
	Grant(ctx context.Context, g Grant) (granted int, err error)
	// SpentAll returns what all processes have used of a day, and were granted.
	SpentAll(ctx context.Context, day string, now time.Time) (used, granted int, err error)
	// UsageOf returns the tokens used and reserved on a day.
	UsageOf(ctx context.Context, user UserID, day string) (used, reserved int, err error)
	// TakeEgress adds to a user's day as much of want as is left of most, where 0 is no
	// limit, and returns how much that was. What is negative is given back.
	TakeEgress(ctx context.Context, user UserID, day string, want, most Egress) (Egress, error)
	// UsageDays lists what was used from one day through another, by day, then user.
	// User 0 means all users: for the owner only.
	UsageDays(ctx context.Context, user UserID, from, through string) ([]UsageDay, error)
}

// Egress is what goes out for a user: requests, and bytes in both directions.
type Egress struct {
	Calls int64
	Bytes int64
}

// Janitor removes what is no longer needed.
type Janitor interface {
	// Sweep removes raw payloads received before `raw`, expired codes and
	// sessions, expired deliveries and finished bookkeeping, and returns how many rows went.
	Sweep(ctx context.Context, raw, now time.Time) (int, error)
	// ShareHeads takes what heads of prompts have in common out of at most limit epochs of
	// an earlier version, and keeps it once. It returns how many it looked at; none while
	// a process of that version lives.
	ShareHeads(ctx context.Context, limit int) (int, error)
	// Scrub removes what deleted and redacted rows left behind in indexes and files.
	// It may take long.
	Scrub(ctx context.Context) error
	// Traces lists where a text still stands among what is a user's, compared
	// without case, and which documents the full-text index still holds with all of
	// its words. It reads everything.
	Traces(ctx context.Context, user UserID, text string) ([]Trace, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
	// Close ends all work with the store.
	Close() error
}

// Trace is a place where a text was found.
type Trace struct {
	Where string // a table and column, the index of a kind of documents, or a file
	ID    int64  // of the row; 0: it has none
}

// Waker passes wake-ups between workers, in and between processes. A wake-up
// may come for nothing, and may rarely be lost: those that wait also poll.
type Waker interface {
	// Wakes yields the topics that changed: a WakeTopic of a queue, a TurnTopic for
	// flags, or one of those below. The channel is closed when ctx ends.
	Wakes(ctx context.Context) <-chan string
}

// TopicListening says that this process hears the others from now on: what they
// said before may have been missed.
const TopicListening = "listening"

// Store is everything a store does.
type Store interface {
	InboundStore
	ImportStore
	RefStore
	TurnStore
	TurnReader
	ThreadReader
	DeliveryStore
	JobStore
	JobAdmin
	DayStore
	SummaryStore
	PeopleStore
	LinkStore
	ApprovalReader
	MoveStore
	LeaseStore
	MemberStore
	StateStore
	AgentKeyStore
	MediaStore
	DocumentStore
	SpeechStore
	JournalStore
	AuditStore
	UsageStore
	SessionStore
	APIKeyStore
	TimelineStore
	RecallStore
	IndexStore
	MemoryStore
	StandingStore
	PlanStore
	TaskStore
	PageStore
	Janitor
	Waker
	Changes
}

// Schema says which version of the schema a store has, and which this program wants.
type Schema struct{ Current, Target int64 }
