package telegram

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// received normalises a message with more fields, as JSON.
func received(t *testing.T, fields string) core.Inbound {
	t.Helper()
	raw := fmt.Sprintf(`{"update_id":1,"message":{"message_id":5,"date":1790000000,"from":{"id":7,"is_bot":false,
		"first_name":"Ada"},"chat":{"id":7,"type":"private"},%s}}`, fields)
	in, u := normalise(self{account: "999", name: "test_bot"}, []byte(raw), time.Unix(1790000999, 0))
	if u == nil {
		t.Fatalf("%s: cannot be decoded", fields)
	}
	return in
}

func TestMessage_everyType(t *testing.T) {
	t.Parallel()
	place := `{"latitude":52.52,"longitude":13.405}`
	for fields, want := range map[string]struct {
		text    string
		foreign bool
	}{
		`"text":"hi"`: {"hi", false},
		`"photo":[{"file_id":"p","width":9,"height":9}],"caption":"look"`:             {"[photo: look]", false},
		`"live_photo":{"file_id":"l","photo":[{"file_id":"p","width":9,"height":9}]}`: {"[photo]", false},
		`"voice":{"file_id":"v","duration":7}`:                                        {"[voice 0:07]", false},
		`"document":{"file_id":"d","file_name":"a [1].pdf"}`:                          {"[document a (1).pdf]", false},
		`"sticker":{"file_id":"s","emoji":"🙂"}`:                                       {"[sticker 🙂]", false},
		`"location":` + place: {"[location 52.52000,13.40500]", false},
		`"location":{"latitude":52.52,"longitude":13.405,"live_period":60}`:                                                {"[live location 52.52000,13.40500, where it began]", false},
		`"venue":{"location":` + place + `,"title":"Cafe","address":"Street 1"},"location":` + place:                       {"[venue Cafe, Street 1, 52.52000,13.40500]", true},
		`"contact":{"phone_number":"+49123","first_name":"Bob","vcard":"BEGIN:VCARD\nEMAIL;TYPE=home:b@x.org\nEND:VCARD"}`: {"[contact Bob +49123 b@x.org]", true},
		`"poll":{"id":"1","question":"Lunch?","options":[{"text":"Pizza","voter_count":2},{"text":"Soup [hot]"}],"total_voter_count":2}`: {
			"[poll Lunch? (Pizza: 2 / Soup (hot): 0)]", true},
		`"checklist":{"title":"Trip","tasks":[{"id":1,"text":"tickets","completion_date":1790000000},{"id":2,"text":"hotel"}]}`: {
			"[checklist Trip (✓ tickets / hotel)]", true},
		`"dice":{"emoji":"🎲","value":4}`:                                                                                        {"[dice 🎲 4]", false},
		`"story":{"id":3,"chat":{"id":-9,"type":"channel","title":"News"}}`:                                                     {"[story of News]", true},
		`"game":{"title":"Snake","description":"Eat","photo":[]}`:                                                               {"[game Snake: Eat]", true},
		`"invoice":{"title":"Tea","description":"Green","start_parameter":"x","currency":"EUR","total_amount":550}`:             {"[invoice Tea, 5.50 EUR: Green]", true},
		`"invoice":{"title":"Tea","description":"","start_parameter":"x","currency":"JPY","total_amount":550}`:                  {"[invoice Tea, 550 JPY:]", true},
		`"paid_media":{"star_count":5,"paid_media":[{"type":"preview"}]},"caption":"mine"`:                                      {"[paid media for 5 stars (preview)]\nmine", true},
		`"giveaway":{"chats":[{"id":-9,"type":"channel","title":"News"}],"winners_selection_date":1790000000,"winner_count":3}`: {"[giveaway of News, 3 winners, drawn on 21 September 2026:]", true},
		`"giveaway_winners":{"chat":{"id":-9,"type":"channel","title":"News"},"winner_count":1,"prize_description":"a mug"}`:    {"[giveaway of News, 1 winners: a mug]", true},
		`"successful_payment":{"currency":"XTR","total_amount":5}`:                                                              {"[payment of 5 stars]", true},
		`"users_shared":{"request_id":1,"users":[{"user_id":5,"first_name":"Bob"}]}`:                                            {"[people (Bob)]", true},
		`"chat_shared":{"request_id":1,"chat_id":-5,"title":"Club"}`:                                                            {"[chat Club]", true},
		`"web_app_data":{"data":"x=1","button_text":"Send"}`:                                                                    {"[data of the app Send: x=1]", true},
		`"hologram":{"depth":3}`: {"[unsupported: hologram]", true},
	} {
		in := received(t, fields)
		if in.Kind != core.InMessage || in.Text != want.text || in.Tainted != want.foreign {
			t.Errorf("%s:\ngot  %s %q, foreign %t\nwant %q, foreign %t", fields, in.Kind, in.Text, in.Tainted, want.text,
				want.foreign)
		}
	}
	for _, notice := range []string{`"new_chat_title":"x"`, `"pinned_message":{"message_id":1,"date":0,"chat":{"id":7}}`,
		`"message_auto_delete_timer_changed":{"message_auto_delete_time":60}`} {
		if in := received(t, notice); in.Kind != core.InUnsupported {
			t.Errorf("%s: got %s %q, want nothing to answer", notice, in.Kind, in.Text)
		}
	}
}

