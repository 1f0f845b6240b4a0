package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/archive/importer"
)

// file writes a file of an archive.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhatsApp_halfDays: the words of a twelve-hour clock are known in many languages, and others are refused.
func TestWhatsApp_halfDays(t *testing.T) {
	t.Parallel()
	for language, form := range map[string][2]string{"en": {"3:30 AM", "3:30 PM"}, "es": {"3:30 a. m.", "3:30 p. m."},
		"ar": {"3:30 ص", "3:30 م"}, "el": {"3:30 π.μ.", "3:30 μ.μ."}, "he": {"3:30 לפנה״צ", "3:30 אחה״צ"},
		"fa": {"3:30 ق.ظ.", "3:30 ب.ظ."}, "ms": {"3:30 PG", "3:30 PTG"}, "vi": {"3:30 SA", "3:30 CH"},
		"mr": {"3:30 म.पू.", "3:30 म.उ."}, "ko": {"오전 3:30", "오후 3:30"}, "tr": {"ÖÖ 3:30", "ÖS 3:30"},
		"cs": {"3:30 dop.", "3:30 odp."}, "uk": {"3:30 дп", "3:30 пп"}, "sq": {"3:30 e paradites", "3:30 e pasdites"},
		"24": {"03:30 Uhr", "15:30 Uhr"}} {
		got := render(open(t, file(t, "chat.txt", fmt.Sprintf("25/5/24, %s - A: morning\n25/5/24, %s - A: afternoon\n",
			form[0], form[1]))), "whatsapp", importer.Options{Zone: now.Location(), Now: now})
		if !strings.Contains(got, "T03:30:00Z ? \"\"/\"\" A \"morning\"") ||
			!strings.Contains(got, "T15:30:00Z ? \"\"/\"\" A \"afternoon\"") {
			t.Errorf("%s: got %s", language, got)
		}
	}
	got := render(open(t, file(t, "chat.txt", "25/5/24, 3:30 zork - A: x\n")), "whatsapp", paris(t))
	if !strings.HasPrefix(got, `error: its times have two meanings: "zork" beside the hour`) {
		t.Errorf("an unknown word: %s", got)
	}
}

// TestWhatsApp_orderOfDates: what dates do not show is asked for.
func TestWhatsApp_orderOfDates(t *testing.T) {
	t.Parallel()
	december := "[01/12/2024, 10:05:23 AM] A: hi\n[02/12/2024, 3:20:05 PM] B: true\n[04/12/2024, 4:45:21 PM] A: soon\n"
	for _, c := range []struct{ text, order, first, last string }{
		{december, "", "", "1 December 2024 to 4 December 2024 with --day-first, or 12 January 2024 to 12 April 2024 with --month-first"},
		{december, importer.DayFirst, "2024-12-01", "2024-12-04"},
		{december, importer.MonthFirst, "2024-01-12", "2024-04-12"},
		{"1/2/24, 21:42 - A: x\n1/13/24, 21:42 - A: y\n", "", "2024-01-02", "2024-01-13"},
		{"1.2.24, 21:42 - A: x\n3.2.24, 21:42 - A: y\n", "", "2024-02-01", "2024-02-03"},
		{"02/03/2024 à 21:42 - A: x\n04/03/2024 à 21:42 - A: y\n", "", "2024-03-02", "2024-03-04"},
		{"05/05/2024, 21:42 - A: x\n", "", "2024-05-05", "2024-05-05"},
		{"2024/05/06, 21:42 - A: x\n", "", "2024-05-06", "2024-05-06"},
	} {
		o := importer.Options{Zone: now.Location(), Now: now, Order: c.order}
		if got := render(open(t, file(t, "chat.txt", c.text)), "whatsapp", o); !strings.HasPrefix(got, c.first) ||
			!strings.Contains(got, c.last) || c.first == "" && !strings.HasPrefix(got, "error: ") {
			t.Errorf("%q, %q: got %s", c.text, c.order, got)
		}
	}
}

