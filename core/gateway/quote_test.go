package gateway_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
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
