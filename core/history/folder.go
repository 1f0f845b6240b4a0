package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/everthread/everthread/core"
)

// Reasons for leaving out files of a folder; keys of the catalogues.
const (
	oddKind   = "files of its kind are not read"
	tooLarge  = "it is larger than media.max_bytes"
	unread    = "it cannot be read"
	emptyFile = "it is empty"
)

// readFiles reads a folder of documents. Each becomes a message of the user at the time
// of the file's last change, identified by its name and content.
func readFiles(a *Archive, names []string, o Options, out output) error {
	for _, name := range names {
		data, err := a.whole(name, o.Max)
		switch {
		case errors.Is(err, errLarge):
			out.left(name, tooLarge)
			continue
		case err != nil:
			out.left(name, unread)
			continue
		case len(data) == 0:
			out.left(name, emptyFile)
			continue
		case o.Kind == nil || o.Kind(name, data) == "":
			out.left(name, oddKind)
			continue
		}
		at := a.changed(name)
		if at.Year() < earliest || at.After(o.Now) {
			at = o.Now
		}
		digest := sha256.Sum256(data)
		base := path.Base(name)
		err = out.line(Line{Chat: "files", ID: name + " " + hex.EncodeToString(digest[:12]), At: at, Role: core.RoleUser,
			Told: true, Text: "[document " + base + "]", Place: name,
			Files: []File{{Kind: "document", Name: base, Entry: name}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// whole reads a file of at most limit bytes.
func (a *Archive) whole(name string, limit int64) ([]byte, error) {
	r, err := a.file(name, limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// changed returns the time of a file's last change, zero if unknown.
func (a *Archive) changed(name string) time.Time {
	if a.zip != nil {
		return a.files[name].Modified
	}
	info, err := fs.Stat(a.root.FS(), name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
