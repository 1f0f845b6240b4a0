package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/ops/disk"
)

// writeFiles adds the key file and the attachments. Files removed meanwhile are left
// out; those newer than the database's image are superfluous.
func (m *Maker) writeFiles(ctx context.Context, w *writer) error {
	root, err := os.OpenRoot(m.Data)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if m.File != nil { // with a server, the configuration has the key
		if err := addFile(ctx, w, root, secretName); err != nil {
			return err
		}
	}
	err = fs.WalkDir(root.FS(), mediaName, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !e.Type().IsRegular() || strings.HasPrefix(path.Base(name), "."): // an unfinished download
			return nil
		}
		return addFile(ctx, w, root, name)
	})
	if err != nil {
		return fmt.Errorf("read the attachments: %w", err)
	}
	return nil
}

func addFile(ctx context.Context, w *writer, root *os.Root, name string) error {
	f, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !validName(name) {
		return fmt.Errorf("%q has a name that not every system accepts; rename it", name)
	}
	return w.add(name, info.Size(), limited{ctx, f})
}

// steady writes to a file a little at a time: other writers to the disk, such as a
// reply that is being stored, wait only for a short time.
type steady struct {
	file  disk.File
	ctx   context.Context
	wait  func(ctx context.Context, d time.Duration)
	size  int64
	dirty int64
}

const (
	dirtyMost = 2 << 20               // bytes between two syncs
	restMost  = 50 * time.Millisecond // longest pause after one
)

// Write writes. It syncs regularly, and then pauses for as long as that took.
func (s *steady) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.size += int64(n)
	if s.dirty += int64(n); err == nil && s.dirty >= dirtyMost {
		s.dirty = 0
		began := time.Now()
		err = s.file.Sync()
		s.wait(s.ctx, min(time.Since(began), restMost))
	}
	return n, err
}

// verify reads a whole draft back, and checks the database in it.
func (m *Maker) verify(ctx context.Context, d *draft) error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	a, err := NewReader(limited{ctx, d.file})
	if err != nil {
		return fmt.Errorf("read it back: %w", err)
	}
	defer a.Close()
	for {
		e, body, err := a.Next()
		if errors.Is(err, io.EOF) {
			d.result.Bytes, d.result.Entries, d.result.Rows = a.totals.Bytes, a.totals.Entries, a.Rows
			return nil
		}
		switch {
		case err != nil:
		case e.Name == databaseName:
			err = m.verifyDatabase(ctx, filepath.Dir(d.file.Name()), body)
		case e.Name == dumpName:
			err = m.Server.Check(ctx, body)
		}
		if err != nil {
			return fmt.Errorf("read it back: %w", err)
		}
	}
}

// scratch makes a temporary file, which is removed by drop, or as the rest of a killed backup.
func (m *Maker) scratch(dir string) (f *os.File, drop func(), err error) {
	if f, err = os.CreateTemp(dir, partialPattern); err != nil {
		return nil, nil, err
	}
	unlock, err := m.Lock(f.Name())
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, func() {
		_ = f.Close()
		unlock()
		_ = os.Remove(f.Name())
	}, nil
}

// verifyDatabase checks a database in a temporary file.
func (m *Maker) verifyDatabase(ctx context.Context, dir string, body io.Reader) error {
	f, drop, err := m.scratch(dir)
	if err != nil {
		return err
	}
	defer drop()
	out := &steady{file: m.Disk.Take(f), ctx: ctx, wait: m.Wait}
	_, err = io.Copy(out, body)
	if err := errors.Join(err, out.file.Close()); err != nil {
		return err
	}
	return m.Check(ctx, f.Name())
}

// Names of files in a folder of backups.
const (
	partialPrefix  = ".everthread-backup-"
	partialPattern = partialPrefix + "*.partial"
	namePattern    = "everthread-20060102-150405"
	suffix         = ".tar.zst"
)

var ours = regexp.MustCompile(`^everthread-[0-9]{8}-[0-9]{6}(-[0-9]+)?\.tar\.zst(\.age)?$`)

// IsOurs reports whether a backup may have a name, encrypted or not.
func IsOurs(name string) bool { return ours.MatchString(name) }

// byMoment compares the times of two backups by their names.
func byMoment(a, b string) int {
	secondA, nA := moment(a)
	secondB, nB := moment(b)
	return cmp.Or(strings.Compare(secondA, secondB), nA-nB, strings.Compare(a, b))
}

// After reports whether the backup of a name was made after that of another one, which may be empty.
func After(name, other string) bool {
	return !IsOurs(other) || byMoment(name, strings.TrimSuffix(other, sealedSuffix)) > 0
}

// freeName returns a name by the time, after those of all backups of the same second.
func freeName(dir string, now time.Time) (string, error) {
	all, err := backups(dir)
	if err != nil {
		return "", fmt.Errorf("write the backup: %w", err)
	}
	base, last := now.UTC().Format(namePattern), 0
	for _, name := range all {
		if second, n := moment(name); second == base {
			last = max(last, n)
		}
	}
	if last == 0 {
		return filepath.Join(dir, base+suffix), nil
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d%s", base, last+1, suffix)), nil
}

// backups returns the backups that were made in a folder, oldest first.
func backups(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && IsOurs(e.Name()) && filepath.Ext(e.Name()) != sealedSuffix {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, byMoment)
	return names, nil
}

// List returns the backups that were made in a folder, oldest first; none if there is no folder.
func List(dir string) ([]Stored, error) {
	names, err := backups(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var out []Stored
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue // it was removed meanwhile
		}
		if s, ok := Named(name, info.Size()); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// Newest returns the time of the newest backup in a folder, zero if there is none.
func Newest(dir string) (time.Time, error) {
	all, err := List(dir)
	if err != nil || len(all) == 0 {
		return time.Time{}, err
	}
	return all[len(all)-1].Made, nil
}

// prune removes the oldest backups of a folder until keep are left.
func prune(dir string, keep int) ([]string, error) {
	names, err := backups(dir)
	if err != nil {
		return nil, fmt.Errorf("remove old backups: %w", err)
	}
	var removed []string
	for _, n := range names[:max(0, len(names)-keep)] {
		if err := os.Remove(filepath.Join(dir, n)); err != nil {
			return removed, fmt.Errorf("remove old backups: %w", err)
		}
		removed = append(removed, n)
	}
	return removed, nil
}

// moment returns the time of a backup by its name: the second, and its number in it.
func moment(name string) (second string, n int) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, sealedSuffix), suffix)
	n = 1
	if len(name) > len(namePattern) {
		n, _ = strconv.Atoi(name[len(namePattern)+1:]) // the pattern allows only digits
	}
	return name[:len(namePattern)], n
}

// SyncDir makes the names in a folder durable, if the system can.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	defer f.Close()
	_ = f.Sync()
	return nil
}
