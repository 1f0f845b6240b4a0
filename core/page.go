package core

import (
	"context"
	"time"
)

// Tier is how much old messages are shortened in prompts of the strategy long:
// the older, the more. What the assistant said is shortened in all of them before the
// user's words are.
type Tier int

// Tiers of a page. Of each page the forms of all tiers are stored.
const (
	TierOlder  Tier = 1 + iota // the user's words without repeats, the assistant's conclusions
	TierPoints                 // the same of the user's, the assistant's main points
	TierFacts                  // the same of the user's, the assistant's hardest facts
	TierLight                  // the user's words lightly shortened, but quotes and code
	TierUser                   // the same of the user's, nothing of the assistant's
	TierKernel                 // what carries facts, of both
)

// MaxTier is the last tier. What does not fit in it is left out.
const MaxTier = TierKernel

// PageID numbers the pages of a user.
type PageID int64

// Page is a stretch of one day of a thread as prompts of the strategy long show
// it once it is no longer among the newest messages. Nothing of the transcript
// changes by it.
type Page struct {
	User    UserID
	ID      PageID
	Thread  ThreadID
	Segment SegmentID
	// Start and End are the positions of its first and its last message.
	Start, End int64
	// First and Last are the lowest and the highest number of its messages.
	First, Last MessageID
	Messages    int  // that it holds
	Original    int  // tokens of their texts
	Tier        Tier // of its form in the next prompt
	// Stale: a message was edited or redacted since. A stale page has no forms and
	// is in no prompt until it is made again.
	Stale bool
	Forms [MaxTier + 1]PageForm // by tier; 0 is not used
}

// PageForm is a page at a tier. What it holds is counted in messages.
type PageForm struct {
	Text       string `json:"-"`                 // empty where only sizes were asked for
	Tokens     int    `json:"tokens"`            // of Text
	UserTokens int    `json:"user"`              // of those, what the user said
	Raw        int    `json:"raw,omitempty"`     // messages word for word
	Summarized int    `json:"short,omitempty"`   // shortened
	References int    `json:"refer,omitempty"`   // with something that only refers to an earlier message
	Omitted    int    `json:"omitted,omitempty"` // of which nothing is left
}

// PageRef names a form of a page.
type PageRef struct {
	Page PageID `json:"page"`
	Tier Tier   `json:"tier"`
}

// PageStore keeps the pages of threads, and the fingerprints by which repetition
// is found.
type PageStore interface {
	// Pages returns a thread's pages in order, without the texts of their forms.
	Pages(ctx context.Context, user UserID, thread ThreadID) (PageList, error)
	// PageTexts returns the forms that refs name, with their texts: pages whose Tier
	// is that of the ref, in the order of refs. Those that are gone are left out.
	PageTexts(ctx context.Context, user UserID, refs []PageRef) ([]Page, error)
	// RawFrom returns the position from which on messages stay as they are, 0 if they
	// all do.
	RawFrom(ctx context.Context, user UserID, thread ThreadID, q RawQuery) (int64, error)
	// Weight returns how many tokens a thread's messages from a position on take of a
	// prompt.
	Weight(ctx context.Context, user UserID, thread ThreadID, from int64) (int, error)
	// Between returns a thread's messages from one position up to another, of both
	// roles and not redacted, at most limit.
	Between(ctx context.Context, user UserID, thread ThreadID, from, to int64, limit int) ([]Message, error)
	// Printed returns where a user's earlier messages, before `before`, have one of
	// these bands: at most limit for each band, the earliest.
	Printed(ctx context.Context, user UserID, bands []int64, before MessageID, limit int) ([]Printed, error)
	// PutPages stores pages under new ids, which it sets, in place of those of the
	// ids that they have, and moves tiers. ErrFenced if the lease was lost, ErrChanged
	// if one of its messages was changed since it was read: nothing is stored then.
	PutPages(ctx context.Context, p PutPages) error
}

// PageList is the pages of a thread, and what is known with them.
type PageList struct {
	Pages []Page
	Edits int64 // Window.Edits
	Head  int   // tokens of the current epoch's head, but for its pages
}

// RawQuery says which messages are the newest: those that hold Tokens, and Users
// messages of the user and Answers of the assistant, but no more than Most tokens.
type RawQuery struct{ Tokens, Users, Answers, Most int }

// Printed is a piece of a message that has a band.
type Printed struct {
	Band    int64
	Message MessageID
	Piece   int
}

// PutPages is what a run of the compression stores.
type PutPages struct {
	User   UserID
	Thread ThreadID
	Lease  Lease
	Edits  int64 // Window.Edits when the messages were read
	Pages  []Page
	Prints []Printed
	// Repeats says which message refers to which earlier one.
	Repeats map[MessageID][]MessageID
	Tiers   map[PageID]Tier
	Now     time.Time
	Done    bool // the job ends
	Changed bool // with Done: prompts that begin from now on are shorter
}
