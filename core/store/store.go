// Package store holds the ports of the store and their parameters. Every method is one transaction (or one consistent
// read), takes or carries the user, and touches that user's rows only. A consumer declares the few methods that it needs;
// Store is their sum, and the conformance suite storetest checks it.
package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// InboundStore stores inbound events.
type InboundStore interface {
	// Identify returns the identity and user at an address, or core.ErrNotFound.
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	// Append stores inbound messages of one identity in order, with their events,
	// day segments and the turn job. Repeated events are left out. With a claim,
	// and if the thread is idle, the turn is claimed in the same transaction.
	Append(ctx context.Context, a Append) (Appended, error)
	// Edit replaces the text of the message that e.Target identifies, keeps the earlier text as a revision and asks a
	// running turn of it to restart. A message that waits without a turn gets one, and so does one of a group's present
	// day that m.Asks and that no turn has read. core.ErrNotFound if the message was never seen: the caller then appends
	// it.
	Edit(ctx context.Context, user core.UserID, identity core.IdentityID, e core.Inbound, m core.NewMessage, now time.Time) error
	// Note stores events that are not conversation, with the effects, messages and
	// deliveries that answer them. A repeated event does nothing (Noted.Duplicate).
	Note(ctx context.Context, n Note) (Noted, error)
	// Hold keeps an event of a stranger's address, or one without a use, under user 0.
	// Its code and delivery, if any, are stored with it.
	Hold(ctx context.Context, h Hold) (duplicate bool, err error)
	// Settle applies e.Status to a part of ours. A part's state never goes backwards,
	// except to be sent again. A status that matches no part is kept as an event only.
	// It returns the delivery if the status made it failed or parked, else nil.
	Settle(ctx context.Context, user core.UserID, identity core.IdentityID, e core.Inbound, now time.Time) (*core.Delivery, error)
	// Quoted returns the message with the service's id native, and the text that was sent under that id if it is a part
	// of the message only. core.ErrNotFound if there is none.
	Quoted(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (m core.Message, part string, err error)
	// Readdress changes the External and the aliases of an identity, and redirects its
	// unfinished deliveries. core.ErrExists if the new address is taken.
	Readdress(ctx context.Context, i core.Identity, external string, aliases []string) error
}

// SpeakerStore knows who wrote in a group.
type SpeakerStore interface {
	// Speaker returns the number and the newest message of a member of a group, or core.ErrNotFound. key is the service's
	// id of the member.
	Speaker(ctx context.Context, group core.UserID, key string) (number int64, last core.MessageID, err error)
}

// RefStore finds messages by the ids that services gave them.
type RefStore interface {
	// Referred returns the message with the service's id native, or core.ErrNotFound.
	Referred(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (core.MessageID, error)
}

// Append holds messages of one identity to store. Events and Messages correspond.
type Append struct {
	User     core.UserID
	Identity core.IdentityID
	Events   []core.Inbound
	Messages []core.NewMessage
	Now      time.Time
	RunAt    time.Time // when the turn may start
	Paused   bool      // no turn
	// Heard: nobody is to answer them, so they get their positions now, and no turn waits for them.
	Heard  bool
	Claim  *Claim // nil: a worker finds the turn
	Budget Budget
	Window time.Time // new Window of Identity; zero: unchanged
	// Thread is the destination; 0: the identity's current one. core.ErrNotFound if it does not exist.
	Thread core.ThreadID
}

// Appended is the result of an Append.
type Appended struct {
	Messages   []core.MessageID // the new ones
	Duplicates int
	Turn       *core.Turn // claimed, or nil
	Postponed  *Postponed
}

// Postponed says why a turn does not start yet.
type Postponed struct {
	Until  time.Time
	Budget bool // the day's tokens are used up; false: too many turns per minute
	Tell   bool // the person has not been notified today
}

// Note holds messages of the gateway itself, with or without an inbound event.
type Note struct {
	User     core.UserID
	Identity core.IdentityID // the source of the event; 0 without one
	Event    *core.Inbound
	Command  *core.NewMessage // the event as a transcript row; nil: none
	Effects  []core.Effect
	// Messages are appended to the continuous thread (or Thread, if set); the deliveries carry the last one.
	Messages   []core.NewMessage
	Thread     core.ThreadID
	Segment    core.SegmentID
	Deliveries []core.NewDelivery
	Now        time.Time
	Window     time.Time // new Window of Identity; zero: unchanged
	// Once is a key that stores the note at most once per user; later ones are duplicates.
	Once string
}

// Noted is the result of a Note.
type Noted struct {
	Duplicate bool
	Messages  []core.MessageID
	Released  []core.Inbound // held events of an approved address, to receive now
	StopTurns []core.TurnID  // turns that were asked to stop or restart
	Files     []string       // attachments below data_dir/media, to remove now
}

// Hold is an event of a stranger.
type Hold struct {
	Event core.Inbound
	Keep  bool // receive it when the address belongs to a user
	// Code and Delivery are skipped if the address has a code already, or MaxCodes of
	// its channel are pending. Addresses that end in Origin together have at most
	// MaxOrigin codes: a new one replaces the oldest. Empty: each address counts alone.
	Code      *effect.Code
	MaxCodes  int
	Origin    string
	MaxOrigin int
	Delivery  *core.NewDelivery
	Now       time.Time
}

// TurnStore runs turns.
type TurnStore interface {
	// ClaimTurn claims a due turn job, assigns positions to its inputs and returns the
	// turn; nil if another worker has the job, it is not due, or nothing is pending.
	ClaimTurn(ctx context.Context, ref JobRef, c Claim, b Budget) (*core.Turn, *Postponed, error)
	// JoinTurn makes the next pending messages inputs of a running turn, if they are of its identity and day and may be
	// joined, and reports whether it did. It updates t. core.ErrFenced if the lease was lost.
	JoinTurn(ctx context.Context, t *core.Turn, now time.Time) (bool, error)
	// Flags returns the requests to a running turn.
	Flags(ctx context.Context, user core.UserID, turn core.TurnID) (TurnFlags, error)
	// Window reads the data for a turn's context. If the current epoch continues, its
	// messages are read from the epoch's start on. Otherwise the newest are read until
	// their tokens (at most 200 per tool result) reach q.Tokens, and at most q.Limit.
	Window(ctx context.Context, t *core.Turn, q WindowQuery) (Window, error)
	// ReserveMore reserves b.Reserve more tokens for a running turn and adds them to t.Reserved; false if the budget
	// does not allow it. core.ErrFenced if the lease was lost.
	ReserveMore(ctx context.Context, t *core.Turn, b Budget) (bool, error)
	// Commit writes a reply and ends the turn. Parked deliveries of its identity follow it. With a claim, the first
	// delivery is stored as claimed, with its first part sending, and returned. core.ErrFenced if the lease was lost.
	Commit(ctx context.Context, r Reply, c *Claim) (Committed, error)
	// RetryTurn returns a failed turn to the queue, to run again at `at`.
	RetryTurn(ctx context.Context, t *core.Turn, at time.Time, cause string) error
}

// WindowQuery bounds a Window.
type WindowQuery struct {
	// Tokens and Limit bound the messages of a new epoch. At least Newest are read, whatever their size.
	Tokens int
	Limit  int
	Newest int
	// Covered bounds the tokens of a new epoch if only messages that summaries cover come before: they are not read, but
	// no turn is read in part. 0: there is no such bound. It does not apply to plain threads.
	Covered int
	// Stale: an epoch last used before this time is not continued.
	Stale time.Time
	// Budgets is the fingerprint that an epoch must have to be continued.
	Budgets string
	// Opener asks for the first message of a plain thread, too.
	Opener bool
	// Pages bounds the tokens of pages read for a new epoch; messages on pages are not read then. 0: no pages.
	Pages int
}

// Committed is the result of a Commit.
type Committed struct {
	Messages []core.MessageID
	Delivery *core.Delivery
	Summary  *Job // claimed, for a reply with a Summary; nil: none is due, or one is under way
	Again    bool // more messages are pending, and a job for them exists
}

// TurnReader shows turns to people.
type TurnReader interface {
	// Turn returns a turn and its snapshot, which is nil until the turn has replied.
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *Snapshot, error)
	// Turns lists the newest turns, at most limit.
	Turns(ctx context.Context, user core.UserID, limit int) ([]core.Turn, error)
	// Epoch returns the epoch that turn id began.
	Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*Epoch, error)
	// Messages returns the messages of ids that exist, by position, then time.
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	// History returns the newest messages of a thread (0: the continuous one) in
	// the order of display, before message `before` if that is not 0.
	History(ctx context.Context, user core.UserID, thread core.ThreadID, before core.MessageID, limit int) ([]core.Message, error)
}

