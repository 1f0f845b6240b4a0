package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// DocumentStore keeps the text of documents. It moves and goes with the messages that carried them.
type DocumentStore interface {
	// PutFilePages stores pages of an attachment while the lease holds, and marks them
	// for embedding. core.ErrNotFound if the message was redacted or removed.
	PutFilePages(ctx context.Context, p PutFilePages) error
	// FilePages returns pages from through to of an attachment, in order.
	FilePages(ctx context.Context, user core.UserID, file core.FileRef, from, to int) ([]core.FilePage, error)
	// FilePagesOf returns those of the pages that exist.
	FilePagesOf(ctx context.Context, user core.UserID, ids []int64) ([]core.FilePage, error)
	// HasFilePages reports whether a user has any pages.
	HasFilePages(ctx context.Context, user core.UserID) (bool, error)
}

// PutFilePages is pages to be stored.
type PutFilePages struct {
	User  core.UserID
	File  core.FileRef
	First bool // remove the pages of an earlier attempt
	Pages []core.FilePage
	// Config is the embedding configuration to use; empty: no embeddings.
	Config string
	Lease  core.Lease
	Now    time.Time
}
