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
	PageTexts(ctx context.Context, user core.UserID, refs []PageRef) ([]Page, error)
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
	Pages []Page
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
	Pages  []Page
	Prints []Printed
	// Repeats maps a message to the earlier ones that it refers to.
	Repeats map[core.MessageID][]core.MessageID
	Tiers   map[PageID]Tier
	Now     time.Time
	Done    bool // the job ends
	Changed bool // with Done: new prompts will be shorter
}

// Tier is how far old messages are shortened in prompts of the strategy long: the older the message, the higher the
// tier. The assistant's words are always shortened before the user's.
type Tier int

// Tiers of a page. The store keeps every page in the forms of all tiers.
const (
	TierOlder  Tier = 1 + iota // the user's words without repeats, the assistant's conclusions
	TierPoints                 // the user's words as before, the assistant's hardest facts
	TierLight                  // the user's words lightly shortened, except quotes and code
	TierKernel                 // the user's sentences that carry facts
)

// MaxTier is the last tier. Pages that do not fit in it are left out.
const MaxTier = TierKernel

// PageID identifies a page of a user.
type PageID int64

// Page is the shortened form of a stretch of one day of a thread. Prompts of the strategy long show it once its
// messages are no longer among the newest. The transcript itself does not change.
type Page struct {
	User    core.UserID
	ID      PageID
	Thread  core.ThreadID
	Segment core.SegmentID
	// Start and End are the positions of its first and its last message.
	Start, End int64
	// First and Last are the lowest and the highest id of its messages.
	First, Last core.MessageID
	Messages    int  // number of messages
	Original    int  // tokens of their texts
	Tier        Tier // of its form in the next prompt
	// Stale: a message was edited or redacted since. A stale page has no forms and
	// appears in no prompt until it is rebuilt.
	Stale bool
	Forms [MaxTier + 1]PageForm // by tier; 0 is not used
}

// PageForm is a page at a tier. Raw, Summarized, References and Omitted count messages.
type PageForm struct {
	Text       string `json:"-"`                 // empty where only sizes were requested
	Tokens     int    `json:"tokens"`            // of Text
	UserTokens int    `json:"user"`              // the user's share of Tokens
	Raw        int    `json:"raw,omitempty"`     // kept word for word
	Summarized int    `json:"short,omitempty"`   // shortened
	References int    `json:"refer,omitempty"`   // with passages that only refer to an earlier message
	Omitted    int    `json:"omitted,omitempty"` // left out entirely
}

// PageRef identifies a form of a page.
type PageRef struct {
	Page PageID `json:"page"`
	Tier Tier   `json:"tier"`
}
