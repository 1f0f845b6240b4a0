package backup

import (
	"archive/tar"
	"bufio"
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
	Rows     map[string]int64 // of tables, at the end

	zstd   *zstd.Decoder
	tar    *tar.Reader
	name   string    // the current entry
	body   io.Reader // of the current entry
	size   int64
	sum    hash.Hash
	totals totals // so far
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
	a := &Reader{zstd: z, tar: tar.NewReader(z), sum: sha256.New()}
	h, err := a.header()
	if err != nil || h.Name != manifestName {
		z.Close()
		if lost, ok := errors.AsType[*Lost](err); ok {
			return nil, lost
		}
		if errors.Is(err, errTampered) {
			return nil, &Damaged{Entry: manifestName, Err: errTampered}
		}
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
		if _, err := io.Copy(io.Discard, a.body); err != nil {
			return Entry{}, nil, err
		}
		h, err := a.header()
		if err != nil {
			return Entry{}, nil, a.damaged(err)
		}
		sum := hex.EncodeToString(a.sum.Sum(nil))
		a.begin(h)
		switch {
		case h.Name == endName:
			err = a.end(sum)
		case validName(h.Name):
			a.totals.Entries++
			a.totals.Bytes += h.Size
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
	a.name, a.size, a.body = h.Name, h.Size, entryReader{a}
	begun(a.sum, h.Name, h.Size)
}

// entryReader reads the body of the current entry.
type entryReader struct{ a *Reader }

// Read reads. Its errors are *Damaged.
func (e entryReader) Read(p []byte) (int, error) {
	n, err := e.a.tar.Read(p)
	e.a.sum.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		err = e.a.damaged(err)
	}
	return n, err
}

// damaged returns an error about the current entry.
func (a *Reader) damaged(err error) error {
	var known *Damaged
	var lost *Lost
	switch {
	case err == nil || errors.As(err, &known) || errors.As(err, &lost):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	}
	return &Damaged{Entry: a.name, Err: err}
}

// text decodes an entry about the archive itself.
func (a *Reader) text(v any) error {
	if a.size > maxText {
		return a.damaged(errors.New("it is too large"))
	}
	b, err := io.ReadAll(a.body)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	return a.damaged(err)
}

// end checks that nothing is missing or changed, and nothing follows. sum is that of what came before.
func (a *Reader) end(sum string) error {
	var want totals
	if err := a.text(&want); err != nil {
		return err
	}
	switch {
	case want.Entries != a.totals.Entries || want.Bytes != a.totals.Bytes:
		return errors.New("entries are missing")
	case want.SHA256 != sum:
		return errors.New("what comes before it is not what was written")
	}
	if _, err := a.tar.Next(); err != io.EOF {
		return errors.New("there is data after the end")
	}
	if n, err := io.Copy(io.Discard, a.zstd); err != nil || n > tarPadding {
		return errors.Join(err, errors.New("there is data after the end"))
	}
	a.Rows, a.ended = want.Rows, true
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
