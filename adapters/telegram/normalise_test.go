package telegram

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the wanted output of golden files")

// Each file holds an update of the service, followed by the expected result for the bot
// 999.
func TestNormalise_golden(t *testing.T) {
	adaptertest.Golden(t, *update, func(raw []byte) string {
		in, _ := normalise(self{account: "999", name: "test_bot"}, raw, time.Unix(1790000999, 0))
		return adaptertest.Dump(in)
	})
}

func TestNormalise_namesRepeatsAlike(t *testing.T) {
	t.Parallel()
	first := `{"update_id":1,"message":{"message_id":5,"date":1,"from":{"id":7,"is_bot":false},"chat":{"id":7,"type":"private"},"text":"a"}}`
	again := strings.Replace(first, `"update_id":1`, `"update_id":99`, 1)
	edit := strings.Replace(first, `"message":`, `"edited_message":`, 1)
	other := strings.Replace(edit, `"text":"a"`, `"text":"b"`, 1)
	id := func(raw string) string {
		in, _ := normalise(self{account: "9", name: "test_bot"}, []byte(raw), time.Time{})
		return in.EventID
	}
	if id(first) != id(again) {
		t.Errorf("%q and %q for the same message", id(first), id(again))
	}
	if id(first) == id(edit) || id(edit) == id(other) {
		t.Errorf("message %q, edit %q and another edit %q are not told apart", id(first), id(edit), id(other))
	}
}

// Chats that the bot is called from without being in them are not asked for, and not answered.
func TestNormalise_guest(t *testing.T) {
	t.Parallel()
	in, _ := normalise(self{account: "9", name: "test_bot"}, []byte(`{"update_id":3,"guest_message":{"message_id":3,"date":1,"guest_query_id":"q",
		"text":"@test_bot hi","chat":{"id":-5,"type":"group","title":"g"},"from":{"id":42,"is_bot":false,"first_name":"Ann"}}}`),
		time.Time{})
	if in.Kind != core.InUnsupported || in.EventID != "update:3" {
		t.Errorf("got %s %s", in.Kind, in.EventID)
	}
	if slices.Contains(allowedUpdates(), "guest_message") {
		t.Error("guest messages are asked for")
	}
}

// A live location ticks for hours; nobody edited anything, and the track is not kept.
func TestNormalise_liveLocation(t *testing.T) {
	t.Parallel()
	const update = `{"update_id":%d,"%s":{"message_id":5,"date":1,"edit_date":%d,"from":{"id":7,"is_bot":false},
		"chat":{"id":7,"type":"private"},"location":{"latitude":48.85,"longitude":2.3%d%s}}}`
	first, _ := normalise(self{account: "9", name: "test_bot"}, fmt.Appendf(nil, update, 1, "message", 0, 0, `,"live_period":3600`), time.Time{})
	if first.Kind != core.InMessage {
		t.Errorf("the beginning is %s", first.Kind)
	}
	for n, more := range []string{`,"live_period":3600,"heading":5`, `,"live_period":3600`, ``} { // the last one ends it
		in, _ := normalise(self{account: "9", name: "test_bot"}, fmt.Appendf(nil, update, n+2, "edited_message", n+2, n+2, more), time.Time{})
		if in.Kind != core.InUnsupported || len(in.Raw) > 0 {
			t.Errorf("tick %d is %s with %s", n, in.Kind, in.Raw)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	adaptertest.Seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, _ := normalise(self{account: "999", name: "test_bot"}, raw, time.Time{})
		if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name {
			t.Errorf("incomplete: %+v", in)
		}
		if !utf8.ValidString(in.Text) || !utf8.ValidString(in.Name) || !utf8.ValidString(in.EventID) {
			t.Errorf("invalid UTF-8: %+v", in)
		}
		if in.Kind == core.InMessage && (in.Text == "" || in.Address.External == "") {
			t.Errorf("message without text or sender: %+v", in)
		}
	})
}

// In a group the name of the bot is no part of the text at its beginning, nor behind a command, however the line goes on.
func TestSpoken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@test_bot hello": "hello", "@Test_Bot,\nhello": "hello", "/remind@test_bot\ntomorrow tea": "/remind tomorrow tea",
		"/today@test_bot": "/today", "@test_bot": "", "@test_bottle hello": "@test_bottle hello", "/today@other_bot\nx": "/today@other_bot\nx",
		"hello @test_bot": "hello @test_bot", "": "",
	} {
		if got := (self{account: "9", name: "test_bot"}).spoken(text); got != want {
			t.Errorf("%q is taken as %q, want %q", text, got, want)
		}
	}
}
