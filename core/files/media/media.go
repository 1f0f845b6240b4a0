// Package media manages attachments: it downloads those of messages, transcribes recordings,
// stores files from tools and web pages, and bounds the size of each user's files.
package media

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
)

// Store is the part of a store that Files uses.
type Store interface {
	store.MediaStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Transcriber transcribes recordings.
type Transcriber interface {
	Transcribe(ctx context.Context, r core.Recording) (string, error)
}

// Files stores attachments below a folder, with one folder per user. It is safe for concurrent use.
type Files struct {
	Store Store
	Users core.Users
	Jobs  *job.Worker
	// Fetchers download the attachments of messages, by the names of their channels.
	Fetchers map[string]core.Fetcher
	// Doors are channels of our own, whose files are stored before their messages.
	Doors       []string
	Transcriber Transcriber   // nil: recordings are not transcribed
	Longest     time.Duration // of a recording that is transcribed; 0: no bound
	Tokens      core.Tokenizer
	Dir         string
	Max         int64         // bytes of a file
	PerUser     int64         // bytes of all files of a user; 0: no limit
	Wait        time.Duration // bound of Loaded and Readable
	// Kind returns the kind of a document; empty: its text is not read. nil: no text is read.
	Kind  func(name, media string, data []byte) string
	Crash core.Crash // nil outside tests
	Log   *zap.Logger
	Now   func() time.Time

	space space
}

// KeepFile stores the n-th file of a tool call, for the reply. A file that claims to be a
// picture, or looks like one, must be one.
func (m *Files) KeepFile(ctx context.Context, use core.ToolUse, n int, f core.File) (a core.Attachment, err error) {
	if major(f.MIME) == "image" || major(http.DetectContentType(f.Data)) == "image" {
		if f.MIME, err = checkPicture(f.Data); err != nil {
			return a, err
		}
	}
	return m.keepAs(ctx, use.User, fmt.Sprintf("turn-%d-%d-%d-%d", use.Turn, use.Step, use.Index, n), f)
}

// Keep stores a file that a person uploaded to a web page, for their message. It returns
// core.ErrNoRoom if the user's files have reached their bound.
func (m *Files) Keep(ctx context.Context, u core.UserID, f core.File) (core.Attachment, error) {
	return m.keepAs(ctx, u, "upload-"+strings.ToLower(rand.Text()), f)
}

// KeepVoice stores a voice note that a person recorded on a web page, for their message. It
// is transcribed after the message was received.
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

// KeepSpeech stores the recording of an answer, and replaces that of an earlier attempt.
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
	kinds := map[string]string{"image": "photo", "audio": "audio", "video": "video"}
	a.Kind = cmp.Or(kinds[major(a.MIME)], "document")
	a.Name = cmp.Or(a.Name, a.Kind+ending(a.MIME))
	m.classify(&a, f.Data)
	var err error
	a.Path, err = m.write(filepath.Join(fmt.Sprint(int64(u)), name), f.Data)
	return a, err
}

// classify marks a document whose text will be read, or one of a kind that is not read.
func (m *Files) classify(a *core.Attachment, data []byte) {
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

// ending returns the file extension of a type.
func ending(media string) string {
	base, _, _ := mime.ParseMediaType(media)
	usual := map[string]string{"image/jpeg": ".jpg", "audio/mpeg": ".mp3", "text/plain": ".txt"}
	all, _ := mime.ExtensionsByType(base) // none if it is malformed
	return cmp.Or(usual[base], append(all, "")[0])
}

// write stores data durably below the folder, and returns its name there.
func (m *Files) write(name string, data []byte) (string, error) {
	path := filepath.Join(m.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("create the media folder: %w", err)
	}
	if err := disk.WriteFile(path, data); err != nil {
		return "", fmt.Errorf("store attachment: %w", err)
	}
	return name, nil
}

// Read returns the content of a file by its name.
func (m *Files) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(m.Dir, filepath.Clean("/"+name)))
}

// Remove removes files by their names, such as those of redacted attachments.
func (m *Files) Remove(names []string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		m.Crash.At("removing")
		err := os.Remove(filepath.Join(m.Dir, filepath.Clean("/"+name)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove attachment: %w", err)
		}
	}
	return nil
}

// space caches the size of each user's files. It measures the files themselves, so that
// deletions, merges and restores count. Its zero value is ready.
type space struct {
	mu sync.Mutex
	of map[core.UserID]taken
}

type taken struct {
	bytes int64
	at    time.Time // when it was measured
}

// measuredFor is how long a process trusts a measurement: others may add files meanwhile.
const measuredFor = time.Minute

// spaceFor reserves n more bytes for a user's files, or returns a permanent core.ErrNoRoom. The owner has no bound.
func (m *Files) spaceFor(ctx context.Context, u core.UserID, n int64) error {
	most := m.PerUser
	if most <= 0 {
		return nil
	}
	who, err := m.Users.User(ctx, u)
	if err != nil {
		return fmt.Errorf("read the user of a file: %w", err)
	}
	if who.Role == core.RoleOwner {
		return nil
	}
	m.space.mu.Lock()
	defer m.space.mu.Unlock()
	t, known := m.space.of[u]
	if !known || m.Now().Sub(t.at) >= measuredFor || t.bytes+n > most {
		if t, err = m.measure(u); err != nil {
			return err
		}
	}
	if t.bytes+n > most {
		return &core.Permanent{Err: core.ErrNoRoom}
	}
	if m.space.of == nil {
		m.space.of = map[core.UserID]taken{}
	}
	t.bytes += n
	m.space.of[u] = t
	return nil
}

// measure adds up the sizes of a user's files.
func (m *Files) measure(u core.UserID) (taken, error) {
	t := taken{at: m.Now()}
	err := filepath.WalkDir(filepath.Join(m.Dir, fmt.Sprint(int64(u))), func(_ string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && !d.IsDir() {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile, or there is none yet
		}
		if info != nil {
			t.bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return t, fmt.Errorf("measure the files of a user: %w", err)
	}
	return t, nil
}
