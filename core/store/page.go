package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// PageStore keeps the pages of threads, and the fingerprints that detect repetition.
type PageStore interface {
	// Pages returns a thread's pages in order, without the texts of their forms.
	Pages(ctx context.Context, user core.UserID, thread core.ThreadID) (PageList, error)
	// PageTexts returns the referenced forms with their texts, as pages with the Tier
	// of the ref, in the order of refs. Pages that no longer exist are left out.
	PageTexts(ctx context.Context, user core.UserID, refs []core.PageRef) ([]core.Page, error)
	// RawFrom returns the position of the first message that stays unshortened, 0 if all do.
	RawFrom(ctx context.Context, user core.UserID, thread core.ThreadID, q RawQuery) (int64, error)
	// Weight returns the prompt tokens of a thread's messages from a position on.
	Weight(ctx context.Context, user core.UserID, thread core.ThreadID, from int64) (int, error)
	// Between returns a thread's messages from one position up to another, of both
	// roles and not redacted, at most limit.
	Between(ctx context.Context, user core.UserID, thread core.ThreadID, from, to int64, limit int) ([]core.Message, error)
	// Printed returns the pieces of a user's messages before `before` that have one of
	// the bands: for each band the earliest, at most limit.
	Printed(ctx context.Context, user core.UserID, bands []int64, before core.MessageID, limit int) ([]Printed, error)
	// PutPages stores pages under new ids, which it sets, replaces those with their
	// previous ids, and changes tiers. core.ErrFenced if the lease was lost, core.ErrChanged if
	// one of the messages has changed since it was read; nothing is stored then.
	PutPages(ctx context.Context, p PutPages) error
}

// PageList holds the pages of a thread.
type PageList struct {
	Pages []core.Page
	Edits int64 // Window.Edits
	Head  int   // tokens of the current epoch's head, without its pages
}

// RawQuery defines the newest messages: those that hold Tokens tokens, Users messages of
// the user and Answers of the assistant, but no more than Most tokens.
type RawQuery struct{ Tokens, Users, Answers, Most int }

// Printed is a piece of a message, found by its band.
type Printed struct {
	Band    int64
	Message core.MessageID
	Piece   int
}

// PutPages is the result of a compression run.
type PutPages struct {
	User   core.UserID
	Thread core.ThreadID
	Lease  core.Lease
	Edits  int64 // Window.Edits when the messages were read
	Pages  []core.Page
	Prints []Printed
	// Repeats maps a message to the earlier ones that it refers to.
	Repeats map[core.MessageID][]core.MessageID
	Tiers   map[core.PageID]core.Tier
	Now     time.Time
	Done    bool // the job ends
	Changed bool // with Done: new prompts will be shorter
}
