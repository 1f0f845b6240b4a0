package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/text"
)

// Saver writes exports into files. All fields but Disk are required.
type Saver struct {
	*Exporter
	// Lock locks a file until unlock. It fails immediately if another process writes it.
	Lock func(path string) (unlock func(), err error)
	// Crash is called at each step, for tests that end the process there.
	Crash func(step string)
	// Disk wraps the files that are written, for tests; may be nil.
	Disk disk.Wrap
}

// partialPattern matches incomplete files.
const partialPattern = ".everthread-export-*.partial"

// Save writes the export of a user to a file; see Write. The file gets its name only when it is complete. An existing
// file of that name stays, and is an error. Save also removes the incomplete files of killed exports in the folder.
func (s *Saver) Save(ctx context.Context, file string, user core.UserID, progress func(messages int)) error {
	dir := filepath.Dir(file)
	disk.Sweep(filepath.Join(dir, partialPattern), s.Lock)
	f, err := os.CreateTemp(dir, partialPattern)
	if err != nil {
		return fmt.Errorf("write the export: %w", disk.NoRoom(disk.Cause(err), dir, 0))
	}
	unlock, err := s.Lock(f.Name())
	if err != nil {
		return errors.Join(fmt.Errorf("write the export: %w", err), f.Close(), os.Remove(f.Name()))
	}
	size, err := s.fill(ctx, s.Disk.Take(f), user, progress)
	s.Crash("export written")
	unlock() // not every system can rename an open file
	if err == nil {
		err = place(f.Name(), file)
	}
	if err == nil {
		s.Crash("export placed")
		return nil
	}
	_ = os.Remove(f.Name())
	if disk.Full(err) {
		return fmt.Errorf("write the export: %w (%s were written until then)", disk.NoRoom(err, dir, 0), text.Bytes(size))
	}
	return err
}

// fill writes a file and closes it.
func (s *Saver) fill(ctx context.Context, f disk.File, user core.UserID, progress func(int)) (size int64, err error) {
	out := &counted{File: f}
	err = s.Write(ctx, out, user, progress)
	if err == nil {
		err = f.Sync()
	}
	return out.size, errors.Join(err, f.Close())
}

// counted counts the written bytes.
type counted struct {
	disk.File
	size int64
}

// Write writes.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	c.size += int64(n)
	return n, err
}

// place renames a complete file to its name.
func place(draft, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already; remove it, or give another name with --out", file)
	}
	if err := os.Rename(draft, file); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil {
		_ = dir.Sync() // not every system can
		_ = dir.Close()
	}
	return nil
}

// messageLine is a message in messages.jsonl.
type messageLine struct {
	Thread      core.ThreadID    `json:"thread"`
	ID          core.MessageID   `json:"id"`
	Day         string           `json:"day,omitempty"`
	Role        core.Role        `json:"role"`
	Speaker     *core.Speaker    `json:"speaker,omitempty"` // of a group
	Kind        core.MessageKind `json:"kind"`
	Channel     string           `json:"channel,omitempty"`
	SentAt      time.Time        `json:"sent_at"`
	Text        string           `json:"text"`
	Redacted    bool             `json:"redacted,omitempty"`
	Quote       *core.Quote      `json:"quote,omitempty"`
	Forwarded   string           `json:"forwarded_from,omitempty"`
	Attachments []fileLine       `json:"attachments,omitempty"`
	ToolCalls   []core.ToolCall  `json:"tool_calls,omitempty"`
	ToolCallID  string           `json:"tool_call_id,omitempty"`
	ToolName    string           `json:"tool_name,omitempty"`
	Task        *core.TaskMark   `json:"task,omitempty"` // the text of a due task, not typed
	Unfinished  core.Finish      `json:"unfinished,omitempty"`
	Revisions   []revisionLine   `json:"revisions,omitempty"`
}

type fileLine struct {
	Kind       string `json:"kind"`
	Name       string `json:"name,omitempty"`
	MIME       string `json:"mime,omitempty"`
	Size       int64  `json:"size,omitempty"`
	Path       string `json:"path,omitempty"` // below media/
	Transcript string `json:"transcript,omitempty"`
}

// pageLine is a page of a document in files.jsonl.
type pageLine struct {
	Message    core.MessageID `json:"message"`
	Attachment int            `json:"attachment"` // of the message, from 1
	Name       string         `json:"name,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Page       int            `json:"page"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text"`
}

type revisionLine struct {
	Text       string    `json:"text"`
	ReplacedAt time.Time `json:"replaced_at"`
}
