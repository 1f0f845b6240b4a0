package core

import (
	"context"
	"time"
)

// DocKind says what a document of the full-text index is.
type DocKind string

// Kinds of documents. Each has its own index.
const (
	DocMessage DocKind = "message" // of the continuous thread; the id is a MessageID
	DocSummary DocKind = "summary" // the newest of a day; the id is its SegmentID
	DocItem    DocKind = "item"    // memory; the id is an ItemID
	DocFile    DocKind = "file"    // a page of a document; the id is that of a FilePage
)

// Analyzer turns text into the terms of the full-text index. It is pure and
// safe for concurrent use.
type Analyzer interface {
	// Version names the analyzer and its languages. Documents that another
	// version indexed are indexed again.
	Version() string
	// Index returns the distinct terms of a document and how often each occurs
	// (1, or 2 for more often). A term is 1 to 64 bytes without white space,
	// quotes, control characters or ^.
	Index(text string) map[string]int
}

// MatchQuery asks for the documents that hold terms.
type MatchQuery struct {
	User     UserID
	Kind     DocKind
	Terms    []string // at most 100
	From, To int64    // bounds of the ids, inclusive; To 0: none
	// Limit bounds how many documents are handed out over all terms, those of the
	// rarest terms first. A term in more of them than that comes with the newest,
	// and with all that hold another term that is not cut.
	Limit int
}

// Posting is where a term occurs.
type Posting struct {
	Term string
	IDs  []int64 // ascending
	// Often holds those of IDs in which it occurs more than once, ascending.
	Often []int64
	Cut   bool // there are more
	// Docs is how many documents hold the term; if Cut, an estimate by how dense the
	// newest are.
	Docs int
}

// Directory is what ranking needs to know of every indexed message of a user.
// It is shared: nobody changes it.
type Directory struct {
	Messages []DirectoryEntry   // by ID
	Segments []DirectorySegment // in the order in which they were opened
	Channels []string           // that DirectoryEntry.Channel counts
	Tokens   int64              // sum of all
}

// DirectoryEntry is one message. Its size matters: there is one for every
// message that was ever said.
type DirectoryEntry struct {
	ID      MessageID
	Segment int32  // index in Directory.Segments
	Tokens  uint16 // at most 65,535
	Channel uint8
	Role    uint8 // 0: user, 1: assistant, 2: tool
}

// DirectorySegment is one day. What changes often, such as whether a summary
// covers a message, is not here: Message.Covered and SummariesOf tell.
type DirectorySegment struct {
	ID    SegmentID
	Label string
}

// RecallStore searches the continuous thread.
type RecallStore interface {
	// Directory returns what ranking needs. What did not change since the last
	// call is not read again.
	Directory(ctx context.Context, user UserID) (*Directory, error)
	// Match returns one posting for each term that occurs, in the order of q.Terms.
	Match(ctx context.Context, q MatchQuery) ([]Posting, error)
	// Messages returns the messages of ids that exist, by position, then time.
	Messages(ctx context.Context, user UserID, ids []MessageID) ([]Message, error)
	// SummariesOf returns the newest summaries of segments that have one to show.
	SummariesOf(ctx context.Context, user UserID, ids []SegmentID) ([]Summary, error)
	// Nearest returns the k nearest ready vectors of a kind and a configuration,
	// nearest first.
	Nearest(ctx context.Context, q NearestQuery) ([]Neighbour, error)
	// Windows returns windows by their ids.
	Windows(ctx context.Context, user UserID, ids []WindowID) ([]TextWindow, error)
}

// VectorKind says what a vector stands for.
type VectorKind string

// Kinds of vectors.
const (
	VectorWindow VectorKind = "window" // the id is a WindowID
	VectorItem   VectorKind = "item"   // the id is an ItemID
	VectorFile   VectorKind = "file"   // the id is that of a FilePage
)

// VectorSize is the length of every stored vector; shorter ones are padded with
// zeros, which changes no distance. Fixed.
const VectorSize = 1024

// NearestQuery asks for the vectors nearest to Vector, by cosine distance.
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

