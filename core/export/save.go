package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/disk"
	"github.com/everthread/everthread/core/text"
)

// Saver writes exports into files. All fields but Disk are required.
type Saver struct {
	*Exporter
	// Lock locks a file until unlock, or fails at once: somebody else writes it.
	Lock func(path string) (unlock func(), err error)
	// Crash is told each step, for tests that die there.
	Crash func(step string)
	// Disk stands before what is written, for tests; nil: nothing does.
	Disk disk.Wrap
}

// partialPattern is what a file is called that is not whole.
const partialPattern = ".everthread-export-*.partial"

// Save writes the export of a user, as Write does, to a file. It has its name when
// it is whole, or never; what is there under that name stays, and is an error. What
// exports that were killed left in the folder is removed.
func (s *Saver) Save(ctx context.Context, file string, user core.UserID, progress func(messages int)) error {
	dir := filepath.Dir(file)
	s.sweep(dir)
	f, err := os.CreateTemp(dir, partialPattern)
	var about *fs.PathError // whose path is of no use to anybody
	if errors.As(err, &about) {
		err = about.Err
	}
	if err != nil {
		return fmt.Errorf("write the export: %w", disk.NoRoom(err, dir, 0))
	}
	unlock, err := s.Lock(f.Name())
	if err != nil {
		return errors.Join(fmt.Errorf("write the export: %w", err), f.Close(), os.Remove(f.Name()))
	}
	size, err := s.fill(ctx, s.Disk.Take(f), user, progress)
	s.Crash("export written")
	unlock() // a file that somebody has open cannot be renamed everywhere
	if err == nil {
		err = place(f.Name(), file)
	}
	if err == nil {
		s.Crash("export placed")
		return nil
	}
	_ = os.Remove(f.Name())
	if disk.Full(err) {
		return fmt.Errorf("write the export: %w (%s were written until then)", disk.NoRoom(err, dir, 0), text.Bytes(size))
	}
	return err
}

// fill writes a file and closes it.
func (s *Saver) fill(ctx context.Context, f disk.File, user core.UserID, progress func(int)) (size int64, err error) {
	out := &counted{File: f}
	err = s.Write(ctx, out, user, progress)
	if err == nil {
		err = f.Sync()
	}
	return out.size, errors.Join(err, f.Close())
}

// counted counts what was written.
type counted struct {
	disk.File
	size int64
}

// Write writes.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	c.size += int64(n)
	return n, err
}

// place gives a file its name.
func place(draft, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already; remove it, or give another name with --out", file)
	}
	if err := os.Rename(draft, file); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil {
		_ = dir.Sync() // not every system can
		_ = dir.Close()
	}
	return nil
}

// sweep removes what exports that were killed left in a folder.
func (s *Saver) sweep(dir string) {
	left, err := filepath.Glob(filepath.Join(dir, partialPattern))
	if err != nil {
		return // the folder's name is a pattern: what is left stays
	}
	for _, path := range left {
		unlock, err := s.Lock(path)
		if err != nil {
			continue // it is being written
		}
		unlock()
		_ = os.Remove(path)
	}
}
