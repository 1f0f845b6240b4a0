// Package compress compresses a conversation of months for the strategy of the same name: unequally, because a user's words
// are precious and a model's can be derived. The Compressor is pure: no store, no network, no clock, and the same
// message has the same forms in any process. The Worker makes pages with it in the background.
//
// A message that leaves the newest part of a prompt is compressed once, by Compressor.Forms, to three lengths.
// Everything in a form is cut from the message itself, or was written by a model and checked against it: a user's
// quotes and code blocks are kept byte for byte or left out, and a form has no number or name that the message lacks.
//
// A repeated paste is shown as a reference (Repeats). It is found by fingerprints
// (Prints), in a time that does not depend on the length of the conversation.
//
// The Worker makes the pages that prompts show instead of old messages: each is a stretch of a day, in a form for each
// tier. A tier sets the lengths of the user's and of the assistant's messages.
//
// Policy. There is one job for each user, enqueued by a reply whose prompt has passed the threshold of its budget. It
// puts the oldest messages on pages, a batch at a time, until the others have room, but never the newest. Then it sets
// the tiers with which all pages fit, one tier after the other and the oldest pages first: the assistant's messages
// become shortest before the user's are shortened at all, and are left out before the user's are shortened further. In
// the last tier only facts remain, the assistant's too, as they take little room. A message is compressed once for all
// tiers. The job yields while replies are written. The model of summaries helps, within the user's budget; if it may
// not or cannot, and for a large backlog (an import, a first start), extraction alone is used. The transcript does not
// change, so all of it can be undone.
package compress

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// Lengths of forms.
const (
	// Older: a user's words unchanged, but repetitions as references; an assistant's conclusions and decisions.
	Older = 1 + iota
	// VeryOld: a light summary of a user's words, an assistant's main points.
	VeryOld
	// Kernel: the sentences that carry facts; most messages have none.
	Kernel
)

// none is the length of an omitted form.
const none = 0

// lengths are those of a user's and of an assistant's messages at each tier.
var lengths = map[core.Tier]struct{ user, assistant int }{
	core.TierOlder:  {Older, Older},
	core.TierPoints: {Older, VeryOld},
	core.TierFacts:  {Older, Kernel},
	core.TierLight:  {VeryOld, Kernel},
	core.TierUser:   {VeryOld, none},
	core.TierKernel: {Kernel, Kernel},
}

// State is the origin of a form.
type State string

// States.
const (
	Raw        State = "raw"        // the message unchanged
	Summarized State = "summarized" // a part of it, or nothing
	Reference  State = "reference"  // all of it, some by reference to earlier messages
)

// Form is a message at one length.
type Form struct {
	Text     string // "": nothing of it is worth its room
	State    State
	Tokens   int            // of Text
	RefersTo core.MessageID // the first other message that Text refers to; 0: none
}

// Shares of a message's tokens to keep.
const (
	userVeryOld      = 0.7
	userKernel       = 0.25 // of long messages: short ones keep all sentences with facts
	assistantOlder   = 0.2
	assistantVeryOld = 0.08
	assistantKernel  = 0.03
)

// Compressor makes the forms of messages. It is safe for concurrent use if its tokenizer is.
type Compressor struct{ tokens core.Tokenizer }

// New returns a compressor that counts with tokens.
func New(tokens core.Tokenizer) *Compressor { return &Compressor{tokens} }

// Forms returns the forms of m, indexed by their lengths (0 is not used). given is the text that a model made of it; it
// is used as far as it can be believed, and "" means extraction alone. repeats are those that Repeats found in the text
// of m. No form has more tokens than the one before it, or than the text. Messages of other roles than user and
// assistant have empty forms.
func (c *Compressor) Forms(m *core.Message, given string, repeats []Repeat) [4]Form {
	d := c.read(m, repeats)
	var texts [4]string
	switch {
	case m.Redacted || strings.TrimSpace(m.Text) == "":
	case m.Role == core.RoleUser:
		texts = [4]string{Older: d.deduplicated(), VeryOld: d.light(given), Kernel: d.kernel()}
	case m.Role == core.RoleAssistant:
		texts = d.ofAssistant(given)
	}
	return d.forms(texts)
}

// forms counts the texts, and repeats the form before one that is no shorter.
func (d *draft) forms(texts [4]string) [4]Form {
	var out [4]Form
	last := Form{Text: d.m.Text, State: Raw, Tokens: d.count(d.m.Text)}
	for t := Older; t <= Kernel; t++ {
		f := Form{Text: texts[t], State: Summarized}
		f.Tokens = d.count(f.Text)
		if f.Tokens >= last.Tokens && f.Text != "" || f.Text == last.Text {
			out[t] = last
			continue
		}
		f.RefersTo = d.refersTo(f.Text)
		if t == Older && d.m.Role == core.RoleUser {
			f.State = Reference
		}
		out[t], last = f, f
	}
	return out
}

func (d *draft) count(text string) int {
	if text == "" {
		return 0
	}
	return d.tokens.Count(text)
}

// refersTo returns the first message that the repeats in text refer to.
func (d *draft) refersTo(text string) core.MessageID {
	id, at := core.MessageID(0), len(text)
	for _, r := range d.repeats {
		if i := strings.Index(text, r.head()); i >= 0 && i < at {
			id, at = r.Of, i
		}
	}
	return id
}
