package backup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/internal/fulltest"
)

// smallDisk fails once `left` more bytes are written, or as its other fields say.
type smallDisk struct {
	left        int64
	silent      bool // it drops bytes beyond its size, and reports no error
	sync, close error
	took        int64
}

func (d *smallDisk) take(f disk.File) disk.File { return onDisk{f, d} }

type onDisk struct {
	disk.File
	disk *smallDisk
}

func (f onDisk) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:min(int64(len(p)), f.disk.left)])
	f.disk.left -= int64(n)
	f.disk.took += int64(n)
	if err == nil && n < len(p) && !f.disk.silent {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f onDisk) Sync() error  { return errors.Join(f.File.Sync(), f.disk.sync) }
func (f onDisk) Close() error { return errors.Join(f.File.Close(), f.disk.close) }

const endless = 1 << 40

// faults returns failing disks, for data of the given size.
func faults(whole int64) map[string]*smallDisk {
	out := map[string]*smallDisk{
		"sync":  {left: endless, sync: syscall.EIO},
		"quota": {left: endless, sync: syscall.EDQUOT},
		"close": {left: endless, close: syscall.ENOSPC},
		"short": {left: whole / 2, silent: true},
	}
	steps := fulltest.Size[int64](2, 12)
	for n := range steps {
		out[fmt.Sprint(n, " of ", steps)] = &smallDisk{left: whole * n / steps}
	}
	out["a byte less"] = &smallDisk{left: whole - 1}
	return out
}

// said returns the text that an error of the disk must contain.
func (d *smallDisk) said(dir string) string {
	switch {
	case errors.Is(d.sync, syscall.EIO):
		return "input/output error"
	case d.silent:
		return "short write"
	}
	return "there is no room in " + dir
}

// engine returns a maker on a store, and a function that returns restorers of its backups.
func engine(t *testing.T, onServer bool) (*backup.Maker, func(dir string) *backup.Restorer) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret_key"), "a secret")
	for n := range 12 {
		write(t, filepath.Join(dir, "media", fmt.Sprint(n%3), fmt.Sprint("file", n)), strings.Repeat("x", n*1000))
	}
	m := maker(t, dir)
	if !onServer {
		m.File = oneFile{data: append([]byte("the database "), noise(3<<20)...)}
		write(t, filepath.Join(dir, "everthread.db"), string(m.File.(oneFile).data))
		return m, restorer
	}
	s := &server{data: append([]byte("the database "), noise(9<<20)...)}
	m.File, m.Server = nil, s
	return m, func(dir string) *backup.Restorer {
		r := restorer(dir)
		r.Engine, r.Server = backup.Postgres, s
		return r
	}
}

func TestMake_withoutRoomSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, onServer := range []bool{false, true} {
		m, _ := engine(t, onServer)
		dir := t.TempDir()
		counted := &smallDisk{left: endless}
		m.Disk = counted.take
		if _, err := m.Make(t.Context(), dir, 2); err != nil {
			t.Fatal(err)
		}
		old := tree(t, dir)
		for name, d := range faults(counted.took) {
			m.Disk = d.take
			_, err := m.Make(t.Context(), dir, 1)
			if err == nil || !strings.HasPrefix(err.Error(), "write the backup: ") ||
				!strings.Contains(err.Error(), d.said(dir)) {
				t.Errorf("on a server %t, %s: %v, want %q", onServer, name, err, d.said(dir))
			}
			needs := "up to " + text.Bytes(2*(13+3<<20)+66_000+8) + " are needed: "
			if onServer {
				needs = " were written until then"
			}
			if disk.Full(err) && !strings.Contains(err.Error(), needs) {
				t.Errorf("on a server %t, %s: %v, want %q", onServer, name, err, needs)
			}
			if got := tree(t, dir); !maps.Equal(got, old) {
				t.Errorf("on a server %t, %s: the folder has %d files", onServer, name, len(got))
			}
		}
		m.Disk = nil
		if _, err := m.Make(t.Context(), dir, 0); err != nil || len(tree(t, dir)) != 2 {
			t.Errorf("with space again: %v", err)
		}
	}
}

