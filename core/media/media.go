// Package media keeps attachments: it downloads those that came with messages, has
// recordings written down, keeps what tools and pages make, and bounds how much of it
// there is of a user.
package media

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// Store is what is known of attachments.
type Store interface {
	core.MediaStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Transcriber writes down what is said in a recording.
type Transcriber interface {
	Transcribe(ctx context.Context, r core.Recording) (string, error)
}

// Files keeps attachments below a folder, those of each user in one of their own. It is
// safe for concurrent use.
type Files struct {
	Store Store
	Users core.Users
	Jobs  *job.Worker
	// Fetchers download what came with messages, by the names of their channels.
	Fetchers map[string]core.Fetcher
	// Doors are channels of our own, whose files are here before their messages.
	Doors []string
	// Transcriber writes down voice notes; nil: nobody does.
	Transcriber Transcriber
	Longest     time.Duration // of a recording that is written down; 0: any
	Tokens      core.Tokenizer
	Dir         string
	Max         int64         // bytes of a file
	PerUser     int64         // bytes of all files of a user; 0: no limit
	Wait        time.Duration // that Loaded waits at most
	// Kind says what kind of document a file is; empty: none whose text is read. nil: no
	// text is read.
	Kind func(name, media string, data []byte) string
	Log  *zap.Logger
	Now  func() time.Time

	space space
}

// KeepFile stores the n-th file that a call of a tool made, for the reply. What is said
// to be a picture, or looks like one, has to be one.
func (m *Files) KeepFile(ctx context.Context, use core.ToolUse, n int, f core.File) (a core.Attachment, err error) {
	if major(f.MIME) == "image" || major(http.DetectContentType(f.Data)) == "image" {
		if f.MIME, err = checkPicture(f.Data); err != nil {
			return a, err
		}
	}
	return m.keepAs(ctx, use.User, fmt.Sprintf("turn-%d-%d-%d-%d", use.Turn, use.Step, use.Index, n), f)
}

// Keep stores a file that a person sent to a page of ours, for their message.
// core.ErrNoRoom: theirs take as much as they may already.
func (m *Files) Keep(ctx context.Context, u core.UserID, f core.File) (core.Attachment, error) {
	return m.keepAs(ctx, u, "upload-"+strings.ToLower(rand.Text()), f)
}

// KeepVoice stores a voice note that a person recorded on a page of ours, for their
// message. What is said in it is written down once the message has come.
func (m *Files) KeepVoice(ctx context.Context, u core.UserID, f core.File,
	long time.Duration) (core.Attachment, error) {
	a, err := m.Keep(ctx, u, f)
	a.Kind, a.Duration = "voice", long
	if m.Transcriber != nil {
		a.Ref, a.Unheard = a.Path, m.Now()
	}
	return a, err
}

// Speech is a recording of an answer.
type Speech struct {
	MIME     string // audio/ogg: a voice note in OGG/Opus
	Duration time.Duration
	Data     []byte
}

// KeepSpeech stores the recording of an answer, in the place of one from an attempt before.
func (m *Files) KeepSpeech(ctx context.Context, u core.UserID, id core.MessageID, s Speech) (core.Attachment, error) {
	a, err := m.keepAs(ctx, u, fmt.Sprintf("speech-%d", id), core.File{MIME: s.MIME, Data: s.Data})
	a.Duration = s.Duration
	if a.MIME == "audio/ogg" {
		a.Kind, a.Name = "voice", "voice.ogg"
	}
	return a, err
}

// keepAs stores a file below a user's media folder.
func (m *Files) keepAs(ctx context.Context, u core.UserID, name string, f core.File) (core.Attachment, error) {
	if int64(len(f.Data)) > m.Max {
		return core.Attachment{}, fmt.Errorf("it is larger than %d bytes", m.Max)
	}
	if err := m.spaceFor(ctx, u, int64(len(f.Data))); err != nil {
		return core.Attachment{}, err
	}
	a := core.Attachment{Name: f.Name, Alt: f.Alt, MIME: sniffed(f.MIME, http.DetectContentType(f.Data)),
		Size: int64(len(f.Data))}
	a.Kind = map[string]string{"image": "photo", "audio": "audio", "video": "video"}[major(a.MIME)]
	if a.Kind == "" {
		a.Kind = "document"
	}
	if a.Name == "" {
		a.Name = a.Kind + ending(a.MIME)
	}
	m.look(&a, f.Data)
	var err error
	a.Path, err = m.write(filepath.Join(fmt.Sprint(int64(u)), name), f.Data)
	return a, err
}

// look has the text of a document read later, or says that it is of no kind that is read.
func (m *Files) look(a *core.Attachment, data []byte) {
	if m.Kind == nil || a.Kind != "document" || a.Document != nil || len(data) == 0 {
		return
	}
	switch major(a.MIME) {
	case "image", "audio", "video":
		return
	}
	if kind := m.Kind(a.Name, a.MIME, data); kind != "" {
		a.Document = &core.Document{Kind: kind, State: core.DocumentReading}
		return
	}
	a.Document = &core.Document{State: core.DocumentRead, Problem: core.DocumentKind}
}

// ending is the ending of a file's name by its type.
func ending(media string) string {
	base, _, _ := mime.ParseMediaType(media)
	switch base {
	case "image/jpeg":
		return ".jpg"
	case "audio/mpeg":
		return ".mp3"
	case "text/plain":
		return ".txt"
	}
	all, err := mime.ExtensionsByType(base)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0]
}

// write stores data durably below the folder, and returns its name there.
func (m *Files) write(name string, data []byte) (string, error) {
	path := filepath.Join(m.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the media folder: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return "", fmt.Errorf("store attachment: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("store attachment: %w", err)
	}
	return name, nil
}

// Read returns the content of a file by its name.
func (m *Files) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(m.Dir, filepath.Clean("/"+name)))
}

// Remove removes files by their names, such as those of attachments that were redacted.
func (m *Files) Remove(names []string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		err := os.Remove(filepath.Join(m.Dir, filepath.Clean("/"+name)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove attachment: %w", err)
		}
	}
	return nil
}
