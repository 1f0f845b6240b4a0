package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/text"
)

// Maker makes backups of one gateway. Either File or Server is its store.
type Maker struct {
	File   FileStore
	Server Server

	Data    string // the data folder, with the key file and the attachments
	Program string // the program's version
	Key     string // id of the secret key
	// Check checks a database file that was read back; for File.
	Check func(ctx context.Context, path string) error
	// Lock locks a file until unlock. It fails immediately if another process writes it.
	Lock func(path string) (unlock func(), err error)
	Now  func() time.Time
	// Wait waits for d, or until ctx ends. It leaves the disk to others after each bit
	// that is written.
	Wait func(ctx context.Context, d time.Duration)
	// Progress is called from time to time with the number of read bytes.
	Progress func(bytes int64)
	// Crash is called at each step, for tests that end the process there.
	Crash func(step string)
	// Disk wraps the files that are written, for tests; may be nil.
	Disk disk.Wrap
}

// Result describes a new backup.
type Result struct {
	File    string           `json:"file"`
	Size    int64            `json:"size"`    // of the file
	Bytes   int64            `json:"bytes"`   // of its contents
	Entries int64            `json:"entries"` // the database, the key file and the attachments
	Rows    map[string]int64 `json:"rows"`    // by table
	Removed []string         `json:"removed,omitempty"`
}

// Make writes a backup to a new file, or into a folder under a name by its time. There,
// if keep is above 0, it removes the oldest backups until keep are left, once the new one
// is verified.
func (m *Maker) Make(ctx context.Context, to string, keep int) (Result, error) {
	dir, path, err := m.place(to)
	if err != nil {
		return Result{}, err
	}
	// The database engine leaves files beside an unpacked database.
	disk.Sweep(filepath.Join(dir, partialPattern)+"*", m.Lock)
	out, err := m.partial(ctx, dir)
	if err != nil {
		return Result{}, err
	}
	if err := m.publish(out, path); err != nil {
		return Result{}, err
	}
	res := out.result
	res.File = path
	if dir == to && keep > 0 {
		res.Removed, err = prune(dir, keep)
	}
	return res, err
}

// place returns the folder and the path of the backup.
func (m *Maker) place(to string) (dir, path string, err error) {
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(to) == "":
		return "", "", fmt.Errorf("there is no folder %s; make it first, or name a file, such as %s.tar.zst", to, to)
	case err == nil && info.IsDir():
		path, err = freeName(to, m.Now())
		return to, path, err
	case err == nil:
		return "", "", fmt.Errorf("%s is there already; remove it, or give another name", to)
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("write the backup: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(to)); err != nil {
		return "", "", fmt.Errorf("write the backup: %w", err)
	}
	return filepath.Dir(to), to, nil
}

// draft is a backup without its final name.
type draft struct {
	file   *os.File
	unlock func()
	dumped int64 // bytes that the server's tool wrote
	result Result
}

// drop ends a draft and removes its file.
func (d *draft) drop() {
	_ = d.file.Close()
	d.unlock()
	_ = os.Remove(d.file.Name())
}

// partial writes and verifies a draft in dir.
func (m *Maker) partial(ctx context.Context, dir string) (*draft, error) {
	f, err := os.CreateTemp(dir, partialPattern)
	if err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	d := &draft{file: f, unlock: func() {}}
	if d.unlock, err = m.Lock(f.Name()); err != nil {
		d.unlock = func() {}
	}
	if err == nil {
		err = m.write(ctx, d)
	}
	m.Crash("backup written")
	if err == nil {
		err = m.verify(ctx, d)
	}
	m.Crash("backup verified")
	if err != nil {
		d.drop()
		return nil, fmt.Errorf("write the backup: %w", m.noRoom(err, d))
	}
	return d, nil
}

