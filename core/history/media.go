package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"

	"github.com/everthread/everthread/core"
)

// Media is where the files of messages are kept.
type Media struct {
	Dir string // data_dir/media
	Max int64  // bytes of one file
}

// has tells whether a file is there.
func (a *Archive) has(name string) bool {
	if a.zip != nil {
		return a.files[name] != nil
	}
	if !filepath.IsLocal(name) {
		return false
	}
	info, err := a.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// bringFiles copies the files of a batch, and notes where they are, or why not.
func (r *run) bringFiles(b *batch) error {
	for n := range b.Messages {
		m := &b.Messages[n]
		for i, f := range b.files[n] {
			a, err := r.bringFile(f, fmt.Sprintf("import-%s-%d", m.Key, i))
			if err != nil {
				return err
			}
			m.Attachments = append(m.Attachments, a)
		}
	}
	return nil
}

// bringFile copies one file. That it is not there, or too large, is noted.
func (r *run) bringFile(f File, name string) (core.Attachment, error) {
	a := core.Attachment{Kind: f.Kind, Name: f.Name, MIME: f.MIME, Duration: f.Duration, Transcript: f.Transcript}
	file := path.Join(fmt.Sprint(int64(r.User.ID)), name)
	err := fs.ErrNotExist
	if f.Entry != "" {
		a.Size, a.MIME, err = r.Media.keep(r.archive, f, file)
	}
	switch {
	case err == nil:
		a.Path = file
		r.result.Files++
		return a, nil
	case errors.Is(err, fs.ErrNotExist):
		a.Error = "it was not in the archive"
	case errors.Is(err, errLarge):
		a.Error = fmt.Sprintf("it is larger than %d bytes", r.Media.Max)
	default:
		return a, fmt.Errorf("copy %s: %w", f.Name, err)
	}
	if len(r.result.Missing) < shownLeft && f.Name != "" {
		r.result.Missing = append(r.result.Missing, f.Name+": "+a.Error)
	}
	return a, nil
}

// keep copies a file of an archive below Dir, unless it is there already.
func (m *Media) keep(a *Archive, f File, to string) (size int64, kind string, err error) {
	in, err := a.file(f.Entry, m.Max)
	if err != nil {
		return 0, f.MIME, err
	}
	defer in.Close()
	target := filepath.Join(m.Dir, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return 0, "", err
	}
	out, err := os.CreateTemp(filepath.Dir(target), ".import-*")
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(out.Name())
	head := make([]byte, 512)
	n, err := io.ReadFull(in, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err == nil {
		_, err = out.Write(head[:n])
	}
	rest, copied := int64(0), error(nil)
	if err == nil {
		rest, copied = io.Copy(out, in)
	}
	err = errors.Join(err, copied, out.Sync(), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), target)
	}
	return int64(n) + rest, sniffed(f, head[:n]), err
}

// sniffed is the type of a file: what it begins with, or, where that says little,
// what its name does.
func sniffed(f File, head []byte) string {
	kind := http.DetectContentType(head)
	if kind != "application/octet-stream" && kind != "text/plain; charset=utf-8" {
		return kind
	}
	if named := mime.TypeByExtension(path.Ext(f.Name)); named != "" {
		return named
	}
	return kind
}