// TextWindow is a run of contiguous messages of one day, the unit that gets an
// embedding. Its text is that of its messages.
type TextWindow struct {
	User    UserID
	ID      WindowID
	Segment SegmentID
	First   MessageID
	Last    MessageID
	Tokens  int
	// Passages are those of its messages, if they have vectors.
	Passages []PassageVector
}

// EmbeddingState says how far an embedding is.
type EmbeddingState string

// States of embeddings.
const (
	EmbeddingPending EmbeddingState = "pending"
	EmbeddingReady   EmbeddingState = "ready"
	EmbeddingError   EmbeddingState = "error"
)

// Embedder turns texts into vectors, one for each, all of one length of at most
// VectorSize. An error is a *ModelError or a context's.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// FingerprintOf is the fingerprint of an embedder that has the method Fingerprint, or
// else the name of its configuration. It stands for all that decides whether texts can
// be embedded, such as the address and the key: where it is another one, what failed is
// tried again.
func FingerprintOf(e Embedder, config string) string {
	if f, ok := e.(interface{ Fingerprint() string }); ok {
		return f.Fingerprint()
	}
	return config
}

// EmbeddingFault is why texts have no vectors, and how many.
type EmbeddingFault struct {
	Reason string
	Count  int
}

// EmbedderOf returns the embedder whose vectors count for a user, and the name of
// its configuration, under which they are stored. nil: there is none.
type EmbedderOf func(ctx context.Context, user UserID) (e Embedder, config string, err error)

// Embedding tells what the texts of users are embedded with.
type Embedding interface {
	// Name is the configuration that a user's new texts want a vector of; empty: none do.
	Name(ctx context.Context, user UserID) (string, error)
}

// IndexStore keeps what is searched: the full-text index, windows and vectors.
type IndexStore interface {
	// Unwindowed returns the first day of a user whose messages are not all in
	// windows, and those messages (with the last one of the window before them) in
	// order; closed tells that no more are expected. ErrNotFound: there is none.
	Unwindowed(ctx context.Context, user UserID, limit int) (segment SegmentID, messages []Message, closed bool, err error)
	// PutWindows stores windows of a day, pending for p.Config, and that the day is
	// in windows through p.Through. ErrChanged if a message of p.Read was edited or
	// redacted meanwhile, or one came in before the last of them.
	PutWindows(ctx context.Context, p PutWindows) error
	// PendingEmbeddings returns what waits for a vector of config, oldest first.
	// What has none yet or one of another configuration waits only if it was asked
	// for by PutWindows, AddItem or Reembed.
	PendingEmbeddings(ctx context.Context, user UserID, config string, limit int) ([]Embeddable, error)
	// PutVectors stores vectors, or errors with what was tried; of what changed since
	// it was read (another Revision) nothing is stored.
	PutVectors(ctx context.Context, user UserID, config string, vectors []EmbeddingResult, now time.Time) error
	// Reembed marks everything of a user pending for config, archived items
	// included, and returns how much that is; dry only counts.
	Reembed(ctx context.Context, user UserID, config string, dry bool, now time.Time) (int, error)
	// FailEmbeddings marks all of a user that is pending as an error for a reason
	// that is none of the texts', with what was tried.
	FailEmbeddings(ctx context.Context, user UserID, tried, reason string, now time.Time) error
	// RetryEmbeddings makes pending again what is an error since FailEmbeddings, or
	// since something else than tried was.
	RetryEmbeddings(ctx context.Context, user UserID, tried string, now time.Time) error
	// EmbeddingFaults lists why texts of a user (0: of all) have no vectors, most
	// first, at most five reasons.
	EmbeddingFaults(ctx context.Context, user UserID) ([]EmbeddingFault, error)
	// EmbeddingDue lists users after `after` who have messages outside of windows,
	// something that waits for a vector, or an error since something else than tried
	// was (empty: not these), by id; with own, only those who set embeddings of their
	// own.
	EmbeddingDue(ctx context.Context, after UserID, own bool, tried string, limit int) ([]UserID, error)
	// EmbeddingCounts counts a user's embeddings by state, those of another
	// configuration under "stale".
	EmbeddingCounts(ctx context.Context, user UserID, config string) (map[string]int, error)
	// Index brings the full-text index up to date: what was said since the last call, and
	// what another version of the analyzer indexed, of at most `users` users of a share. It
	// tells how many documents that were; 0: all is indexed. It runs behind what is said: Match adds
	// what is not indexed yet, so nobody notices. Edits, redactions, summaries and items
	// are indexed in the transaction that stores them.
	Index(ctx context.Context, users int, share Share) (int, error)
}