// ThreadReader shows threads to people. Thread 0 is the continuous one.
type ThreadReader interface {
	// Thread returns a thread, or core.ErrNotFound.
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	// Threads lists the plain threads, newest first, at most limit.
	Threads(ctx context.Context, user core.UserID, limit int) ([]core.Thread, error)
	// ThreadNamed returns the plain thread that a client calls name, and creates it
	// with that title if there is none. name is at most 200 bytes.
	ThreadNamed(ctx context.Context, user core.UserID, name string, now time.Time) (core.Thread, error)
	// Backlog returns the unanswered part of a thread.
	Backlog(ctx context.Context, user core.UserID, id core.ThreadID) (Backlog, error)
}

// Backlog is the unanswered part of a thread.
type Backlog struct {
	Pending int  // messages that no turn has read yet
	Turn    bool // a turn is running, or waits for a retry
	Running bool // that turn is running now
}

// QueueStat is the depth of a queue in one state.
type QueueStat struct {
	Queue  string
	State  JobState
	Depth  int
	Oldest time.Time
}

// DayStore keeps day segments and their summaries.
type DayStore interface {
	// Days lists segments of the continuous thread, newest first, with labels before `before` (empty: all).
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	// Day returns the segment of a label, or core.ErrNotFound.
	Day(ctx context.Context, user core.UserID, label string) (core.Segment, error)
	// Segment returns a segment by id, with its Edits, or core.ErrNotFound.
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	// DayMessages returns a day's conversation in order, from message `after` on.
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID, limit int) ([]core.Message, error)
	// DayMessagesBefore returns the last messages of a day before message `before`, in order.
	DayMessagesBefore(ctx context.Context, user core.UserID, id core.SegmentID, before core.MessageID, limit int) ([]core.Message, error)
	// Summaries returns the versions of a day's summary, newest first.
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
}

