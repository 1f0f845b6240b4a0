package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// scrub returns the statements that remove terms which the indexes have only marked as deleted, and
// truncate the write-ahead log.
func scrub() []string {
	return []string{
		`INSERT INTO message_terms (message_terms) VALUES ('optimize')`,
		`INSERT INTO summary_terms (summary_terms) VALUES ('optimize')`,
		`INSERT INTO item_terms (item_terms) VALUES ('optimize')`,
		`INSERT INTO file_terms (file_terms) VALUES ('optimize')`,
		`PRAGMA wal_checkpoint(TRUNCATE)`,
	}
}

// Traces also searches the files themselves, byte by byte.
func (s *Store) Traces(ctx context.Context, user core.UserID, text string) ([]store.Trace, error) {
	out, err := s.Store.Traces(ctx, user, text)
	if err != nil || len(out) > 0 {
		return out, err
	}
	for _, path := range []string{s.path, s.path + "-wal"} {
		n, err := occurrences(ctx, path, []byte(text))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
		if n > 0 {
			out = append(out, store.Trace{Where: fmt.Sprintf("file %s, %d times", filepath.Base(path), n)})
		}
	}
	return out, nil
}

// occurrences counts a text in a file, until ctx ends.
func occurrences(ctx context.Context, path string, text []byte) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	n, tail := 0, []byte(nil)
	for chunk := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		read, err := r.Read(chunk)
		window := append(tail, chunk[:read]...)
		n += bytes.Count(window, text)
		tail = append([]byte(nil), window[max(0, len(window)-len(text)+1):]...)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
