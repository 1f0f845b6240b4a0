// Package datadir manages the data folder of a process: its access, lock and owner, and the secret key in it.
package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// The files of the key and, during a change, of the next key.
const (
	keyFile  = "secret_key"
	nextFile = keyFile + ".next"
)

// Key returns the secret key in a folder, and makes it if it does not exist.
func Key(dir string) (string, error) { return made(filepath.Join(dir, keyFile)) }

// NextKey returns the next key of a change, and makes it if it does not exist.
func NextKey(dir string) (string, error) { return made(filepath.Join(dir, nextFile)) }

// KnownKey returns the secret key in a folder, empty if there is none.
func KnownKey(dir string) (string, error) { return known(filepath.Join(dir, keyFile)) }

// KnownNextKey returns the next key of an unfinished change, empty if there is none.
func KnownNextKey(dir string) (string, error) { return known(filepath.Join(dir, nextFile)) }

// ChangeKey replaces the key by the next key.
func ChangeKey(dir string) error {
	if err := os.Rename(filepath.Join(dir, nextFile), filepath.Join(dir, keyFile)); err != nil {
		return fmt.Errorf("replace the key file: %w; run the same command again", err)
	}
	return nil
}

// NewKey returns a new secret key.
func NewKey() (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", fmt.Errorf("make the secret key: %w", err)
	}
	return hex.EncodeToString(key), nil
}

func known(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the secret key: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func made(path string) (string, error) {
	text, err := NewKey()
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return known(path)
	}
	if err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	return text, nil
}
