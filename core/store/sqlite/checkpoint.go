package sqlite

import (
	"context"
	"time"
)

// The log of the database is copied into it beside the commits, when there have been so
// many since the last time; how often that is looked at.
const (
	checkpointAfter = 20
	checkpointLook  = time.Second
)

// autocheckpoint is how many pages of the log make a commit copy it itself: what is left
// to do where commits leave no gap, or where only a command runs.
const autocheckpoint = "wal_autocheckpoint(4000)"

// Tend copies the log into the database until ctx ends, so that no commit has to wait for
// it.
func (s *Store) Tend(ctx context.Context) error {
	db, err := open(s.path, "deferred", 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing of it is waited for
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
			done = n // else a commit does it, and says why it cannot
		}
	}
}
