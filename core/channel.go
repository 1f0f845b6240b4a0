package core

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// Channel carries messages between the gateway and one chat service.
type Channel interface {
	// Name is the channel's name, the Channel of its addresses.
	Name() string
	// Run passes every message it receives to r until ctx ends, and acknowledges
	// it to the service only after r returned nil.
	Run(ctx context.Context, r Receiver) error
	// Send delivers one part. Errors say whether trying again can help:
	// *Permanent, *RetryAfter, *Unknown (it may have arrived), *Unreachable;
	// anything else is temporary and certainly did not arrive.
	Send(ctx context.Context, to Address, p Part) (Receipt, error)
}

// Receiver takes inbound messages. It returns nil once they are durable; a
// duplicate is success. An error means none of it may be acknowledged.
type Receiver interface {
	Receive(ctx context.Context, in ...Inbound) error
}

// Describer is an optional interface of a Channel that differs from the
// default Capabilities.
type Describer interface {
	Capabilities() Capabilities
}

// Channels knows all channels by their names.
type Channels interface {
	// Capabilities are those of a channel; of one that is not there, none.
	Capabilities(channel string) Capabilities
}

// Capabilities are what the core must know of a channel, as data.
type Capabilities struct {
	// Title is what people call the service, where no catalogue has a word for it; empty:
	// the channel's name.
	Title   string
	MaxText int                // longest text of one part in units of Length; 0: no limit
	Length  func(s string) int // measures a text in the channel's unit; nil: bytes
	Push    bool               // may be a target of proactive messages
	// RatePerChat and RatePerAccount bound sending, in messages a second; 0: no limit.
	RatePerChat, RatePerAccount float64
	BurstPerChat                int // messages at once before RatePerChat holds; 0: 3
	// Idempotent is true where Part.Key makes a repeated Send harmless.
	Idempotent bool
	// Settles is true where an InReceipt with the Part.Key tells of a part that may
	// have arrived: it is waited for before the part is sent again.
	Settles bool
	// Window is how long after a person's message they may be written to; 0: always.
	Window time.Duration
	// Files is true where Part.Attachment can be sent; else its name is told.
	Files bool
	// Voice is true where a recording in OGG/Opus can be sent, or is shown: answers may be
	// spoken there.
	Voice bool
	// NoRepeat is true where a part that may have arrived is never sent again.
	NoRepeat bool
	// OneProcess is true where only the process that runs the channel may Send.
	OneProcess bool
	// Program is true where programs write, and not people: no question is asked there.
	Program bool
	// Personal is true where each account is one user's own: nobody is paired there, and
	// the channel is up without any account.
	Personal bool
}

// Reopener is an optional interface of a Channel with a Window: Reopen asks a
// person whose window is closed whether they want what waits for them. What
// they answer comes as InAsked.
type Reopener interface {
	Reopen(ctx context.Context, to Address, key string) (Receipt, error)
}

// Accounter is an optional interface of a Channel with one account that one process
// at a time may run.
type Accounter interface {
	// Account is what the service knows the account by, the Account of its addresses.
	Account() string
}

// AccountChecker is an optional interface of a Channel with many accounts.
type AccountChecker interface {
	// CheckAccounts says of every account that this process knows what is wrong with
	// it and what to do, or nil.
	CheckAccounts() map[string]error
	// Refresh has the list of accounts read again: one was added or removed.
	Refresh()
}

// Finding is one thing that was looked at.
type Finding struct {
	Check  string `json:"check"`  // what was looked at; "" of a Diagnoser: the channel
	OK     bool   `json:"ok"`     // it is as it should be
	Detail string `json:"detail"` // how it stands; if it is not OK, what to do
}

// Diagnoser is an optional interface of a Channel that can look at all it needs from
// outside: account, permissions, webhook, clock. It changes nothing but may log in, and
// receives nothing, so that it may be asked beside the process that runs the channel.
type Diagnoser interface {
	// Diagnose says what it found in a language.
	Diagnose(ctx context.Context, language string) []Finding
}

