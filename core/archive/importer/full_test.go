package importer_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/internal/fulltest"
)

// smallDisk has room for left more bytes. Writes beyond that fail, unless it is silent.
type smallDisk struct {
	left        int
	silent      bool // it drops bytes that do not fit, without an error
	sync, close error
}

func (d *smallDisk) take(f disk.File) disk.File { return onDisk{f, d} }

type onDisk struct {
	disk.File
	disk *smallDisk
}

func (f onDisk) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:min(len(p), f.disk.left)])
	if f.disk.left -= n; err == nil && n < len(p) && !f.disk.silent {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f onDisk) Sync() error  { return errors.Join(f.File.Sync(), f.disk.sync) }
func (f onDisk) Close() error { return errors.Join(f.File.Close(), f.disk.close) }

// album returns a chat export with the given number of files, each of size bytes.
func album(files, size int) map[string]string {
	var chat strings.Builder
	chat.WriteString(`{"name":"x","type":"bot_chat","id":7,"messages":[`)
	out := map[string]string{}
	for n := range files {
		if n > 0 {
			chat.WriteByte(',')
		}
		fmt.Fprintf(&chat,
			`{"id":%d,"type":"message","date_unixtime":"%d","from_id":"user1","file":"files/%d.bin","file_name":"%d.bin","text":"file %d"}`, n+1, 1709280060+n, n, n, n)
		out[fmt.Sprintf("files/%d.bin", n)] = strings.Repeat(string(rune('a'+n)), size)
	}
	out["result.json"] = chat.String() + "]}"
	return out
}

// spread writes files into a new folder and returns its path.
func spread(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// kept lists the files of a world, partial ones included.
func (w *world) kept() []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.media, "*", "*"))
	hidden, more := filepath.Glob(filepath.Join(w.media, "*", ".*"))
	if err := errors.Join(err, more); err != nil {
		w.t.Fatal(err)
	}
	return append(files, hidden...)
}

// run imports an archive onto a disk.
func (w *world) run(format, file string, d disk.Wrap) (importer.Result, error) {
	w.t.Helper()
	a, o := open(w.t, file), paris(w.t)
	s, err := importer.NewSurvey(a, format, o, "", w.u.Name, w.label)
	if err != nil {
		w.t.Fatal(err)
	}
	i := w.importer(w.st)
	i.Media.Disk = d
	return i.Run(w.t.Context(), a, format, o, s)
}

func TestMedia_withoutRoomSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	const files, size = 5, 100_000
	dir := spread(t, album(files, size))
	faults := map[string]*smallDisk{"sync": {left: 1 << 30, sync: syscall.EIO},
		"close": {left: 1 << 30, close: syscall.ENOSPC}, "short": {left: size / 2, silent: true},
		"a byte less": {left: files*size - 1}}
	for n := range 10 {
		faults[fmt.Sprint(n, " tenths")] = &smallDisk{left: files * size * n / 10}
	}
	for name, d := range faults {
		w := newWorld(t)
		out, err := w.run("telegram", dir, d.take)
		want := "there is no room in " + w.media
		switch name {
		case "sync":
			want = "input/output error"
		case "short":
			want = "short write"
		}
		if err == nil || !strings.HasPrefix(err.Error(), "copy ") || !strings.Contains(err.Error(), want) || disk.Full(err) &&
			!strings.Contains(err.Error(), " are needed: ") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if got := w.kept(); len(got) > 0 || out.Files != 0 {
			t.Errorf("%s: left %v, result %+v", name, got, out)
		}
		if name == "0 tenths" && !strings.Contains(err.Error(), "up to "+text.Bytes(files*size)+" are needed") {
			t.Errorf("%s: %v", name, err)
		}
		if out, err := w.run("telegram", dir, nil); err != nil || out.Fresh != files || out.Files != files ||
			len(w.kept()) != files {
			t.Errorf("%s, again: %+v, %v", name, out, err)
		}
	}
}

