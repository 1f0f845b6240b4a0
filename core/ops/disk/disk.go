// Package disk handles full disks: it recognises their errors, reports the room that is left, and lets tests simulate
// them. It also writes files durably, and removes abandoned ones.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/everthread/everthread/core/text"
)

// File is a file that is being written.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// Wrap wraps the files that a program writes, to test full or failing disks. Nil wraps nothing.
type Wrap func(f File) File

// Take returns the file to write to instead of f.
func (w Wrap) Take(f File) File {
	if w == nil {
		return f
	}
	return w(f)
}

// Sweep removes the files of a pattern that no process has locked: those of killed writers.
func Sweep(pattern string, lock func(path string) (unlock func(), err error)) {
	abandoned, _ := filepath.Glob(pattern) // none if a folder's name makes it a bad pattern
	for _, path := range abandoned {
		unlock, err := lock(path)
		if err != nil {
			continue // it is being written
		}
		unlock()
		_ = os.Remove(path)
	}
}

// Full reports whether err means that a disk has no room: it is full, or a quota or a limit of size was reached.
func Full(err error) bool {
	means := func(no error) bool { return errors.Is(err, no) }
	if slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, means) {
		return true
	}
	var code syscall.Errno
	const handleDiskFull, diskFull = 39, 112 // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL
	return runtime.GOOS == "windows" && errors.As(err, &code) && (code == handleDiskFull || code == diskFull)
}

// StoreFull reports whether err means that a database could not grow, and whether on a server.
func StoreFull(err error) (full, server bool) {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		const diskFull = "53100"
		return coded.SQLState() == diskFull, true
	}
	var file interface{ Code() int }
	const diskFull, writeFailed = 13, 778 // SQLITE_FULL, SQLITE_IOERR_WRITE
	return errors.As(err, &file) && (file.Code() == diskFull || file.Code() == writeFailed), false
}

// NoRoomInStore adds to the error of a store whose disk is full where room is needed: on the
// database server, or in the folder dir of the embedded store. It returns other errors unchanged.
func NoRoomInStore(err error, dir string) error {
	full, server := StoreFull(err)
	switch {
	case full && server:
		return fmt.Errorf("the disk of the database server is full; make room there, and try again: %w", err)
	case full:
		return NoRoom(fmt.Errorf("%w: %w", syscall.ENOSPC, err), dir, 0)
	}
	return err
}

// NoRoom adds to the error of a full disk where room is needed, and how much: wants
// bytes in all in dir, if known (above 0). It returns other errors unchanged.
func NoRoom(err error, dir string, wants int64) error {
	if !Full(err) {
		return err
	}
	free, known := freeBytes(dir)
	said := "make room there"
	switch {
	case known && wants > free:
		said = fmt.Sprintf("%s are free and up to %s are needed: free %s more", text.Bytes(free), text.Bytes(wants),
			text.Bytes(wants-free))
	case known && wants > 0:
		said = fmt.Sprintf("%s are free and up to %s are needed: raise the quota, or the limit on the size of files",
			text.Bytes(free), text.Bytes(wants))
	case wants > 0:
		said = fmt.Sprintf("up to %s are needed: make room there", text.Bytes(wants))
	case known:
		said = fmt.Sprintf("%s are free: make room there", text.Bytes(free))
	}
	return fmt.Errorf("there is no room in %s (%w); %s, and try again", dir, Cause(err), said)
}

// WriteFile writes a file durably: beside it under a temporary name, and then renamed.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error matters
	}
	return err
}

// Cause returns the cause of an error about a path, which it does not name.
func Cause(err error) error {
	if about, ok := errors.AsType[*fs.PathError](err); ok {
		return about.Err
	}
	return err
}
