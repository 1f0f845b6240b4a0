package backup_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/internal/fulltest"
)

// many writes an archive of n empty files, each in its own folder.
func many(out io.Writer, n int) error {
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	sum := sha256.New()
	add := func(name, text string) {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, wrote := io.WriteString(w, text)
		err = errors.Join(err, wrote)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	manifest, _ := json.Marshal(backup.Manifest{Format: 1, Program: "v1", Schema: 1, Engine: backup.SQLite})
	add("manifest.json", string(manifest))
	for i := range n {
		add(fmt.Sprintf("media/%d/file", i), "")
	}
	add("end.json", fmt.Sprintf(`{"entries":%d,"bytes":0,"sha256":"%x"}`, n, sum.Sum(nil)))
	return errors.Join(err, w.Close(), z.Close())
}

// TestReader_veryManyEntries reads an archive with very many files in little memory. It is not parallel,
// because it measures the memory of the process.
func TestReader_veryManyEntries(t *testing.T) {
	n := fulltest.Size(4_000, 200_000)
	r, w := io.Pipe()
	wrote := make(chan error, 1)
	go func() { wrote <- errors.Join(many(w, n), w.Close()) }()
	a, err := backup.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, read := live(), 0
	for {
		if _, _, err = a.Next(); err != nil {
			break
		}
		if read++; read%(n/4) == 0 {
			if now := live(); now > before+(16<<20) {
				t.Errorf("after %d entries it holds %d MiB more", read, (now-before)>>20)
			}
		}
	}
	if !errors.Is(err, io.EOF) || read != n || <-wrote != nil {
		t.Errorf("%d of %d entries were read: %v", read, n, err)
	}
}
