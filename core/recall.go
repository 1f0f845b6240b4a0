package core

import (
	"context"
	"time"
)

// DocKind is the kind of a document in the full-text index.
type DocKind string

// Kinds of documents. Each has its own index.
const (
	DocMessage DocKind = "message" // of the continuous thread; the id is a MessageID
	DocSummary DocKind = "summary" // the newest one of a day; the id is its SegmentID
	DocItem    DocKind = "item"    // memory; the id is an ItemID
	DocFile    DocKind = "file"    // a page of a document; the id is that of a FilePage
)

// Analyzer turns text into terms of the full-text index. It is pure and safe for concurrent use.
type Analyzer interface {
	// Version identifies the analyzer and its languages. Documents indexed by another version are indexed again.
	Version() string
	// Index returns the distinct terms of a document with their frequency: 1, or 2 for more than once. A term is 1 to
	// 64 bytes without white space, quotes, control characters or ^.
	Index(text string) map[string]int
}

// MatchQuery selects documents by their terms.
type MatchQuery struct {
	User     UserID
	Kind     DocKind
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
	ID      MessageID
	Segment int32  // index in Directory.Segments
	Tokens  uint16 // capped at 65,535
	Channel uint8
	Role    uint8 // 0: user, 1: assistant, 2: tool
}

// DirectorySegment is one day. Data that changes often is not here: Message.Covered says
// whether a summary covers a message, and SummariesOf returns the summaries.
type DirectorySegment struct {
	ID    SegmentID
	Label string
}

// RecallStore searches the continuous thread.
type RecallStore interface {
	// Directory returns a user's directory. It rereads only what has changed since the last call.
	Directory(ctx context.Context, user UserID) (*Directory, error)
	// Match returns one posting for each term that occurs, in the order of q.Terms.
	Match(ctx context.Context, q MatchQuery) ([]Posting, error)
	// Messages returns the messages of ids that exist, by position, then time.
	Messages(ctx context.Context, user UserID, ids []MessageID) ([]Message, error)
	// SummariesOf returns the newest summary of each segment that has a visible one.
	SummariesOf(ctx context.Context, user UserID, ids []SegmentID) ([]Summary, error)
	// Nearest returns the K nearest ready vectors of a kind and a configuration, nearest first.
	Nearest(ctx context.Context, q NearestQuery) ([]Neighbour, error)
	// Windows returns windows by their ids.
	Windows(ctx context.Context, user UserID, ids []WindowID) ([]TextWindow, error)
}

// VectorKind is the kind of object that a vector belongs to.
type VectorKind string

// Kinds of vectors.
const (
	VectorWindow VectorKind = "window" // the id is a WindowID
	VectorItem   VectorKind = "item"   // the id is an ItemID
	VectorFile   VectorKind = "file"   // the id is that of a FilePage
)

// VectorSize is the fixed length of stored vectors. Shorter ones are padded with zeros, which changes no distance.
const VectorSize = 1024

// NearestQuery selects the vectors nearest to Vector by cosine distance.
type NearestQuery struct {
	User   UserID
	Kind   VectorKind
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
	User    UserID
	ID      WindowID
	Segment SegmentID
	First   MessageID
	Last    MessageID
	Tokens  int
	// Passages holds the passages of its messages that have vectors.
	Passages []PassageVector
}

// EmbeddingState is the state of an embedding.
type EmbeddingState string

// States of embeddings.
const (
	EmbeddingPending EmbeddingState = "pending"
	EmbeddingReady   EmbeddingState = "ready"
	EmbeddingError   EmbeddingState = "error"
)

// Embedder turns texts into vectors, one per text, all of one length of at most
// VectorSize. An error is a *ModelError or the context's.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// FingerprintOf returns the result of the embedder's Fingerprint method, or config if it
// has none. The fingerprint covers everything that decides whether embedding succeeds,
// such as the address and the key: when it changes, failed texts are tried again.
func FingerprintOf(e Embedder, config string) string {
	if f, ok := e.(interface{ Fingerprint() string }); ok {
		return f.Fingerprint()
	}
	return config
}

// EmbeddingFault is a reason why texts have no vectors, and the number of those texts.
type EmbeddingFault struct {
	Reason string
	Count  int
}

