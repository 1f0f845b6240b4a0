package importer

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive"
	"github.com/everthread/everthread/core/store"
)

// ownMessage is a message of our export, or of any JSON Lines file with role, text and time.
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
	Unfinished core.Finish     `json:"unfinished"`
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
		return r.out.skip(fmt.Sprintf("%s, line %d", r.name, n), noSpeaker)
	}
	if !known(m.Role, m.Kind) {
		return r.out.skip(fmt.Sprintf("%s, line %d", r.name, n), "it is no message of a conversation")
	}
	title, plain := r.titles[m.Thread]
	plain = plain || !r.packed && m.Thread != r.first
	l := Line{Chat: fmt.Sprintf("thread %d", m.Thread), Title: title, Place: fmt.Sprintf("%s, line %d", r.name, n),
		At: m.SentAt.Time, From: m.From, Role: m.Role, Text: m.Text, ForwardedFrom: m.Forwarded}
	if m.ID > 0 {
		l.ID = strconv.FormatInt(int64(m.ID), 10)
	}
	l.Own = &Own{Thread: m.Thread, Plain: plain, Day: m.Day, ImportMessage: store.ImportMessage{Was: m.ID,
		Channel: m.Channel, Redacted: m.Redacted, NewMessage: core.NewMessage{Kind: m.Kind, Quote: m.Quote, Task: m.Task,
			ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName, Unfinished: m.Unfinished}}}
	for i, old := range m.Revisions {
		l.Own.Revisions = append(l.Own.Revisions, store.Revision{Revision: i, Text: old.Text, ReplacedAt: old.ReplacedAt.Time})
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

// sum is the digest of one entry of an export.
type sum = [sha256.Size]byte

// DigestFile returns the digest of the archive in a file.
func DigestFile(path string) (string, error) {
	a, err := Open(path)
	if err != nil {
		return "", err
	}
	defer a.Close()
	return Digest(a)
}

// digester makes the digest of an export.
type digester struct {
	archive *Archive
	base    string                    // the name of messages.jsonl
	marks   map[core.MessageID]string // digests of messages
	threads map[core.ThreadID]hash.Hash
}

// Digest returns a hash of the contents of an export of ours: every message with its revisions, tool calls and the
// bytes of its files, and summaries, memory, standing instructions, loops, reminders and tasks. It omits what a store
// assigns or derives: ids, names of files, settings, the audit and the text of documents. So an export has the same
// digest as an export of the store that imported it. It is empty for an archive that is no complete export of ours.
func Digest(a *Archive) (string, error) {
	names := a.find(called("messages.jsonl"))
	if len(names) == 0 || a.main != "" {
		return "", nil
	}
	d := &digester{archive: a, base: names[0], marks: map[core.MessageID]string{},
		threads: map[core.ThreadID]hash.Hash{}}
	if err := eachJSON(a, d.base, silent(), d.message); err != nil {
		return "", err
	}
	whole := sha256.New()
	var threads []sum
	for _, t := range d.threads {
		threads = append(threads, sum(t.Sum(nil)))
	}
	d.write(whole, "messages", threads)
	err := errors.Join(part(d, whole, "summaries.jsonl", d.summary), part(d, whole, "memory.jsonl", d.item),
		part(d, whole, "standing.jsonl", d.instruction), part(d, whole, "loops.jsonl", d.loop),
		part(d, whole, "reminders.jsonl", d.reminder), part(d, whole, "tasks.jsonl", d.task))
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

// silent returns an output that ignores what is left out, and takes nothing else.
func silent() output { return output{left: func(string, string) {}} }

// write adds entries without order to a digest.
func (d *digester) write(h hash.Hash, name string, sums []sum) {
	slices.SortFunc(sums, func(a, b sum) int { return slices.Compare(a[:], b[:]) })
	fmt.Fprintf(h, "%s %d\n", name, len(sums))
	for _, s := range sums {
		h.Write(s[:])
	}
}

// of returns the digest of values, as JSON.
func of(values ...any) (sum, error) {
	b, err := json.Marshal(values)
	return sha256.Sum256(b), err
}

// stamp returns a time in the precision of stores.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// message adds a message to the digest of its thread, in which it has a place.
func (d *digester) message(_ int, m ownMessage) error {
	var rest []any
	for _, f := range m.Files {
		content, err := d.file(f.Path)
		if err != nil {
			return err
		}
		rest = append(rest, f.Kind, f.Name, f.Transcript, content)
	}
	for _, old := range m.Revisions {
		rest = append(rest, old.Text, stamp(old.ReplacedAt.Time))
	}
	if m.Task != nil {
		rest = append(rest, stamp(m.Task.Due), stamp(m.Task.Set))
	}
	s, err := of(m.Day, m.Role, cmp.Or(m.Kind, core.KindChat), m.Channel, stamp(m.SentAt.Time),
		cmp.Or(m.Text, contentText(m.Content)), m.Redacted, m.Quote, m.Forwarded, m.ToolCalls, m.ToolCallID, m.ToolName, rest)
	if err != nil {
		return err
	}
	d.marks[m.ID] = hex.EncodeToString(s[:8])
	if d.threads[m.Thread] == nil {
		d.threads[m.Thread] = sha256.New()
	}
	_, err = d.threads[m.Thread].Write(s[:])
	return err
}

// file returns the digest of the bytes of a file, empty if it is missing.
func (d *digester) file(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	r, err := d.archive.file(beside(d.base, "media/"+path), maxDatabase)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	_, err = io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// part adds the lines of a file of the export to a digest.
func part[T any](d *digester, whole hash.Hash, name string, values func(T) []any) error {
	var sums []sum
	err := sibling(d.archive, name, func(v T) error {
		s, err := of(values(v)...)
		sums = append(sums, s)
		return err
	})
	d.write(whole, name, sums)
	return err
}

func (d *digester) summary(s archive.ExportedSummary) []any {
	var covers []string
	for id, mark := range d.marks {
		if s.Covers.Has(id) {
			covers = append(covers, mark)
		}
	}
	slices.Sort(covers)
	text := reference().ReplaceAllStringFunc(s.Markdown, func(refs string) string {
		return referenced().ReplaceAllStringFunc(refs, func(n string) string {
			id, _ := strconv.ParseInt(n, 10, 64) // one out of range names no message
			return d.marks[core.MessageID(id)]
		})
	})
	return []any{s.Day, text, covers, s.Model, s.Final, s.Ungrounded, stamp(s.CreatedAt)}
}

func (d *digester) item(i archive.ExportedItem) []any {
	var wordings []any
	for _, w := range i.History {
		wordings = append(wordings, w.Content, stamp(w.Until))
	}
	return []any{i.Theme, i.Type, i.Content, slices.Concat([]string{}, i.Tags), d.marks[i.Source], i.Status, i.Noted,
		wordings, stamp(i.CreatedAt), stamp(i.UpdatedAt)}
}

func (d *digester) instruction(i archive.ExportedInstruction) []any {
	return []any{i.Text, d.marks[i.Source], i.Noted, stamp(i.CreatedAt)}
}

func (d *digester) loop(l archive.ExportedLoop) []any {
	var sources []string
	for _, id := range l.Sources {
		sources = append(sources, d.marks[id])
	}
	slices.Sort(sources)
	return []any{l.Text, l.State, sources, stamp(l.OpenedAt), stamp(l.Mentioned)}
}

func (d *digester) task(k archive.ExportedPlan) []any {
	return []any{k.Text, stamp(k.DueAt), k.Cron, k.Zone, k.State, d.marks[k.Source], stamp(k.CreatedAt)}
}

func (d *digester) reminder(r archive.ExportedPlan) []any {
	return append(d.task(r), stamp(r.FiredAt), d.marks[r.Message])
}
