package core

import (
	"cmp"
	"context"
	"time"
)

// Channel carries messages between the gateway and one chat service.
type Channel interface {
	// Name is the channel's name, the Channel of its addresses.
	Name() string
	// Run passes every message it receives to r until ctx ends. It acknowledges
	// a message to the service only after r has returned nil.
	Run(ctx context.Context, r Receiver) error
	// Send delivers one part. The type of an error says whether a retry can help:
	// *Permanent, *RetryAfter, *Unknown (it may have arrived), *Unreachable. Any
	// other error is temporary, and the part certainly did not arrive.
	Send(ctx context.Context, to Address, p Part) (Receipt, error)
}

// Receiver takes inbound events. It returns nil once they are durable; a duplicate
// is a success. After an error none of them may be acknowledged.
type Receiver interface {
	Receive(ctx context.Context, in ...Inbound) error
}

// Describer is an optional interface of a Channel that differs from the default Capabilities.
type Describer interface {
	Capabilities() Capabilities
}

// Channels looks channels up by name.
type Channels interface {
	// Capabilities returns a channel's capabilities, the zero value if there is no such channel.
	Capabilities(channel string) Capabilities
}

// Capabilities describes a channel to the core.
type Capabilities struct {
	// Title is the display name of a service that no catalogue names; empty: the channel's name.
	Title   string
	MaxText int                // longest text of one part in units of Length; 0: no limit
	Length  func(s string) int // measures a text in the channel's unit; nil: bytes
	Push    bool               // may receive proactive messages
	// RatePerChat and RatePerAccount limit sending, in messages per second; 0: no limit.
	RatePerChat, RatePerAccount float64
	BurstPerChat                int // messages allowed in a burst above RatePerChat; 0: 3
	// Idempotent: Part.Key makes a repeated Send harmless.
	Idempotent bool
	// Settles: an InReceipt with the Part.Key settles a part that may have arrived.
	// The gateway waits for it before it sends the part again.
	Settles bool
	// Window is how long after a person's message they may be written to; 0: always.
	Window time.Duration
	// Files: Part.Attachment can be sent. Otherwise the text names the file.
	Files bool
	// Voice: OGG/Opus recordings can be sent or shown, so answers may be spoken.
	Voice bool
	// NoRepeat: a part that may have arrived is never sent again.
	NoRepeat bool
	// OneProcess: only the process that runs the channel may Send.
	OneProcess bool
	// Program: the other side is a program, which is asked no questions.
	Program bool
	// Rings: nothing is sent there; devices are notified of an answer instead.
	Rings bool
	// Personal: each account belongs to one user. Nobody is paired there, and the channel is up even without accounts.
	Personal bool
}

// Reopener is an optional interface of a Channel with a Window. Reopen asks a person whose window is closed whether
// they want their waiting messages. A yes arrives as InAsked.
type Reopener interface {
	Reopen(ctx context.Context, to Address, key string) (Receipt, error)
}

// Accounter is an optional interface of a Channel with a single account that only one process at a time may run.
type Accounter interface {
	// Account returns the service's id of the account, the Account of its addresses.
	Account() string
}