// EmbedderOf returns a user's embedder and the name of its configuration, under which
// its vectors are stored; nil if the user has none.
type EmbedderOf func(ctx context.Context, user UserID) (e Embedder, config string, err error)

// Embedding chooses the embedding configuration of users.
type Embedding interface {
	// Name returns the configuration to embed a user's new texts with; empty: none.
	Name(ctx context.Context, user UserID) (string, error)
}

// IndexStore keeps the search data: the full-text index, windows and vectors.
type IndexStore interface {
	// Unwindowed returns the first day of a user with messages that are in no window. ErrNotFound if there is none.
	Unwindowed(ctx context.Context, user UserID, limit int) (Unwindowed, error)
	// PutWindows stores windows of a day as pending for p.Config, and that the day is in windows up to p.Through.
	// ErrChanged if a message of p.Read has been edited or redacted since, or one was inserted before the last of them.
	PutWindows(ctx context.Context, p PutWindows) error
	// PendingEmbeddings returns the texts that wait for a vector of config, oldest first. A text without one, or with
	// one of another configuration, waits only if PutWindows, AddItem or Reembed requested a vector.
	PendingEmbeddings(ctx context.Context, user UserID, config string, limit int) ([]Embeddable, error)
	// PutVectors stores vectors, or errors with the fingerprint that was tried. It
	// skips texts that have changed since they were read (another Revision).
	PutVectors(ctx context.Context, user UserID, config string, vectors []EmbeddingResult, now time.Time) error
	// Reembed marks all texts of a user, archived items included, as pending for
	// config and returns their number; dry only counts.
	Reembed(ctx context.Context, user UserID, config string, dry bool, now time.Time) (int, error)
	// FailEmbeddings marks all pending texts of a user as failed for a reason that has
	// nothing to do with the texts, with the fingerprint that was tried.
	FailEmbeddings(ctx context.Context, user UserID, tried, reason string, now time.Time) error
	// RetryEmbeddings makes texts pending again that FailEmbeddings marked, or that
	// failed under a fingerprint other than tried.
	RetryEmbeddings(ctx context.Context, user UserID, tried string, now time.Time) error
	// EmbeddingFaults lists the reasons why texts of a user (0: of all) have no
	// vectors, most frequent first, at most five.
	EmbeddingFaults(ctx context.Context, user UserID) ([]EmbeddingFault, error)
	// EmbeddingDue lists users with an id above after, by id, who have messages outside windows, pending texts, or
	// texts that failed under a fingerprint other than tried (empty: failures do not count). With own, only users with
	// an embedding configuration of their own.
	EmbeddingDue(ctx context.Context, after UserID, own bool, tried string, limit int) ([]UserID, error)
	// EmbeddingCounts counts a user's embeddings by state, of another configuration under "stale".
	EmbeddingCounts(ctx context.Context, user UserID, config string) (map[string]int, error)
	// Index brings the full-text index up to date for at most users users of a share: it adds new messages, and redoes
	// documents of another analyzer version. It returns the number of documents, those that need no index
	// included; 0: the index is complete. The index may lag unnoticed, as Match also searches what is not indexed yet.
	// Edits, redactions, summaries and items are indexed in the transaction that stores them.
	Index(ctx context.Context, users int, share Share) (int, error)
}

// Unwindowed holds messages of a day that are in no window, in order, preceded by Through, the last message in one (0:
// none is). Closed: no more are expected.
type Unwindowed struct {
	Segment  SegmentID
	Messages []Message
	Through  MessageID
	Closed   bool
}

// PutWindows holds windows to store.
type PutWindows struct {
	User    UserID
	Segment SegmentID
	Windows []TextWindow // the store assigns their ids
	Through MessageID
	// Read holds the messages that the windows were cut from. Closed: Unwindowed
	// returned them as the rest of a finished day.
	Read   []Message
	Closed bool
	Config string
	Now    time.Time
}

// Embeddable is a text that waits for its vector.
type Embeddable struct {
	Kind     VectorKind
	ID       int64
	Revision int64     // changes when the text does
	Messages []Message // of a window
	Text     string    // of an item
}