// TestWhatsApp_notices: WhatsApp's own lines are known by their mark, in any language; what only looks like a file is not.
func TestWhatsApp_notices(t *testing.T) {
	t.Parallel()
	const at = "[25/05/2024, 21:42:00] A: "
	got := render(open(t, file(t, "chat.txt", at+"\u200eVoice call, 3 min\n"+at+"\u200eSen bu kişiyi engelledin\n"+
		at+"\u200eDu hast diese Person blockiert.\n"+at+"\u200eimage omitted\n"+at+"\u200e<attached: a.jpg>\n"+
		at+"<Dies ist ein Tag>\n"+at+"<Medien ausgeschlossen>\n"+at+"\u200ePOLL:\nLunch?\n\u200eOPTION: Soup (1 vote)\n"+
		at+"\u200eLocation: https://maps.example/?q=1\n")), "whatsapp", paris(t))
	for _, want := range []string{`A "[photo]"`, `in "a.jpg"`, `A "<Dies ist ein Tag>"`, `A "[file]"`,
		`Lunch?\nOPTION: Soup`, `A "Location: https://maps.example/?q=1"`, "line 1: it is a notice", "line 2: it is a notice", "line 3: it is a notice"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, " ? "); n != 6 {
		t.Errorf("%d messages, want 6:\n%s", n, got)
	}
}

// TestWhatsApp_noticesWithAColon: a notice on Android has no mark, and what it quotes may have a colon.
func TestWhatsApp_noticesWithAColon(t *testing.T) {
	t.Parallel()
	for _, notice := range []string{`Anna changed the subject from "Trip: Rome" to "Trip: Oslo"`,
		"Ben added +49 151 1234: 5", `You created group "Trip: Rome"`, "Ben changed the group description: all welcome",
		"Anna hat den Betreff von „Reise: Rom“ zu „Reise“ geändert", "Ben hat +49 151 1234: 5 hinzugefügt",
		`Zoé a modifié l'objet : "Rome"`, `Ana cambió el asunto de "Viaje: Roma"`, "安娜更改了群组名称: 旅行",
		`Kim さんが "旅行: ローマ`} {
		got := render(open(t, file(t, "chat.txt", "25/05/2024, 21:42 - Anna: hi\n25/05/2024, 21:43 - "+notice+"\n")),
			"whatsapp", paris(t))
		if !strings.Contains(got, "line 2: it is a notice") || strings.Count(got, " ? ") != 1 {
			t.Errorf("%s: got\n%s", notice, got)
		}
	}
	got := render(open(t, file(t, "chat.txt", "25/05/2024, 21:42 - Anna \"Nan\" Hatton: hi\n25/05/2024, 21:43 - "+
		"Ben Chang (work): he added: \"x\"\n")), "whatsapp", paris(t))
	if strings.Count(got, " ? ") != 2 {
		t.Errorf("people are notices:\n%s", got)
	}
}

// TestWhatsApp_filesInAnyLanguage: files that are attached or left out, and marks of edits.
func TestWhatsApp_filesInAnyLanguage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"\u200e<附件：00000012-PHOTO-2021.jpg>":           `in "00000012-PHOTO-2021.jpg"`,
		"\u200e‹附件：00000012-PHOTO-2021.jpg>":           `in "00000012-PHOTO-2021.jpg"`,
		"\u200e<添付ファイル：00000013-VIDEO.mp4>":            `in "00000013-VIDEO.mp4"`,
		"\u200e<첨부: 00000014-AUDIO.opus>":              `in "00000014-AUDIO.opus"`,
		"\u200e[照片]":                                   `"[photo]"`,
		"\u200e[视频]":                                   `"[video]"`,
		"\u200e图像已忽略":                                  `"[photo]"`,
		"\u200e画像は含まれていません":                            `"[photo]"`,
		"hej \u200e<Detta meddelande har redigerats>":  `"hej"`,
		"cześć \u200e<Ta wiadomość została edytowana>": `"cześć"`,
		"selam \u200e<Bu mesaj düzenlendi>":            `"selam"`,
		"你好 \u200e<此消息已编辑>":                            `"你好"`,
	} {
		got := render(open(t, file(t, "chat.txt", "[25/05/2024, 21:42:00] A: "+line+"\n")), "whatsapp", paris(t))
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s is not in\n%s", line, want, got)
		}
	}
}

