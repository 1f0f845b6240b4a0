package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// ownMessage is a message of our own export, or of any JSON Lines file with a role, a
// text and a time.
type ownMessage struct {
	Thread    core.ThreadID    `json:"thread"`
	ID        core.MessageID   `json:"id"`
	Day       string           `json:"day"`
	Role      core.Role        `json:"role"`
	Kind      core.MessageKind `json:"kind"`
	Channel   string           `json:"channel"`
	SentAt    moment           `json:"sent_at"`
	Timestamp moment           `json:"timestamp"`
	CreatedAt moment           `json:"created_at"`
	From      string           `json:"from"`
	Text      string           `json:"text"`
	Content   json.RawMessage  `json:"content"`
	Redacted  bool             `json:"redacted"`
	Quote     *core.Quote      `json:"quote"`
	Forwarded string           `json:"forwarded_from"`
	Files     []struct {
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		MIME       string `json:"mime"`
		Path       string `json:"path"`
		Transcript string `json:"transcript"`
	} `json:"attachments"`
	ToolCalls  []core.ToolCall `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Task       *core.TaskMark  `json:"task"`
	Revisions  []struct {
		Text       string `json:"text"`
		ReplacedAt moment `json:"replaced_at"`
	} `json:"revisions"`
}

// readOwn reads our own export: its ZIP file, or messages.jsonl alone.
func readOwn(a *Archive, names []string, _ Options, out output) error {
	r := &own{archive: a, name: names[0], out: out, titles: map[core.ThreadID]string{}, first: -1}
	r.findThreads()
	return eachJSON(a, r.name, out, r.read)
}

// own reads an export of ours.
type own struct {
	archive *Archive
	name    string
	out     output
	titles  map[core.ThreadID]string // of plain threads
	packed  bool                     // the export is complete, and so are titles
	first   core.ThreadID            // of the first message
}

// findThreads finds the plain threads of an export by their files.
func (r *own) findThreads() {
	folder := beside(r.name, "threads") + "/"
	for _, name := range r.archive.names {
		r.packed = r.packed || name == beside(r.name, "profile.json")
		rest, ok := strings.CutPrefix(name, folder)
		number, title, _ := strings.Cut(strings.TrimSuffix(rest, ".md"), " ")
		id, err := strconv.ParseInt(number, 10, 64)
		if ok && err == nil && path.Ext(name) == ".md" {
			r.titles[core.ThreadID(id)] = r.title(name, title)
		}
	}
}

// title returns the title of a thread: the first line of its file has it in full.
func (r *own) title(name, otherwise string) string {
	f, err := r.archive.text(name)
	if err != nil {
		return otherwise
	}
	defer f.Close()
	line, err := readLine(bufio.NewReader(f))
	if title, ok := strings.CutPrefix(string(line), "# "); ok && err == nil {
		return strings.ToValidUTF8(clip(title), "")
	}
	return otherwise
}

func (r *own) read(n int, m ownMessage) error {
	if r.first < 0 {
		r.first = m.Thread
	}
	m.SentAt = cmp.Or(m.SentAt, m.Timestamp, m.CreatedAt)
	m.Text, m.Kind = cmp.Or(m.Text, contentText(m.Content)), cmp.Or(m.Kind, core.KindChat)
	if m.Role == "" {
		r.out.left(fmt.Sprintf("%s, line %d", r.name, n), noSpeaker)
		return nil
	}
	if !known(m.Role, m.Kind) {
		r.out.left(fmt.Sprintf("%s, line %d", r.name, n), "it is no message of a conversation")
		return nil
	}
	title, plain := r.titles[m.Thread]
	plain = plain || !r.packed && m.Thread != r.first
	l := Line{Chat: fmt.Sprintf("thread %d", m.Thread), Title: title, Place: fmt.Sprintf("%s, line %d", r.name, n),
		At: m.SentAt.Time, From: m.From, Role: m.Role, Text: m.Text, ForwardedFrom: m.Forwarded}
	if m.ID > 0 {
		l.ID = strconv.FormatInt(int64(m.ID), 10)
	}
	l.Own = &Own{Thread: m.Thread, Plain: plain, Day: m.Day, ImportMessage: core.ImportMessage{Was: m.ID,
		Channel: m.Channel, Redacted: m.Redacted, NewMessage: core.NewMessage{Kind: m.Kind, Quote: m.Quote, Task: m.Task,
			ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName}}}
	for i, old := range m.Revisions {
		l.Own.Revisions = append(l.Own.Revisions, core.Revision{Revision: i, Text: old.Text, ReplacedAt: old.ReplacedAt.Time})
	}
	for _, f := range m.Files {
		file := File{Kind: f.Kind, Name: f.Name, MIME: f.MIME, Transcript: f.Transcript}
		if f.Path != "" {
			file.Entry = beside(r.name, path.Join("media", path.Clean("/"+f.Path)))
		}
		l.Files = append(l.Files, file)
	}
	return r.out.line(l)
}

// known reports whether a message has a valid role and kind.
func known(role core.Role, kind core.MessageKind) bool {
	switch kind {
	case core.KindChat, core.KindAnswer:
		return role == core.RoleUser || role == core.RoleAssistant || role == core.RoleTool
	case core.KindCommand, core.KindNotice, core.KindDaySummary, core.KindDayPost, core.KindReminder:
		return role == core.RoleUser || role == core.RoleAssistant || role == core.RoleSystem
	}
	return false
}

// sibling reads the lines of a file beside messages.jsonl of an export, if it exists.
func sibling[T any](a *Archive, name string, f func(T) error) error {
	names := a.find(called("messages.jsonl"))
	if len(names) == 0 || a.main != "" {
		return nil
	}
	err := eachJSON(a, beside(names[0], name), silent(), func(_ int, v T) error { return f(v) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
