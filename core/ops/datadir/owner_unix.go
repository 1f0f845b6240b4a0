//go:build unix

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// HandOver gives root's files in the data folder of another account, such as that of a
// service, to that account: its process must be able to read and write them.
func HandOver(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil // the folder is not there, or cannot be, which is said elsewhere
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	if owner.Uid == 0 {
		return nil
	}
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the serving process goes on
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone
		}
		// A file with several links may belong elsewhere.
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 || s.Nlink > 1 && !d.IsDir() {
			return nil
		}
		if err := root.Lchown(name, int(owner.Uid), int(owner.Gid)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
