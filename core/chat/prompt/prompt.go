// Package prompt builds the prompt of a turn from stored rows. It is pure: the same rows
// give the same bytes in any process.
//
// A prompt consists of a head and raw messages. The head has system messages (instructions, policy, tools, memory,
// standing instructions) and one user message of notes, which are derived from the conversation: themes of memory, last
// conversation, open loops, today's summary. Each note is one line of JSON with its sources, and the notes are between
// fences that nobody can predict. An epoch (store.Epoch) fixes the head and the first raw message, so that from turn to
// turn the prompt only grows and the caches of providers hit. Changes meanwhile (loops, memory, the zone, a newer
// summary of the last day) are shown as news before the message of the first turn that sees them, and in the head of
// the next epoch.
//
// To use it, read the window of Query from the store and Build; on ErrStale read that of
// Fresh and Build again. The new epoch is then stored with the reply.
package prompt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Strategies of context.strategy.
const (
	Continuous = "continuous"
	Truncate   = "truncate" // plain threads always have this one
	Long       = "long"
)

// Errors of Build.
var (
	// ErrStale means that the epoch cannot continue with this window: read it with Fresh.
	ErrStale = errors.New("the epoch cannot continue: read the window with Fresh")
	// ErrNoInput means that no message is left for the turn to answer.
	ErrNoInput = errors.New("the turn has no message left to answer")
	// ErrNoRoom means that not even the turn's last message fits into the model's window.
	ErrNoRoom = errors.New(
		"the model's context window leaves no room for a prompt: raise llm.context_window or lower llm.max_output_tokens")
	// ErrClientTooLong means that the client's request leaves no room for a prompt.
	ErrClientTooLong = errors.New("the program asks for too much at once")
)

// Reasons for which an epoch begins, in store.Snapshot.NewEpoch.
const (
	NewFirst    = "first"    // there was none
	NewSettings = "settings" // the fingerprint or strategy changed
	NewEdited   = "edited"   // a message or summary in it was edited, redacted or regenerated
	NewSilence  = "silence"  // caches are cold
	NewFull     = "full"     // the prompt would have exceeded the hard cap, or the number of messages
	NewShorter  = "shorter"  // long: old messages were compressed
)

// Static is a part of the head that does not depend on the conversation. Names are instructions, policy, tools, memory,
// standing (which is never cut) and themes, whose text is lines of JSON and which are notes. Parts keep their order,
// which should be from most to least stable. A part with an Error is left out, and the snapshot records the error.
type Static struct {
	Name, Text, Error string
	// Load, unless nil, returns the text when an epoch begins, and whether it contains
	// foreign words. If it returns an error its text is shown, too, and the snapshot
	// records the error. A changed Text begins an epoch nevertheless, except of themes.
	Load func() (text string, tainted bool, err error)
}

// Input holds the sources of a prompt. Turn, Window, Now, Tokens and Nonce are required.
type Input struct {
	Turn     core.Turn
	Window   store.Window // as read with Query or Fresh; Pages of a continued epoch are those of its head
	Strategy string       // empty: Continuous
	Budgets  Budgets
	Static   []Static
	Now      time.Time
	Zone     *time.Location // the user's; nil: UTC
	Tokens   core.Tokenizer
	Nonce    func() string // for a new epoch: letters and digits that nobody can guess
}

// Prompt is the first request of a turn.
type Prompt = store.Prompt

// Query returns the query of a turn's window. It ignores Window and Tokens of in. It asks for twice the hard cap, so
// that uncovered messages are found behind as many covered ones. A continuous epoch begins with fewer tokens of covered
// messages than Covered.
func Query(in Input) store.WindowQuery {
	b := in.Budgets.orDefault()
	q := store.WindowQuery{Stale: in.Now.Add(-b.Silence), Budgets: b.Fingerprint(in.strategy(), in.Static)}
	q.Tokens = 2 * max(b.hardCap(in.strategy()), 1)
	q.Limit, q.Newest = max(64, q.Tokens/4), b.KeepLast
	switch in.strategy() {
	case Continuous:
		q.Covered = min(b.Raw, b.target(Continuous)) + 1
	case Truncate:
		q.Limit, q.Opener = b.MaxHistoryMessages, in.Turn.Mode == core.ModeThread
	case Long:
		q.Tokens /= 2 // messages on pages are not read, covered or not
		q.Pages = q.Tokens
	}
	return q
}

// Fresh returns q so that it continues no epoch.
func Fresh(q store.WindowQuery) store.WindowQuery {
	q.Budgets = ""
	return q
}

// Build returns the prompt of in.Turn. Errors are ErrStale, ErrNoInput, ErrNoRoom and
// ErrClientTooLong. Parts that fail are left out, and the snapshot records why.
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

// provenance sets whether a prompt contains foreign words, which question its inputs
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
		}
		p.Files = append(p.Files, m.Attachments...)
	}
	return p
}

func (b *builder) build() (Prompt, error) {
	reason := b.ended()
	if reason == "" && !b.fresh() && b.reaches() {
		if p, err := b.resume(); !errors.Is(err, errFull) {
			return p, err
		}
	}
	if b.Turn.Segment != 0 && !b.fresh() {
		return Prompt{}, ErrStale
	}
	if reason == "" {
		if reason = NewFull; b.plan == Long && b.Window.Compressed > b.Window.Epoch.Compressed {
			reason = NewShorter
		}
	}
	return b.begin(reason)
}

// strategy returns that of the thread. A plain thread has no summaries, and truncates.
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

// ended returns why the window's epoch is over; empty: it is not.
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

// fresh reports whether the window was read for a new epoch: only then does it contain the
// turn's day. Windows of plain threads never do.
func (b *builder) fresh() bool { return b.Window.Today.ID != 0 }

// reaches reports whether the window includes the start of the epoch.
func (b *builder) reaches() bool {
	ms := b.Window.Messages
	return len(ms) > 0 && ms[0].Position <= b.Window.Epoch.Start
}
