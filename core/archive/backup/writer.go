package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Sizes that bound the memory of writing and reading.
const (
	windowSize = 4 << 20  // of the compression
	maxWindow  = 64 << 20 // of the compression, when reading
	frameSize  = 1 << 20  // least size of a frame with its own checksum
	maxText    = 16 << 20 // of a manifest or the totals
)

// writer writes an archive.
type writer struct {
	out    io.Writer
	zstd   *zstd.Encoder
	tar    *tar.Writer
	made   time.Time
	frame  int64 // bytes since the frame began
	sum    hash.Hash
	totals totals
}

func newWriter(out io.Writer, m Manifest) (*writer, error) {
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	w := &writer{out: out, zstd: z, tar: tar.NewWriter(z), made: m.Made, sum: sha256.New()}
	if err := w.json(manifestName, m); err != nil {
		return nil, err
	}
	return w, w.cut(frameSize)
}

// json writes an entry about the archive itself.
func (w *writer) json(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(name, int64(len(text)), bytes.NewReader(text))
}

// add writes an entry of size bytes.
func (w *writer) add(name string, size int64, r io.Reader) error {
	w.totals.Entries++
	w.totals.Bytes += size
	return w.write(name, size, r)
}

func (w *writer) write(name string, size int64, r io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.made, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, io.TeeReader(io.LimitReader(r, size), begun(w.sum, name, size)))
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

// begun adds the beginning of an entry to the sum of an archive, and returns the sum for its body.
func begun(sum hash.Hash, name string, size int64) hash.Hash {
	fmt.Fprintf(sum, "%s %d\n", name, size)
	return sum
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
	w.totals.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.json(endName, w.totals); err != nil {
		return err
	}
	if err := w.tar.Close(); err != nil {
		return err
	}
	return w.zstd.Close()
}