const anas = `{"name":"Ana","type":"%s","id":1,"messages":[
 {"id":1,"type":"message","date":"2022-08-24T10:00:00","date_unixtime":"1661335200","from":"Ana","from_id":"user1",%s},
 {"id":2,"type":"message","date":"2022-08-24T10:02:00","date_unixtime":"1661335320","from":"Max","from_id":"user2","text":"after"}]}`

// TestTelegram_content: what a message carries beside its text is kept, also in the invalid JSON of version 4.1.
func TestTelegram_content(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fields, want string }{
		{`"text":"shall we?","reactions":[{"type":"emoji","count":3,"emoji":"👍","recent":[{"from":"Bob"}]},{"type":"paid","count":1}]`,
			`shall we?\n[reactions: 👍 Bob, 2; ⭐ 1]`},
		{`"text":"","poll":{"question":"Lunch?","answers":[{"text":"Pizza","voters":2},{"text":"Soup","voters":0}]}`,
			`[poll: Lunch? Pizza (2), Soup (0)]`},
		{`"text":"","todo_list":{"title":"Trip","answers":[{"text":"tickets","id":1},{"text":[{"type":"bold","text":"hotel"}]}]}`,
			`[list: Trip: tickets, **hotel**]`},
		{`"text":"","contact_information":{"first_name":"Zoe","last_name":"","phone_number":"+49 30 1"}`, `[contact: Zoe, +49 30 1]`},
		{`"text":"","place_name":"Cafe Mo","address":"Main St 1","location_information":{"latitude":52.5,"longitude":13.4}`,
			`[location 52.5, 13.4: Cafe Mo, Main St 1]`},
		{`"text":[{"type":"custom_emoji","text":"x","document_id": video_files/sticker.webm}],"via": true, "n": null`, "x"},
		{`"text":[{"type":"custom_emoji","text":"y: \"{a","document_id":tgs/\"1.webm, "k": -1}]`, `y: \"{a`},
		{`"text":"plain: true, x"`, "plain: true, x"},
	} {
		got := render(open(t, file(t, "result.json", fmt.Sprintf(anas, "personal_chat", c.fields))), "telegram", paris(t))
		if !strings.Contains(got, `"1"/"1" Ana "`+c.want+`"`) || !strings.Contains(got, `"1"/"2" Max "after"`) ||
			strings.Contains(got, "left out") {
			t.Errorf("%s: got %s", c.fields, got)
		}
	}
}

// TestImport_peopleAreNotTheAssistant: the words of another person stay theirs, unless they are said to be the assistant.
func TestImport_peopleAreNotTheAssistant(t *testing.T) {
	t.Parallel()
	chat := "25.5.24, 21:42 - Ada: hi\n25.5.24, 21:43 - Bot: hello\n25.5.24, 21:44 - Bot: more\n25.5.24, 21:45 - Cy: me too\n"
	for _, c := range []struct{ format, name, text, assistant, said, speakers string }{
		{"telegram", "result.json", fmt.Sprintf(anas, "personal_chat", `"text":"we sail"`), "",
			"user chat, from Ana: we sail\nuser chat: after", "[{Ana 1 other} {Max 1 user}]"},
		{"telegram", "result.json", fmt.Sprintf(anas, "bot_chat", `"text":"we sail"`), "",
			"assistant chat: we sail\nuser chat: after", "[{Ana 1 assistant} {Max 1 user}]"},
		{"telegram", "result.json", fmt.Sprintf(anas, "personal_chat", `"text":"we sail"`), "ana",
			"assistant chat: we sail\nuser chat: after", "[{Ana 1 assistant} {Max 1 user}]"},
		{"whatsapp", "chat.txt", chat, "", "user chat: hi\nuser chat, from Bot: hello\nuser chat, from Bot: more\n" +
			"user chat, from Cy: me too", "[{Bot 2 other} {Ada 1 user} {Cy 1 other}]"},
		{"whatsapp", "chat.txt", chat, "Bot", "user chat: hi\nassistant chat: hello\nassistant chat: more\n" +
			"user chat, from Cy: me too", "[{Bot 2 assistant} {Ada 1 user} {Cy 1 other}]"},
	} {
		w := newWorld(t)
		a, o := open(t, file(t, c.name, c.text)), paris(t)
		o.Assistant = c.assistant
		s, err := importer.NewSurvey(a, c.format, o, "", "Ada", w.label)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Speakers); got != c.speakers {
			t.Errorf("%s, %q: speakers %s, want %s", c.format, c.assistant, got, c.speakers)
		}
		if _, err := w.importer(w.st).Run(t.Context(), a, c.format, o, s); err != nil {
			t.Fatal(err)
		}
		if got := w.said(0); got != c.said {
			t.Errorf("%s, %q: got\n%s\nwant\n%s", c.format, c.assistant, got, c.said)
		}
	}
	o := paris(t)
	o.Assistant = "Zoe"
	w := newWorld(t)
	_, err := importer.NewSurvey(open(t, file(t, "chat.txt", chat)), "whatsapp", o, "Ada", "Ada", w.label)
	if !errors.Is(err, importer.ErrMe) {
		t.Errorf("an unknown assistant: %v", err)
	}
}

