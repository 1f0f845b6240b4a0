package backup

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDisk writes everything that was written to the disk of a folder. An error
// is of any file there that could not be written.
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