// SummaryStore writes summaries and their posts.
type SummaryStore interface {
	// DueSegments lists open segments that are due for finalization, final ones that are stale, and those whose last
	// summary failed: from RetryAt on, or immediately if it failed with another configuration of the model than config
	// (empty: whatever it was). The oldest of each kind come first. Those with a summary job are left out.
	DueSegments(ctx context.Context, now time.Time, config string, limit int) ([]core.Segment, error)
	// DuePosts lists segments whose summary is due to be posted, newest first per user. One that has no summary because
	// that failed is listed only if its post was due at expired or before.
	DuePosts(ctx context.Context, now, expired time.Time, limit int) ([]core.Segment, error)
	// PutSummary stores a new version with its consequences and ends its job. A final
	// one closes the segment; core.ErrChanged if messages have arrived since p.ReadTo.
	PutSummary(ctx context.Context, p PutSummary) error
	// FailSummary records the failure on the segment and ends the job. It closes a day that is over, with its newest
	// summary.
	FailSummary(ctx context.Context, f FailedSummary) error
	// PutPost stores a day's post with its deliveries, or that there is none. core.ErrExists if that was decided before,
	// core.ErrChanged if a note or a post with the same Once was stored before.
	PutPost(ctx context.Context, p PutPost) error
	// Noted reports whether a note or a post of a user with the key once was stored.
	Noted(ctx context.Context, user core.UserID, once string) (bool, error)
}