// AccountChecker is an optional interface of a Channel with many accounts.
type AccountChecker interface {
	// CheckAccounts returns, for every account known to this process, nil or an error
	// that says what is wrong and what to do.
	CheckAccounts() map[string]error
	// Refresh rereads the list of accounts after one was added or removed.
	Refresh()
}

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`          // what was checked; "" from a Diagnoser: the channel
	OK     bool   `json:"ok"`             // no problem was found
	None   bool   `json:"none,omitempty"` // it is not set up, which is no problem
	Detail string `json:"detail"`         // the state; if not OK, what to do
}

// Diagnoser is an optional interface of a Channel that can check its external
// prerequisites: account, permissions, webhook, clock. It may log in, but changes and
// receives nothing, so it is safe to call while another process runs the channel.
type Diagnoser interface {
	// Diagnose returns its findings in a language.
	Diagnose(ctx context.Context, language string) []Finding
}

// App locates the assistant in the app of a chat service.
type App struct {
	Channel string
	Name    string                   // of the assistant there
	Link    func(text string) string // a link that opens the app with a text ready to send
	Start   func(code string) string // a link that sends "/start CODE" with one tap; may be nil
}

// Linker is an optional interface of a Channel whose app can be opened by a link. App
// asks the service for the assistant's name there.
type Linker interface {
	App(ctx context.Context) (App, error)
}

// Carrier is an optional interface of a Channel that also runs others: their Run does
// nothing, and their events arrive through the carrier's Run.
type Carrier interface {
	Carries() []Channel
}

// Typer is an optional interface of a Channel with a typing indicator, which fades
// after TypingTTL. event is the EventID of the message being answered; it may be empty.
type Typer interface {
	Typing(ctx context.Context, to Address, event string) error
	TypingTTL() time.Duration
}

// Streamer is an optional interface of a Channel that can show an answer while it is being written. key identifies the
// turn: a re-run of the turn continues the same preview. The final message still goes through Send.
type Streamer interface {
	// Preview shows text, everything written so far, and replaces the preview of the same key. Errors are not retried:
	// the next call or the final message replaces the preview.
	Preview(ctx context.Context, to Address, key string, text string) error
	// PreviewEvery is the shortest time between two previews in one chat.
	PreviewEvery() time.Duration
}

// Retractor is an optional interface of a Channel that can delete what it sent. Retract deletes a message of ours; one
// that is gone already is a success. The type of an error is as of Send, and it may always be tried again.
type Retractor interface {
	Retract(ctx context.Context, to Address, native string) error
}

// Keeper keeps the durable state of an account of a channel, for whichever process runs it next.
type Keeper interface {
	// State returns a value, "" if there is none.
	State(ctx context.Context, key string) (string, error)
	// SetState stores all values or none; "" removes one. ErrFenced: another process
	// has taken the account over, and this one must stop.
	SetState(ctx context.Context, values map[string]string) error
}

// Checker is an optional interface of a Channel that reports its health for /readyz:
// nil if it is up, otherwise what is wrong and what to do.
type Checker interface {
	Check() error
}

// Fetcher is an optional interface of a Channel whose attachments are fetched by
// reference. A file larger than max bytes is a *Permanent error.
type Fetcher interface {
	Fetch(ctx context.Context, ref string, max int64) (data []byte, mime string, err error)
}

// InboundKind is the kind of an Inbound.
type InboundKind string

// Kinds of inbound events.
const (
	InMessage     InboundKind = "message"     // a new message
	InEdit        InboundKind = "edit"        // Target has a new Text
	InRedaction   InboundKind = "redaction"   // Target was deleted by its author
	InReaction    InboundKind = "reaction"    // Reaction was put on (or, if empty, taken from) Target
	InBlocked     InboundKind = "blocked"     // the person blocked us
	InUnblocked   InboundKind = "unblocked"   // the person lifted the block
	InStop        InboundKind = "stop"        // the person pressed the platform's stop button
	InGroup       InboundKind = "group"       // we do not answer in the room at Address, and say once why: Silent
	InReceipt     InboundKind = "receipt"     // Status is the new state of Target, a message of ours
	InAsked       InboundKind = "asked"       // the person requested their waiting messages (Reopener)
	InMoved       InboundKind = "moved"       // the person at Address has moved to External Target
	InByHand      InboundKind = "by_hand"     // somebody wrote to the person from another client of our account
	InUnsupported InboundKind = "unsupported" // a valid event without a use here; kept raw
)

// Silence is the reason why a room gets no answers.
type Silence string

// Reasons for silence.
const (
	SilentGroup Silence = ""      // several people are there
	SilentOpen  Silence = "open"  // anybody can read it or join it
	SilentPlain Silence = "plain" // it is encrypted, and the message was not
)

// Inbound is one event of a chat service, normalised.
type Inbound struct {
	Address Address     // of the sender, and of the reply
	EventID string      // unique on (Channel, Account); a repeat is dropped
	Kind    InboundKind // what happened

	NativeID string // the service's id of the message, unique on the Address
	Target   string // for InEdit, InRedaction, InReaction: NativeID of the affected message
	Edited   string // for InEdit: EventID of the original message; may be empty

	Text string // valid UTF-8, with placeholders for attachments
	// Tainted: Text holds words that the sender did not write there, such as a contact card.
	Tainted       bool `json:",omitempty"`
	Attachments   []Attachment
	Quote         *Quote // the message that this one replies to
	ForwardedFrom string // the original author of a forwarded message; empty: not forwarded
	Reaction      string
	Status        *Status

	Name   string  // display name of the sender
	Group  *Group  `json:",omitempty"` // nil: a direct chat
	Silent Silence `json:",omitempty"` // for InGroup
	// Aliases are other Externals of the sender, such as a phone number. An identity
	// known by one of them is the sender's, and is known by Address from now on.
	Aliases []string
	// For is the owner of an account that serves one user only: the address is that user's.
	For      UserID
	Language string // IETF tag of the sender's client, may be empty
	Solo     bool   // never joined with other messages in one turn (HTTP requests)
	// Thread is the destination; 0: the current thread of the identity.
	Thread ThreadID `json:",omitempty"`
	// ToolCallID makes the message the result of a call of one of Request.Tools.
	ToolCallID string   `json:",omitempty"`
	Request    *Request `json:",omitempty"`
	// Program: a program sent it, with a key that has these Grants. Its Text is a
	// command only if Command is set; text that a program relays never is.
	Program bool         `json:",omitempty"`
	Own     bool         `json:",omitempty"` // the key has OwnWords
	Grants  []Capability `json:",omitempty"`
	Command bool         `json:",omitempty"`

	SentAt     time.Time // by the service's clock; zero: unknown
	ReceivedAt time.Time // by ours
	Raw        []byte    // the service's own payload, kept for some days

	Held bool `json:"-"` // the store held it until it could be received
}

// Group is what an event of a group chat says of the chat and of who wrote the event. The event's Name is the writer's.
type Group struct {
	Title   string `json:",omitempty"` // of the chat
	Speaker string // the service's id of the writer, the External of a direct chat with them
	// Hidden: the writer is not a person that can be told apart, such as an anonymous administrator.
	Hidden bool `json:",omitempty"`
	// Program: a program wrote it, which is never answered.
	Program bool `json:",omitempty"`
	// Addressed: it mentions the assistant or replies to it.
	Addressed bool `json:",omitempty"`
}

// TopicMark is between the title of a forum and the name of one of its topics.
const TopicMark = " · "

// Membership is what somebody is in a group chat.
type Membership int

// Memberships.
const (
	Outsider Membership = iota
	Member
	Administrator
)

// Memberships is an optional interface of a Channel with group chats.
type Memberships interface {
	// Membership returns what a speaker is in a group chat at present.
	Membership(ctx context.Context, chat Address, speaker string) (Membership, error)
}

// Quote is the message that another replies to.
type Quote struct {
	NativeID string `json:"native_id,omitempty"`
	Text     string `json:"text"`
	Mine     bool   `json:"mine,omitempty"` // the assistant wrote it
	From     string `json:"from,omitempty"` // who wrote it, if neither the assistant nor the sender did
	// Message is its id, if it is known. An event is stored without it, as ids change when users are merged.
	Message MessageID `json:"-"`
	// Files are the indexes of its attachments that can be read like documents.
	Files []int `json:"files,omitempty"`
}

// Of notes that the quote is of m: its id, whose words it has, and its documents.
func (q *Quote) Of(m Message) {
	q.Message, q.Mine, q.Files = m.ID, m.Role != RoleUser, nil
	if !q.Mine {
		q.From = cmp.Or(m.ForwardedFrom, m.Speaker.named(), q.From)
	}
	for n, a := range m.Attachments {
		if a.Document != nil {
			q.Files = append(q.Files, n)
		}
	}
}

// Status is a service's later report about a message of ours.
type Status struct {
	// State is DeliverySent, DeliveryDelivered or DeliveryRead; DeliveryFailed: it will not arrive; DeliveryParked: it
	// did not arrive, and cannot until the person writes; DeliveryPending: it did not arrive, and may be sent again.
	State DeliveryState `json:"state"`
	Key   string        `json:"key,omitempty"` // Part.Key, where the service returns it
	// Through: the report covers earlier messages too, as read marks do.
	Through bool   `json:"through,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Part is one sendable piece of a message: plain text with spans over it. A channel renders the spans as its own
