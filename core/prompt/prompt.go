// Package prompt makes the prompt of a turn from stored rows. It is
// pure: the same rows give the same bytes in any process.
//
// A prompt is a head and raw messages. The head is the system message
// (instructions, policy, tools, memory, standing instructions of the person) and, of role
// user, one message of notes: what was derived from the conversation (themes of memory,
// last conversation, open loops, today's summary), one JSON value a line with where it
// comes from, between fences that nobody could foresee. An epoch (core.Epoch) fixes the
// head and where the raw messages start, so that from turn to turn the prompt
// only grows and the caches of providers hit. What changes meanwhile (loops, memory,
// the zone, a newer summary of the last day) is told as news before the message of
// the turn that first sees it, and stands in the head of the next epoch.
//
// Use: ask the store for Query, Build from what it returns; on ErrStale ask for
// Fresh and Build again. What the epoch needs is then stored with the reply.
package prompt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// Strategies of context.strategy.
const (
	Continuous = "continuous"
	Truncate   = "truncate" // plain threads always have this one
	Long       = "long"
)

// Errors of Build.
var (
	// ErrStale: the epoch cannot go on with this window: read again with Fresh.
	ErrStale = errors.New("the epoch cannot go on: read the window afresh")
	// ErrNoInput: no message is left for the turn to answer.
	ErrNoInput = errors.New("the turn has no message left to answer")
	// ErrNoRoom: not even the turn's last message fits in the model's window.
	ErrNoRoom = errors.New(
		"the model's context window leaves no room for a prompt: raise llm.context_window or lower llm.max_output_tokens")
	// ErrClientTooLong: what the client wants besides leaves no room for a prompt.
	ErrClientTooLong = errors.New("the program asks for too much at once")
)

// Reasons for which an epoch begins, in core.Snapshot.NewEpoch.
const (
	NewFirst    = "first"    // there was none
	NewSettings = "settings" // the fingerprint or strategy is another one
	NewEdited   = "edited"   // something shown was edited, redacted or regenerated
	NewSilence  = "silence"  // caches are cold
	NewFull     = "full"     // the prompt would have passed the hard cap, or the count of messages
	NewShorter  = "shorter"  // long: old messages were compressed
)

// Static is a part of the head that does not depend on the conversation. Names
// are instructions, policy, tools, memory, standing (instructions of the person, which are
// never cut) and themes; they stand in the order given, most to least stable. Themes are notes, and their text is lines of JSON. With Error set the part is left out and the snapshot
// says why.
type Static struct {
	Name, Text, Error string
	// Load is asked for the text when an epoch begins, and whether words that the user did
	// not write went into it; with an error its text is shown, too, and the snapshot says
	// so. Another Text begins an epoch all the same, but of themes. nil: Text is.
	Load func() (text string, tainted bool, err error)
}

// Input is what a prompt is made from. Turn, Window, Now, Tokens and Nonce are required.
type Input struct {
	Turn     core.Turn
	Window   core.Window // as read with Query or Fresh; of an epoch that goes on, Pages are those of its head
	Strategy string      // empty: Continuous
	Budgets  Budgets
	Static   []Static
	Now      time.Time
	Zone     *time.Location // the user's; nil: UTC
	Tokens   core.Tokenizer
	Nonce    func() string // asked when an epoch begins: letters and digits that nobody can guess
}

// Prompt is the first request of a turn.
type Prompt struct {
	Messages []core.ModelMessage
	// Sources are the stored messages that Messages show, in parallel; 0 for the
	// head and for marks.
	Sources     []core.MessageID
	CachePrefix int // as in core.ModelRequest
	Snapshot    core.Snapshot
	Epoch       *core.Epoch // a new one; nil: the current one goes on
	News        *core.TurnNews
	Told        int64 // as in core.Reply
	Pressure    bool  // a summary is wanted at once
	Compress    bool  // long: old messages are to be compressed
	Request     *core.Request
	Decides     *core.Decision // the turn goes on with the answer to a question
	Tainted     bool           // it shows words that the person did not write there
	Foreign     []bool         // runs parallel to Messages: these hold them
	Cut         core.Cut       // of the turn's own messages
	Heard       bool           // the turn answers a voice note
	Unheard     bool           // one of them is longer than is written down
}

