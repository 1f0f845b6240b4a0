package importer

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// chatgptConversation is a conversation of ChatGPT: a tree, of which the branch to Current was shown last.
type chatgptConversation struct {
	ID      string                 `json:"id"`
	Other   string                 `json:"conversation_id"`
	Title   string                 `json:"title"`
	Created moment                 `json:"create_time"`
	Mapping map[string]chatgptNode `json:"mapping"`
	Current string                 `json:"current_node"`
}

type chatgptNode struct {
	ID      string                 `json:"id"`
	Parent  string                 `json:"parent"`
	Message *piece[chatgptMessage] `json:"message"`
}

type chatgptMessage struct {
	ID     string `json:"id"`
	Author struct {
		Role core.Role `json:"role"`
	} `json:"author"`
	Created   moment `json:"create_time"`
	Recipient string `json:"recipient"`
	Content   struct {
		Type  string            `json:"content_type"`
		Parts []json.RawMessage `json:"parts"`
		Text  string            `json:"text"`
	} `json:"content"`
	Metadata struct {
		Hidden      bool                `json:"is_visually_hidden_from_conversation"`
		Attachments []chatgptAttachment `json:"attachments"`
		References  json.RawMessage     `json:"content_references"`
	} `json:"metadata"`
}

type chatgptAttachment struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime_type"`
	Mime string `json:"mimeType"`
}

// readChatGPT reads the export of ChatGPT: conversations.json, or its parts.
func readChatGPT(a *Archive, names []string, _ Options, out output) error {
	files := chatgptFiles(a)
	return eachValue(a, names, out, func(_ string, c chatgptConversation) error { return c.read(files, out) })
}

// chatgptFiles returns the files of an export by the ids at the beginning of their names.
func chatgptFiles(a *Archive) map[string]string {
	out := map[string]string{}
	for _, name := range a.names {
		base := path.Base(name)
		if !strings.HasPrefix(base, "file-") && !strings.HasPrefix(base, "file_") {
			continue
		}
		id := strings.TrimSuffix(base, path.Ext(base))
		out[id] = name
		if i := strings.IndexByte(id[5:], '-'); i > 0 {
			out[id[:5+i]] = name
		}
	}
	return out
}

// read passes on the branch of a conversation that was shown.
func (c chatgptConversation) read(files map[string]string, out output) error {
	c.ID = cmp.Or(c.ID, c.Other)
	last := c.Created
	for _, n := range c.branch(out) {
		if n.Message == nil {
			continue
		}
		m := &n.Message.v
		if n.Message.odd {
			out.left(Line{Title: c.Title}.place(), oddForm)
			continue
		}
		if !m.shown() {
			m.skip(Line{ID: m.ID, Title: c.Title}.place(), files, out)
			continue
		}
		m.Created = cmp.Or(m.Created, last) // some have no time
		last = m.Created
		l := Line{Chat: c.ID, Title: c.Title, ID: m.ID, At: m.Created.Time, Role: m.Author.Role}
		l.Text = m.text(&l, files)
		if l.Text == "" && len(l.Files) == 0 {
			continue
		}
		if err := out.line(l); err != nil {
			return err
		}
	}
	return nil
}

// branch returns the branch that was shown last, oldest first.
func (c chatgptConversation) branch(out output) (branch []chatgptNode) {
	parents := tree{}
	for id, n := range c.Mapping {
		parents[id] = n.Parent
	}
	counts := func(id string) bool { m := c.Mapping[id].Message; return m != nil && m.v.shown() }
	for _, id := range parents.shown(cmp.Or(c.Title, c.ID), c.Current, counts, out) {
		branch = append(branch, c.Mapping[id])
	}
	return branch
}

