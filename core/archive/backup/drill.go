package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Drill restores a backup into an empty folder, as RestoreFrom does, and compares the rows of its tables with those that
// its end says were in the database when it was made. A dump of a server is read to its end and its rows are counted; it
// is not loaded into a database. The caller removes the folder.
func (r *Restorer) Drill(ctx context.Context, dir string, from io.Reader) (Restored, error) {
	var counted map[string]int64
	in := *r
	in.Data, in.Force = dir, false
	in.Prepare = func(ctx context.Context, dir string) (err error) {
		if counted, err = r.Count(ctx, filepath.Join(dir, databaseName)); err != nil {
			return err
		}
		return r.Prepare(ctx, dir)
	}
	if r.Server != nil {
		in.Server = rehearsal{r.Server, &counted}
	}
	out, err := in.RestoreFrom(ctx, from)
	if err != nil {
		return out, err
	}
	names := slices.Collect(maps.Keys(out.Rows))
	names = append(names, slices.DeleteFunc(slices.Collect(maps.Keys(counted)), func(name string) bool {
		_, ok := out.Rows[name]
		return ok
	})...)
	slices.Sort(names)
	var differ []string
	for _, name := range names {
		if out.Rows[name] != counted[name] {
			differ = append(differ, fmt.Sprintf("%s has %d rows, and had %d", name, counted[name], out.Rows[name]))
		}
	}
	if len(differ) > 0 {
		return out, fmt.Errorf("the backup differs from the database that it was made of: %s; make another one, and report this", strings.Join(differ, "; "))
	}
	if len(names) == 0 {
		return out, errors.New("the backup has no tables")
	}
	return out, nil
}

// rehearsal is a server into which nothing is restored.
type rehearsal struct {
	Server
	counted *map[string]int64
}

// Restore counts the rows in a dump.
func (h rehearsal) Restore(ctx context.Context, dump string, place func() error) error {
	f, err := os.Open(dump)
	if err != nil {
		return err
	}
	defer f.Close()
	if *h.counted, err = h.Count(ctx, f); err != nil {
		return err
	}
	return place()
}
