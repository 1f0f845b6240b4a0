// Package backup writes all data of a gateway into one file, while the gateway works, and restores it.
//
// A backup is a tar archive, compressed with zstd, for standard tools:
//
//	manifest.json        format, program, schema, engine, time
//	everthread.db        the embedded database; or
//	everthread.dump      the schema on a PostgreSQL server, as pg_dump writes it for pg_restore
//	secret_key           the key file, if there is one
//	media/…              the attachments
//	end.json             how many entries and bytes there are, the rows of the tables, and the SHA-256 of all
//
// It holds all conversations, and the key to stored secrets: its holder can read everything.
//
// Writing needs little memory, whatever the size. A backup gets its name only after it was read back completely; the
// next backup removes the files of a killed one. Restoring first unpacks everything in a separate folder, whose name
// marks an unfinished restore: nothing works in a data folder that has it.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// format is the version of the archive's layout.
const format = 1

// Engines in a manifest.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Names of entries.
const (
	manifestName = "manifest.json"
	databaseName = "everthread.db"
	dumpName     = "everthread.dump"
	secretName   = "secret_key"
	mediaName    = "media"
	endName      = "end.json"
)

// Manifest describes a backup. It is its first entry.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"`
	Schema  int64     `json:"schema"`
	Engine  string    `json:"engine"`
	Made    time.Time `json:"made"`
	Key     string    `json:"key,omitempty"` // id of the secret key of stored values
}

// Entry is one file of an archive.
type Entry struct {
	Name string
	Size int64
}

// totals is the last entry: an archive without it was cut off. SHA256 is of the names, sizes and bodies before it.
type totals struct {
	Entries int64            `json:"entries"` // without the manifest
	Bytes   int64            `json:"bytes"`
	Rows    map[string]int64 `json:"rows"` // by table
	SHA256  string           `json:"sha256"`
}

// FileStore is a store in one file.
type FileStore interface {
	// Image passes the database as of one moment to read, as a file of size bytes,
	// without blocking writers. It returns the numbers of rows of the tables.
	Image(ctx context.Context, read func(schema, size int64, r io.Reader) error) (rows map[string]int64, err error)
}

// Server is a store on a server, whose own tools write and read its dumps.
type Server interface {
	// Dump writes the database as of one moment to w, without blocking writers.
	// It returns the version of the schema and the numbers of rows of the tables.
	Dump(ctx context.Context, w io.Writer) (schema int64, rows map[string]int64, err error)
	// Check fails if a dump cannot be read.
	Check(ctx context.Context, dump io.Reader) error
	// Count returns the numbers of rows of the tables in a dump, all of which it reads.
	Count(ctx context.Context, dump io.Reader) (rows map[string]int64, err error)
	// Restore fills an empty database from the dump in a file, completely or not at all. Then it
	// calls place. Until place has returned, nothing works with the database.
	Restore(ctx context.Context, dump string, place func() error) error
}

// Damaged is the error of an archive that differs from the one written.
type Damaged struct {
	Entry string // the damaged entry, or the last one that was begun
	Err   error
}

// Error returns the message.
func (d *Damaged) Error() string {
	return fmt.Sprintf("the backup is damaged at its entry %s: %v", d.Entry, d.Err)
}

// Unwrap returns the cause.
func (d *Damaged) Unwrap() error { return d.Err }

// Faults of an archive.
var (
	errNotOurs = errors.New("this is not a backup of everthread")
	errCut     = errors.New("the file ends too early")
)

// limited reads until ctx ends.
type limited struct {
	ctx context.Context
	r   io.Reader
}

// Read reads.
func (l limited) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.r.Read(p)
}