// skip reports why a hidden message is left out, unless it is empty.
func (m *chatgptMessage) skip(place string, files map[string]string, out output) {
	switch {
	case m.Content.Type == "user_editable_context" || m.Content.Type == "model_editable_context":
		out.left(place, persona)
	case m.Content.Type == "thoughts" || m.Content.Type == "reasoning_recap":
		out.count(reasoning)
	case m.Author.Role == core.RoleAssistant && strings.HasPrefix(m.Recipient, "canmore.create"):
		var d struct{ Name string }
		_ = json.Unmarshal([]byte(m.Content.Text), &d) // without a name it is named by its message alone
		out.left(titled(place, d.Name), sideDocument)
	case m.Author.Role == core.RoleTool && m.drew() != nil:
		out.left(titled(place, *m.drew()), sidePicture)
	case m.Author.Role == core.RoleTool ||
		m.Author.Role == core.RoleAssistant && m.Recipient != "all" && m.Recipient != "":
		out.count(toolUse)
	case m.text(&Line{}, files) == "":
	case m.Author.Role == "" && !m.Metadata.Hidden:
		out.left(place, noSpeaker)
	default:
		out.count("it was hidden from the person")
	}
}

// titled adds a title to the place of something, unless it is empty.
func titled(place, title string) string { return place + after(": ", clip(title)) }

// drew returns what a tool drew a picture of, or nil if it drew none.
func (m *chatgptMessage) drew() *string {
	for _, raw := range m.Content.Parts {
		var p struct {
			Type     string `json:"content_type"`
			Metadata struct {
				DallE struct {
					Prompt string `json:"prompt"`
				} `json:"dalle"`
			} `json:"metadata"`
		}
		if json.Unmarshal(raw, &p) == nil && p.Type == "image_asset_pointer" {
			return &p.Metadata.DallE.Prompt
		}
	}
	return nil
}

// shown reports whether the user saw a message.
func (m *chatgptMessage) shown() bool {
	conversation := m.Author.Role == core.RoleUser || m.Author.Role == core.RoleAssistant &&
		(m.Recipient == "all" || m.Recipient == "")
	return conversation && !m.Metadata.Hidden && (m.Content.Type == "text" || m.Content.Type == "multimodal_text" ||
		m.Content.Type == "code")
}

// text returns the text of a message, with placeholders for its files, and adds these to l.
func (m *chatgptMessage) text(l *Line, files map[string]string) string {
	var parts []string
	names := map[string]chatgptAttachment{}
	for _, f := range m.Metadata.Attachments {
		names[f.ID] = f
	}
	add := func(id, kind string) {
		f := names[id]
		delete(names, id)
		file := File{Kind: kind, Name: f.Name, MIME: f.MIME + f.Mime, Entry: files[id]}
		if file.Name == "" && file.Entry != "" {
			file.Name = path.Base(file.Entry)
		}
		l.Files = append(l.Files, file)
		parts = append(parts, placeholder(file, "", ""))
	}
	for _, raw := range m.Content.Parts {
		var text string
		var p struct {
			Type    string `json:"content_type"`
			Pointer string `json:"asset_pointer"`
			Text    string `json:"text"`
		}
		switch {
		case json.Unmarshal(raw, &text) == nil:
			parts = append(parts, text)
		case json.Unmarshal(raw, &p) != nil:
		case p.Pointer != "":
			_, id, _ := strings.Cut(p.Pointer, "://")
			add(id, map[bool]string{true: "photo", false: "voice"}[p.Type == "image_asset_pointer"])
		default:
			parts = append(parts, p.Text)
		}
	}
	for _, f := range m.Metadata.Attachments {
		if _, ok := names[f.ID]; ok {
			add(f.ID, "document")
		}
	}
	if m.Content.Text != "" {
		parts = append(parts, m.Content.Text)
	}
	said := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" }), "\n")
	if m.Author.Role == core.RoleAssistant {
		said = unmarkedChatGPT(said, m.references())
	}
	return strings.TrimSpace(said)
}

// references returns what the marks of a message stand for, as far as it can be read.
func (m *chatgptMessage) references() []chatgptReference {
	var all []piece[chatgptReference]
	_ = json.Unmarshal(m.Metadata.References, &all) // in another form, they explain nothing
	var out []chatgptReference
	for _, r := range all[:min(len(all), mostReferences)] {
		out = append(out, r.v)
	}
	return out
}

// mostReferences bounds the references of a message.
const mostReferences = 200