// PutSummary is a summary to store.
type PutSummary struct {
	Summary core.Summary   // the store assigns Version; Markdown empty: no summary, only finalize
	Spent   core.Bill      // on it
	ReadTo  core.MessageID // the last message of the segment that was read
	Edits   int64          // Segment.Edits when it was read
	Lease   core.Lease
	Entry   core.NewMessage // the system entry of the transcript
	Loops   []NamedLoop     // the open loops in it
	Settled []core.LoopID   // loops that it closes, if they are open
	// SameLoop finds one of Loops among the loops that are already open, which was
	// thus mentioned again. nil: all without a number are new.
	SameLoop func(text string, open []core.Loop) (core.LoopID, bool)
	Final    bool
	Post     core.PostState // for a final one: PostDue or PostSkipped
	Day      string         // label of today, for the usage
	Now      time.Time
}

// NamedLoop is an open loop that a summary names.
type NamedLoop struct {
	Loop    core.LoopID // of a known one; 0: it is recognised by its text, or new
	Text    string
	Sources []core.MessageID
	Due     time.Time // as in Loop
}

// FailedSummary is a summary that could not be written.
type FailedSummary struct {
	User    core.UserID
	Segment core.SegmentID
	Lease   core.Lease
	Cause   string // for the person
	Config  string // the model's configuration
	Since   time.Time
	RetryAt time.Time
	Post    core.PostState // of a day that is over: PostDue or PostSkipped
	Now     time.Time
}

// PutPost is a post to store.
type PutPost struct {
	User       core.UserID
	Segment    core.SegmentID
	State      core.PostState // PostDone, PostMissed or PostSkipped
	Message    core.NewMessage
	Deliveries []core.NewDelivery
	Asked      []core.LoopID // loops that the message asks about
	Once       string        // a key as of Note, of what the message says beside the summary; empty: none
	Now        time.Time
}

// MediaStore stores the results of fetching attachments.
type MediaStore interface {
	// SetAttachment stores a fetched attachment and ends the job. core.ErrNotFound if the
	// message was redacted or removed; the caller removes the file.
	SetAttachment(ctx context.Context, f Fetched) error
}

// Fetched is the result of fetching attachment Index of a message.
type Fetched struct {
	User       core.UserID
	Message    core.MessageID
	Index      int
	Attachment core.Attachment
	// Text, if not empty, replaces the message's text of Revision without creating a new revision; Tokens is its size.
	// If the attachment stays unheard, the job runs again at Attachment.Unheard.
	Text     string
	Tokens   int
	Revision int
	Lease    core.Lease
}

// JournalStore journals calls of outside tools.
type JournalStore interface {
	// Lookup returns the result of a journalled call; ok is false if there is none.
	Lookup(ctx context.Context, user core.UserID, turn core.TurnID, step, index int) (text string, ok bool, err error)
	// Earlier returns the journalled calls that may have changed something and that other turns made for one of the
	// messages, in their order.
	Earlier(ctx context.Context, user core.UserID, turn core.TurnID, messages []core.MessageID) ([]CallRecord, error)
	// Record stores a call, and audits one that may change something. The first entry of an approved call fails with
	// core.ErrRefused if no yes to it is left.
	Record(ctx context.Context, user core.UserID, r CallRecord) error
}