// App is where people write to the assistant in the app of a chat service.
type App struct {
	Channel string
	Name    string                   // of the assistant there
	Link    func(text string) string // opens the app with a text to be sent
	Start   func(code string) string // opens it so that one tap sends "/start CODE"; may be nil
}

// Linker is an optional interface of a Channel whose app can be opened by a link. It
// asks the service how the assistant is called there.
type Linker interface {
	App(ctx context.Context) (App, error)
}

// Carrier is an optional interface of a Channel that also runs others: their
// Run does nothing, and what they receive comes through the carrier's.
type Carrier interface {
	Carries() []Channel
}

// Typer is an optional interface of a Channel that can show that an answer is
// being written. The indication fades by itself after TypingTTL. event is the
// EventID of the message that is being answered; it may be empty.
type Typer interface {
	Typing(ctx context.Context, to Address, event string) error
	TypingTTL() time.Duration
}

// Streamer is an optional interface of a Channel that can show an answer while
// it is being written. key identifies the turn: a re-run of the turn goes on in
// the same place. What is shown is a preview, and the final message still comes
// through Send.
type Streamer interface {
	// Preview shows text, all that has been written so far, in place of the
	// preview of the same key. Errors are not worth a retry: the next call or the
	// final message replaces it.
	Preview(ctx context.Context, to Address, key string, text string) error
	// PreviewEvery is the shortest time between two previews in one chat.
	PreviewEvery() time.Duration
}

// Handler is an optional interface of a Channel that takes HTTP requests.
// Routes are patterns of http.ServeMux, such as "POST /webhooks/telegram".
type Handler interface {
	Routes(r Receiver) map[string]http.Handler
}

// Keeper keeps what one account of a channel must know after a restart, whichever
// process runs it then.
type Keeper interface {
	// State returns a value, "" if there is none.
	State(ctx context.Context, key string) (string, error)
	// SetState stores values, "" removes one; all or none. ErrFenced: another
	// process runs the account by now, and this one is to stop.
	SetState(ctx context.Context, values map[string]string) error
}

// Checker is an optional interface of a Channel that can say for /readyz
// whether it is up: nil, or what is wrong and what to do.
type Checker interface {
	Check() error
}

// Fetcher is an optional interface of a Channel whose attachments are fetched
// by reference. A file of more than max bytes is a *Permanent error.
type Fetcher interface {
	Fetch(ctx context.Context, ref string, max int64) (data []byte, mime string, err error)
}

// InboundKind says what an Inbound is.
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
	InGroup       InboundKind = "group"       // we were added to a group
	InReceipt     InboundKind = "receipt"     // Status tells what became of Target, a message of ours
	InAsked       InboundKind = "asked"       // the person asked for what waits for them (Reopener)
	InMoved       InboundKind = "moved"       // the person at Address is from now on at External Target
	InByHand      InboundKind = "by_hand"     // somebody wrote to the person as us, from another client of our account
	InUnsupported InboundKind = "unsupported" // understood as an event, of no use; kept raw
)

// Inbound is one event of a chat service, normalised.
type Inbound struct {
	Address Address     // who wrote, and where an answer goes
	EventID string      // unique on (Channel, Account); a repeat is dropped
	Kind    InboundKind // what happened

	NativeID string // the service's id of the message, unique on the Address
	Target   string // for InEdit, InRedaction, InReaction: NativeID of the message meant
	Edited   string // for InEdit: EventID of the message as it first came; may be empty

	Text          string // what was written; valid UTF-8, placeholders for attachments included
	Attachments   []Attachment
	Quote         *Quote // the message that this one replies to
	ForwardedFrom string // not empty: somebody else's words, and whose
	Reaction      string
	Status        *Status

	Name string // display name of the sender
	// Aliases are other Externals of the sender, such as a phone number: an identity
	// that is known by one of them is theirs, and is known by Address from now on.
	Aliases []string
	// For is whose account it is, where an account serves one user only: the
	// address is theirs.
	For      UserID
	Language string // IETF tag of the sender's client, may be empty
	Solo     bool   // never to be joined with other messages in one turn (HTTP requests)
	// Thread is where the message goes; 0: where its identity is.
	Thread ThreadID `json:",omitempty"`
	// ToolCallID makes the message the result of a tool of Request.Tools that the
	// model called.
	ToolCallID string   `json:",omitempty"`
	Request    *Request `json:",omitempty"`
	// Program: a program sent it, with a key that has these Grants. Its Text is a
	// command only if Command says so; the text that a program passes on never is.
	Program bool         `json:",omitempty"`
	Grants  []Capability `json:",omitempty"`
	Command bool         `json:",omitempty"`

	SentAt     time.Time // by the service's clock; zero: unknown
	ReceivedAt time.Time // by ours
	Raw        []byte    // the service's own payload, kept for some days

	Held bool `json:"-"` // the store kept it until it could be received
}

