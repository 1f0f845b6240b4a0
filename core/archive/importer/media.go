package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
)

// Media stores the files of messages.
type Media struct {
	Dir string // data_dir/media
	Max int64  // bytes of one file
	// Kind returns the kind of document of a file, empty if its text cannot be read; nil: none can.
	Kind func(name string, data []byte) string
	// Disk wraps the files that are written, for tests; may be nil.
	Disk disk.Wrap
}

// Partial copies of files, and the age at which they are abandoned.
const (
	partialPattern = ".import-*"
	partialAge     = time.Hour
)

// sweep removes the partial copies of a user's files that killed imports left.
func (m *Media) sweep(user core.UserID, now time.Time) {
	left, err := filepath.Glob(filepath.Join(m.Dir, folderOf(user), partialPattern))
	if err != nil {
		return // the folder's name is a bad pattern: the files stay
	}
	for _, name := range left {
		if info, err := os.Lstat(name); err == nil && now.Sub(info.ModTime()) > partialAge {
			_ = os.Remove(name)
		}
	}
}

func folderOf(user core.UserID) string { return strconv.FormatInt(int64(user), 10) }

// size returns the size of a file of the archive; a ZIP file may lie about it.
func (a *Archive) size(name string) (bytes int64, there bool) {
	if a.zip != nil {
		f := a.files[name]
		if f == nil {
			return 0, false
		}
		return int64(min(f.UncompressedSize64, math.MaxInt64)), true
	}
	if !filepath.IsLocal(name) {
		return 0, false
	}
	info, err := a.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// mediaRatio bounds the files of a ZIP file by its own size plus that of its largest
// file: one that names a file in very many messages is a bomb.
const mediaRatio = 50

// errBomb means that the files of an archive exceed its room.
var errBomb = errors.New("the files of the archive take too much")

// room returns the bytes that all files of an archive may take. Each has at most largest.
func (a *Archive) room(largest int64) int64 {
	if a.zip == nil {
		return math.MaxInt64
	}
	info, err := a.pack.Stat()
	if err != nil {
		return mediaRatio * largest
	}
	return mediaRatio * (largest + info.Size())
}

// bringFiles copies the files of a batch, and records their paths or why they are missing.
func (r *run) bringFiles(b *batch) error {
	for n := range b.Messages {
		m := &b.Messages[n]
		for i, f := range b.files[n] {
			a, err := r.bringFile(b, f, fmt.Sprintf("import-%s-%d", m.Key, i))
			if err != nil {
				return err
			}
			m.Attachments = append(m.Attachments, a)
		}
	}
	return nil
}

// bringFile copies one file. If it is missing or unreadable, the attachment says so.
func (r *run) bringFile(b *batch, f File, name string) (core.Attachment, error) {
	a := core.Attachment{Kind: f.Kind, Name: f.Name, MIME: f.MIME, Duration: f.Duration, Transcript: f.Transcript}
	file := path.Join(folderOf(r.User.ID), name)
	in, err := r.open(f)
	if err == nil {
		defer in.Close()
		_, was := os.Lstat(r.Media.path(file))
		a.Size, a.MIME, err = r.Media.keep(in, f, r.Media.path(file))
		if err != nil && in.err == nil {
			return a, fmt.Errorf("copy %s: %w", f.Name, disk.NoRoom(err, r.Media.Dir, max(r.wants-r.copied, a.Size)))
		}
		if err == nil {
			b.copied = append(b.copied, copied{file, was != nil})
			a.Path = file
			r.result.Files++
			r.copied += a.Size
			return a, r.Media.look(&a, file)
		}
	}
	a.Error = r.Media.missing(err)
	if len(r.result.Missing) < shownLeft && f.Name != "" {
		r.result.Missing = append(r.result.Missing, f.Name+": "+a.Error)
	}
	return a, nil
}

// look marks a document whose text is to be read.
func (m *Media) look(a *core.Attachment, file string) error {
	if m.Kind == nil || a.Kind != "document" {
		return nil
	}
	data, err := os.ReadFile(m.path(file))
	if err != nil {
		return err
	}
	if kind := m.Kind(a.Name, data); kind != "" {
		a.Document = &core.Document{Kind: kind, State: core.DocumentReading}
	}
	return nil
}

// missing describes why a file was not imported.
func (m *Media) missing(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it was not in the archive"
	case errors.Is(err, errLarge):
		return fmt.Sprintf("it is larger than %d bytes", m.Max)
	case errors.Is(err, errBomb):
		return err.Error()
	}
	return "it cannot be read"
}

// open opens a file of the archive.
func (r *run) open(f File) (*source, error) {
	switch {
	case len(f.Data) > 0 && int64(len(f.Data)) > r.Media.Max:
		return nil, errLarge
	case len(f.Data) > 0:
		return &source{ReadCloser: io.NopCloser(bytes.NewReader(f.Data))}, nil
	case f.Entry == "":
		return nil, fs.ErrNotExist
	case r.copied > r.room:
		return nil, errBomb
	}
	in, err := r.archive.file(f.Entry, r.Media.Max)
	return &source{ReadCloser: in}, err
}

// source keeps the error of reading: that is the fault of the archive, not of the disk.
type source struct {
	io.ReadCloser
	err error
}

// Read reads.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (m *Media) path(file string) string { return filepath.Join(m.Dir, filepath.FromSlash(file)) }

// keep writes a file under a temporary name, syncs and renames it. It returns its size and type.
func (m *Media) keep(in io.Reader, f File, target string) (size int64, kind string, err error) {
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return 0, "", err
	}
	opened, err := os.CreateTemp(filepath.Dir(target), partialPattern)
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(opened.Name())
	out := m.Disk.Take(opened)
	head := make([]byte, 512)
	n, err := io.ReadFull(in, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err == nil {
		size, err = io.Copy(out, io.MultiReader(bytes.NewReader(head[:n]), in))
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(opened.Name(), target)
	}
	return size, sniffed(f, head[:n]), err
}

type copied struct {
	file  string
	fresh bool // it did not exist before
}

// forget removes the files of a batch that was not stored, or of messages that were redacted since an earlier import.
func (r *run) forget(ctx context.Context, b *batch, out store.Imported, stored bool) error {
	if len(b.copied) == 0 {
		return nil
	}
	named := map[string]bool{}
	if stored {
		ms, err := r.Store.Messages(ctx, r.User.ID, out.Messages)
		if err != nil {
			return err
		}
		for _, m := range ms {
			for _, a := range m.Attachments {
				named[a.Path] = true
			}
		}
	}
	for _, c := range b.copied {
		if named[c.file] || !stored && !c.fresh {
			continue
		}
		r.result.Files--
		if err := os.Remove(r.Media.path(c.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file without a message: %w", err)
		}
	}
	return nil
}

// sniffed returns the type of a file by its first bytes, else by its name.
func sniffed(f File, head []byte) string {
	kind := http.DetectContentType(head)
	if kind != "application/octet-stream" && kind != "text/plain; charset=utf-8" {
		return kind
	}
	return cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), kind)
}
