//go:build nextversion

package migrations

import (
	"embed"
	"io/fs"
)

//go:embed testdata/next
var next embed.FS

// withNext adds a migration of an imagined future version.
func withNext(released fs.FS, engine string) fs.FS {
	more, err := fs.Sub(next, "testdata/next/"+engine)
	if err != nil {
		panic(err) // the directory is embedded
	}
	return both{released, more}
}

// both merges the files of two folders.
type both [2]fs.FS

// Open opens a file from either; folders are opened from the first.
func (b both) Open(name string) (fs.File, error) {
	f, err := b[0].Open(name)
	if err != nil {
		return b[1].Open(name)
	}
	return f, nil
}

// ReadDir lists the files of both.
func (b both) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(b[0], name)
	if err != nil {
		return nil, err
	}
	more, err := fs.ReadDir(b[1], name)
	return append(list, more...), err
}
