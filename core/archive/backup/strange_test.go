package backup_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/internal/fulltest"
)

// archive returns an archive as another program would write it.
func archive(t testing.TB, entries ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	manifest, _ := json.Marshal(backup.Manifest{Format: 1, Program: "v1", Schema: 1, Engine: backup.SQLite})
	for _, h := range append([]*tar.Header{{Name: "manifest.json", Size: int64(len(manifest)), Typeflag: tar.TypeReg}},
		entries...) {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Name == "manifest.json" {
			_, err = w.Write(manifest)
		} else if h.Size < 1000 {
			_, err = w.Write(make([]byte, h.Size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close() // an entry may be shorter than its header says
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRestore_refusesStrangeEntries(t *testing.T) {
	t.Parallel()
	for _, h := range []*tar.Header{
		{Name: "../everthread.db"}, {Name: "/etc/passwd"}, {Name: "media/../../x"}, {Name: "media/./x"},
		{Name: `media\..\..\x`}, {Name: "media/C:x"},
		{Name: "media/"}, {Name: "media"}, {Name: "serve.lock"}, {Name: "restore.unfinished/placing"}, {Name: "tables/1/2"},
		{Name: "media/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "everthread.db", Typeflag: tar.TypeLink, Linkname: "secret_key"},
		{Name: "media/dir", Typeflag: tar.TypeDir}, {Name: "media/fifo", Typeflag: tar.TypeFifo},
		{Name: "everthread.db", Size: 1 << 60},
		{Name: "end.json", Size: 1 << 50},
	} {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "b")
		write(t, file, string(archive(t, h)))
		_, err := restorer(dir).Restore(t.Context(), file)
		if err == nil {
			t.Errorf("%+v was restored", h)
		}
		if left := tree(t, dir); len(left) > 0 {
			t.Errorf("%s left %v", h.Name, left)
		}
	}
	for name, text := range map[string]string{"empty": "", "words": "no archive", "no manifest": string(archive(t)[:8])} {
		file := filepath.Join(t.TempDir(), "b")
		write(t, file, text)
		if _, err := restorer(t.TempDir()).Restore(t.Context(), file); err == nil ||
			!strings.Contains(err.Error(), "a backup of everthread") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// repacked returns an archive with changed entries that is still valid for tar and zstd.
func repacked(t testing.TB, whole []byte, change func(name string, body []byte) (string, []byte)) []byte {
	t.Helper()
	from, err := zstd.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	r, w := tar.NewReader(from), tar.NewWriter(z)
	for {
		h, err := r.Next()
		if err != nil {
			break
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, body := change(h.Name, body)
		if name == "" {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRestore_refusesAChangedArchive checks that an archive that is valid for tar and zstd is compared
// with its lists of contents.
func TestRestore_refusesAChangedArchive(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(made(t, maker(t, kept(t))))
	if err != nil {
		t.Fatal(err)
	}
	const file = "media/3/file 10.png"
	for _, c := range []struct {
		name, want string
		change     func(name string, body []byte) (string, []byte)
	}{
		{"a byte", "entry end.json: what comes before it is not what was written", func(name string, body []byte) (string, []byte) {
			if name == "everthread.db" {
				body[1000] ^= 1
			}
			return name, body
		}},
		{"a name", "is damaged", func(name string, body []byte) (string, []byte) {
			return strings.Replace(name, "media/3/file 10.png", "media/3/other.png", 1), body
		}},
		{"a file less", "is damaged", func(name string, body []byte) (string, []byte) {
			return strings.TrimPrefix(name, file),
				body
		}},
		{"another manifest", "is damaged", func(name string, body []byte) (string, []byte) {
			if name == "manifest.json" {
				body = bytes.Replace(body, []byte(`"v1.2"`), []byte(`"v1.3"`), 1)
			}
			return name, body
		}},
		{"no end", "the file ends too early", func(name string,
			body []byte) (string, []byte) {
			return strings.TrimPrefix(name, "end.json"), body
		}},
		{"nothing", "", func(name string, body []byte) (string, []byte) { return name, body }},
	}[fulltest.Size(3, 0):] {
		path := filepath.Join(t.TempDir(), "b")
		write(t, path, string(repacked(t, whole, c.change)))
		_, err := restorer(t.TempDir()).Restore(t.Context(), path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestRestore_killedIsBegunAnew checks that a restore that was killed at any step is recognised
// by its folder, and started over.
func TestRestore_killedIsBegunAnew(t *testing.T) {
	t.Parallel()
	from := kept(t)
	file := made(t, maker(t, from))
	for _, step := range []string{"restore begun", "restore unpacked", "restore aside", "restore placed"} {
		for _, force := range []bool{false, true} {
			dir := t.TempDir()
			if force {
				write(t, filepath.Join(dir, "everthread.db"), "old")
			}
			r := restorer(dir)
			r.Force = force
			r.Crash = func(s string) {
				if s == step {
					panic(step)
				}
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = r.Restore(t.Context(), file)
				t.Errorf("%s: did not crash there", step)
			}()
			if _, err := os.Stat(filepath.Join(dir, backup.Unfinished)); err != nil {
				t.Errorf("%s: not recognised as incomplete: %v", step, err)
			}
			r.Crash = func(string) {}
			if _, err := r.Restore(t.Context(), file); err != nil {
				t.Fatalf("%s, again: %v", step, err)
			}
			got, old := tree(t, dir), 0
			for name, text := range got {
				if text == "old" && strings.HasPrefix(name, "before-restore-") {
					old++
				}
			}
			if want := map[bool]int{true: 1}[force]; old != want || len(got) != attachments()+2+want ||
				got["secret_key"] != "a secret" {
				t.Errorf("%s: %d files, %d old", step, len(got), old)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	dir := f.TempDir()
	write(f, filepath.Join(dir, "secret_key"), "a secret")
	write(f, filepath.Join(dir, "media", "1", "a.png"), "picture")
	m := maker(f, dir)
	m.File = oneFile{data: []byte("the database")}
	whole, err := os.ReadFile(made(f, m))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(unpacked(f, whole))
	f.Add(unpacked(f, archive(f, &tar.Header{Name: "../x"})))
	f.Add([]byte("no archive"))
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(zstd.MinWindowSize))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := backup.NewReader(bytes.NewReader(z.EncodeAll(text, nil)))
		if err != nil {
			return
		}
		defer a.Close()
		for {
			e, body, err := a.Next()
			if err != nil {
				return
			}
			if !filepath.IsLocal(filepath.FromSlash(e.Name)) || strings.HasPrefix(e.Name, backup.Unfinished) {
				t.Errorf("an entry is called %q", e.Name)
			}
			if n, err := io.Copy(io.Discard, body); err == nil && n != e.Size {
				t.Errorf("%s has %d bytes and says %d", e.Name, n, e.Size)
			}
		}
	})
}

func unpacked(f *testing.F, archive []byte) []byte {
	z, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer z.Close()
	out, err := z.DecodeAll(archive, nil)
	if err != nil {
		f.Fatal(err)
	}
	return out
}
