package gateway_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
)

func TestQuote_isReadFromTheTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.brain.script = func(context.Context, string, core.Progress) (string, error) { return "ab", nil }
	w.line.limit(1)
	at, _, err := w.store.Identify(t.Context(), w.address())
	must(t, err)
	w.say("my number is 17")
	w.sent(2)
	w.receive(core.Inbound{Address: w.address(), EventID: "card", NativeID: "card", Kind: core.InMessage,
		Text: "[voice 0:03: the words]", ForwardedFrom: "Bob", SentAt: time.Now(),
		Attachments: []core.Attachment{{Kind: "voice"}, {Kind: "document", Document: &core.Document{}}}})
	w.sent(4)
	for n, c := range []struct{ said, want core.Quote }{
		{core.Quote{NativeID: "1"}, core.Quote{NativeID: "1", Text: "my number is 17", Message: 1}},
		{core.Quote{NativeID: "1", Text: "17"}, core.Quote{NativeID: "1", Text: "17", Message: 1}},
		{core.Quote{NativeID: "out1"}, core.Quote{NativeID: "out1", Text: "a", Mine: true, Message: 2}},
		{core.Quote{NativeID: "out2", Mine: true}, core.Quote{NativeID: "out2", Text: "b", Mine: true, Message: 2}},
		{core.Quote{NativeID: "1", Mine: true}, core.Quote{NativeID: "1", Text: "my number is 17", Message: 1}},
		{core.Quote{NativeID: "card", Text: "[voice 0:03]"}, core.Quote{NativeID: "card", Text: "[voice 0:03: the words]",
			From: "Bob", Message: 3, Files: []int{1}}},
		{core.Quote{NativeID: "unknown"}, core.Quote{NativeID: "unknown"}},
		{core.Quote{NativeID: "unknown", Text: "old", Mine: true}, core.Quote{NativeID: "unknown", Text: "old", Mine: true}},
		{core.Quote{Text: "elsewhere", From: "Eve"}, core.Quote{Text: "elsewhere", From: "Eve"}},
	} {
		quote := c.said
		w.n++
		id := string(rune('A' + n))
		w.receive(core.Inbound{Address: w.address(), EventID: id, NativeID: id, Kind: core.InMessage, Text: "and this?",
			Quote: &quote, SentAt: time.Now()})
		w.sent(6 + 2*n)
		m, _, err := w.store.Quoted(t.Context(), 1, at.ID, id)
		must(t, err)
		if !reflect.DeepEqual(m.Quote, &c.want) {
			t.Errorf("%+v: got %+v, want %+v", c.said, m.Quote, c.want)
		}
	}
}

// The service sends an edit when anything about a message changes.
func TestEdit_thatChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	said := core.Inbound{Address: w.address(), EventID: "v", NativeID: "v", Kind: core.InMessage, SentAt: time.Now(),
		Text: "[voice 0:03: the words]", Attachments: []core.Attachment{{Kind: "voice", Transcript: "the words"}}}
	w.receive(said)
	w.sent(1)
	edit := said
	edit.Kind, edit.Target, edit.Edited = core.InEdit, "v", "v"
	for n, c := range []struct {
		text, want string
		revision   int
	}{{"[voice 0:03]", "[voice 0:03: the words]", 0}, {"[voice 0:03]", "[voice 0:03: the words]", 0},
		{"[voice 0:03: new caption]", "[voice 0:03: new caption: the words]", 1}} {
		edit.EventID, edit.Text = string(rune('a'+n)), c.text
		w.receive(edit)
		at, _, err := w.store.Identify(t.Context(), w.address())
		must(t, err)
		m, _, err := w.store.Quoted(t.Context(), 1, at.ID, "v")
		must(t, err)
		if m.Text != c.want || m.Revision != c.revision {
			t.Errorf("edit %d: got %q, revision %d, want %q, revision %d", n, m.Text, m.Revision, c.want, c.revision)
		}
	}
}

// TestAnswer_tellsWhatCouldNotBeReceived is about the reason that a person gets for each file.
func TestAnswer_tellsWhatCouldNotBeReceived(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]core.Attachment{
		"couldn't open manual.pdf: it's too large": {Ref: "r", Name: "manual.pdf", Error: "x", Problem: core.FileLarge},
		"couldn't open your file: the service":     {Ref: "r", Error: "x", Problem: core.FileGone},
		"couldn't keep a.zip":                      {Ref: "r", Name: "a.zip", Error: "x", Problem: core.FileRoom},
		"couldn't download your file":              {Ref: "r", Error: "x"},
		"answered without b': it hasn't":           {Ref: "r", Name: "b`\n"},
		"no words in your recording":               {Kind: "voice", Path: "p", Speech: core.SpeechNone},
		"turning it into text failed":              {Kind: "voice", Path: "p", Speech: core.SpeechFailed},
		"longer than 5:00 minutes":                 {Kind: "voice", Path: "p", Long: true},
	} {
		w := newWorld(t, func(o *gateway.Options) { o.Settings.LongestVoice = 5 * time.Minute })
		w.brain.files = []core.Attachment{a, {Ref: "r", Path: "fine"}, a}
		w.say("hello")
		if got := w.sent(1); !strings.HasPrefix(got, "re: hello\n\n") || strings.Count(got, want) != 1 {
			t.Errorf("got %q, want %q once", got, want)
		}
	}
}

// placed is a line that notes where it was asked to show typing.
type placed struct {
	*line
	typed chan string
}

func (p placed) Typing(_ context.Context, to core.Address, _ string) error {
	p.typed <- to.Place
	return nil
}

func (placed) TypingTTL() time.Duration { return time.Hour }

func TestPlace_isThatOfTheQuestion(t *testing.T) {
	t.Parallel()
	typed := make(chan string, 9)
	w := newWorld(t, nil)
	w.stop()
	w.start(func(o *gateway.Options) { o.Channels = gateway.NewChannels(placed{w.line, typed}) })
	w.brain.script = func(_ context.Context, in string, _ core.Progress) (string, error) {
		if in == "slow" {
			if place := <-typed; place != "7" {
				t.Errorf("typing was shown at %q", place)
			}
		}
		return "re: " + in, nil
	}
	for n, c := range []struct{ place, text string }{{"7", "slow"}, {"", "outside"}, {"8", "other"}} {
		at := w.address()
		at.Place = c.place
		id := string(rune('A' + n))
		w.receive(core.Inbound{Address: at, EventID: id, NativeID: id, Kind: core.InMessage, Text: c.text,
			SentAt: time.Now()})
		w.sent(n + 1)
		w.line.mu.Lock()
		if p := w.line.parts[n]; p.Place != c.place || p.Text != "re: "+c.text {
			t.Errorf("%q at %q is answered by %q at %q", c.text, c.place, p.Text, p.Place)
		}
		w.line.mu.Unlock()
	}
	ids, err := w.people().Identities(t.Context(), 1)
	must(t, err)
	if len(ids) != 1 || ids[0].Address != w.address() {
		t.Errorf("a place became part of an identity: %+v", ids)
	}
}