// markup, and falls back to Text alone if the service refuses it.
type Part struct {
	Text  string `json:"text"`
	Spans []Span `json:"spans,omitempty"`
	Quiet bool   `json:"quiet,omitempty"` // without notification where the channel can
	Fold  bool   `json:"fold,omitempty"`  // collapse all but the first line where the channel can
	// Buttons are shown below the text where the channel has them; the text says what to write instead.
	Buttons []Button `json:"buttons,omitempty"`
	// Place is where in the chat it goes; set from the delivery's address when that is stored.
	Place string `json:"place,omitempty"`
	Reply string `json:"reply_to,omitempty"` // NativeID of the answered message, where a reference helps
	// Preview is the key of the Streamer preview that the part replaces.
	Preview string `json:"preview,omitempty"`
	// Retracts is the Key of an earlier part, whose message is deleted; nothing is sent. In a claimed delivery it is the
	// service's id of that message, "" if there is none.
	Retracts string `json:"retracts,omitempty"`
	// Attachment is a file below data_dir/media to send with Text as its caption.
	// Data is its content, set by the delivery.
	Attachment *Attachment `json:"file,omitempty"`
	Data       []byte      `json:"-"`
	// Key is the idempotency key, the same for every attempt; set by the delivery.
	// It changes only after the service has reported that the part may be sent again.
	Key string `json:"-"`
	// Again: it may have been sent before with the same Key.
	Again bool `json:"-"`
}

// Button sends Command when tapped.
type Button struct {
	Label   string `json:"label"`
	Command string `json:"command"` // such as "/yes 12"; at most 64 bytes
}

// SpanKind is a kind of markup.
type SpanKind string

// Kinds of spans. SpanPre, SpanCode hold no other span.
const (
	SpanBold    SpanKind = "bold"
	SpanItalic  SpanKind = "italic"
	SpanStrike  SpanKind = "strike"
	SpanCode    SpanKind = "code"
	SpanPre     SpanKind = "pre"     // Value: language
	SpanLink    SpanKind = "link"    // Value: URL
	SpanQuote   SpanKind = "quote"   // block quote
	SpanHeading SpanKind = "heading" // a whole line
	SpanSpoiler SpanKind = "spoiler"
)

// Span marks Text[Start:End], byte offsets at rune boundaries. Spans are
// sorted by Start, outer before inner, and nest properly.
type Span struct {
	Kind  SpanKind `json:"k"`
	Start int      `json:"s"`
	End   int      `json:"e"`
	Value string   `json:"v,omitempty"`
}

// Receipt is a service's confirmation of a Send.
type Receipt struct {
	NativeID string // the service's id of what was sent
}
