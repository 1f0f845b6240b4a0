package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Document is what is known of the text of an attachment.
type Document struct {
	Kind  string        `json:"kind"` // pdf, docx, …
	State DocumentState `json:"state"`
	Pages int           `json:"pages,omitempty"` // that were read
	// Preview is how the text begins.
	Preview string `json:"preview,omitempty"`
	// Problem is why it, or the rest of it, was not read; empty: all was.
	Problem DocumentProblem `json:"problem,omitempty"`
}

// DocumentState says how far a document is read.
type DocumentState string

// States of documents.
const (
	DocumentReading DocumentState = "reading" // it waits, or is being read
	DocumentRead    DocumentState = "read"    // as far as Problem says
)

// DocumentProblem is why a document, or a part of it, was not read.
type DocumentProblem string

// Problems of documents.
const (
	DocumentEncrypted DocumentProblem = "encrypted" // with a password
	DocumentScanned   DocumentProblem = "scanned"   // its pages are pictures without text
	DocumentEmpty     DocumentProblem = "empty"     // it has no text
	DocumentDamaged   DocumentProblem = "damaged"   // it breaks off, or is not what it says
	DocumentLong      DocumentProblem = "long"      // only so many pages are read
	DocumentSlow      DocumentProblem = "slow"      // reading took too long
	DocumentLarge     DocumentProblem = "large"     // reading took too much memory
	DocumentBomb      DocumentProblem = "bomb"      // it unpacks to more than any document
	DocumentKind      DocumentProblem = "kind"      // of no kind that is read
	DocumentUnread    DocumentProblem = "unread"    // reading itself failed
)

// Unread reports whether a document waits to be read.
func (d *Document) Unread() bool { return d != nil && d.State == DocumentReading }

// Note tells a model what there is to say of how a document was read; empty: all of it was.
func (d *Document) Note() string {
	if d.Unread() {
		return "It is still being read: answer without it, or say that you need a moment."
	}
	return map[DocumentProblem]string{
		DocumentEncrypted: "It is locked with a password, so it could not be read.",
		DocumentScanned:   "Its pages are pictures without text, such as scans, so nothing could be read.",
		DocumentEmpty:     "It has no text.",
		DocumentDamaged:   "It is damaged, or is not what it says; no more of it could be read.",
		DocumentLong:      "It has more pages; only the first were read.",
		DocumentSlow:      "Reading it took too long; no more of it was read.",
		DocumentLarge:     "Reading it took too much memory; no more of it was read.",
		DocumentBomb:      "It unpacks to more than any document has, so it was not read.",
		DocumentKind:      "Files of this kind are not read.",
		DocumentUnread:    "It could not be read, by no fault of its own.",
	}[d.Problem]
}

// FileRef names an attachment of a message: 12 is the first one of message 12, 12.2 the
// second.
type FileRef struct {
	Message MessageID
	Part    int // from 0
}

// String writes the reference.
func (r FileRef) String() string {
	if r.Part == 0 {
		return strconv.FormatInt(int64(r.Message), 10)
	}
	return fmt.Sprintf("%d.%d", r.Message, r.Part+1)
}

// ParseFileRef reads what String wrote, also with a # before it.
func ParseFileRef(s string) (FileRef, bool) {
	message, part, two := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "#"), ".")
	m, err := strconv.ParseInt(message, 10, 64)
	n := 1
	if two && err == nil {
		n, err = strconv.Atoi(part)
	}
	return FileRef{MessageID(m), n - 1}, err == nil && m > 0 && n > 0
}

// FilePage is a page of an attachment: its text, and where it stands.
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

// DocumentKey is the key of the jobs that read a user's documents, one after another.
const DocumentKey = "document"

// DocumentStore keeps the text of documents. It goes where the messages that carried them
// go.
type DocumentStore interface {
	// PutFilePages stores pages of an attachment while the lease holds, and asks for their
	// vectors. ErrNotFound: the message was redacted or removed.
	PutFilePages(ctx context.Context, p PutFilePages) error
	// FilePages returns the pages of an attachment with numbers from..to, in order.
	FilePages(ctx context.Context, user UserID, file FileRef, from, to int) ([]FilePage, error)
	// FilePagesOf returns pages by their ids, as far as they exist.
	FilePagesOf(ctx context.Context, user UserID, ids []int64) ([]FilePage, error)
	// HasFilePages reports whether a user has any.
	HasFilePages(ctx context.Context, user UserID) (bool, error)
}

// PutFilePages is pages to be stored.
type PutFilePages struct {
	User  UserID
	File  FileRef
	First bool // pages of an attempt before go
	Pages []FilePage
	// Config is the embedding configuration that vectors are wanted of; empty: none.
	Config string
	Lease  Lease
	Now    time.Time
}
