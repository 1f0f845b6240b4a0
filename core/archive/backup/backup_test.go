package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/internal/fulltest"
)

// oneFile is a store with one file.
type oneFile struct {
	data []byte
	err  error // of reading its second half
}

func (o oneFile) Image(_ context.Context, read func(schema, size int64, r io.Reader) error) (map[string]int64, error) {
	var r io.Reader = bytes.NewReader(o.data)
	if o.err != nil {
		r = io.MultiReader(bytes.NewReader(o.data[:len(o.data)/2]), broken{o.err})
	}
	return map[string]int64{"messages": 3, "users": 2}, read(3, int64(len(o.data)), r)
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// server is a store on a server.
type server struct {
	data   []byte
	filled []byte
	full   error // of its disk
}

func (s *server) Dump(_ context.Context, w io.Writer) (int64, map[string]int64, error) {
	_, err := io.Copy(w, iotest{bytes.NewReader(s.data)})
	return 3, map[string]int64{"messages": int64(len(s.data))}, err
}

func (s *server) Check(_ context.Context, dump io.Reader) error {
	b, err := io.ReadAll(dump)
	if err == nil && !bytes.Equal(b, s.data) {
		err = errors.New("another dump was read back")
	}
	return err
}

func (s *server) Count(_ context.Context, dump io.Reader) (map[string]int64, error) {
	n, err := io.Copy(io.Discard, dump)
	return map[string]int64{"messages": n}, err
}

func (s *server) Restore(_ context.Context, dump string, place func() error) error {
	filled, err := os.ReadFile(dump)
	if err = errors.Join(err, s.full); err == nil {
		err = place()
	}
	if err == nil {
		s.filled = filled
	}
	return err
}

// iotest reads in portions of odd sizes.
type iotest struct{ r io.Reader }

func (o iotest) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 4099)]) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// attachments returns the number of attachments in a data folder: in full it needs more than one list of contents.
func attachments() int { return fulltest.Size(20, 1100) }

// kept creates a data folder with a key and attachments.
func kept(t testing.TB) string { return keptOf(t, attachments()) }

