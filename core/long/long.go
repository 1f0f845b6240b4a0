// Package long compresses a conversation of months for the strategy of the same
// name: unequally, because what a person wrote is precious and what a
// model wrote can be derived. The Compressor is pure: no store, no network, no
// clock, and the same message has the same forms in any process. The Worker has
// it make pages in the background.
//
// A message that leaves the newest part of a prompt is compressed once, by
// Compressor.Forms, to three lengths. Everything in a form is cut out of
// the message itself, or was written by a model and checked against it: a quote
// or code block of a person's stands in it byte for byte or not at all, and no
// number or name is in it that the message does not have.
//
// What a person pasted before is shown as a reference (Repeats); it is found by
// fingerprints (Prints), in time that does not depend on how much there is.
//
// Worker makes, in the background, what prompts show of old messages: pages, each
// a stretch of a day, in a form for each tier. A tier says to which length messages
// of the user's are shortened, and to which the assistant's.
//
// Policy. A job per user, asked for by a reply whose prompt has passed the threshold
// of its budget. It puts on pages the oldest messages until what is left has room,
// but none of the newest, a batch at a time; if all that are old stand on pages, it
// gives these the tiers with which all of them fit, one tier after the other and
// the oldest pages first: what the assistant said becomes shortest before the
// user's words are shortened at all, and is left out before more of these is. Only
// then facts alone remain, the assistant's too, as they take little room. A message
// is compressed once for all tiers. It yields while replies are written.
// The model of summaries helps, within the user's budget; where it may not or
// cannot, and for what comes all at once (an import, a first start), extraction
// alone does it. Nothing of the transcript changes, so all of it can be undone.
package long

import (
	"cmp"
	"strings"

	"github.com/everthread/everthread/core"
)

// Lengths of forms.
const (
	// Older: a user's words as they are, but repetitions as references; of an
	// assistant's the conclusions and decisions.
	Older = 1 + iota
	// VeryOld: a light summary of a user's words, an assistant's main points.
	VeryOld
	// Kernel: the sentences that carry facts, and nothing of most messages.
	Kernel
)

// none is the length of a form that is left out.
const none = 0

// lengths are those of a user's messages and of an assistant's at a tier.
func lengths(t core.Tier) (user, assistant int) {
	switch t {
	case core.TierPoints:
		return Older, VeryOld
	case core.TierFacts:
		return Older, Kernel
	case core.TierLight:
		return VeryOld, Kernel
	case core.TierUser:
		return VeryOld, none
	case core.TierKernel:
		return Kernel, Kernel
	}
	return Older, Older
}

// State says how a form came about.
type State string

// States.
const (
	Raw        State = "raw"        // the message as it is
	Summarized State = "summarized" // a part of it, or nothing
	Reference  State = "reference"  // all of it, some by reference to earlier messages
)

// Form is how a message stands in a prompt at a tier.
type Form struct {
	Text     string // "": nothing of it is worth its room
	State    State
	Tokens   int            // of Text
	RefersTo core.MessageID // the first message that Text refers to besides its own; 0: none
}

// Options are how much of a message is kept, as a share of its tokens, and when
// something is a repetition. Zero values mean the default in brackets.
type Options struct {
	UserVeryOld float64 // (0.7)
	UserKernel  float64 // (0.25); of long messages: what carries facts in a short one stays

	AssistantOlder   float64 // (0.2)
	AssistantVeryOld float64 // (0.08)
	AssistantKernel  float64 // (0.03)

	Similar float64 // at least so similar is a repetition (0.85)
	Diff    float64 // if the diff is smaller than this share of the piece (0.3)
}

func (o Options) orDefault() Options {
	return Options{
		UserVeryOld:      cmp.Or(o.UserVeryOld, 0.7),
		UserKernel:       cmp.Or(o.UserKernel, 0.25),
		AssistantOlder:   cmp.Or(o.AssistantOlder, 0.2),
		AssistantVeryOld: cmp.Or(o.AssistantVeryOld, 0.08),
		AssistantKernel:  cmp.Or(o.AssistantKernel, 0.03),
		Similar:          cmp.Or(o.Similar, 0.85),
		Diff:             cmp.Or(o.Diff, 0.3),
	}
}

// Compressor makes the forms of messages. It is safe for concurrent use if its
// tokenizer is.
type Compressor struct {
	tokens  core.Tokenizer
	options Options
}

// New returns a compressor that counts with tokens.
func New(tokens core.Tokenizer, options Options) *Compressor {
	return &Compressor{tokens: tokens, options: options.orDefault()}
}

// Forms returns the forms of m, indexed by their lengths (0 is not used).
// given is what a model made of it ("": nothing, then extraction alone); it is
// used as far as it can be believed. repeats are those found by Repeats in the
// text of m. No form has more tokens than the one before it, nor than the text. Messages that are not a user's or an assistant's have empty
// forms.
func (c *Compressor) Forms(m *core.Message, given string, repeats []Repeat) [4]Form {
	d := c.read(m, repeats)
	var texts [4]string
	switch {
	case m.Redacted || strings.TrimSpace(m.Text) == "":
	case m.Role == core.RoleUser:
		texts = d.ofUser(given)
	case m.Role == core.RoleAssistant:
		texts = d.ofAssistant(given)
	}
	return d.forms(texts)
}

// forms counts the texts, and takes the tier before where one is no shorter.
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

// refersTo returns the first of the messages that the repeats in text are of.
func (d *draft) refersTo(text string) core.MessageID {
	id, at := core.MessageID(0), len(text)
	for _, r := range d.repeats {
		if i := strings.Index(text, r.head()); i >= 0 && i < at {
			id, at = r.Of, i
		}
	}
	return id
}
