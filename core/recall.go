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

// EmbedderOf returns a user's embedder and the name of its configuration, under which
// its vectors are stored; nil if the user has none.
type EmbedderOf func(ctx context.Context, user UserID) (e Embedder, config string, err error)

// Embedding chooses the embedding configuration of users.
type Embedding interface {
	// Name returns the configuration to embed a user's new texts with; empty: none.
	Name(ctx context.Context, user UserID) (string, error)
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
