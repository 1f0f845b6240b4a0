// Package compress compresses a conversation of months for the strategy long: unequally, because a user's words are
// precious and a model's can be derived. Everything in a form is cut from its message: nothing is reworded, so nothing
// is invented, and a user's quotes and code blocks are kept byte for byte or left out with a mark. The same message has
// the same forms in any process, and they need no model.
//
// The Compressor is pure. It cuts a message once into units (sentences, code blocks, quotes), each with its worth; a
// form is the choice of units for a length. A repeated paste is shown as a reference. It is found by fingerprints
// (Prints), in a time that does not depend on the length of the conversation.
//
// The Worker makes the pages that prompts show instead of old messages: each is a stretch of a day, in a form for each
// tier. There is one job for each user, enqueued by a reply whose prompt has passed the threshold of its budget. It
// puts the oldest messages on pages until the others have room, but never the newest. Then it sets the tiers with which
// all pages fit, one tier after the other and the oldest pages first. The job yields while replies are written. The
// transcript does not change, so all of it can be undone.
package compress

import (
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// State is the origin of a form.
type State string

// States.
const (
	Raw        State = "raw"        // the message unchanged
	Summarized State = "summarized" // a part of it, or nothing
	Reference  State = "reference"  // a repeated passage is shown by reference to an earlier message
)

// Form is a message at one tier.
type Form struct {
	Text   string // "": nothing of it is worth its room
	State  State
	Tokens int // of Text
}

// Forms are those of a message at each tier; 0 is not used.
type Forms [store.MaxTier + 1]Form

// Compressor makes the forms of messages. It is safe for concurrent use if its tokenizer is.
type Compressor struct{ tokens core.Tokenizer }

// New returns a compressor that counts with tokens.
func New(tokens core.Tokenizer) *Compressor { return &Compressor{tokens} }

// Forms returns the forms of m. repeats are those that Repeats found in its text. No form has more tokens than the one
// before it, or than the text. Messages of other roles than user and assistant have empty forms.
func (c *Compressor) Forms(m *core.Message, repeats []Repeat) Forms {
	d := &draft{Message: m, units: c.units(m, repeats), total: c.tokens.Count(m.Text)}
	texts := Forms{}
	switch {
	case m.Redacted || strings.TrimSpace(m.Text) == "":
	case m.Role == core.RoleUser:
		whole := d.deduplicated()
		texts = Forms{store.TierOlder: whole, store.TierPoints: whole, store.TierLight: d.light(), store.TierKernel: d.kernel()}
	case m.Role == core.RoleAssistant:
		points := d.points()
		texts = Forms{store.TierOlder: d.conclusions(), store.TierPoints: points, store.TierLight: points,
			store.TierKernel: points}
	}
	last := Form{Text: m.Text, State: Raw, Tokens: d.total}
	for tier := store.TierOlder; tier <= store.MaxTier; tier++ {
		f := &texts[tier]
		if f.Tokens = c.tokens.Count(f.Text); f.Text == last.Text || f.Text != "" && f.Tokens >= last.Tokens {
			*f = last
		}
		last = *f
	}
	return texts
}