func keptOf(t testing.TB, attachments int) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret_key"), "a secret")
	for n := range attachments {
		write(t, filepath.Join(dir, "media", fmt.Sprint(n%7), fmt.Sprintf("file %d.png", n)),
			strings.Repeat(fmt.Sprint(n), n%50))
	}
	write(t, filepath.Join(dir, "media", "1", ".part-123"), "under way")
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree reads all files below a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		b, err := os.ReadFile(path)
		out[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func maker(t testing.TB, dir string) *backup.Maker {
	return &backup.Maker{File: oneFile{data: bytes.Repeat([]byte("the database "), 300_000)}, Data: dir,
		Program: "v1.2", Key: "abcd", Check: func(_ context.Context, path string) error {
			b, err := os.ReadFile(path)
			if err == nil && !bytes.HasPrefix(b, []byte("the database")) {
				err = errors.New("malformed")
			}
			return err
		},
		Lock: func(string) (func(), error) { return func() {}, nil }, Now: func() time.Time { return noon },
		Wait: func(context.Context, time.Duration) {}, Progress: func(int64) {}, Crash: func(string) {}}
}

func restorer(dir string) *backup.Restorer {
	return &backup.Restorer{Data: dir, Engine: backup.SQLite, Schema: 3,
		Prepare: func(context.Context, string) error { return nil }, Now: func() time.Time { return noon },
		Sync: func(string) error { return nil }, Progress: func(int64) {}, Crash: func(string) {}}
}

// made makes a backup of a folder and returns its path.
func made(t testing.TB, m *backup.Maker) string {
	t.Helper()
	res, err := m.Make(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return res.File
}

func TestRestore_bringsBackABackup(t *testing.T) {
	t.Parallel()
	from, to := kept(t), t.TempDir()
	m := maker(t, from)
	res, err := m.Make(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if res.Entries != int64(attachments())+2 || res.Rows["messages"] != 3 {
		t.Errorf("made %+v", res)
	}
	if info, err := os.Stat(res.File); err != nil || info.Mode().Perm() != 0o600 || info.Size() != res.Size {
		t.Errorf("%v %v", info, err)
	}
	out, err := restorer(to).Restore(t.Context(), res.File)
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows["messages"] != 3 || out.Files != int64(attachments()) || out.Program != "v1.2" || !out.Made.Equal(noon) {
		t.Errorf("restored %+v", out)
	}
	want := tree(t, from)
	delete(want, "media/1/.part-123")
	want["everthread.db"] = string(m.File.(oneFile).data)
	if got := tree(t, to); !maps.Equal(got, want) {
		t.Errorf("restored %d files, want %d", len(got), len(want))
	}
}

func TestRestore_bringsBackADump(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 4, 10_000_000, 4 << 20} {
		s := &server{data: append([]byte("the database")[:min(size, 12)], make([]byte, max(0, size-12))...)}
		m := maker(t, keptOf(t, 20))
		m.File, m.Server = nil, s
		dir := t.TempDir()
		res, err := m.Make(t.Context(), dir, 0)
		if err != nil || len(tree(t, dir)) != 1 {
			t.Fatal(err, len(tree(t, dir)))
		}
		r := restorer(t.TempDir())
		r.Engine, r.Server = backup.Postgres, s
		out, err := r.Restore(t.Context(), res.File)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.filled, s.data) || out.Rows["messages"] != int64(size) || out.Files != 20 {
			t.Errorf("restored other rows: %+v", out)
		}
		if got := tree(t, r.Data); len(got) != 20 {
			t.Errorf("%d files are there: the key file of another store, or the dump", len(got))
		}
	}
}

func TestRestore_onlyWhatFits(t *testing.T) {
	t.Parallel()
	file := made(t, maker(t, kept(t)))
	full := kept(t)
	write(t, filepath.Join(full, "everthread.db"), "old")
	for _, c := range []struct {
		name, want string
		change     func(r *backup.Restorer)
	}{
		{"a newer schema", "made by everthread v1.2 (schema 3), this one knows schema 2",
			func(r *backup.Restorer) { r.Schema = 2 }},
		{"another engine", "is of the embedded database, and database_url says PostgreSQL",
			func(r *backup.Restorer) { r.Engine = backup.Postgres }},
		{"a full folder", "has data already (media, secret_key, everthread.db)", func(r *backup.Restorer) { r.Data = full }},
		{"no folder", "open the data folder", func(r *backup.Restorer) { r.Data = filepath.Join(full, "nowhere") }},
	} {
		r := restorer(t.TempDir())
		c.change(r)
		if _, err := r.Restore(t.Context(), file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := tree(t, filepath.Dir(r.Data)); got["restore.unfinished"] != "" {
			t.Errorf("%s: left behind %v", c.name, got)
		}
	}
	r := restorer(full)
	r.Force = true
	out, err := r.Restore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree(t, full); got[out.Aside+"/everthread.db"] != "old" ||
		!strings.HasPrefix(got["everthread.db"], "the database") {
		t.Errorf("moved aside to %q", out.Aside)
	}
	other := restorer(t.TempDir())
	other.Key = "ffff"
	if out, err := other.Restore(t.Context(), file); err != nil || !out.OtherKey {
		t.Errorf("another key: %+v %v", out, err)
	}
}

// TestRestore_refusesADamagedBackup checks that a damaged archive is refused with the entry's name, and
// that nothing is restored.
func TestRestore_refusesADamagedBackup(t *testing.T) {
	t.Parallel()
	m := maker(t, kept(t))
	m.File = oneFile{data: append([]byte("the database "), noise(3<<20)...)}
	whole, err := os.ReadFile(made(t, m))
	if err != nil {
		t.Fatal(err)
	}
	damages, named := fulltest.Size(7, 97), 0
	for at := 16; at < len(whole); at += 1 + len(whole)/damages {
		for name, text := range map[string][]byte{"cut": whole[:at], "flipped": flipped(whole, at)} {
			dir := t.TempDir()
			file := filepath.Join(t.TempDir(), "b")
			write(t, file, string(text))
			_, err := restorer(dir).Restore(t.Context(), file)
			if err == nil {
				t.Errorf("%s at %d of %d: restored", name, at, len(whole))
				continue
			}
			var damaged *backup.Damaged
			if errors.As(err, &damaged) && damaged.Entry != "" {
				named++
			} else if at > 400 { // the manifest
				t.Errorf("%s at %d: %v", name, at, err)
			}
			if left := tree(t, dir); len(left) > 0 {
				t.Errorf("%s at %d: left %d files behind", name, at, len(left))
			}
		}
	}
	if named < damages*3/2 {
		t.Errorf("only %d errors name the damaged entry", named)
	}
	file := filepath.Join(t.TempDir(), "b")
	write(t, file, string(flipped(whole, len(whole)/4)))
	if _, err := restorer(t.TempDir()).Restore(t.Context(), file); err == nil ||
		!strings.Contains(err.Error(), "damaged at its entry everthread.db") {
		t.Errorf("in the database: %v", err)
	}
}

func flipped(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 0x10
	return b
}

// noise returns incompressible bytes.
func noise(n int) []byte {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func TestMake_failureLeavesNothing(t *testing.T) {
	t.Parallel()
	gone := errors.New("no space left on device")
	for _, c := range []struct {
		name   string
		change func(m *backup.Maker)
	}{
		{"the database cannot be read", func(m *backup.Maker) { m.File = oneFile{data: make([]byte, 1000), err: gone} }},
		{"the copy is malformed", func(m *backup.Maker) { m.File = oneFile{data: []byte("rubbish")} }},
		{"the data folder cannot be read", func(m *backup.Maker) { m.Data = filepath.Join(m.Data, "nowhere") }},
		{"a name that no archive takes", func(m *backup.Maker) {
			dir := kept(t)
			write(t, filepath.Join(dir, "media", `a\b`), "x")
			m.Data = dir
		}},
	} {
		dir := t.TempDir()
		m := maker(t, kept(t))
		if _, err := m.Make(t.Context(), dir, 1); err != nil {
			t.Fatal(err)
		}
		old := tree(t, dir)
		c.change(m)
		if _, err := m.Make(t.Context(), dir, 1); err == nil || !strings.HasPrefix(err.Error(), "write the backup: ") {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := tree(t, dir); !maps.Equal(got, old) {
			t.Errorf("%s: the folder has %v", c.name, slices.Collect(maps.Keys(got)))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := maker(t, kept(t)).Make(ctx, dir, 0); !errors.Is(err, context.Canceled) || len(tree(t, dir)) > 0 {
		t.Errorf("cancelled: %v, %d files", err, len(tree(t, dir)))
	}
}

func TestMake_removesOnlyOldBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	others := []string{"everthread-20200101-000000.tar.zst.bak", "notes.txt", "everthread-2020.tar.zst",
		"holiday-20200101-000000.tar.zst"}
	for _, name := range others {
		write(t, filepath.Join(dir, name), "mine")
	}
	write(t, filepath.Join(dir, ".everthread-backup-1.partial"), "left by a killed one")
	now := noon
	m := maker(t, keptOf(t, 5))
	m.Now = func() time.Time { return now }
	var want []string
	for n := range 13 { // twelve in one second
		if n == 12 {
			now = now.Add(time.Hour)
		}
		res, err := m.Make(t.Context(), dir, 3)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, filepath.Base(res.File))
		if left := tree(t, dir); len(left) != min(n+1, 3)+len(others) {
			t.Errorf("after %d backups there are %v", n+1, slices.Collect(maps.Keys(left)))
		}
	}
	for _, name := range append(want[len(want)-3:], others...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Make(t.Context(), filepath.Join(dir, "notes.txt"), 0); err == nil ||
		!strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := m.Make(t.Context(), filepath.Join(dir, "none", "b.tar.zst"), 0); err == nil {
		t.Error("into a missing folder: no error")
	}
	if _, err := m.Make(t.Context(), filepath.Join(dir, "none"), 0); err == nil ||
		!strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("a missing folder becomes a file: %v", err)
	}
}
