// Package migrations holds the schema of both engines as goose migrations. Files are append-only: a released one never
// changes. A migration only adds; what it makes obsolete is removed one release later, so that two versions can run
// side by side. Before the first release, 00001 itself is changed.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite returns the migrations of the embedded store.
func SQLite() fs.FS { return sub("sqlite") }

// Postgres returns the migrations of the PostgreSQL store.
func Postgres() fs.FS { return sub("postgres") }

// Newest returns the version of the schema that migrations make.
func Newest(migrations fs.FS) (version int64, err error) {
	names, err := fs.Glob(migrations, "*.sql")
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read the migrations: %w", err)
		}
		version = max(version, n)
	}
	return version, err
}

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the directory is embedded, so this cannot happen
	}
	return withNext(f, dir)
}
