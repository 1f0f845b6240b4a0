package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Reader reads an archive from its beginning to its end, and trusts none of it.
type Reader struct {
	Manifest Manifest
	Rows     map[string]int64 // of tables, by the lists so far

	zstd   *zstd.Decoder
	tar    *tar.Reader
	name   string // the current entry
	body   io.Reader
	sum    hash.Hash
	size   int64
	seen   []Entry // since the last list
	lists  int
	totals totals
	ended  bool
}

// NewReader reads the manifest of an archive. A file that is no backup, or has a newer
// format, is an error that says so.
func NewReader(r io.Reader) (*Reader, error) {
	z, err := zstd.NewReader(bufio.NewReaderSize(r, 1<<20), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	a := &Reader{zstd: z, tar: tar.NewReader(z), Rows: map[string]int64{}}
	h, err := a.header()
	if err != nil || h.Name != manifestName {
		z.Close()
		return nil, errNotOurs
	}
	a.begin(h)
	if err = a.text(&a.Manifest); err == nil {
		err = a.Manifest.check()
	}
	if err != nil {
		z.Close()
		return nil, err
	}
	return a, nil
}

// check refuses manifests that this program does not understand.
func (m Manifest) check() error {
	switch {
	case m.Format > format:
		return fmt.Errorf(
			"the backup was made by everthread %s, in a format that this version does not know; restore it with that version or a later one", m.Program)
	case m.Format < 1 || m.Engine != SQLite && m.Engine != Postgres:
		return errNotOurs
	}
	return nil
}

// Close ends the reading.
func (a *Reader) Close() { a.zstd.Close() }

// Next goes to the next entry, after reading the rest of the current one. io.EOF
// after the last entry means that the archive is complete and undamaged.
func (a *Reader) Next() (Entry, io.Reader, error) {
	for !a.ended {
		if err := a.finish(); err != nil {
			return Entry{}, nil, err
		}
		h, err := a.header()
		if err != nil {
			return Entry{}, nil, a.damaged(err)
		}
		a.begin(h)
		switch {
		case h.Name == endName:
			err = a.end()
		case h.Name == listName(a.lists+1):
			err = a.list()
		case validName(h.Name):
			a.sum = sha256.New()
			return Entry{Name: h.Name, Size: h.Size}, a.body, nil
		default:
			err = errors.New("a backup of everthread has no such entry")
		}
		if err != nil {
			return Entry{}, nil, a.damaged(err)
		}
	}
	return Entry{}, nil, io.EOF
}

// header reads the next header.
func (a *Reader) header() (*tar.Header, error) {
	h, err := a.tar.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 {
		return nil, fmt.Errorf("%.80q is not a regular file", h.Name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return nil, fmt.Errorf("%.80q has holes", h.Name)
		}
	}
	return h, nil
}

func (a *Reader) begin(h *tar.Header) {
	a.name, a.size, a.sum = h.Name, h.Size, nil
	a.body = entryReader{a}
}

// entryReader reads the body of the current entry.
type entryReader struct{ a *Reader }

// Read reads. Its errors are *Damaged.
func (e entryReader) Read(p []byte) (int, error) {
	n, err := e.a.tar.Read(p)
	if e.a.sum != nil {
		e.a.sum.Write(p[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = e.a.damaged(err)
	}
	return n, err
}

// damaged returns an error about the current entry.
func (a *Reader) damaged(err error) error {
	var known *Damaged
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	}
	return &Damaged{Entry: a.name, Err: err}
}

// finish reads the rest of an entry and records its digest.
func (a *Reader) finish() error {
	if a.sum == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, a.body); err != nil {
		return err
	}
	a.seen = append(a.seen, Entry{Name: a.name, Size: a.size, SHA256: hex.EncodeToString(a.sum.Sum(nil))})
	a.totals.Entries++
	a.totals.Bytes += a.size
	a.sum = nil
	if len(a.seen) > 2*listLength {
		return a.damaged(errors.New("the list of contents is missing"))
	}
	return nil
}

// text decodes a control entry.
func (a *Reader) text(v any) error {
	b, err := a.all()
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	return a.damaged(err)
}

func (a *Reader) all() ([]byte, error) {
	if a.size > maxText {
		return nil, errors.New("it is too large")
	}
	return io.ReadAll(a.body)
}

// list compares the entries since the last list with this one.
func (a *Reader) list() error {
	b, err := a.all()
	if err != nil {
		return err
	}
	a.lists++
	dec := json.NewDecoder(bytes.NewReader(b))
	for _, seen := range a.seen {
		var written Entry
		if err := dec.Decode(&written); err != nil {
			return err
		}
		if written.Name != seen.Name || written.Size != seen.Size || written.SHA256 != seen.SHA256 {
			return &Damaged{Entry: seen.Name, Err: errOther}
		}
		for table, n := range written.Rows {
			a.Rows[table] += n
		}
		if len(a.Rows) > maxTables {
			return errors.New("it has too many tables")
		}
	}
	if dec.More() {
		return errors.New("entries are missing")
	}
	a.seen = a.seen[:0]
	return nil
}

// end checks that nothing is missing, and nothing follows.
func (a *Reader) end() error {
	var want totals
	if err := a.text(&want); err != nil {
		return err
	}
	if want != a.totals || len(a.seen) > 0 {
		return errors.New("entries are missing")
	}
	if _, err := a.tar.Next(); err != io.EOF {
		return errors.New("there is data after the end")
	}
	if n, err := io.Copy(io.Discard, a.zstd); err != nil || n > tarPadding {
		return errors.Join(err, errOther)
	}
	a.ended = true
	return nil
}

// tarPadding bounds the padding at the end of a tar archive, in bytes.
const tarPadding = 20 * 512

// validName reports whether an entry may have a name: on no system it leaves the target folder.
func validName(name string) bool {
	if name == databaseName || name == dumpName || name == secretName {
		return true
	}
	return strings.HasPrefix(name, mediaName+"/") && fs.ValidPath(name) && !strings.ContainsAny(name, "\\:\x00") &&
		filepath.IsLocal(filepath.FromSlash(name))
}
