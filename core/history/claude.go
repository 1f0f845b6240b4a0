package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// claudeConversation is a conversation of Claude's export.
type claudeConversation struct {
	ID       string          `json:"uuid"`
	Name     string          `json:"name"`
	Messages []claudeMessage `json:"chat_messages"`
}

type claudeMessage struct {
	ID      string `json:"uuid"`
	Parent  string `json:"parent_message_uuid"`
	Sender  string `json:"sender"`
	Text    string `json:"text"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Created     moment `json:"created_at"`
	Attachments []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
	Files []struct {
		Name string `json:"file_name"`
	} `json:"files"`
}

// readClaude reads the export of Claude.
func readClaude(a *Archive, _ Options, out output) error {
	names := a.find(func(base string) bool { return base == "conversations.json" })
	if len(names) == 0 {
		return fmt.Errorf("there is no conversations.json in it; export your data in Claude's settings")
	}
	return eachConversation(a, names, out, func(c claudeConversation) error {
		for _, m := range c.branch() {
			l := Line{Chat: c.ID, Title: c.Name, ID: m.ID, At: m.Created.Time, Role: core.RoleUser}
			if m.Sender == "assistant" {
				l.Role = core.RoleAssistant
			}
			if l.Text = m.text(&l); l.Text == "" && len(l.Files) == 0 {
				out.left(l.place(), "it is empty")
				continue
			}
			if err := out.line(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// branch is what was shown: where messages name what they follow, the way from
// the newest back to the first; else all.
func (c claudeConversation) branch() []claudeMessage {
	byID := map[string]claudeMessage{}
	for _, m := range c.Messages {
		byID[m.ID] = m
	}
	if len(c.Messages) == 0 {
		return nil
	}
	newest := slices.MaxFunc(c.Messages, func(a, b claudeMessage) int { return a.Created.Compare(b.Created.Time) })
	if _, ok := byID[newest.Parent]; !ok {
		return c.Messages
	}
	var out []claudeMessage
	for m, ok := newest, true; ok; {
		out = append(out, m)
		delete(byID, m.ID)
		m, ok = byID[m.Parent]
	}
	slices.Reverse(out)
	return out
}

// text is the text of a message, with placeholders for its files. Of a text file
// that was pasted in, the text is there.
func (m claudeMessage) text(l *Line) string {
	var parts []string
	for _, c := range m.Content {
		if c.Type == "text" && c.Text != "" {
			parts = append(parts, c.Text)
		}
	}
	if len(parts) == 0 && m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, f := range m.Attachments {
		parts = append(parts, strings.TrimSpace("[document "+f.Name+"]\n"+f.Text))
	}
	for _, f := range m.Files {
		file := File{Kind: "document", Name: f.Name}
		l.Files = append(l.Files, file)
		parts = append(parts, placeholder(file, "", ""))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}
