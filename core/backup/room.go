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

// noRoom says what a backup takes, if err says that there was no room for it.
func (m *Maker) noRoom(err error, d *draft) error {
	switch {
	case !disk.Full(err):
		return err
	case m.File == nil: // only the server knows how much its tables are
		return fmt.Errorf("%w (%s were written until then)", disk.NoRoom(err, filepath.Dir(d.file.Name()), 0),
			text.Bytes(d.result.Size))
	}
	return disk.NoRoom(err, filepath.Dir(d.file.Name()), m.wants())
}

// wants is how many bytes a backup takes at most while it is made: whatever is
// backed up, and a copy of the database that is looked through.
func (m *Maker) wants() (total int64) {
	for _, name := range []string{databaseName, databaseName, secretName} {
		if info, err := os.Stat(filepath.Join(m.Data, name)); err == nil {
			total += info.Size()
		}
	}
	_ = filepath.WalkDir(filepath.Join(m.Data, mediaName), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// noRoom says what a backup takes when it is unpacked, if err says that there was
// no room for it. undone is what came of clearing away.
func (r *Restorer) noRoom(err error, a *Reader, undone error) error {
	full, server := disk.StoreFull(err)
	switch {
	case full && server:
		err = fmt.Errorf("the disk of the database server is full; make room there, and try again: %w", err)
	case full: // it was unpacked, and could not be brought up to date
		err = disk.NoRoom(fmt.Errorf("%w: %w", syscall.ENOSPC, err), r.Data, r.wants(a))
	case disk.Full(err):
		err = disk.NoRoom(err, r.Data, r.wants(a))
	}
	return errors.Join(err, undone)
}

// wants is how many bytes a backup takes at most when it is unpacked: it is read
// to its end for that. A database is brought up to date, which may take as much again.
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