// TestImport_namesWhatAnAssistantMade: documents and pictures that an assistant made beside a conversation are not
// imported, and the account names each of them.
func TestImport_namesWhatAnAssistantMade(t *testing.T) {
	t.Parallel()
	node := func(id, parent, message string) string {
		return fmt.Sprintf(`%q:{"id":%q,"parent":%q,"message":{"id":"m%s","create_time":1750000001,%s}}`, id, id, parent, id, message)
	}
	chatgpt := `[{"conversation_id":"c1","title":"T","current_node":"n5","mapping":{` + strings.Join([]string{
		node("n1", "", `"author":{"role":"user"},"content":{"content_type":"text","parts":["Write a poem, and draw a boat"]}`),
		node("n2", "n1", `"author":{"role":"assistant"},"recipient":"canmore.create_textdoc",`+
			`"content":{"content_type":"code","text":"{\"name\":\"Poem\",\"content\":\"dawn\"}"}`),
		node("n3", "n2", `"author":{"role":"tool"},"content":{"content_type":"text","parts":["Successfully created"]}`),
		node("n4", "n3", `"author":{"role":"tool"},"content":{"content_type":"multimodal_text","parts":[{"content_type":`+
			`"image_asset_pointer","asset_pointer":"sediment://file_1","metadata":{"dalle":{"prompt":"a boat"}}}]}`),
		node("n5", "n4", `"author":{"role":"assistant"},"recipient":"all","content":{"content_type":"text","parts":["done"]}`),
	}, ",") + `}}]`
	claude := `[{"uuid":"c1","name":"Plan","chat_messages":[{"uuid":"m1","sender":"human","created_at":"2026-03-01T10:00:00Z",
		"content":[{"type":"text","text":"Write a list"}]},{"uuid":"m2","sender":"assistant","created_at":"2026-03-01T10:00:05Z",
		"content":[{"type":"text","text":"Here it is."},{"type":"tool_use","name":"artifacts","input":{"title":"Packing list",
		"command":"create","content":"hat"}},{"type":"tool_result","name":"artifacts"},{"type":"tool_use","name":"artifacts",
		"input":{"command":"update"}},{"type":"tool_use","name":"create_file","input":{"path":"/mnt/out/list.md"}}]}]}]`
	for format, c := range map[string]struct {
		text string
		want []string
	}{
		"chatgpt": {chatgpt, []string{"mn2 of T: Poem: it is a document that the assistant wrote",
			"mn4 of T: a boat: it is a picture that the assistant made", `assistant "c1"/"mn5"  "done"`}},
		"claude": {claude, []string{"m2 of Plan: Packing list: it is a document", "m2 of Plan: list.md: it is a document",
			"Here it is."}},
	} {
		got := render(open(t, file(t, "conversations.json", c.text)), format, paris(t))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\nwant %s", format, got, want)
			}
		}
	}
}
