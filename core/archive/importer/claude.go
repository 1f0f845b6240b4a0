package importer

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

type claudeConversation struct {
	ID       string                 `json:"uuid"`
	Name     string                 `json:"name"`
	Messages []piece[claudeMessage] `json:"chat_messages"`
}

type claudeMessage struct {
	ID      string `json:"uuid"`
	Parent  string `json:"parent_message_uuid"`
	Sender  string `json:"sender"`
	Text    string `json:"text"`
	Content []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Name  string `json:"name"`
		Input struct {
			Command string `json:"command"`
			Title   string `json:"title"`
			Path    string `json:"path"`
		} `json:"input"`
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

func readClaude(a *Archive, names []string, _ Options, out output) error {
	if err := claudeMemories(a, out); err != nil {
		return err
	}
	return eachValue(a, names, out, func(_ string, c claudeConversation) error {
		for _, m := range c.branch(out) {
			l := Line{Chat: c.ID, Title: c.Name, ID: m.ID, At: m.Created.Time, Role: map[string]core.Role{"human": core.RoleUser,
				"assistant": core.RoleAssistant}[m.Sender]}
			switch m.read(&l, out); {
			case l.Text == "" && len(l.Files) == 0:
				out.left(l.place(), "it is empty")
				continue
			case l.Role == "":
				out.left(l.place(), noSpeaker)
				continue
			}
			if err := out.line(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// branch returns the messages that were shown: if messages name their parents, the path from the newest back to the
// first, else all. Where a parent is missing, the path continues at the newest earlier message.
func (c claudeConversation) branch(out output) []claudeMessage {
	var all []claudeMessage
	byID := map[string]claudeMessage{}
	for _, m := range c.Messages {
		if m.odd {
			out.left(Line{Title: c.Name}.place(), oddForm)
			continue
		}
		all = append(all, m.v)
		byID[m.v.ID] = m.v
	}
	newest, ok := newestBefore(all, byID, time.Time{})
	if _, follows := byID[newest.Parent]; !follows || newest.Parent == "" {
		return all
	}
	var shown []claudeMessage
	for m, cuts := newest, 0; ok && cuts < maxCuts; {
		shown = append(shown, m)
		delete(byID, m.ID)
		if next, there := byID[m.Parent]; there || m.first() {
			m, ok = next, there
			continue
		}
		cuts++
		m, ok = newestBefore(all, byID, m.Created.Time)
	}
	for range byID {
		out.count(otherBranch)
	}
	slices.Reverse(shown)
	return shown
}

func claudeMemories(a *Archive, out output) error {
	if a.main != "" {
		return nil
	}
	names := a.find(called("memories.json"))
	return eachValue(a, names, out, func(_ string, m struct {
		Conversations string            `json:"conversations_memory"`
		Projects      map[string]string `json:"project_memories"`
	}) error {
		like := Fact{From: "memories.json", Noted: true}
		out.facts(m.Conversations, like)
		for _, id := range slices.Sorted(maps.Keys(m.Projects)) {
			out.facts(m.Projects[id], like)
		}
		return nil
	})
}

// maxCuts bounds the missing parents on the path of a conversation.
const maxCuts = 100

// first reports whether a message has no parent.
func (m claudeMessage) first() bool { return strings.Trim(m.Parent, "0-48") == "" }

// newestBefore returns the newest message that is in left and, unless t is zero, older than t.
func newestBefore(all []claudeMessage, left map[string]claudeMessage, t time.Time) (newest claudeMessage, ok bool) {
	for _, m := range all {
		if _, is := left[m.ID]; is && (t.IsZero() || m.Created.Before(t)) && !m.Created.Before(newest.Created.Time) {
			newest, ok = m, true
		}
	}
	return newest, ok
}

// read reads the text and the files of a message into l, with the text of pasted files.
func (m claudeMessage) read(l *Line, out output) {
	var parts []string
	for _, c := range m.Content {
		switch {
		case c.Type == "text" && c.Text != "":
			parts = append(parts, c.Text)
		case strings.Contains(c.Type, "thinking"):
			out.count(reasoning)
		case c.Type == "tool_use" && (c.Name == "artifacts" && c.Input.Command == "create" || c.Name == "create_file"):
			out.left(titled(l.place(), cmp.Or(c.Input.Title, strings.TrimPrefix(path.Base(c.Input.Path), "."))), sideDocument)
		case strings.HasPrefix(c.Type, "tool_"):
			out.count(toolUse)
		}
	}
	if len(parts) == 0 && m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, f := range m.Attachments {
		parts = append(parts, strings.TrimSpace("[document "+f.Name+"]\n"+f.Text))
	}
	l.Text = strings.TrimSpace(strings.Join(parts, "\n"))
	for _, f := range m.Files {
		l.attach(File{Kind: "document", Name: f.Name})
	}
}
