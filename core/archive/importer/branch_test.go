package importer_test

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/core/archive/importer"
)

// TestBranch_shownOneComesIn reads conversations that were continued in several ways, in the forms of several programs:
// the branch that was shown last comes in, the rest is counted, and what is missing is named.
func TestBranch_shownOneComesIn(t *testing.T) {
	t.Parallel()
	chatgpt := func(id, parent, text string) string {
		return `"` + id + `":{"parent":"` + parent + `","message":{"id":"` + id + `","author":{"role":"user"},"create_time":1750000000,
			"content":{"content_type":"text","parts":["` + text + `"]}}}`
	}
	openwebui := func(id, parent, text string) string {
		return `"` + id + `":{"parentId":"` + parent + `","role":"user","content":"` + text + `","timestamp":1750000000}`
	}
	librechat := func(id, parent, text, children string) string {
		return `{"messageId":"` + id + `","parentMessageId":"` + parent + `","isCreatedByUser":true,"text":"` + text +
			`","createdAt":"2025-06-15T15:06:40Z","children":[` + children + `]}`
	}
	const missing = "what stood before one of its messages is not there"
	for _, c := range []struct{ name, format, file, text, want string }{
		{"ChatGPT", "chatgpt", "conversations.json", `[{"id":"c","title":"Tea","current_node":"d","mapping":{` +
			chatgpt("a", "", "A") + "," + chatgpt("b", "a", "B") + "," + chatgpt("d", "a", "D") + `}}]`, "A D 1"},
		{"ChatGPT, one conversation alone", "chatgpt", "conversations.json", `{"id":"c","current_node":"d","mapping":{` +
			chatgpt("d", "", "D") + `}}`, "D 0"},
		{"ChatGPT, a gap", "chatgpt", "conversations.json", `[{"id":"c","title":"Tea","current_node":"d","mapping":{` +
			chatgpt("d", "gone", "D") + `}}]`, "D 0 " + missing},
		{"ChatGPT, a circle", "chatgpt", "conversations.json", `[{"id":"c","title":"Tea","current_node":"d","mapping":{` +
			chatgpt("a", "d", "A") + "," + chatgpt("d", "a", "D") + `}}]`, "A D 0"},
		{"Open WebUI", "openwebui", "chats.json", `[{"id":"c","title":"Tea","chat":{"history":{"currentId":"d",
			"messages":{` +
			openwebui("a", "", "A") + "," + openwebui("b", "a", "B") + "," + openwebui("d", "a", "D") + `}}}}]`, "A D 1"},
		{"Open WebUI, a gap", "openwebui", "chats.json", `[{"id":"c","title":"Tea","chat":{"history":{"currentId":"d",
			"messages":{` + openwebui("d", "gone", "D") + `}}}}]`, "D 0 " + missing},
		{"LibreChat, by parents", "librechat", "c.json", `{"conversationId":"c","title":"Tea","messages":[` +
			librechat("a", "0", "A", "") + "," + librechat("b", "a", "B", "") + "," + librechat("d", "a", "D", "") + `]}`,
			"A D 1"},
		{"LibreChat, by children", "librechat", "c.json", `{"conversationId":"c","title":"Tea","messagesTree":[` +
			librechat("a", "0", "A", librechat("b", "a", "B", librechat("x", "b", "X", ""))+","+librechat("d", "a", "D", "")) +
			`]}`, "A D 2"},
		{"LibreChat, by both", "librechat", "c.json", `{"conversationId":"c","title":"Tea","messages":[` +
			librechat("d", "b", "D", "") + "," + librechat("a", "0", "A", librechat("b", "a", "B", "")) + `]}`, "A B D 0"},
		{"LibreChat, a circle", "librechat", "c.json", `{"conversationId":"c","title":"Tea","messages":[` +
			librechat("a", "b", "A", "") + "," + librechat("b", "a", "B", "") + "," + librechat("d", "0", "D", "") +
			`]}`, "D 2"},
	} {
		a, err := importer.Open(pack(t, map[string]string{c.file: c.text}))
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		others, why := 0, ""
		err = importer.Read(a, c.format, paris(t), importer.Taker{Fact: func(importer.Fact) {},
			Line: func(l importer.Line) error { got = append(got, l.Text); return nil },
			Left: func(l importer.Left) {
				if l.Why == "it is not on the branch that was shown last" {
					others++
				} else {
					why += " " + l.Why
				}
			}})
		a.Close()
		if text := strings.Join(got, " ") + " " + string(rune('0'+others)) + why; err != nil || text != c.want {
			t.Errorf("%s: %q %v, want %q", c.name, text, err, c.want)
		}
	}
}

// TestOpenClaw_sessionUnderTwoKeys is of a folder of OpenClaw in which a session has the key of a group, too: always the same of
// them counts.
func TestOpenClaw_sessionUnderTwoKeys(t *testing.T) {
	t.Parallel()
	const line = `{"type":"message","id":"e1","timestamp":"2026-04-01T09:00:01Z","message":{"role":"user","content":"Hi"}}`
	for range 20 {
		a, err := importer.Open(pack(t, map[string]string{"agents/main/sessions/s1.jsonl": line,
			"agents/main/sessions/sessions.json": `{"agent:main:group:1":{"sessionId":"s1"},"agent:main:main":{"sessionId":"s1"}}`}))
		if err != nil {
			t.Fatal(err)
		}
		if got := render(a, "openclaw", paris(t)); !strings.Contains(got, `"Hi"`) {
			t.Errorf("got %s", got)
		}
		a.Close()
	}
}
