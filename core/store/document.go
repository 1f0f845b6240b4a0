package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// DocumentStore keeps the text of documents. It moves and goes with the messages that carried them.
type DocumentStore interface {
	// PutFilePages stores pages of an attachment while the lease holds, and marks them
	// for embedding. core.ErrNotFound if the message was redacted or removed.
	PutFilePages(ctx context.Context, p PutFilePages) error
	// FilePages returns pages from through to of an attachment, in order.
	FilePages(ctx context.Context, user core.UserID, file FileRef, from, to int) ([]FilePage, error)
	// FilePagesOf returns those of the pages that exist.
	FilePagesOf(ctx context.Context, user core.UserID, ids []int64) ([]FilePage, error)
	// HasFilePages reports whether a user has any pages.
	HasFilePages(ctx context.Context, user core.UserID) (bool, error)
}

// PutFilePages is pages to be stored.
type PutFilePages struct {
	User  core.UserID
	File  FileRef
	First bool // remove the pages of an earlier attempt
	Pages []FilePage
	// Config is the embedding configuration to use; empty: no embeddings.
	Config string
	Lease  core.Lease
	Now    time.Time
}

// FileRef identifies an attachment of a message: 12 is the first of message 12, 12.2 the second.
type FileRef struct {
	Message core.MessageID
	Part    int // from 0
}

// String writes the reference.
func (r FileRef) String() string {
	if r.Part == 0 {
		return strconv.FormatInt(int64(r.Message), 10)
	}
	return fmt.Sprintf("%d.%d", r.Message, r.Part+1)
}

// ParseFileRef parses the form of String, with an optional # in front.
func ParseFileRef(s string) (FileRef, bool) {
	message, part, two := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "#"), ".")
	m, err := strconv.ParseInt(message, 10, 64)
	n := 1
	if two && err == nil {
		n, err = strconv.Atoi(part)
	}
	return FileRef{core.MessageID(m), n - 1}, err == nil && m > 0 && n > 0
}

// FilePage is the text of a page of an attachment, and its place there.
type FilePage struct {
	ID     int64
	File   FileRef
	Number int    // from 1
	Title  string // of the sheet, chapter or section; may be empty
	Name   string // of the file
	Kind   string // of the file
	Text   string
	Tokens int // of Text
}
