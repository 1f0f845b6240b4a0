package importer

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// openWebUIRow is an element of an export of Open WebUI: a chat, or a memory.
type openWebUIRow struct {
	ID      string         `json:"id"`
	User    string         `json:"user_id"`
	Title   string         `json:"title"`
	Created moment         `json:"created_at"`
	Updated moment         `json:"updated_at"`
	Content string         `json:"content"` // of a memory
	Chat    *openWebUIChat `json:"chat"`
	// History is here in exports of early versions.
	History *openWebUIHistory `json:"history"`
}

type openWebUIChat struct {
	Title   string            `json:"title"`
	System  string            `json:"system"`
	Params  map[string]any    `json:"params"`
	History *openWebUIHistory `json:"history"`
}

// openWebUIHistory is a tree of messages, whose branch to Current is shown.
type openWebUIHistory struct {
	Current  string                             `json:"currentId"`
	Messages map[string]piece[openWebUIMessage] `json:"messages"`
}

type openWebUIMessage struct {
	ID      string                  `json:"id"`
	Parent  string                  `json:"parentId"`
	Role    core.Role               `json:"role"`
	Content json.RawMessage         `json:"content"`
	At      moment                  `json:"timestamp"`
	Error   json.RawMessage         `json:"error"`
	Files   []piece[openWebUIFile]  `json:"files"`
	Output  []piece[openWebUIWrote] `json:"output"`
}

type openWebUIFile struct {
	Type string `json:"type"`
	Name string `json:"name"`
	URL  string `json:"url"`
	File struct {
		Name string `json:"filename"`
		Data struct {
			Content string `json:"content"`
		} `json:"data"`
	} `json:"file"`
}

// openWebUIWrote is a step of an answer, in newer versions.
type openWebUIWrote struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// readOpenWebUI reads exported chats of Open WebUI, and its memories.
func readOpenWebUI(a *Archive, names []string, o Options, out output) error {
	people := map[string]int{}
	err := eachValue(a, names, silent(), func(_ string, r struct {
		User string `json:"user_id"`
	}) error {
		if r.User != "" && !shared(r.User) && len(people) < mostSpeakers {
			people[r.User]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	mine, err := choose(people, o.Me)
	if err != nil {
		return err
	}
	return eachValue(a, names, out, func(_ string, r openWebUIRow) error {
		switch {
		case shared(r.User):
			return out.skip("", "it is a copy that was shared")
		case !mine(r.User):
			return out.skip("", ofSomebody)
		}
		return r.read(out)
	})
}

// shared reports whether a row belongs to a shared copy of a chat.
func shared(user string) bool { return strings.HasPrefix(user, "shared-") }

func (r openWebUIRow) read(out output) error {
	if r.Chat == nil {
		r.Chat = &openWebUIChat{Title: r.Title, History: r.History}
	}
	h := r.Chat.History
	title := cmp.Or(r.Title, r.Chat.Title)
	switch {
	case h == nil && r.Content != "":
		out.fact(Fact{Text: r.Content, From: "memories",
			At: slices.MaxFunc([]time.Time{r.Updated.Time, r.Created.Time}, time.Time.Compare)})
		return nil
	case h == nil:
		return out.skip("conversation "+cmp.Or(title, r.ID), oddForm)
	}
	if system, _ := r.Chat.Params["system"].(string); r.Chat.System+system != "" {
		out.left("conversation "+cmp.Or(title, r.ID), persona)
	}
	var ls []Line
	for _, m := range h.branch(title, out) {
		l := Line{Chat: cmp.Or(r.ID, title), Title: title, ID: m.ID, At: m.At.Time, Role: m.Role}
		if m.read(&l, out) {
			ls = append(ls, l)
		}
	}
	return out.pass(ls, r.Created.Time)
}

// branch returns the shown messages, oldest first; the rest is counted.
func (h *openWebUIHistory) branch(title string, out output) (shown []openWebUIMessage) {
	parents := tree{}
	for id, m := range h.Messages {
		parents[id] = m.v.Parent
		if m.odd {
			out.left(Line{ID: id, Title: title}.place(), oddForm)
		}
	}
	for _, id := range parents.shown(title, h.Current, func(id string) bool { return !h.Messages[id].odd }, out) {
		if m := h.Messages[id]; !m.odd {
			m.v.ID = id
			shown = append(shown, m.v)
		}
	}
	return shown
}

// read reads a message into l, and reports whether it belongs to the conversation.
func (m *openWebUIMessage) read(l *Line, out output) bool {
	if m.Role == "system" {
		out.left(l.place(), persona)
		return false
	}
	if m.Role != core.RoleUser && m.Role != core.RoleAssistant {
		out.left(l.place(), noSpeaker)
		return false
	}
	l.Text, l.Files = m.words(out)
	for _, f := range m.Files {
		if !f.odd {
			l.attach(f.v.read())
		}
	}
	if l.Text != "" || len(l.Files) > 0 {
		return true
	}
	if len(m.Error) > 0 && string(m.Error) != "null" && string(m.Error) != "false" {
		out.count(errorMessage)
	}
	return false
}

// attach adds a file to a message, with a placeholder in its text.
func (l *Line) attach(f File) {
	l.Files = append(l.Files, f)
	l.Text = strings.TrimSpace(l.Text + "\n" + placeholder(f, "", ""))
}

// read returns a file of a message. The export holds the pictures of early versions, and
// the extracted text of other files.
func (f openWebUIFile) read() File {
	name := cmp.Or(f.Name, f.File.Name, f.Type)
	if data, kind, ok := dataURL(f.URL); ok {
		return File{Kind: "photo", Name: name, MIME: kind, Data: data}
	}
	if f.Type == "image" {
		return File{Kind: "photo", Name: name}
	}
	if text := f.File.Data.Content; strings.TrimSpace(text) != "" {
		return textFile(name, text)
	}
	return File{Kind: "document", Name: name}
}

func textFile(name, text string) File {
	if path.Ext(name) != ".txt" && path.Ext(name) != ".md" {
		name += ".txt"
	}
	return File{Kind: "document", Name: name, MIME: "text/plain", Data: []byte(text)}
}

// details matches the parts of an answer that Open WebUI shows folded.
var details = text.Pattern(`(?s)<details type="(\w+)"[^>]*>.*?</details>`)

// words returns the text of a message: that of its steps if it has any.
func (m *openWebUIMessage) words(out output) (string, []File) {
	var said []string
	for _, w := range m.Output {
		switch {
		case w.v.Type == "message":
			text, _ := contents(w.v.Content, out)
			said = append(said, text)
		case strings.Contains(w.v.Type, "reasoning"):
			out.count(reasoning)
		default:
			out.count(toolUse)
		}
	}
	if text := strings.TrimSpace(strings.Join(said, "\n")); text != "" {
		return text, nil
	}
	text, files := contents(m.Content, out)
	if len(m.Output) == 0 {
		for _, d := range details().FindAllStringSubmatch(text, -1) {
			out.count(map[bool]string{true: reasoning, false: toolUse}[d[1] == "reasoning"])
		}
	}
	return strings.TrimSpace(details().ReplaceAllString(text, "")), files
}
