package core

import (
	"context"
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
