package export_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/ops/disk"
)

// smallDisk fails once `left` more bytes are written, or as its other fields say.
type smallDisk struct {
	disk.File
	left        int
	took        int
	silent      bool // it drops bytes beyond its size, and reports no error
	sync, close error
}

func (d *smallDisk) take(f disk.File) disk.File {
	d.File = f
	return d
}

func (d *smallDisk) Write(p []byte) (int, error) {
	n, err := d.File.Write(p[:min(len(p), d.left)])
	d.left -= n
	d.took += n
	if err == nil && n < len(p) && !d.silent {
		err = syscall.ENOSPC
	}
	return n, err
}

func (d *smallDisk) Sync() error  { return errors.Join(d.File.Sync(), d.sync) }
func (d *smallDisk) Close() error { return errors.Join(d.File.Close(), d.close) }

// saver returns a saver, and a user with a message and a file.
func saver(t *testing.T) (*export.Saver, core.UserID) {
	w := newWorld(t)
	ada, at := w.person("Ada")
	media := t.TempDir()
	path := fmt.Sprintf("%d/1-0", ada.ID)
	noise := make([]byte, 300_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(media, path)), 0o700),
		os.WriteFile(filepath.Join(media, path), noise, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.say(at, noon, core.NewMessage{Text: "look", Attachments: []core.Attachment{{Kind: "photo",
		Name: "a.jpg", Path: path}}})
	for n := range 50 {
		w.say(at, noon.Add(time.Duration(n)*time.Hour), core.NewMessage{Text: fmt.Sprint("something else ", n)})
	}
	return &export.Saver{Exporter: &export.Exporter{Store: w.st, Media: os.DirFS(media), Zone: time.UTC,
		Now: func() time.Time { return noon }},
		Lock: func(string) (func(), error) { return func() {}, nil }, Crash: func(string) {}}, ada.ID
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// whole reports whether a file is a complete export.
func whole(t *testing.T, file string) bool {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		return false
	}
	defer z.Close()
	return len(z.File) > 10
}

func TestSave_withoutRoomLeavesNothing(t *testing.T) {
	t.Parallel()
	s, user := saver(t)
	dir := t.TempDir()
	counted := &smallDisk{left: 1 << 40}
	s.Disk = counted.take
	if err := s.Save(t.Context(), filepath.Join(dir, "first.zip"), user, nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "second.zip")
	faults := map[string]*smallDisk{"sync": {left: 1 << 40, sync: syscall.EIO},
		"close": {left: 1 << 40, close: syscall.ENOSPC}, "short": {left: counted.took / 2, silent: true},
		"a byte less": {left: counted.took - 1}}
	for n := range 20 {
		faults[fmt.Sprint(n, " twentieths")] = &smallDisk{left: counted.took * n / 20}
	}
	for name, d := range faults {
		s.Disk = d.take
		err := s.Save(t.Context(), file, user, nil)
		want := "write the export: there is no room in " + dir
		switch name {
		case "sync":
			want = "input/output error"
		case "short":
			want = "short write"
		}
		if err == nil || !strings.Contains(err.Error(), want) || disk.Full(err) &&
			(!strings.Contains(err.Error(), "make room there, and try again") ||
				!strings.Contains(err.Error(), " were written until then")) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if got := names(t, dir); got != "first.zip" {
			t.Errorf("%s: there are %s", name, got)
		}
	}
	s.Disk = nil
	if err := s.Save(t.Context(), file, user, nil); err != nil || !whole(t, file) {
		t.Errorf("with space again: %v", err)
	}
}

// TestSave_killedIsClearedAway checks that a killed export gets no name, and that the next one
// removes it.
func TestSave_killedIsClearedAway(t *testing.T) {
	t.Parallel()
	s, user := saver(t)
	dir := t.TempDir()
	file, busy := filepath.Join(dir, "a.zip"), filepath.Join(dir, ".everthread-export-1.partial")
	if err := os.WriteFile(busy, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Lock = func(path string) (func(), error) {
		if path == busy {
			return nil, errors.New("it is locked")
		}
		return func() {}, nil
	}
	dies := func(step string) {
		if step == "export written" {
			panic(step)
		}
	}
	for range 2 {
		s.Crash = dies
		func() {
			defer func() { _ = recover() }()
			_ = s.Save(t.Context(), file, user, nil)
			t.Error("did not crash")
		}()
		if got := strings.Fields(names(t, dir)); len(got) != 2 || strings.Contains(fmt.Sprint(got), "zip") {
			t.Errorf("left behind %v", got)
		}
	}
	s.Crash = func(string) {}
	if err := s.Save(t.Context(), file, user, nil); err != nil || names(t, dir) != filepath.Base(busy)+" a.zip" ||
		!whole(t, file) {
		t.Errorf("again: %v, there are %s", err, names(t, dir))
	}
	if err := s.Save(t.Context(), file, user, nil); err == nil || !strings.Contains(err.Error(), "is there already") ||
		!whole(t, file) {
		t.Errorf("over another: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Save(ctx, filepath.Join(dir, "b.zip"), user, nil); !errors.Is(err, context.Canceled) ||
		strings.Contains(names(t, dir), "b.zip") {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.Save(t.Context(), filepath.Join(dir, "none", "b.zip"), user, nil); err == nil {
		t.Error("into a missing folder: no error")
	}
	s.Crash = func(string) { _ = os.Mkdir(filepath.Join(dir, "c.zip"), 0o700) } // during the export
	if err := s.Save(t.Context(), filepath.Join(dir, "c.zip"), user, nil); err == nil ||
		strings.Count(names(t, dir), "partial") != 1 {
		t.Errorf("the name is taken: %v, there are %s", err, names(t, dir))
	}
}
