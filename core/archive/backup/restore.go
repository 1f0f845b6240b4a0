package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/disk"
)

// Unfinished is the folder in a data folder that marks an unfinished restore: nothing may work there while it exists.
const Unfinished = "restore.unfinished"

// Whole returns core.ErrUnfinished if a data folder has an unfinished restore.
func Whole(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, Unfinished)); err == nil {
		return fmt.Errorf("%w (%s)", core.ErrUnfinished, dir)
	}
	return nil
}

// Names of a mark in Unfinished. It is made as unpacked; once it is renamed to placing,
// the old data was moved aside and everything in the data folder is from the backup.
const (
	unpacked = "unpacked"
	placing  = "placing"
)

// Restorer restores a backup into a data folder, and into a database if Server is set.
// No other process may work in either; see Unfinished.
type Restorer struct {
	Data   string
	Engine string // SQLite or Postgres, by the configuration
	Schema int64  // the newest that this program knows
	Key    string // id of the secret key of the configuration; empty: the key file counts

	// Prepare migrates a database file that was unpacked into a folder.
	Prepare func(ctx context.Context, dir string) error
	Server  Server
	// Count returns the numbers of rows of the tables of a database file, for Drill.
	Count func(ctx context.Context, path string) (rows map[string]int64, err error)
	// Identities open an encrypted backup.
	Identities []age.Identity
	// Force moves existing data aside.
	Force bool
	Now   func() time.Time
	// Progress is called with the number of unpacked bytes.
	Progress func(bytes int64)
	// Sync flushes all data below a folder to its disk; see SyncDisk.
	Sync func(dir string) error
	// Crash is called at each step, for tests that end the process there.
	Crash func(step string)
	// Disk wraps the files that are written, for tests; may be nil.
	Disk disk.Wrap

	root  *os.Root
	dir   string // the last folder that was made
	read  tally
	files int64
	bytes int64 // needed for the entries so far
}

// Restored describes a restored backup.
type Restored struct {
	Manifest Manifest         `json:"-"`
	Made     time.Time        `json:"made"`
	Program  string           `json:"program"`
	Rows     map[string]int64 `json:"rows"`
	Files    int64            `json:"files"` // attachments
	Aside    string           `json:"aside,omitempty"`
	OtherKey bool             `json:"other_key"` // stored keys were encrypted with another secret key
}

// Restore restores the backup in a file; see RestoreFrom.
func (r *Restorer) Restore(ctx context.Context, file string) (Restored, error) {
	f, err := os.Open(file)
	if err != nil {
		return Restored{}, fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	return r.RestoreFrom(ctx, f)
}

// RestoreFrom restores a backup while it is read. It changes nothing if the backup is of another engine or newer than
// the program, or if there is data already and Force is not set; nor before all of it was read and found undamaged. A
// killed restore is started over by the next.
func (r *Restorer) RestoreFrom(ctx context.Context, from io.Reader) (Restored, error) {
	plain, err := unseal(limited{ctx, from}, r.Identities)
	if err != nil {
		return Restored{}, err
	}
	a, err := NewReader(plain)
	if err != nil {
		return Restored{}, err
	}
	defer a.Close()
	if err := r.fits(a.Manifest); err != nil {
		return Restored{}, err
	}
	if r.root, err = os.OpenRoot(r.Data); err != nil {
		return Restored{}, fmt.Errorf("open the data folder: %w", err)
	}
	defer func() { _ = r.root.Close() }()
	if err := r.begin(); err != nil {
		return Restored{}, err
	}
	r.Crash("restore begun")
	r.read.tell = r.Progress
	out := Restored{Manifest: a.Manifest, Made: a.Manifest.Made, Program: a.Manifest.Program}
	if err := r.unpack(ctx, a, &out); err != nil {
		return out, r.noRoom(err, a, r.undo())
	}
	out.Rows, out.Files = a.Rows, r.files
	out.OtherKey = r.Key != "" && a.Manifest.Key != "" && a.Manifest.Key != r.Key
	return out, r.root.RemoveAll(Unfinished)
}

// fits refuses a backup that cannot be restored here.
func (r *Restorer) fits(m Manifest) error {
	names := map[string]string{SQLite: "the embedded database", Postgres: "PostgreSQL"}
	switch {
	case m.Engine != r.Engine:
		return fmt.Errorf(
			"the backup is of %s, and database_url says %s; to go from one to the other use `everthread export` and `everthread import jsonl` for each person", names[m.Engine], names[r.Engine])
	case m.Schema > r.Schema:
		return fmt.Errorf(
			"the backup was made by everthread %s (schema %d), this one knows schema %d; restore it with everthread %s or later",
			m.Program, m.Schema, r.Schema, m.Program)
	case m.Schema < 1:
		return errNotOurs
	}
	return nil
}

// placed returns the names in a data folder that a backup provides.
func (r *Restorer) placed() []string {
	if r.Engine == Postgres {
		return []string{mediaName}
	}
	return []string{mediaName, secretName, databaseName}
}

// inTheWay returns the names that must not exist in the data folder.
func (r *Restorer) inTheWay() []string {
	if r.Engine == Postgres {
		return r.placed()
	}
	return append(r.placed(), databaseName+"-wal", databaseName+"-shm", databaseName+"-journal")
}

// begin removes the remains of an unfinished restore, and checks that there is no data.
func (r *Restorer) begin() error {
	if _, err := r.root.Stat(path.Join(Unfinished, placing)); err == nil {
		for _, name := range r.inTheWay() {
			if err := r.root.RemoveAll(name); err != nil {
				return fmt.Errorf("clear away an unfinished restore: %w", err)
			}
		}
	}
	if err := r.root.RemoveAll(Unfinished); err != nil {
		return fmt.Errorf("clear away an unfinished restore: %w", err)
	}
	there, err := r.there()
	if err != nil {
		return err
	}
	if len(there) > 0 && !r.Force {
		return fmt.Errorf("%s has data already (%s); restore into another folder, or move the old data aside with --force",
			r.Data, strings.Join(there, ", "))
	}
	if err := r.root.Mkdir(Unfinished, 0o700); err != nil {
		return fmt.Errorf("write into the data folder: %w", err)
	}
	return SyncDir(r.Data)
}

// there returns the existing names of inTheWay, without empty folders.
func (r *Restorer) there() ([]string, error) {
	var out []string
	for _, name := range r.inTheWay() {
		info, err := r.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the data folder: %w", err)
		}
		if info.IsDir() {
			entries, err := fs.ReadDir(r.root.FS(), name)
			if err != nil {
				return nil, fmt.Errorf("read the data folder: %w", err)
			}
			if len(entries) == 0 {
				continue
			}
		}
		out = append(out, name)
	}
	return out, nil
}