// TestMedia_fileWithoutName checks that a file that cannot be renamed is an error, and that the same
// import continues once it can be.
func TestMedia_fileWithoutName(t *testing.T) {
	t.Parallel()
	dir := spread(t, album(2, 10))
	first := newWorld(t)
	if _, err := first.run("telegram", dir, nil); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	taken := filepath.Join(w.media, "1", filepath.Base(first.kept()[0]), "in the way")
	if err := os.MkdirAll(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := w.run("telegram", dir, nil); err == nil || out.Fresh != 0 || len(w.kept()) != 1 {
		t.Errorf("got %+v, %v, with files %v", out, err, w.kept())
	}
	if err := os.RemoveAll(filepath.Dir(taken)); err != nil {
		t.Fatal(err)
	}
	if out, err := w.run("telegram", dir, nil); err != nil || out.Fresh != 2 || len(w.kept()) != 2 {
		t.Errorf("again: %+v, %v", out, err)
	}
}

// TestSweep_leftoversOfFiles checks that the partial file of a killed import is removed, and
// that of a running import is kept.
func TestSweep_leftoversOfFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := filepath.Join(w.media, "1")
	for name, age := range map[string]time.Duration{".import-old": 2 * time.Hour, ".import-new": time.Minute,
		".part-other": 48 * time.Hour} {
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(file, nil, 0o600),
			os.Chtimes(file, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	w.bring("telegram", spread(t, album(1, 10)), "")
	if got := fmt.Sprint(w.kept()); strings.Contains(got, ".import-old") || !strings.Contains(got, ".import-new") ||
		!strings.Contains(got, ".part-other") {
		t.Errorf("files %s", got)
	}
}

// TestMedia_forgottenStaysAway checks that neither a redacted message nor its file is imported
// again.
func TestMedia_forgottenStaysAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := spread(t, album(3, 10))
	w.bring("telegram", dir, "")
	ms, err := w.st.Messages(t.Context(), w.u.ID, []core.MessageID{2})
	if err != nil || len(ms) != 1 || len(ms[0].Attachments) != 1 {
		t.Fatalf("got %+v, %v", ms, err)
	}
	if _, err := w.st.Note(t.Context(), store.Note{User: w.u.ID, Now: now,
		Effects: []core.Effect{effect.Redact{Message: 2, At: now}}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.media, ms[0].Attachments[0].Path)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if out := w.bring("telegram", dir, ""); out.Fresh != 0 || out.Files != 2 || len(w.kept()) != 2 {
		t.Errorf("got %+v, with files %v", out, w.kept())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is back")
	}
}

// TestMedia_damagedFileIsLeftOut checks that a file damaged in the archive is skipped and listed as
// missing, while its message is imported.
func TestMedia_damagedFileIsLeftOut(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range album(3, 5000) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b.Bytes(), bytes.Repeat([]byte("b"), 5000))
	b.Bytes()[at+100] = 'x'
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	if out := w.bring("telegram", file, ""); out.Fresh != 3 || out.Files != 2 || len(w.kept()) != 2 ||
		fmt.Sprint(out.Missing) != "[1.bin: it cannot be read]" {
		t.Errorf("got %+v, with files %v", out, w.kept())
	}
}

// longList writes a ZIP file with a list of n files whose names have length bytes each.
func longList(t *testing.T, n, length int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "long.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	entry := append([]byte("PK\x01\x02"), make([]byte, 42+length)...)
	binary.LittleEndian.PutUint16(entry[28:], uint16(length))
	_, _ = f.WriteString("PK\x03\x04" + strings.Repeat("\x00", 26))
	for range n {
		_, _ = f.Write(entry)
	}
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(entry)))
	binary.LittleEndian.PutUint32(end[16:], 30)
	_, err = f.Write(end)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// claims writes a sparse ZIP file whose end record claims that it contains n files.
func claims(t *testing.T, n uint64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "claims.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	const size = 8 << 30
	end := append([]byte("PK\x06\x06"), make([]byte, 52)...)
	binary.LittleEndian.PutUint64(end[4:], 44)
	binary.LittleEndian.PutUint64(end[24:], n)
	binary.LittleEndian.PutUint64(end[32:], n)
	binary.LittleEndian.PutUint64(end[40:], 46)
	binary.LittleEndian.PutUint64(end[48:], 30)
	locator := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	binary.LittleEndian.PutUint64(locator[8:], size)
	binary.LittleEndian.PutUint32(locator[16:], 1)
	last := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	for at := 8; at < 20; at++ {
		last[at] = 0xff // unknown here: the 64-bit record has the values
	}
	_, err = f.WriteAt([]byte("PK\x03\x04"), 0)
	_, more := f.WriteAt(append(append(end, locator...), last...), size)
	if err := errors.Join(err, more, f.Close()); err != nil {
		t.Skip("sparse files are not supported here: " + err.Error())
	}
	return file
}

// TestOpen_listsThatTakeMemory checks that no list of files takes much memory. It is not parallel
// because it measures the process.
func TestOpen_listsThatTakeMemory(t *testing.T) {
	fulltest.Only(t)
	for name, c := range map[string]struct{ file, want string }{
		"long names":         {longList(t, 4000, 65_000), "the names of its files take more than 128 MiB"},
		"many, as it claims": {claims(t, 250_000_000), "more than 200000 files"},
		"more than possible": {claims(t, 1<<60), "more than 200000 files"},
		"few, as it claims":  {claims(t, 100_000), "its list of files cannot be read"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := importer.Open(c.file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 300<<20 {
			t.Errorf("%s: allocated %d MB", name, took>>20)
		}
	}
}

// TestMedia_bombOfFiles checks that a file that very many messages name is copied only until the archive
// counts as a bomb.
func TestMedia_bombOfFiles(t *testing.T) {
	t.Parallel()
	const size, messages = 1 << 20, 80
	files := album(messages, 0)
	for n := range messages {
		delete(files, fmt.Sprintf("files/%d.bin", n))
		files["result.json"] = strings.Replace(files["result.json"], fmt.Sprintf(`"files/%d.bin"`, n), `"files/0.bin"`, 1)
	}
	files["files/0.bin"] = strings.Repeat("0", size)
	w := newWorld(t)
	w.max = size
	out, err := w.run("telegram", pack(t, files), func(f disk.File) disk.File { return hole{f} })
	if err != nil || out.Fresh != messages || out.Files < 50 || out.Files > 53 || len(out.Missing) != shownMissing ||
		!strings.Contains(out.Missing[0], "the files of the archive take too much") {
		t.Errorf("got %+v, %v", out, err)
	}
}

// hole discards what is written to it.
type hole struct{ disk.File }

func (hole) Write(p []byte) (int, error) { return len(p), nil }

// shownMissing is how many missing files a result names.
const shownMissing = 20