// Quote is what a message replies to.
type Quote struct {
	NativeID string `json:"native_id,omitempty"`
	Text     string `json:"text"`
	Mine     bool   `json:"mine,omitempty"` // the assistant wrote it
	// Message is the message itself, where the channel knows our numbers. It is not kept,
	// as numbers change when users are merged.
	Message MessageID `json:"-"`
}

// Status is what a service says later of a message of ours.
type Status struct {
	// State is DeliverySent, DeliveryDelivered or DeliveryRead; DeliveryFailed: it
	// will not arrive; DeliveryParked: it did not, and can not before the person
	// writes; DeliveryPending: it did not, and may be sent again.
	State DeliveryState `json:"state"`
	Key   string        `json:"key,omitempty"` // Part.Key, where the service gives it back
	// Through is true where earlier messages are meant as well, as with read marks.
	Through bool   `json:"through,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Attachment is a file that came with a message or goes with one.
type Attachment struct {
	Kind     string        `json:"kind"` // photo, voice, audio, video, document, sticker, location, contact
	Ref      string        `json:"ref,omitempty"`
	Name     string        `json:"name,omitempty"`
	MIME     string        `json:"mime,omitempty"`
	Size     int64         `json:"size,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	// Path is the file below data_dir/media once it was downloaded; Error why it could not be.
	Path  string `json:"path,omitempty"`
	Error string `json:"error,omitempty"`
	// Transcript is what was said in a voice note or recording.
	Transcript string `json:"transcript,omitempty"`
	// Unheard is when that is written down, as the day's tokens were used up; the zero
	// time: it needs none, or has it.
	Unheard time.Time `json:"unheard,omitzero"`
	// Document is what is known of its text; nil: it is no document that can be read.
	Document *Document `json:"document,omitempty"`
	// Alt says in words what a picture shows, for those who do not see it.
	Alt string `json:"alt,omitempty"`
	// Long is true of a voice note that nobody writes down, as it is longer than that is done.
	Long bool `json:"long,omitempty"`
}

// Named is the attachment as a line of text, where it cannot be shown.
func (a Attachment) Named() string {
	return "[" + a.Kind + ": " + cmp.Or(a.Alt, a.Name) + "]"
}

// Part is one sendable piece of a message: plain text with spans over it. A
// channel renders the spans as its own markup, and falls back to Text alone if
// the service refuses it.
type Part struct {
	Text  string `json:"text"`
	Spans []Span `json:"spans,omitempty"`
	Quiet bool   `json:"quiet,omitempty"` // without notification where the channel can
	Fold  bool   `json:"fold,omitempty"`  // all after the first line is collapsed where the channel can
	// Buttons stand below the text where the channel has any; the text says what to
	// write instead.
	Buttons []Button `json:"buttons,omitempty"`
	Reply   string   `json:"reply_to,omitempty"` // NativeID of the message answered, where a reference helps
	// Preview is the key of the Streamer preview that the part takes the place of.
	Preview string `json:"preview,omitempty"`
	// Attachment is a file below data_dir/media that the part is, with Text as its
	// caption, and Data its content, set by the delivery.
	Attachment *Attachment `json:"file,omitempty"`
	Data       []byte      `json:"-"`
	// Key is the idempotency key, the same at every attempt; set by the delivery.
	// A part that the service said may be sent again has another one then.
	Key string `json:"-"`
	// Again: it may have been sent before, with the same Key.
	Again bool `json:"-"`
}

// Button is something to tap on in place of writing Command.
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
