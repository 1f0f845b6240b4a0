package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/everthread/everthread/core/disk"
	"github.com/everthread/everthread/core/text"
)

// noRoom adds the room that a backup needs to the error of a full disk.
func (m *Maker) noRoom(err error, d *draft) error {
	switch {
	case !disk.Full(err):
		return err
	case m.File == nil: // only the server knows the size of its tables
		return fmt.Errorf("%w (%s were written until then)", disk.NoRoom(err, filepath.Dir(d.file.Name()), 0),
			text.Bytes(d.result.Size))
	}
	return disk.NoRoom(err, filepath.Dir(d.file.Name()), m.wants())
}

// wants returns the most bytes that making a backup takes: those of all its files, and
// of a copy of the database for verification.
func (m *Maker) wants() (total int64) {
	for _, name := range []string{databaseName, databaseName, secretName} {
		if info, err := os.Stat(filepath.Join(m.Data, name)); err == nil {
			total += info.Size()
		}
	}
	_ = filepath.WalkDir(filepath.Join(m.Data, mediaName), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable files are not counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// noRoom adds the room that unpacking a backup needs to the error of a full disk, and
// joins the error of undo.
func (r *Restorer) noRoom(err error, a *Reader, undone error) error {
	full, server := disk.StoreFull(err)
	switch {
	case full && server:
		err = fmt.Errorf("the disk of the database server is full; make room there, and try again: %w", err)
	case full: // it was unpacked, but could not be migrated
		err = disk.NoRoom(fmt.Errorf("%w: %w", syscall.ENOSPC, err), r.Data, r.wants(a))
	case disk.Full(err):
		err = disk.NoRoom(err, r.Data, r.wants(a))
	}
	return errors.Join(err, undone)
}

// wants returns the most bytes that unpacking a backup takes. It reads the backup to its
// end. A database counts twice, since its migration may take as much again.
func (r *Restorer) wants(a *Reader) int64 {
	for {
		e, _, err := a.Next()
		if err != nil {
			return r.bytes
		}
		r.count(e)
	}
}

func (r *Restorer) count(e Entry) {
	switch {
	case e.Name == databaseName:
		r.bytes += 2 * e.Size
	case !pieceNames.MatchString(e.Name):
		r.bytes += e.Size
	}
}
