//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package backup

import "syscall"

// SyncDisk writes everything that was written to the disks.
func SyncDisk(string) error { return syscall.Sync() }
