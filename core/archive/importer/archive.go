package importer

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Bounds of archives.
const (
	maxEntries = 200_000
	// maxListing bounds the list of files of a ZIP file: names and comments take memory.
	maxListing = 128 << 20
	// maxRatio bounds the size of a compressed text by its compressed size, beyond freeSize.
	maxRatio = 200
	freeSize = 64 << 20
	// maxElement bounds one message, or one conversation where these are decoded whole.
	maxElement = 64 << 20
)

// Archive is the export of a service: a text or JSON file and others, a folder, or a ZIP file.
type Archive struct {
	name  string // of the file or folder
	main  string // the name of a single file
	root  *os.Root
	zip   *zip.Reader
	pack  *os.File // of zip
	files map[string]*zip.File
	names []string
}

// Open opens the archive at a path. The caller closes it.
func Open(file string) (*Archive, error) {
	a, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	a.name = filepath.Base(file)
	return a, nil
}

func open(file string) (*Archive, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openFolder(file)
	case packed(file):
		return openZIP(file)
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	name := filepath.Base(file)
	return &Archive{main: name, root: root, names: []string{name}}, nil
}

// packed reports whether a file begins like a ZIP file.
func packed(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "PK\x03\x04"
}

func openFolder(dir string) (*Archive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	a := &Archive{root: root}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			a.names = append(a.names, name)
		}
		if len(a.names) > maxEntries {
			return errMany
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return a, nil
}

func openZIP(file string) (*Archive, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	z, err := readDirectory(f)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("its list of files cannot be read; is it complete? Download it again")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a := &Archive{zip: z, pack: f, files: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		if !f.FileInfo().IsDir() && a.files[f.Name] == nil {
			a.files[f.Name] = f
			a.names = append(a.names, f.Name)
		}
	}
	slices.Sort(a.names)
	return a, nil
}

// readDirectory reads the list of files of a ZIP file, within bounds: each takes memory.
func readDirectory(f *os.File) (*zip.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c := &listing{ReaderAt: f, counting: true}
	z, err := zip.NewReader(c, info.Size())
	c.counting = false
	if errors.Is(err, zip.ErrInsecurePath) { // names are no paths here
		err = nil
	}
	return z, err
}

// listing counts the entries of a ZIP file while its list is read, as its length may be false.
type listing struct {
	io.ReaderAt
	counting bool
	entries  int
	read     int
}

// ReadAt reads, and fails if there are too many entries.
func (l *listing) ReadAt(p []byte, at int64) (int, error) {
	n, err := l.ReaderAt.ReadAt(p, at)
	if !l.counting {
		return n, err
	}
	l.entries += bytes.Count(p[:n], []byte("PK\x01\x02"))
	l.read += n
	switch {
	case l.entries > maxEntries || claimed(p[:n]) > maxEntries:
		return 0, errMany
	case l.read > maxListing:
		return 0, fmt.Errorf("the names of its files take more than %s", text.Bytes(maxListing))
	}
	return n, err
}

// claimed returns the number of files in the end record of a long list, else 0. The
// library allocates memory for as many before it reads them.
func claimed(end []byte) uint64 {
	if len(end) < 40 || string(end[:4]) != "PK\x06\x06" {
		return 0
	}
	return binary.LittleEndian.Uint64(end[32:])
}

// Close closes the archive.
func (a *Archive) Close() error {
	if a.zip != nil {
		return a.pack.Close()
	}
	return a.root.Close()
}

// find returns the files whose base names are wanted, or the only file of an archive.
func (a *Archive) find(wanted func(base string) bool) []string {
	if a.main != "" {
		return []string{a.main}
	}
	var out []string
	for _, name := range a.names {
		base := path.Base(name)
		if wanted(base) && !strings.HasPrefix(base, ".") && !strings.HasPrefix(name, "__MACOSX/") {
			out = append(out, name)
		}
	}
	return out
}

// open opens a file. fs.ErrNotExist: there is none of that name.
func (a *Archive) open(name string) (io.ReadCloser, error) {
	if a.zip == nil {
		return a.root.Open(name)
	}
	if f := a.files[name]; f != nil {
		return f.Open()
	}
	return nil, fs.ErrNotExist
}

// text opens a text file, within bounds.
func (a *Archive) text(name string) (io.ReadCloser, error) {
	r, err := a.open(name)
	if err != nil || a.zip == nil {
		return r, err
	}
	return &bounded{r, freeSize + maxRatio*int64(a.files[name].CompressedSize64)}, nil
}

// file opens a file of at most limit bytes. fs.ErrNotExist: there is no regular file of that name.
func (a *Archive) file(name string, limit int64) (io.ReadCloser, error) {
	switch size, there := a.size(name); {
	case !there:
		return nil, fs.ErrNotExist
	case size > limit:
		return nil, errLarge
	}
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	return &bounded{r, limit}, nil
}

// nothing returns the error of an archive without messages, and the likely reason; first is the first part left out.
func (a *Archive) nothing(first *Left) error {
	for _, name := range a.names[:min(len(a.names), 100)] {
		if a.wide(name) {
			return fmt.Errorf("%w: %s is UTF-16; save it as UTF-8", errNothing, path.Base(name))
		}
	}
	switch {
	case first != nil && first.Place == "":
		return fmt.Errorf("%w (%s)", errNothing, first.Why)
	case first != nil:
		return fmt.Errorf("%w (%s: %s)", errNothing, first.Place, first.Why)
	}
	return errNothing
}

// wide reports whether a file begins like text in UTF-16.
func (a *Archive) wide(name string) bool {
	r, err := a.text(name)
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(r, head)
	return err == nil && (string(head) == "\xff\xfe" || string(head) == "\xfe\xff")
}

// stops reports whether a text ends within a line. A compressed one is never cut off.
func (a *Archive) stops(name string) bool {
	if a.zip != nil {
		return false
	}
	f, err := a.root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	last := make([]byte, 1)
	if _, err = f.Seek(-1, io.SeekEnd); err == nil {
		_, err = io.ReadFull(f, last)
	}
	return err == nil && last[0] != '\n'
}

// beside returns the name of a file in the folder of another.
func beside(name, other string) string { return path.Join(path.Dir(name), other) }

// errMany means that an archive has more than maxEntries files.
var errMany = fmt.Errorf("it has more than %d files; unpack it, and give the text or JSON file in it alone", maxEntries)

// errLarge means that a file or element exceeds its bound.
var errLarge = errors.New("it is too large")

// bounded is a reader that fails with errLarge after left bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read reads within the bound.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLarge
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, err
}

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