// undo removes the unpacked files after an error, unless placing has begun.
func (r *Restorer) undo() error {
	if _, err := r.root.Stat(path.Join(Unfinished, placing)); err == nil {
		return errors.New("the data folder is not complete; run the same command again")
	}
	return r.root.RemoveAll(Unfinished)
}

// unpack puts everything into its place.
func (r *Restorer) unpack(ctx context.Context, a *Reader, out *Restored) error {
	for {
		e, body, err := a.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.file(e, body)
		}
		if err != nil {
			return err
		}
	}
	name := databaseName
	if r.Server != nil {
		name = dumpName
	}
	dir := filepath.Join(r.Data, Unfinished)
	if _, err := r.root.Stat(path.Join(Unfinished, name)); err != nil {
		return &Damaged{Entry: name, Err: errors.New("it is missing")}
	}
	if r.Server != nil {
		return r.Server.Restore(ctx, filepath.Join(dir, name), func() error { return r.place(out) })
	}
	if err := r.Prepare(ctx, dir); err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return r.place(out)
}

// file unpacks an entry, which must not exist.
func (r *Restorer) file(e Entry, body io.Reader) error {
	r.count(e)
	name := path.Join(Unfinished, e.Name)
	if dir := path.Dir(name); dir != r.dir { // entries of a folder are consecutive
		if err := r.root.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("unpack %s: %w", e.Name, err)
		}
		r.dir = dir
	}
	opened, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", e.Name, err)
	}
	f := r.Disk.Take(opened)
	_, err = io.Copy(f, io.TeeReader(body, &r.read))
	if err := errors.Join(err, f.Close()); err != nil {
		if damaged, ok := errors.AsType[*Damaged](err); ok {
			return damaged
		}
		return fmt.Errorf("unpack %s: %w", e.Name, err)
	}
	if strings.HasPrefix(e.Name, mediaName+"/") {
		r.files++
	}
	return nil
}

// place moves the old data aside and the unpacked files into their place, the database
// last. The old data is moved back if placing cannot begin.
func (r *Restorer) place(out *Restored) error {
	if err := r.synced("restore unpacked"); err != nil {
		return err
	}
	there, err := r.there()
	if err == nil { // the later rename of the mark needs no room on the disk
		err = r.root.WriteFile(path.Join(Unfinished, unpacked), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("put the data in its place: %w", err)
	}
	if out.Aside, err = r.aside(there); err != nil {
		return fmt.Errorf("move the old data aside: %w", errors.Join(err, r.back(out, there)))
	}
	if err := r.root.Rename(path.Join(Unfinished, unpacked), path.Join(Unfinished, placing)); err != nil {
		return fmt.Errorf("put the data in its place: %w", errors.Join(err, r.back(out, there)))
	}
	if err := r.synced("restore aside"); err != nil {
		return err
	}
	for _, name := range r.placed() {
		if err := r.put(name); err != nil {
			return fmt.Errorf("put the data in its place: %w", err)
		}
	}
	return r.synced("restore placed")
}

// synced ends a step: everything that it wrote is on the disk.
func (r *Restorer) synced(step string) error {
	if err := r.Sync(r.Data); err != nil {
		return fmt.Errorf("write to the disk: %w", err)
	}
	r.Crash(step)
	return nil
}

// back moves the old data back to its place.
func (r *Restorer) back(out *Restored, there []string) error {
	if out.Aside == "" {
		return nil
	}
	for _, name := range there {
		if err := r.root.Rename(path.Join(out.Aside, name), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the old data is in %s: %w", out.Aside, err)
		}
	}
	err := r.root.Remove(out.Aside)
	out.Aside = ""
	return err
}

// aside moves the old data into a new folder, which it returns.
func (r *Restorer) aside(there []string) (dir string, err error) {
	if len(there) == 0 {
		return "", nil
	}
	base := "before-restore-" + r.Now().UTC().Format("20060102-150405")
	dir = base
	for n := 2; ; n++ {
		if err = r.root.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
	for _, name := range there {
		if err == nil {
			err = r.root.Rename(name, path.Join(dir, name))
		}
	}
	return dir, err
}

// put moves an unpacked file or folder into its place, if it exists.
func (r *Restorer) put(name string) error {
	if _, err := r.root.Stat(path.Join(Unfinished, name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := r.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return err
	}
	return r.root.Rename(path.Join(Unfinished, name), name)
}
