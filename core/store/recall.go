package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// MatchQuery selects documents by their terms.
type MatchQuery struct {
	User     core.UserID
	Kind     core.DocKind
	Terms    []string // at most 100
	From, To int64    // bounds of the ids, inclusive; To 0: none
	// Limit bounds the number of documents over all terms, rarest terms first. For a term in more documents than that,
	// the posting holds the newest of them, and all that also hold a term that is not cut.
	Limit int
}

// Posting lists the documents that contain a term.
type Posting struct {
	Term string
	IDs  []int64 // ascending
	// Often is the subset of IDs in which it occurs more than once, ascending.
	Often []int64
	Cut   bool // IDs is incomplete
	// Docs is the number of documents that hold the term; if Cut, an estimate from the density of the newest.
	Docs int
}

// Directory holds the data about every indexed message of a user that ranking needs.
// It is shared and must not be modified.
type Directory struct {
	Messages []DirectoryEntry   // by ID
	Segments []DirectorySegment // in the order in which they were opened
	Channels []string           // indexed by DirectoryEntry.Channel
	Tokens   int64              // sum over all messages
	// Missing counts the newest messages that Match does not find yet, as the index is being built.
	Missing int
}

// DirectoryEntry is one message. Its size matters, as there is one for every message of a user.
type DirectoryEntry struct {
	ID      core.MessageID
	Segment int32  // index in Directory.Segments
	Tokens  uint16 // capped at 65,535
	Channel uint8
	Role    uint8 // 0: user, 1: assistant, 2: tool
}

// DirectorySegment is one day. Data that changes often is not here: Message.Covered says
// whether a summary covers a message, and SummariesOf returns the summaries.
type DirectorySegment struct {
	ID    core.SegmentID
	Label string
}

// RecallStore searches the continuous thread.
type RecallStore interface {
	// Directory returns a user's directory. It rereads only what has changed since the last call.
	Directory(ctx context.Context, user core.UserID) (*Directory, error)
	// Match returns one posting for each term that occurs, in the order of q.Terms.
	Match(ctx context.Context, q MatchQuery) ([]Posting, error)
	// Messages returns the messages of ids that exist, by position, then time.
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	// SummariesOf returns the newest summary of each segment that has a visible one.
	SummariesOf(ctx context.Context, user core.UserID, ids []core.SegmentID) ([]core.Summary, error)
	// Nearest returns the K nearest ready vectors of a kind and a configuration, nearest first.
	Nearest(ctx context.Context, q NearestQuery) ([]Neighbour, error)
	// Windows returns windows by their ids.
	Windows(ctx context.Context, user core.UserID, ids []core.WindowID) ([]TextWindow, error)
}

// NearestQuery selects the vectors nearest to Vector by cosine distance.
type NearestQuery struct {
	User   core.UserID
	Kind   core.VectorKind
	Config string // the embedding configuration that made the vectors
	Vector []float32
	K      int
}

// Neighbour is a stored vector and its cosine distance, 0 to 2.
type Neighbour struct {
	ID       int64
	Distance float64
}

// TextWindow is a run of contiguous messages of one day that is embedded as a unit. Its
// text is the text of its messages.
type TextWindow struct {
	User    core.UserID
	ID      core.WindowID
	Segment core.SegmentID
	First   core.MessageID
	Last    core.MessageID
	Tokens  int
	// Passages holds the passages of its messages that have vectors.
	Passages []PassageVector
}

// EmbeddingFault is a reason why texts have no vectors, and the number of those texts.
type EmbeddingFault struct {
	Reason string
	Count  int
}

// IndexStore keeps the search data: the full-text index, windows and vectors.
type IndexStore interface {
	// Unwindowed returns the first day of a user with messages that are in no window. core.ErrNotFound if there is none.
	Unwindowed(ctx context.Context, user core.UserID, limit int) (Unwindowed, error)
	// PutWindows stores windows of a day as pending for p.Config, and that the day is in windows up to p.Through.
	// core.ErrChanged if a message of p.Read has been edited or redacted since, or one was inserted before the last of them.
	PutWindows(ctx context.Context, p PutWindows) error
	// PendingEmbeddings returns the texts that wait for a vector of config, oldest first. A text without one, or with
	// one of another configuration, waits only if PutWindows, AddItem or Reembed requested a vector.
	PendingEmbeddings(ctx context.Context, user core.UserID, config string, limit int) ([]Embeddable, error)
	// PutVectors stores vectors, or errors with the fingerprint that was tried. It
	// skips texts that have changed since they were read (another Revision).
	PutVectors(ctx context.Context, user core.UserID, config string, vectors []EmbeddingResult, now time.Time) error
	// Reembed marks all texts of a user, archived items included, as pending for
	// config and returns their number; dry only counts.
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
	// FailEmbeddings marks all pending texts of a user as failed for a reason that has
	// nothing to do with the texts, with the fingerprint that was tried.
	FailEmbeddings(ctx context.Context, user core.UserID, tried, reason string, now time.Time) error
	// RetryEmbeddings makes texts pending again that FailEmbeddings marked, or that
	// failed under a fingerprint other than tried.
	RetryEmbeddings(ctx context.Context, user core.UserID, tried string, now time.Time) error
	// EmbeddingFaults lists the reasons why texts of a user (0: of all) have no
	// vectors, most frequent first, at most five.
	EmbeddingFaults(ctx context.Context, user core.UserID) ([]EmbeddingFault, error)
	// EmbeddingDue lists users with an id above after, by id, who have messages outside windows, pending texts, or
	// texts that failed under a fingerprint other than tried (empty: failures do not count). With own, only users with
	// an embedding configuration of their own.
	EmbeddingDue(ctx context.Context, after core.UserID, own bool, tried string, limit int) ([]core.UserID, error)
	// EmbeddingCounts counts a user's embeddings by state, of another configuration under "stale".
	EmbeddingCounts(ctx context.Context, user core.UserID, config string) (map[string]int, error)
	// Index brings the full-text index up to date for at most users users of a share: it adds new messages, and redoes
	// documents of another analyzer version. It returns the number of documents, those that need no index
	// included; 0: the index is complete. The index may lag unnoticed, as Match also searches what is not indexed yet.
	// Edits, redactions, summaries and items are indexed in the transaction that stores them.
	Index(ctx context.Context, users int, share Share) (int, error)
}

// Unwindowed holds messages of a day that are in no window, in order, preceded by Through, the last message in one (0:
// none is). Closed: no more are expected.
type Unwindowed struct {
	Segment  core.SegmentID
	Messages []core.Message
	Through  core.MessageID
	Closed   bool
}

// PutWindows holds windows to store.
type PutWindows struct {
	User    core.UserID
	Segment core.SegmentID
	Windows []TextWindow // the store assigns their ids
	Through core.MessageID
	// Read holds the messages that the windows were cut from. Closed: Unwindowed
	// returned them as the rest of a finished day.
	Read   []core.Message
	Closed bool
	Config string
	Now    time.Time
}

// Embeddable is a text that waits for its vector.
type Embeddable struct {
	Kind     core.VectorKind
	ID       int64
	Revision int64          // changes when the text does
	Messages []core.Message // of a window
	Text     string         // of an item
}

// EmbeddingResult is the vector of an Embeddable, or the reason why there is none.
type EmbeddingResult struct {
	Kind     core.VectorKind
	ID       int64
	Revision int64
	Vector   []float32
	Passages []PassageVector // of a window
	Error    string
	Tried    string // with Error: the fingerprint of the embedder
}
