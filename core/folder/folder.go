// Package folder manages the data folder of a process: its access, lock and owner, and
// the secret key in it.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of locks.
var (
	ErrLocked = errors.New("it is locked") // by another process
	ErrServed = errors.New("another everthread serves this data folder already")
)

// Make makes a folder if necessary, and checks that it can be written.
func Make(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".write-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Cause returns the cause of an error about a path.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Lock ensures that only one process serves a folder; ErrServed: another one does. The
// lock ends with the process, however that ends.
func Lock(dir string) (unlock func(), err error) {
	unlock, err = LockFile(filepath.Join(dir, "serve.lock"))
	if errors.Is(err, ErrLocked) {
		return nil, ErrServed
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return unlock, nil
}

// Served reports whether a process serves a folder.
func Served(dir string) bool {
	unlock, err := Lock(dir)
	if err == nil {
		unlock()
	}
	return errors.Is(err, ErrServed)
}

// database is the file of the embedded database.
const database = "everthread.db"

// HasDatabase reports whether a folder has an embedded database.
func HasDatabase(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, database))
	return err == nil
}

// DatabaseSize returns the bytes of the embedded database in a folder, with its log.
func DatabaseSize(dir string) (bytes int64) {
	for _, name := range []string{database, database + "-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}
