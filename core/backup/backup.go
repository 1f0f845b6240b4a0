// Package backup writes everything that a gateway keeps into one file, while the
// gateway works, and puts it back.
//
// A backup is a tar archive, compressed with zstd, that anybody's tools can open:
//
//	manifest.json        what this is: format, program, schema, engine, time
//	everthread.db        the embedded database; or
//	tables/007/000001    the rows of table 7 of the manifest, as COPY writes them
//	secret_key           the key file, if there is one
//	media/…              the attachments
//	contents/000001.jsonl  name, size, SHA-256 and rows of the entries before it
//	end.json             how many entries there are
//
// It holds everything that anybody ever said, and what is needed to read stored
// keys: its holder has all of it.
//
// Writing needs little memory, whatever the size. A backup appears under its name
// only after it was read back whole; what a killed one leaves is removed by the
// next. Restoring prepares everything beside its place first, so that a folder
// that was not restored whole is known by its name, and nothing works in it.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everthread/everthread/core"
)

// format is the version of the archive's layout.
const format = 1

// Engines, as a manifest names them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Names of entries.
const (
	manifestName = "manifest.json"
	databaseName = "everthread.db"
	secretName   = "secret_key"
	mediaName    = "media"
	endName      = "end.json"
)

// Manifest says what a backup is. It is its first entry.
type Manifest struct {
	Format  int          `json:"format"`
	Program string       `json:"program"`
	Schema  int64        `json:"schema"`
	Engine  string       `json:"engine"`
	Made    time.Time    `json:"made"`
	Key     string       `json:"key,omitempty"` // id of the secret key that stored values are encrypted with
	Tables  []core.Table `json:"tables,omitempty"`
}

// Entry is one file of an archive. Rows are of the tables that it holds.
type Entry struct {
	Name   string           `json:"name"`
	Size   int64            `json:"size"`
	SHA256 string           `json:"sha256"`
	Rows   map[string]int64 `json:"rows,omitempty"`
}

// totals is the last entry: an archive without it was cut off.
type totals struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// FileStore is a store that is one file.
type FileStore interface {
	// Image passes the database as of one moment to read, as a file of size bytes.
	// Nobody waits for it meanwhile. It returns how many rows the tables have.
	Image(ctx context.Context, read func(schema, size int64, r io.Reader) error) (rows map[string]int64, err error)
}

// TableStore is a store of tables on a server.
type TableStore interface {
	// Unload passes all tables to sink, as of one moment.
	Unload(ctx context.Context, sink core.TableSink) error
}

// Loader puts tables into an empty database.
type Loader interface {
	// Load makes the schema of a version and fills it, whole or not at all. Tables that
	// neither it nor a library of ours makes are left out, and listed with the reason.
	Load(ctx context.Context, schema int64, tables []core.Table, source core.TableSource) (left []string, err error)
}

// Damaged is the error of an archive that is not what was written.
type Damaged struct {
	Entry string // the entry that is damaged, or the last one that was begun
	Err   error
}

// Error returns the message.
func (d *Damaged) Error() string {
	return fmt.Sprintf("the backup is damaged at its entry %s: %v", d.Entry, d.Err)
}

// Unwrap returns the cause.
func (d *Damaged) Unwrap() error { return d.Err }

// What is wrong with an archive.
var (
	errNotOurs = errors.New("this is no backup of everthread")
	errCut     = errors.New("the file ends too early")
	errOther   = errors.New("it is not what was written")
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
