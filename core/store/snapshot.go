package store

import (
	"time"

	"github.com/everthread/everthread/core"
)

// Claim says who claims work and until when.
type Claim struct {
	Worker string
	Now    time.Time
	Until  time.Time
}

// Epoch fixes everything before the raw messages, and the position where they start, so
// that the prompt only grows within it.
type Epoch struct {
	ID        core.TurnID `json:"id"` // the turn that began it
	StartedAt time.Time   `json:"started_at"`
	UsedAt    time.Time   `json:"-"`     // by the last turn
	Start     int64       `json:"start"` // position of the first raw message
	Edits     int64       `json:"edits"` // Window.Edits when it began
	Zone      string      `json:"zone"`  // of time marks
	Strategy  string      `json:"strategy"`
	Head      []HeadPart  `json:"head"`
	// Cuts maps the raw messages that are shown shortened to their tokens.
	Cuts map[core.MessageID]int `json:"cuts,omitempty"`
	// Opener is the first message of a plain thread, which stands before those from Start on; 0: none.
	Opener core.MessageID `json:"opener,omitempty"`
	// Skip holds raw messages after Start that are left out.
	Skip      []core.MessageID `json:"skip,omitempty"`
	Truncated bool             `json:"truncated"` // [Earlier messages truncated] is shown
	// Compressed is Window.Compressed when it began, PagesOut how many pages it left out.
	Compressed int64 `json:"compressed,omitempty"`
	PagesOut   int   `json:"pages_out,omitempty"`
	// Thread counts the thread's messages when it began; Dropped those that the prompt
	// left out although no summary covered them.
	Thread  int    `json:"thread,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
	Budgets string `json:"budgets"` // fingerprint of the settings; a different one begins a new epoch
	// Nonce is part of the names of the fences around text that is not the user's own, so that its authors cannot know
	// how to close them.
	Nonce string `json:"nonce,omitempty"`
}

// TurnNews is news first shown in a turn's prompt. It is stored with the message that it precedes.
type TurnNews struct {
	Message core.MessageID
	News    core.News
	Edits   int64 // Window.Edits: if that has changed since, the text is not stored
}

// HeadPart is one part of a prompt before the raw messages, as it was shown.
type HeadPart struct {
	Name    string         `json:"name"` // instructions, thread, policy, standing, user, themes, days, last, loops, today, history
	Text    string         `json:"text"`
	Tokens  int            `json:"tokens"`
	Segment core.SegmentID `json:"segment,omitempty"` // the segment whose summary it shows
	Version int            `json:"version,omitempty"` // of that summary
	Loops   []core.LoopID  `json:"loops,omitempty"`
	Tainted bool           `json:"tainted,omitempty"` // derived from words that the person did not write
	Error   string         `json:"error,omitempty"`   // why the part was left out
	// Pages lists the pages of the part; Before is the first message on them if earlier ones are left out. The text of
	// such a part is not stored with the epoch: readers assemble it from the pages.
	Before core.MessageID `json:"before,omitempty"`
	Pages  []PageRef      `json:"pages,omitempty"`
}

// Shared reports whether the part is the same for many users: it is the gateway's own
// text, not shortened for this prompt, without any words of the person.
func (p HeadPart) Shared() bool {
	switch p.Name {
	case core.PartInstructions, core.PartPolicy:
		return p.Text != "" && p.Error == ""
	}
	return false
}

// Snapshot records by reference what a turn sent to the model.
type Snapshot struct {
	Strategy         string                 `json:"strategy"`
	Epoch            core.TurnID            `json:"epoch"`
	NewEpoch         string                 `json:"new_epoch,omitempty"` // why one began
	Messages         core.IDSet             `json:"messages"`
	Revisions        map[core.MessageID]int `json:"revisions,omitempty"` // those above 0
	Parts            []PartTokens           `json:"parts"`
	Thread           int                    `json:"messages_in_thread"` // by the user and the assistant
	Loaded           int                    `json:"messages_loaded"`    // from the store, with tool calls and results
	Included         int                    `json:"messages_included"`  // of Loaded
	Shortened        int                    `json:"messages_shortened"` // of Included
	Truncated        int                    `json:"messages_truncated"` // of Thread, those that are not shown
	LeftOut          int                    `json:"messages_left_out_covered"`
	Dropped          int                    `json:"messages_dropped_uncovered"` // LeftOut + Dropped = Truncated
	TodaySummary     bool                   `json:"today_summary_present"`
	Yesterday        bool                   `json:"yesterday_summary_present"`
	OpenLoops        int                    `json:"open_loops_count"`
	LastConversation bool                   `json:"last_conversation_present"`
	ToolTokens       int                    `json:"tool_schema_tokens"`
	ClientTokens     int                    `json:"client_tokens,omitempty"` // instructions of the requesting client, not in Total
	History          *HistoryCount          `json:"history,omitempty"`       // strategy long
	Total            int                    `json:"total_tokens"`
	Cap              int                    `json:"cap_tokens"`
	Model            string                 `json:"model"`
	Usage            core.Usage             `json:"usage"`
	FirstTokenMS     int64                  `json:"first_token_ms"`
	TotalMS          int64                  `json:"total_ms"`
	Steps            int                    `json:"steps"`
	Finish           core.Finish            `json:"finish,omitempty"`
	// Reduced lists what the model's server did not take of the request.
	Reduced []core.Reduction `json:"reduced,omitempty"`
	Session core.ThreadID    `json:"session_id,omitempty"` // the thread
	Trace   string           `json:"trace_id,omitempty"`   // of the turn, 32 hex digits; a client's traceparent's
}

// HistoryCount counts the old messages in a prompt of the strategy long.
type HistoryCount struct {
	Pages      int `json:"pages"`
	LeftOut    int `json:"pages_left_out"`    // not shown: no room, or not made yet
	Messages   int `json:"messages"`          // on the pages
	Raw        int `json:"raw"`               // of these, kept word for word
	Summarized int `json:"summarized"`        // shortened
	References int `json:"references"`        // referring to an earlier message
	Omitted    int `json:"omitted"`           // left out entirely
	Original   int `json:"original_tokens"`   // of the messages' texts
	Tokens     int `json:"tokens"`            // as shown
	UserTokens int `json:"user_tokens"`       // the user's share of Tokens
	UserTotal  int `json:"user_tokens_total"` // including the raw messages
}

// PartTokens is the size of a part of a prompt.
type PartTokens struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Error  string `json:"error,omitempty"`
}

// Reply is the result of a turn, written in one transaction if the lease still holds.
type Reply struct {
	Turn     *core.Turn
	State    core.TurnState
	Now      time.Time
	Messages []core.NewMessage // tool calls and results, then the assistant's; none if stopped early
	Snapshot *Snapshot
	Epoch    *Epoch    // a new one; nil: the current one is used
	News     *TurnNews // news that the prompt showed first
	Told     int64     // Window.News, if the prompt shows all of it; 0: unchanged
	Spent    core.Bill
	Effects  []core.Effect
	// Deliveries carry the last message of Messages.
	Deliveries []core.NewDelivery
	// Compress requests compression of old messages.
	Compress bool
	// Speak requests that the last message is also spoken, if the turn is done.
	Speak bool
	// Summarize requests a summary immediately; otherwise it is due when the segment
	// has SummarizeAfter unsummarized messages.
	Summarize      bool
	SummarizeAfter int
	// Summary claims the summary that becomes due; nil: any process takes it.
	Summary *Claim
	Day     string // label of today, for the usage
	Error   string // for TurnFailed
	// Refused is for TurnFailed: the model's server refuses the inputs. They wait until the
	// same identity says more, they are edited, or RetryTurn asks for them.
	Refused bool
	// Drop is for TurnFailed: the inputs do not wait for another turn, and no prompt shows them.
	Drop bool
	// Cause says why the run of a task failed or was skipped.
	Cause core.RunCause
}

// Prompt is the first request of a turn to a model.
type Prompt struct {
	Messages []core.ModelMessage
	// Sources runs parallel to Messages and holds the message of the transcript that
	// each one shows; 0 for parts before the raw messages.
	Sources     []core.MessageID
	CachePrefix int
	Snapshot    Snapshot
	Epoch       *Epoch    // a new one; nil: the current one continues
	News        *TurnNews // first shown in this prompt; nil: none
	Told        int64     // as in Reply
	// Pressure requests a summary immediately.
	Pressure bool
	// Compress requests compression of old messages.
	Compress bool
	// Request holds the options of the requesting client; nil: none.
	Request *core.Request
	// Decides: the turn continues with the answer to a question.
	Decides *core.Decision
	// Tainted: the prompt shows words that the person did not write there. Foreign runs
	// parallel to Messages and marks those that hold them.
	Tainted bool
	Foreign []bool
	// Cut is the part of the turn's own messages that did not fit into the prompt.
	Cut Cut
	// Heard: the turn answers a voice note.
	Heard bool
	// Files are the attachments of the turn's messages.
	Files []core.Attachment
}

// Cut counts the tokens of some messages that are left out, and all of their tokens.
type Cut struct{ Out, Of int }

// Percent returns the share that is left out, in percent; 0 only if nothing is.
func (c Cut) Percent() int {
	if c.Out <= 0 || c.Of <= 0 {
		return 0
	}
	return max(1, c.Out*100/c.Of)
}