// UsageStore keeps the token budgets and usage of users.
type UsageStore interface {
	// Reserve reserves n tokens of a day's budget for a job, replacing its earlier reservation; false if the budget
	// does not allow it. The reservation ends with the job.
	Reserve(ctx context.Context, user core.UserID, l core.Lease, day string, n, limit int) (bool, error)
	// ReserveCall reserves n tokens of a day's budget for a call outside turns and jobs; false if the budget does not
	// allow it. SettleCall replaces the reservation with the actual usage. A reservation of a process that died lasts
	// until the day ends.
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, spent core.Bill) error
	// Spend adds what background calls took to a day.
	Spend(ctx context.Context, user core.UserID, day string, spent core.Bill) error
	// Grant grants a process tokens from the daily budget of all users and returns its total grant, used or not. All
	// grants together never exceed that budget. Granted tokens count as used until the process's lease ends.
	Grant(ctx context.Context, g Grant) (granted int, err error)
	// SpentAll returns the tokens of a day that all processes have used and been granted.
	SpentAll(ctx context.Context, day string, now time.Time) (used, granted int, err error)
	// UsageOf returns the tokens used and reserved on a day.
	UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error)
	// TakeEgress adds want to a user's day, up to the limit most (0: none), and returns
	// how much it added. Negative amounts are given back.
	TakeEgress(ctx context.Context, user core.UserID, day string, want, most Egress) (Egress, error)
	// UsageDays lists usage from one day through another, by day, then user. User 0
	// means all users, for the owner only.
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]UsageDay, error)
	// UsageParts lists what the calls of a user took from one day through another, by day, model and purpose. The tokens
	// of a day add up to those of UsageDays.
	UsageParts(ctx context.Context, user core.UserID, from, through string) ([]UsagePart, error)
	// UsageSums adds these up for each user, for the owner only.
	UsageSums(ctx context.Context, from, through string) (map[core.UserID]core.Bill, error)
}

// Egress counts a user's outgoing requests, and their bytes in both directions.
type Egress struct {
	Calls int64
	Bytes int64
}

// Janitor maintains the store.
type Janitor interface {
	// Sweep removes raw payloads received before `raw` (those of a day of the conversation together, after its end),
	// expired codes, sessions and deliveries, and finished bookkeeping. It returns the number of rows removed.
	Sweep(ctx context.Context, raw, now time.Time) (int, error)
	// Scrub removes remnants of deleted and redacted rows from indexes and files. It may be slow.
	Scrub(ctx context.Context) error
	// Traces lists the places among a user's rows that still contain a text, ignoring case, and the documents that the
	// full-text index still holds with all of its words. It reads everything.
	Traces(ctx context.Context, user core.UserID, text string) ([]Trace, error)
	// Ping returns an error if the store does not answer.
	Ping(ctx context.Context) error
	// Close ends all work with the store.
	Close() error
}

// Trace is a place where a text was found.
type Trace struct {
	Where string // a table and column, the index of a kind of documents, or a file
	ID    int64  // of the row; 0: it has none
}

// Waker passes wake-ups between workers, within and between processes. A wake-up may be
// spurious, and is rarely lost: waiters also poll.
type Waker interface {
	// Wakes yields changed topics: a WakeTopic of a queue, a TurnTopic for flags, or
	// one of the Topic constants. The channel is closed when ctx ends.
	Wakes(ctx context.Context) <-chan string
}

// Store is the sum of all ports of the store.
type Store interface {
	InboundStore
	ImportStore
	SpeakerStore
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
	CodeStore
	LinkStore
	ApprovalReader
	MergeStore
	LeaseStore
	MemberStore
	StateStore
	AgentKeyStore
	ServiceStore
	MediaStore
	DocumentStore
	SpeechStore
	JournalStore
	AuditStore
	UsageStore
	SessionStore
	PushStore
	APIKeyStore
	TimelineStore
	RecallStore
	IndexStore
	MemoryStore
	StandingStore
	PlanStore
	PageStore
	Janitor
	Waker
	Changes
}

// Schema holds the schema version of a store, and the one that this program needs.
type Schema struct{ Current, Target int64 }