// publish renames a draft to its final name.
func (m *Maker) publish(d *draft, path string) error {
	if _, err := os.Lstat(path); err == nil {
		d.drop()
		return fmt.Errorf("%s is there already; remove it, or give another name", path)
	}
	err := m.Disk.Take(d.file).Close()
	d.unlock()
	if err == nil {
		err = os.Rename(d.file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(d.file.Name())
		return fmt.Errorf("write the backup: %w", m.noRoom(err, d))
	}
	return SyncDir(filepath.Dir(path))
}

// write writes everything and syncs it.
func (m *Maker) write(ctx context.Context, d *draft) error {
	out := &steady{file: m.Disk.Take(d.file), ctx: ctx, wait: m.Wait}
	var w *writer
	var err error
	if m.File != nil {
		w, err = m.writeFile(ctx, out)
	} else {
		w, err = m.writeDump(ctx, out, d)
	}
	if err == nil {
		err = m.writeFiles(ctx, w)
	}
	if err == nil {
		err = w.close()
	}
	if err == nil {
		err = out.file.Sync()
	}
	d.result.Size = out.size
	return err
}

func (m *Maker) manifest(engine string, schema int64) Manifest {
	return Manifest{Format: format, Program: m.Program, Schema: schema, Engine: engine,
		Made: m.Now().UTC().Truncate(time.Second), Key: m.Key}
}

// writeFile begins an archive with an embedded database.
func (m *Maker) writeFile(ctx context.Context, out io.Writer) (w *writer, err error) {
	rows, err := m.File.Image(ctx, func(schema, size int64, r io.Reader) error {
		if w, err = newWriter(out, m.manifest(SQLite, schema)); err != nil {
			return err
		}
		return w.add(databaseName, size, limited{ctx, io.TeeReader(r, &tally{tell: m.Progress})})
	})
	if err != nil {
		return nil, err
	}
	w.totals.Rows = rows
	return w, nil
}

// writeDump begins an archive with the dump of a server, which is kept beside it until its size is known.
func (m *Maker) writeDump(ctx context.Context, out io.Writer, d *draft) (*writer, error) {
	f, drop, err := m.scratch(filepath.Dir(d.file.Name()))
	if err != nil {
		return nil, err
	}
	defer drop()
	dump := &steady{file: m.Disk.Take(f), ctx: ctx, wait: m.Wait}
	schema, rows, err := m.Server.Dump(ctx, io.MultiWriter(dump, &tally{tell: m.Progress}))
	d.dumped = dump.size
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	w, err := newWriter(out, m.manifest(Postgres, schema))
	if err != nil {
		return nil, err
	}
	w.totals.Rows = rows
	return w, w.add(dumpName, dump.size, limited{ctx, f})
}

// tally is a writer that counts the bytes, and tells their sum.
type tally struct {
	sum  int64
	tell func(sum int64)
}

// Write counts.
func (t *tally) Write(b []byte) (int, error) {
	t.sum += int64(len(b))
	t.tell(t.sum)
	return len(b), nil
}

// noRoom adds the room that a backup needs to the error of a full disk.
func (m *Maker) noRoom(err error, d *draft) error {
	switch {
	case !disk.Full(err):
		return err
	case m.File == nil: // only the server knows the size of its tables
		return fmt.Errorf("%w (%s were written until then)", disk.NoRoom(err, filepath.Dir(d.file.Name()), 0),
			text.Bytes(d.dumped+d.result.Size))
	}
	return disk.NoRoom(err, filepath.Dir(d.file.Name()), m.wants())
}

// wants returns the most bytes that making a backup takes: those of all its files, and
// of a copy of the database for verification.
func (m *Maker) wants() (total int64) {
	for _, name := range []string{databaseName, databaseName, secretName} {
		if info, err := os.Stat(filepath.Join(m.Data, name)); err == nil {
			total += info.Size()
		}
	}
	_ = filepath.WalkDir(filepath.Join(m.Data, mediaName), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable files are not counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// noRoom adds the room that unpacking a backup needs to the error of a full disk, and joins the error of undo.
func (r *Restorer) noRoom(err error, a *Reader, undone error) error {
	full, server := disk.StoreFull(err)
	switch {
	case full && server:
		err = fmt.Errorf("the disk of the database server is full; make room there, and try again: %w", err)
	case full: // it was unpacked, but could not be migrated
		err = disk.NoRoom(fmt.Errorf("%w: %w", syscall.ENOSPC, err), r.Data, r.wants(a))
	case disk.Full(err):
		err = disk.NoRoom(err, r.Data, r.wants(a))
	}
	return errors.Join(err, undone)
}

// wants returns the most bytes that unpacking a backup takes. It reads the backup to its
// end. A database counts twice, since its migration may take as much again.
func (r *Restorer) wants(a *Reader) int64 {
	for {
		e, _, err := a.Next()
		if err != nil {
			return r.bytes
		}
		r.count(e)
	}
}

func (r *Restorer) count(e Entry) {
	r.bytes += e.Size
	if e.Name == databaseName {
		r.bytes += e.Size
	}
}
