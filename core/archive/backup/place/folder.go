package place

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/everthread/everthread/core/ops/disk"
)

// folder is a place in the file system. It is never made: an empty one where a disk should be would fill the wrong disk.
type folder struct{ dir string }

// String returns the path.
func (f folder) String() string { return f.dir }

func (f folder) root() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, final{fmt.Errorf("there is no folder %s: connect its disk, or make it", f.dir)}
	}
	return root, f.explain(err)
}

// explain says what to do about an error.
func (f folder) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case disk.Full(err):
		return final{disk.NoRoom(err, f.dir, 0)}
	case errors.Is(err, fs.ErrPermission):
		return final{fmt.Errorf("%s cannot be read and written by the user that everthread runs as: %w", f.dir, disk.Cause(err))}
	}
	return err
}

// List returns the files.
func (f folder) List(context.Context) ([]File, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	var out []File
	for _, e := range entries {
		info, gone := e.Info()
		if gone == nil && info.Mode().IsRegular() {
			out = append(out, File{e.Name(), info.Size()})
		}
	}
	return out, f.explain(err)
}

// Put stores a file.
func (f folder) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	sum := sha256.New()
	err = f.write(root, io.TeeReader(within{ctx, body}, sum))
	if err == nil {
		err = f.verify(ctx, root, size, sum)
	}
	if err == nil {
		err = root.Rename(partial, name)
	}
	if err != nil {
		_ = root.Remove(partial) // the first error matters
		return f.explain(err)
	}
	if d, err := root.Open("."); err == nil { // some systems make no names durable
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

func (f folder) write(root *os.Root, body io.Reader) error {
	out, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, body)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// verify reads back what was written.
func (f folder) verify(ctx context.Context, root *os.Root, size int64, sum hash.Hash) error {
	in, err := root.Open(partial)
	if err != nil {
		return err
	}
	defer in.Close()
	return arrived(within{ctx, in}, size, sum)
}

// arrived compares what is read back with what was sent.
func arrived(back io.Reader, size int64, sum hash.Hash) error {
	there := sha256.New()
	n, err := io.Copy(there, back)
	switch {
	case err != nil:
		return fmt.Errorf("read back what was sent: %w", err)
	case n != size:
		return fmt.Errorf("%d of %d bytes arrived", n, size)
	case !bytes.Equal(there.Sum(nil), sum.Sum(nil)):
		return errors.New("other bytes arrived than were sent")
	}
	return nil
}

// Open reads a file.
func (f folder) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	in, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, final{fmt.Errorf("there is no %s in %s", name, f.dir)}
	}
	if err != nil {
		return nil, f.explain(err)
	}
	if _, err := in.Seek(offset, io.SeekStart); err != nil {
		_ = in.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{within{ctx, in}, in}, nil
}

// Remove removes a file.
func (f folder) Remove(_ context.Context, name string) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.explain(err)
	}
	return nil
}

// within reads until ctx ends.
type within struct {
	ctx context.Context
	r   io.Reader
}

// Read reads.
func (w within) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}
