package sqlite_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/storetest"
)

// TestPagesOfATurn bounds the number of pages that each commit of a turn of short messages writes
// to the log. They are most of its cost: one more index is one more page. The least of several
// turns counts: in others a page is full and is split, which adds five pages to a turn on average.
func TestPagesOfATurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(tb testing.TB) func() storetest.Store {
		return func() storetest.Store {
			s, err := sqlite.Open(dir)
			if err == nil {
				err = s.Migrate(tb.Context())
			}
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { _ = s.Close() })
			return s
		}
	}
	most := map[string]int{"Append": 13, "Commit": 15, "FinishPart": 7}
	least := map[string][]uint32{}
	step := func(s storetest.Store, step string, run func()) {
		if _, err := s.DB().Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			t.Fatal(err)
		}
		run()
		log, err := os.ReadFile(filepath.Join(dir, "everthread.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		const header, frame = 32, 24 + 4096
		var pages []uint32
		for at := header; at+frame <= len(log); at += frame {
			pages = append(pages, binary.BigEndian.Uint32(log[at:]))
		}
		t.Logf("%s writes %d pages", step, len(pages))
		if len(pages) == 0 {
			t.Errorf("%s writes nothing", step)
		}
		if before, measured := least[step]; !measured || len(pages) < len(before) {
			least[step] = pages
		}
	}
	storetest.Road(t, open, step)
	for step, pages := range least {
		if len(pages) > most[step] {
			t.Errorf("%s writes %d pages, %v, want at most %d", step, len(pages), pages, most[step])
		}
	}
}
