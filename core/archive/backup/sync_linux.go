package backup

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDisk flushes all written data to the disk of a folder. An error may be about any file there.
func SyncDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the disk: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync the disk: %w", err)
	}
	return nil
}
