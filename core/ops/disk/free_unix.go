//go:build linux || darwin

package disk

import "syscall"

// freeBytes returns the bytes that this process may still write below dir.
func freeBytes(dir string) (n int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // of another type on each system
}