// PutWindows is windows to be stored.
type PutWindows struct {
	User    UserID
	Segment SegmentID
	Windows []TextWindow // ids are given by the store
	Through MessageID
	// Read are the messages that the windows were cut from; Closed: they are the
	// rest of a day that is over, as Unwindowed told.
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

// EmbeddingResult is the vector of an Embeddable, or why there is none.
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
	Recency int    // only the last so many days; 0: all
	// From and To are the first and last day that is searched; empty: no bound.
	From, To string
	// Kind, Role and Channel leave only what is of one kind, said by one side, or on one
	// channel; empty: all. A summary is nobody's and of no channel.
	Kind    DocKind
	Role    Role
	Channel string
	// Before leaves out this message and later ones: a question does not find
	// itself. 0: none.
	Before MessageID
	// Matching: a hit holds a word of the query or matches by its meaning, and what
	// was said beside it comes as its context, as for people. Else a neighbour may
	// be a hit of its own, which finds answers that repeat no word of the question.
	Matching bool
	Limit    int // 0: the default
	MinScore float64
	Now      time.Time
	Location *time.Location
	// Names say who is meant by a name in a query: the display name of the person.
	Names map[string]Role
}

// SearchResult is what a search found, best first.
type SearchResult struct {
	Hits []Hit
	Mode string // hybrid, or fts
	// Note says in plain words why Mode is fts, or why there is nothing.
	Note string
	// Below counts hits that were below MinScore.
	Below int
}

// Hit is one thing found.
type Hit struct {
	Kind    DocKind
	Segment SegmentID
	Label   string // of the day
	Message Message
	Summary Summary
	// Page is that of a document; Message carried it.
	Page    FilePage
	Snippet string
	Score   float64 // 0 to 1
	FTS     bool    // it holds a word of the query
	Near    bool    // it was found by its meaning
	// Neighbour: it was found only because of what stands beside it. It never
	// stands above the best of those.
	Neighbour bool
	From, To  MessageID // the window that a message was found in by its meaning
	// Before and After are what was said beside a message, of SearchQuery.Matching;
	// nothing if that is a hit of its own, or not of its day.
	Before, After Beside
	Explain       Explanation
}

// ThreadHits is what a search of plain threads found, best first.
type ThreadHits struct {
	Hits []ThreadHit
	More bool // there are threads or messages that were not looked through
}

// ThreadHit is a message of a plain thread with words of the query, and what was said
// beside it there.
type ThreadHit struct {
	Thread        Thread
	Message       Message
	Snippet       string
	Before, After Beside
}

// Beside is what was said beside something; the zero value: nothing.
type Beside struct {
	Message MessageID
	Role    Role
	Snippet string
}

// Explanation is how a score came about.
type Explanation struct {
	Terms     map[string]float64 `json:"terms,omitempty"` // BM25 of each word of the query
	Neighbour float64            `json:"neighbour,omitempty"`
	Day       float64            `json:"day,omitempty"`
	Named     float64            `json:"named,omitempty"` // factor for a person, role or channel
	Date      float64            `json:"date,omitempty"`
	Lexical   float64            `json:"lexical"`  // 0 to 1
	Semantic  float64            `json:"semantic"` // 0 to 1
	Covered   bool               `json:"covered,omitempty"`
}

// ItemSignal is what a search of memory knows of one item.
type ItemSignal struct {
	ID       ItemID
	FTS      bool
	Lexical  float64 // BM25, above 0 if FTS
	Near     bool
	Distance float64 // cosine, 0 to 2, if Near
}

// ItemSignals is what a search of memory found, before the two signals are
// weighed: the candidates of both, in no order.
type ItemSignals struct {
	Signals []ItemSignal
	Mode    string // hybrid, or fts
	Note    string // why Mode is fts
}
