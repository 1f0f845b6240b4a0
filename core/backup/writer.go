package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Sizes that bound the memory of writing and reading.
const (
	windowSize = 4 << 20  // of the compression
	maxWindow  = 64 << 20 // of the compression, when reading
	listLength = 512      // entries of a list of contents
	frameSize  = 1 << 20  // least size of a frame with its own checksum
	maxText    = 16 << 20 // of a manifest or a list
	maxTables  = 10_000   // with counted rows
)

// writer writes an archive.
type writer struct {
	out    io.Writer
	zstd   *zstd.Encoder
	tar    *tar.Writer
	made   time.Time
	listed []Entry // since the last list
	lists  int
	frame  int64 // bytes since the frame began
	totals totals
}

func newWriter(out io.Writer, m Manifest) (*writer, error) {
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	w := &writer{out: out, zstd: z, tar: tar.NewWriter(z), made: m.Made}
	if err := w.json(manifestName, m); err != nil {
		return nil, err
	}
	return w, w.cut(frameSize)
}

// json writes a control entry, which is in no list.
func (w *writer) json(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(name, int64(len(text)), bytes.NewReader(text))
}

// add writes an entry of size bytes and lists it.
func (w *writer) add(name string, size int64, r io.Reader) error {
	if len(w.listed) >= listLength {
		if err := w.list(); err != nil {
			return err
		}
	}
	sum := sha256.New()
	if err := w.write(name, size, io.TeeReader(r, sum)); err != nil {
		return err
	}
	w.listed = append(w.listed, Entry{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	w.totals.Entries++
	w.totals.Bytes += size
	return nil
}

// rows sets the numbers of rows of the tables that the last entry completes.
func (w *writer) rows(rows map[string]int64) {
	if len(w.listed) > 0 {
		w.listed[len(w.listed)-1].Rows = rows
	}
}

// list writes the list of the entries since the last one.
func (w *writer) list() error {
	if len(w.listed) == 0 {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, e := range w.listed {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	w.lists++
	w.listed = w.listed[:0]
	return w.write(listName(w.lists), int64(text.Len()), &text)
}

func listName(n int) string { return fmt.Sprintf("contents/%06d.jsonl", n) }

func (w *writer) write(name string, size int64, r io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.made, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, io.LimitReader(r, size))
	if err == nil && n < size {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	if err == nil {
		err = w.tar.Flush()
	}
	if err != nil {
		return err
	}
	return w.cut(size)
}

// cut begins a new frame if this one is large enough. Each frame has its own checksum, so that damage can be located.
func (w *writer) cut(size int64) error {
	if w.frame += size; w.frame < frameSize {
		return nil
	}
	w.frame = 0
	err := w.zstd.Close()
	w.zstd.Reset(w.out)
	return err
}

// close writes the end.
func (w *writer) close() error {
	if err := w.list(); err != nil {
		return err
	}
	if err := w.json(endName, w.totals); err != nil {
		return err
	}
	if err := w.tar.Close(); err != nil {
		return err
	}
	return w.zstd.Close()
}
