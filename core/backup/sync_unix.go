//go:build unix

package backup

import "syscall"

// syncDisks writes everything that was written to the disks.
func syncDisks() { syscall.Sync() }