// TestMake_draftWithoutName checks that a draft that cannot be renamed is removed.
func TestMake_draftWithoutName(t *testing.T) {
	t.Parallel()
	m, _ := engine(t, false)
	dir := t.TempDir()
	m.Crash = func(step string) {
		if partial, _ := filepath.Glob(filepath.Join(dir, ".everthread-backup-*")); step == "backup verified" {
			for _, p := range partial {
				_ = os.Remove(p)
			}
		}
	}
	if _, err := m.Make(t.Context(), dir, 0); err == nil || len(tree(t, dir)) != 0 {
		t.Errorf("got %v, %d files", err, len(tree(t, dir)))
	}
	m.Crash = func(string) {}
	if _, err := m.Make(t.Context(), dir, 0); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestRestore_withoutRoomSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, onServer := range []bool{false, true} {
		m, to := engine(t, onServer)
		file := made(t, m)
		counted := &smallDisk{left: endless}
		r := to(t.TempDir())
		r.Disk = counted.take
		if _, err := r.Restore(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		want := tree(t, r.Data)
		for name, d := range faults(counted.took) {
			if d.sync != nil {
				continue // no single file is synced
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "media", "1", "old"), "old")
			r := to(dir)
			r.Force, r.Disk = true, d.take
			_, err := r.Restore(t.Context(), file)
			needs := text.Bytes(map[bool]int64{false: 2*(13+3<<20) + 66_000 + 8, true: 13 + 9<<20 + 66_000}[onServer])
			if err == nil || !strings.Contains(err.Error(), d.said(dir)) || disk.Full(err) &&
				!strings.Contains(err.Error(), "up to "+needs+" are needed: ") {
				t.Errorf("on a server %t, %s: %v, want %q and %s", onServer, name, err, d.said(dir), needs)
			}
			if got := tree(t, dir); len(got) != 1 || got["media/1/old"] != "old" {
				t.Errorf("on a server %t, %s: left %d files behind", onServer, name, len(got))
			}
			r = to(dir)
			r.Force = true
			out, err := r.Restore(t.Context(), file)
			got := tree(t, dir)
			if err != nil || got[out.Aside+"/media/1/old"] != "old" {
				t.Errorf("on a server %t, %s, again: %v", onServer, name, err)
			}
			delete(got, out.Aside+"/media/1/old")
			if !maps.Equal(got, want) {
				t.Errorf("on a server %t, %s, again: %d files, want %d", onServer, name, len(got), len(want))
			}
		}
	}
}

// TestRestore_diskFailsAtSync checks errors that a disk reports only when written data is
// synced.
func TestRestore_diskFailsAtSync(t *testing.T) {
	t.Parallel()
	m, to := engine(t, false)
	file := made(t, m)
	for call := 1; call <= 3; call++ {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "everthread.db"), "old")
		r := to(dir)
		calls := 0
		r.Force, r.Sync = true, func(string) error {
			if calls++; calls == call {
				return syscall.ENOSPC
			}
			return nil
		}
		_, err := r.Restore(t.Context(), file)
		if err == nil || !strings.Contains(err.Error(), "there is no room in "+dir) ||
			call > 1 != strings.Contains(err.Error(), "run the same command again") {
			t.Errorf("at %d: %v", call, err)
		}
		if got := tree(t, dir); call == 1 && (len(got) != 1 || got["everthread.db"] != "old") {
			t.Errorf("at %d: %d files", call, len(got))
		}
		again := to(dir)
		again.Force = true
		if _, err := again.Restore(t.Context(), file); err != nil {
			t.Errorf("at %d, again: %v", call, err)
		}
		old := 0
		for _, text := range tree(t, dir) {
			if text == "old" {
				old++
			}
		}
		if old != 1 {
			t.Errorf("at %d: %d copies of the old database", call, old)
		}
	}
}

// TestRestore_movedAsideComesBack checks that old data is moved back if the new data cannot take its
// place.
func TestRestore_movedAsideComesBack(t *testing.T) {
	t.Parallel()
	m, to := engine(t, false)
	file := made(t, m)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "everthread.db"), "old")
	write(t, filepath.Join(dir, "media", "1", "a"), "old")
	r := to(dir)
	r.Force = true
	obstacles := map[string]func(){
		"a file of ours": func() { write(t, filepath.Join(dir, backup.Unfinished, "unpacked", "x"), "") },
		"one of three":   func() { _ = os.Remove(filepath.Join(dir, "secret_key")) },
	}
	for name, stand := range obstacles {
		write(t, filepath.Join(dir, "secret_key"), "old")
		r.Crash = func(string) {}
		r.Now = func() time.Time { stand(); return noon } // called when the first file is moved
		if name == "a file of ours" {
			r.Crash = func(step string) {
				if step == "restore unpacked" {
					stand()
				}
			}
		}
		if _, err := r.Restore(t.Context(), file); err == nil {
			t.Errorf("restored although %s is in the way", name)
		}
		got := tree(t, dir)
		delete(got, "secret_key")
		if !maps.Equal(got, map[string]string{"everthread.db": "old", "media/1/a": "old"}) {
			t.Errorf("%s was in the way: there are %v", name, got)
		}
	}
}

// TestRestore_databaseWithoutRoom checks databases that have no space for migrations, here or on the
// server.
func TestRestore_databaseWithoutRoom(t *testing.T) {
	t.Parallel()
	m, to := engine(t, false)
	file := made(t, m)
	r := to(t.TempDir())
	r.Prepare = func(context.Context, string) error { return fmt.Errorf("migrate: %w", coded(13)) }
	if _, err := r.Restore(t.Context(), file); err == nil || !strings.Contains(err.Error(), "no room in "+r.Data) ||
		len(tree(t, r.Data)) > 0 {
		t.Errorf("got %v", err)
	}
	m, to = engine(t, true)
	file = made(t, m)
	r = to(t.TempDir())
	r.Server = &server{full: full{}}
	if _, err := r.Restore(t.Context(), file); err == nil ||
		!strings.Contains(err.Error(), "the disk of the database server is full; make room there") ||
		len(tree(t, r.Data)) > 0 {
		t.Errorf("got %v", err)
	}
}

type coded int

func (c coded) Error() string { return "database or disk is full" }
func (c coded) Code() int     { return int(c) }

// full is the error of a server without free space.
type full struct{}

func (full) Error() string    { return "could not extend file" }
func (full) SQLState() string { return "53100" }