// Query returns what to ask the store for. Window and Tokens of in are not used.
// It asks for twice what fills the hard cap, so that uncovered messages are
// found even behind as many covered ones.
func Query(in Input) core.WindowQuery {
	b := in.Budgets.orDefault()
	q := core.WindowQuery{Stale: in.Now.Add(-b.Silence), Budgets: b.Fingerprint(in.strategy(), in.Static)}
	q.Tokens = 2 * max(b.hardCap(in.strategy()), 1)
	q.Limit = max(64, q.Tokens/4)
	switch in.strategy() {
	case Truncate:
		q.Limit = b.MaxHistoryMessages
	case Long:
		q.Tokens /= 2 // what is on pages is not read, covered or not
		q.Pages = q.Tokens
	}
	return q
}

// Fresh returns q so that it continues no epoch.
func Fresh(q core.WindowQuery) core.WindowQuery {
	q.Budgets = ""
	return q
}

// Build makes the prompt of in.Turn. Errors are ErrStale, ErrNoInput, ErrNoRoom and
// ErrClientTooLong. Parts that could not be had are left out, and the snapshot says so.
func Build(in Input) (Prompt, error) {
	if len(in.Turn.Inputs) == 0 {
		return Prompt{}, ErrNoInput
	}
	b := newBuilder(in)
	p, err := b.build()
	if errors.Is(err, ErrNoRoom) {
		if instructions, tools := clientTokens(b.request, b.Tokens); instructions+tools > b.budgets.ContextWindow/4 {
			err = fmt.Errorf("%w: its instructions take %d tokens and its tools %d of the %d that the model can read",
				ErrClientTooLong, instructions, tools, b.budgets.ContextWindow)
		}
	}
	return b.provenance(b.forClient(p)), err
}

// provenance says of a prompt whose words it shows, which question its inputs
// answer, and whether they were spoken.
func (b *builder) provenance(p Prompt) Prompt {
	p.Tainted = slices.Contains(p.Foreign, true)
	for i := range b.Window.Messages {
		m := &b.Window.Messages[i]
		if !slices.Contains(b.Turn.Inputs, m.ID) {
			continue
		}
		if m.Decides != nil {
			p.Decides = m.Decides
		}
		for _, a := range m.Attachments {
			p.Heard = p.Heard || a.Kind == "voice"
			p.Unheard = p.Unheard || a.Long
		}
	}
	return p
}

func (b *builder) build() (Prompt, error) {
	reason := b.ended()
	if reason == "" && !b.afresh() && b.reaches() {
		if p, err := b.goOn(); !errors.Is(err, errFull) {
			return p, err
		}
	}
	if b.Turn.Segment != 0 && !b.afresh() {
		return Prompt{}, ErrStale
	}
	if reason == "" {
		if reason = NewFull; b.plan == Long && b.Window.Compressed > b.Window.Epoch.Compressed {
			reason = NewShorter
		}
	}
	return b.begin(reason)
}

// strategy is that of the thread: a plain one has no summaries to go on.
func (in Input) strategy() string {
	switch {
	case in.Turn.Mode == core.ModeThread || in.Strategy == Truncate:
		return Truncate
	case in.Strategy == Long:
		return Long
	}
	return Continuous
}

type builder struct {
	Input
	budgets Budgets
	plan    string // strategy
	nonce   string // of the epoch that begins
	cap     int
	request *core.Request
}

func newBuilder(in Input) *builder {
	if in.Zone == nil {
		in.Zone = time.UTC
	}
	b := &builder{Input: in, budgets: in.Budgets.orDefault(), plan: in.strategy(),
		request: request(in.Window.Messages, in.Turn.Inputs)}
	room := b.budgets
	instructions, tools := clientTokens(b.request, in.Tokens)
	room.ToolSchemaTokens = room.schemas(tools) + instructions
	b.cap = room.hardCap(b.plan)
	return b
}

// ended says why the window's epoch is over, or nothing.
func (b *builder) ended() string {
	e := b.Window.Epoch
	switch {
	case e == nil:
		return NewFirst
	case e.Strategy != b.plan || e.Budgets != b.budgets.Fingerprint(b.plan, b.Static):
		return NewSettings
	case e.Edits != b.Window.Edits:
		return NewEdited
	case !e.UsedAt.After(b.Now.Add(-b.budgets.Silence)):
		return NewSilence
	}
	return ""
}

// afresh reports whether the window was read for a new epoch: only then does it
// hold the turn's day. Windows of plain threads hold no more either way.
func (b *builder) afresh() bool { return b.Window.Today.ID != 0 }

// reaches reports whether the window goes back to where the epoch starts.
func (b *builder) reaches() bool {
	ms := b.Window.Messages
	return len(ms) > 0 && ms[0].Position <= b.Window.Epoch.Start
}