// EmbeddingResult is the vector of an Embeddable, or the reason why there is none.
type EmbeddingResult struct {
	Kind     VectorKind
	ID       int64
	Revision int64
	Vector   []float32
	Passages []PassageVector // of a window
	Error    string
	Tried    string // with Error: the fingerprint of the embedder
}

// SearchQuery is a search of the continuous thread.
type SearchQuery struct {
	User    UserID
	Query   string
	Day     string // YYYY-MM-DD: only that day; empty: all
	Recency int    // search only this many recent days; 0: all
	// From and To are the first and last day to search; empty: no bound.
	From, To string
	// Kind, Role and Channel restrict the search to one kind of document, one side of the conversation, or one channel;
	// empty: all. A summary has neither role nor channel.
	Kind    DocKind
	Role    Role
	Channel string
	// Before leaves out this message and later ones: a question does not find itself. 0: none.
	Before MessageID
	// Thread is the one plain thread to search; 0: all. Only of the search of plain threads.
	Thread ThreadID
	// Hidden holds messages that are left out.
	Hidden IDSet
	// Matching: every hit holds a word of the query or matches by meaning, and neighbouring messages come as its
	// context, as people expect. Otherwise a neighbour may be a hit itself, which finds answers that repeat no word of
	// the question.
	Matching bool
	Limit    int // 0: the default
	MinScore float64
	Now      time.Time
	Location *time.Location
	// Names maps names in a query, such as the person's display name, to roles.
	Names map[string]Role
}

// SearchResult holds the hits of a search, best first.
type SearchResult struct {
	Hits []Hit
	Mode string // hybrid, or fts
	// Note says in plain words why Mode is fts, or why there are no hits.
	Note string
	// Below counts hits that scored below MinScore.
	Below int
	// Missing counts messages that are not searched by their words yet, as the index is being built.
	Missing int
}

// Hit is one result of a search.
type Hit struct {
	Kind    DocKind
	Segment SegmentID
	Label   string // of the day
	Message Message
	Summary Summary
	// Page is the matching page of a document that Message carried.
	Page    FilePage
	Snippet string
	Score   float64 // 0 to 1
	FTS     bool    // it holds a word of the query
	Near    bool    // it was found by its meaning
	// Neighbour: it was found only through adjacent hits. It never ranks above the best of those.
	Neighbour bool
	From, To  MessageID // the window in which a message was found by its meaning
	// Before and After are the adjacent messages, with SearchQuery.Matching. They are
	// zero if the adjacent message is a hit itself, or of another day.
	Before, After Beside
	Explain       Explanation
}

// ThreadHits holds the hits of a search of plain threads, best first.
type ThreadHits struct {
	Hits []ThreadHit
	More bool // some threads or messages were not searched
}

// ThreadHit is a message of a plain thread with words of the query, and its adjacent messages.
type ThreadHit struct {
	Thread        Thread
	Message       Message
	Snippet       string
	Score         float64 // 0 to 1
	Before, After Beside
}

// Beside is the message adjacent to a hit. The zero value is none.
type Beside struct {
	Message MessageID
	Role    Role
	Snippet string
	Foreign bool // it has words that the user did not write
}

// Explanation holds the components of a score.
type Explanation struct {
	Terms     map[string]float64 `json:"terms,omitempty"` // BM25 of each word of the query
	Neighbour float64            `json:"neighbour,omitempty"`
	Day       float64            `json:"day,omitempty"`
	Named     float64            `json:"named,omitempty"` // factor for a named person, role or channel
	Date      float64            `json:"date,omitempty"`
	Lexical   float64            `json:"lexical"`  // 0 to 1
	Semantic  float64            `json:"semantic"` // 0 to 1
	Covered   bool               `json:"covered,omitempty"`
}

// ItemSignal holds the signals by which a memory search found one item.
type ItemSignal struct {
	ID       ItemID
	FTS      bool
	Lexical  float64 // BM25, above 0 if FTS
	Near     bool
	Distance float64 // cosine, 0 to 2, if Near
}

// ItemSignals holds the candidates of a memory search by each signal, unweighted, in no order.
type ItemSignals struct {
	Signals []ItemSignal
	Mode    string // hybrid, or fts
	Note    string // why Mode is fts
}
