//go:build unix

package backup

import "syscall"

// SyncDisks writes everything that was written to the disks.
func SyncDisks() { syscall.Sync() }
