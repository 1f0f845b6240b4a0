package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// libreChatFile is a file of LibreChat: an exported conversation, or the memories from its
// API. Messages are a tree, by their children or by their parents.
type libreChatFile struct {
	ID       string                    `json:"conversationId"`
	Title    string                    `json:"title"`
	Messages []piece[libreChatMessage] `json:"messages"`
	Tree     []piece[libreChatMessage] `json:"messagesTree"`
	Options  map[string]any            `json:"options"`
	Memories []struct {
		Key     string `json:"key"`
		Value   string `json:"value"`
		Updated moment `json:"updated_at"`
	} `json:"memories"`
}

type libreChatMessage struct {
	ID       string             `json:"messageId"`
	Parent   string             `json:"parentMessageId"`
	User     *bool              `json:"isCreatedByUser"`
	Text     string             `json:"text"`
	Content  json.RawMessage    `json:"content"`
	Created  moment             `json:"createdAt"`
	Error    bool               `json:"error"`
	Children []libreChatMessage `json:"children"`
	Files    []piece[struct {
		Name string `json:"filename"`
		Type string `json:"type"`
	}] `json:"files"`
}

// readLibreChat reads conversations that LibreChat exported as JSON, and its memories.
func readLibreChat(a *Archive, names []string, _ Options, out output) error {
	return eachValue(a, names, out, func(name string, c libreChatFile) error { return c.read(a, name, out) })
}

func (c libreChatFile) read(a *Archive, name string, out output) error {
	for _, m := range c.Memories {
		out.fact(Fact{Text: strings.TrimSpace(m.Key + ": " + m.Value), From: "memories", Noted: true, At: m.Updated.Time})
	}
	if len(c.Messages)+len(c.Tree) == 0 {
		if c.Memories == nil {
			out.left(name, "it is no conversation")
		}
		return nil
	}
	for _, key := range []string{"promptPrefix", "system", "instructions"} {
		if text, _ := c.Options[key].(string); text != "" {
			out.left("conversation "+cmp.Or(c.Title, c.ID), persona)
		}
	}
	var ls []Line
	for _, m := range c.branch(out) {
		l := Line{Chat: c.ID, Title: c.Title, ID: m.ID, At: m.Created.Time, Place: name}
		if m.read(&l, out) {
			ls = append(ls, l)
		}
	}
	return out.pass(ls, a.changed(name))
}

// branch returns the messages that LibreChat shows of a conversation when it is opened: the last of those with the same
// parent. The rest is counted.
func (c libreChatFile) branch(out output) (shown []libreChatMessage) {
	all, parents := map[string]libreChatMessage{}, tree{}
	var order []string
	var add func(m libreChatMessage, parent string)
	add = func(m libreChatMessage, parent string) {
		id := cmp.Or(m.ID, fmt.Sprint("#", len(order)))
		all[id], parents[id] = m, parent
		order = append(order, id)
		for _, child := range m.Children {
			add(child, id)
		}
	}
	for _, m := range append(c.Messages, c.Tree...) {
		if m.odd {
			out.left(Line{Title: c.Title}.place(), oddForm)
			continue
		}
		add(m.v, m.v.Parent)
	}
	newest := map[string]string{} // by parent
	for _, id := range order {
		if _, there := parents[parents[id]]; !there || parents[id] == id {
			parents[id] = ""
		}
		newest[parents[id]] = id
	}
	last := newest[""]
	for next := newest[last]; last != "" && next != ""; next = newest[last] {
		last = next
	}
	for _, id := range parents.shown(cmp.Or(c.Title, c.ID), last, func(string) bool { return true }, out) {
		shown = append(shown, all[id])
	}
	return shown
}

// read reads a message into l, and reports whether it belongs to the conversation.
func (m *libreChatMessage) read(l *Line, out output) bool {
	switch {
	case m.User == nil:
		out.left(l.place(), noSpeaker)
		return false
	case m.Error:
		out.count(errorMessage)
		return false
	case *m.User:
		l.Role = core.RoleUser
	default:
		l.Role = core.RoleAssistant
	}
	l.Text, l.Files = contents(m.Content, out)
	l.Text = cmp.Or(l.Text, strings.TrimSpace(m.Text))
	for _, f := range m.Files {
		if !f.odd {
			l.attach(File{Kind: map[bool]string{true: "photo", false: "document"}[strings.HasPrefix(f.v.Type, "image/")],
				Name: cmp.Or(f.v.Name, "file"), MIME: f.v.Type})
		}
	}
	return l.Text != "" || len(l.Files) > 0
}
