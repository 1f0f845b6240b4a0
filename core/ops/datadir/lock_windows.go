package datadir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// LockFile locks a file, which it makes if necessary, until unlock or the end of the
// process, however that ends. ErrLocked: another process has the lock. On this system a
// lock also prevents reading, so it is on a byte beyond the end of any file.
func LockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0,
		1, 0, far)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, ErrLocked
	}
	return nil, err
}