func TestMessage_entities(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"text":"😀 Read the article please","entities":[{"type":"text_link","offset":3,"length":16,"url":"https://example.com/post?x=1"}]`:                                                    "😀 [Read the article](https://example.com/post?x=1) please",
		`"photo":[{"file_id":"p","width":9,"height":9}],"caption":"Comments","caption_entities":[{"type":"text_link","offset":0,"length":8,"url":"https://example.com/c"}]`:                   "[photo: [Comments](https://example.com/c)]",
		`"text":"hi Bob","entities":[{"type":"text_mention","offset":3,"length":3,"user":{"id":7,"is_bot":false,"first_name":"Bob"}}]`:                                                        "hi [Bob](tg://user?id=7)",
		`"text":"total: secret 5","entities":[{"type":"strikethrough","offset":7,"length":6},{"type":"bold","offset":14,"length":1}]`:                                                         "total: ~~secret~~ 5",
		`"text":"it is the butler","entities":[{"type":"spoiler","offset":6,"length":10}]`:                                                                                                    "it is ||the butler||",
		`"text":"run ls -l now","entities":[{"type":"code","offset":4,"length":5}]`:                                                                                                           "run `ls -l` now",
		`"text":"see\na = 1","entities":[{"type":"pre","offset":4,"length":5,"language":"python"}]`:                                                                                           "see\n```python\na = 1\n```",
		`"text":"one\ntwo\nmine","entities":[{"type":"blockquote","offset":0,"length":7}]`:                                                                                                    "> one\n> two\nmine",
		`"text":"👍 ok","entities":[{"type":"custom_emoji","offset":0,"length":2,"custom_emoji_id":"1"}]`:                                                                                      "👍 ok",
		`"text":"old site","entities":[{"type":"strikethrough","offset":0,"length":8},{"type":"text_link","offset":4,"length":4,"url":"https://x.org"}]`:                                      "~~old [site](https://x.org)~~",
		`"text":"same","entities":[{"type":"spoiler","offset":0,"length":4},{"type":"strikethrough","offset":0,"length":4},{"type":"text_link","offset":0,"length":4,"url":"https://x.org"}]`: "~~[same](https://x.org)~~",
		`"text":"https://x.org","entities":[{"type":"text_link","offset":0,"length":13,"url":"https://x.org"}]`:                                                                               "https://x.org",
		`"text":"meet then","entities":[{"type":"date_time","offset":5,"length":4,"unix_time":1790000000}]`:                                                                                   "meet then (2026-09-21 14:13 UTC)",
		// Commands and answers are matched on what is typed.
		`"text":"/remember the plan","entities":[{"type":"bot_command","offset":0,"length":9},{"type":"text_link","offset":10,"length":8,"url":"https://x.org"}]`: "/remember [the plan](https://x.org)",
		`"text":"/stop","entities":[{"type":"code","offset":0,"length":5}]`:                                                                                       "/stop",
		`"text":"/stop now","entities":[{"type":"strikethrough","offset":0,"length":9}]`:                                                                          "/stop now",
		`"text":"yes 42","entities":[{"type":"code","offset":0,"length":6}]`:                                                                                      "yes 42",
		`"text":"yes","entities":[{"type":"strikethrough","offset":0,"length":3}]`:                                                                                "~~yes~~",
		// Entities that do not fit their text.
		`"text":"hi","entities":[{"type":"spoiler","offset":1,"length":9},{"type":"code","offset":-1,"length":2},{"type":"spoiler","offset":0,"length":0}]`: "hi",
		`"text":"😀","entities":[{"type":"strikethrough","offset":1,"length":1}]`:                                                                            "😀",
	} {
		if in := received(t, fields); in.Text != want {
			t.Errorf("%s:\ngot  %q\nwant %q", fields, in.Text, want)
		}
	}
}

func TestQuote_author(t *testing.T) {
	t.Parallel()
	head := `"text":"and this?","reply_to_message":{"message_id":3,"date":1,"chat":{"id":7,"type":"private"},`
	for fields, want := range map[string]core.Quote{
		head + `"from":{"id":7,"is_bot":false,"first_name":"Ada"},"text":"mine"}`:  {NativeID: "3", Text: "mine"},
		head + `"from":{"id":999,"is_bot":true,"first_name":"Bot"},"text":"ours"}`: {NativeID: "3", Text: "ours", Mine: true},
		head + `"from":{"id":7,"is_bot":false,"first_name":"Ada"},"text":"theirs","forward_origin":{"type":"user","date":1,"sender_user":{"id":5,"first_name":"Bob"}}}`: {
			NativeID: "3", Text: "theirs", From: "Bob"},
		head + `"from":{"id":7,"is_bot":false,"first_name":"Ada"},"text":"a gif","via_bot":{"id":8,"is_bot":true,"username":"gif"}}`: {
			NativeID: "3", Text: "a gif", From: "@gif"},
		`"text":"see","external_reply":{"origin":{"type":"channel","date":1,"chat":{"id":-9,"type":"channel","title":"News"}},"poll":{"id":"1","question":"Tea?","options":[]}}`: {
			Text: "[poll Tea?]", From: "News"},
		`"text":"nice","reply_to_story":{"id":3,"chat":{"id":8,"type":"private","first_name":"Eve"}}`: {
			Text: "[story of Eve]", From: "Eve"},
		head + `"from":{"id":7,"is_bot":false,"first_name":"Ada"},"text":"see this","entities":[{"type":"text_link","offset":4,"length":4,"url":"https://x.org"}]}`: {
			NativeID: "3", Text: "see [this](https://x.org)"},
	} {
		if in := received(t, fields); !reflect.DeepEqual(in.Quote, &want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", fields, in.Quote, want)
		}
	}
}
