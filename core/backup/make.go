package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/disk"
)

// Maker makes backups of one gateway. Either File or Tables is its store.
type Maker struct {
	File   FileStore
	Tables TableStore

	Data    string // the data folder: of it the key file and the attachments
	Program string // the program's version
	Key     string // id of the secret key
	// Check looks through a database file that was read back; for File.
	Check func(ctx context.Context, path string) error
	// Lock locks a file until unlock, or fails at once: somebody else writes it.
	Lock func(path string) (unlock func(), err error)
	Now  func() time.Time
	// Wait waits, or until ctx ends: the disk has time for others after each bit that
	// is written, and a server is asked for no more than rate bytes a second.
	Wait func(ctx context.Context, d time.Duration)
	// Progress is told, now and then, how many bytes were read; nil: nobody asks.
	Progress func(bytes int64)
	// Crash is told each step, for tests that die there.
	Crash func(step string)
	// Disk stands before what is written, for tests; nil: nothing does.
	Disk disk.Wrap
}

// Result is a backup that was made.
type Result struct {
	File    string           `json:"file"`
	Size    int64            `json:"size"`    // of the file
	Bytes   int64            `json:"bytes"`   // that are in it
	Entries int64            `json:"entries"` // attachments and pieces of tables
	Rows    map[string]int64 `json:"rows"`    // by table
	Removed []string         `json:"removed,omitempty"`
}

// Make writes a backup to a file that must not be there, or into a folder, under
// a name by its time. There, with keep above 0, the oldest are removed until keep
// are left: after the new one was verified, and no files but backups. Others come first
// where the system can see to that.
func (m *Maker) Make(ctx context.Context, to string, keep int) (res Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the work
		yieldToOthers()
		res, err = m.make(ctx, to, keep)
	}()
	<-done
	return res, err
}

func (m *Maker) make(ctx context.Context, to string, keep int) (Result, error) {
	dir, path, err := m.place(to)
	if err != nil {
		return Result{}, err
	}
	m.sweep(dir)
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

// place says where the backup goes, and in which folder it is written.
func (m *Maker) place(to string) (dir, path string, err error) {
	info, err := os.Stat(to)
	switch {
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

// draft is a backup that has no name yet.
type draft struct {
	file   *os.File
	unlock func()
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

// publish gives a draft its name.
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
		w, err = m.writeTables(ctx, out)
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

func (m *Maker) manifest(engine string, schema int64, tables []core.Table) Manifest {
	return Manifest{Format: format, Program: m.Program, Schema: schema, Engine: engine,
		Made: m.Now().UTC().Truncate(time.Second), Key: m.Key, Tables: tables}
}

// writeFile begins an archive with a database that is one file.
func (m *Maker) writeFile(ctx context.Context, out io.Writer) (w *writer, err error) {
	rows, err := m.File.Image(ctx, func(schema, size int64, r io.Reader) error {
		if w, err = newWriter(out, m.manifest(SQLite, schema, nil)); err != nil {
			return err
		}
		return w.add(databaseName, size, m.watched(ctx, r))
	})
	if err != nil {
		return nil, err
	}
	w.rows(rows)
	return w, nil
}

// writeTables begins an archive with the tables of a server.
func (m *Maker) writeTables(ctx context.Context, out io.Writer) (*writer, error) {
	t := &tables{ctx: ctx, m: m, out: out, began: time.Now()}
	if err := m.Tables.Unload(ctx, t); err != nil {
		return nil, err
	}
	return t.w, nil
}

// tables is a core.TableSink that writes an archive.
type tables struct {
	ctx    context.Context
	began  time.Time
	m      *Maker
	out    io.Writer
	w      *writer
	tables []core.Table
	done   int64
}

// Begin writes the manifest.
func (t *tables) Begin(schema int64, list []core.Table) (err error) {
	t.tables = list
	t.w, err = newWriter(t.out, t.m.manifest(Postgres, schema, list))
	return err
}

// Table writes the rows of a table, at least one piece.
func (t *tables) Table(n int, copy func(w io.Writer) (int64, error)) error {
	p := &pieces{w: t.w, table: n}
	rows, err := copy(watchedWriter{p, t})
	if err == nil && (p.buf.Len() > 0 || p.n == 0) {
		err = p.flush()
	}
	if err == nil {
		t.w.rows(map[string]int64{t.tables[n].Name: rows})
	}
	return err
}

// watchedWriter tells how far the writing is.
type watchedWriter struct {
	io.Writer
	t *tables
}

// Write writes.
func (w watchedWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.t.done += int64(n)
	w.t.m.progress(w.t.done)
	if ahead := time.Duration(w.t.done)*time.Second/rate - time.Since(w.t.began); ahead > breath {
		w.t.m.Wait(w.t.ctx, ahead)
	}
	return n, err
}

// How fast tables are read, in bytes a second, and how long a pause is at least.
const (
	rate   = 80 << 20
	breath = 20 * time.Millisecond
)

func (m *Maker) progress(bytes int64) {
	if m.Progress != nil {
		m.Progress(bytes)
	}
}

// watched tells how far the reading is, and ends with ctx.
func (m *Maker) watched(ctx context.Context, r io.Reader) io.Reader {
	var done int64
	return limited{ctx, readFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		done += int64(n)
		m.progress(done)
		return n, err
	})}
}

type readFunc func([]byte) (int, error)

// Read reads.
func (f readFunc) Read(b []byte) (int, error) { return f(b) }
