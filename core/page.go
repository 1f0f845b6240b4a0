package core

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
	User    UserID
	ID      PageID
	Thread  ThreadID
	Segment SegmentID
	// Start and End are the positions of its first and its last message.
	Start, End int64
	// First and Last are the lowest and the highest id of its messages.
	First, Last MessageID
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
