package sqlite

import (
	"context"
	"time"
)

// The write-ahead log is copied into the database, concurrently with commits, after
// checkpointAfter commits; checkpointLook is how often that is checked.
const (
	checkpointAfter = 20
	checkpointLook  = time.Second
)

// autocheckpoint makes a commit copy the log itself when it has this many pages: for commits
// without a gap, and for commands.
const autocheckpoint = "wal_autocheckpoint(4000)"

// Tend copies the log into the database until ctx ends, so that commits need not.
func (s *Store) Tend(ctx context.Context) error {
	db, err := open(s.path, "deferred", 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing depends on it
	tick := time.NewTicker(checkpointLook)
	defer tick.Stop()
	for done := int64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n := s.Commits()
		if n-done < checkpointAfter {
			continue
		}
		if _, err := db.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err == nil {
			done = n // otherwise a commit does it, and reports the error
		}
	}
}
