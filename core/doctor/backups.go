package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/disk"
	"github.com/everthread/everthread/core/engine"
)

// Limits of backups: how long a new gateway may be without one, how old one made by hand
// may be, and how late a scheduled one.
const (
	backupGrace = 24 * time.Hour
	backupOld   = 8 * 24 * time.Hour
	backupLate  = time.Hour
)

// backups checks that there is a backup which is new enough.
func (e *examination) backups(ctx context.Context) {
	const check = "backups"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	since := e.begun(ctx)
	if since.IsZero() {
		return // reported already, or there is nothing to lose
	}
	dir, now := engine.BackupDir(e.Config), e.Now()
	newest, err := backup.Newest(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrPermission):
		e.problem(check, e.BackupUnreadable, disk.Cause(err), dir)
	case e.Config.Backup.Cron != "":
		e.schedule(ctx, newest, since, now)
	case now.Sub(newest) < backupOld:
		e.fine(check, e.BackupByHand, at(newest), e.BackupHow)
	case e.Config.DatabaseURL != "":
		e.fine(check, e.BackupServer, e.Config.DataDir, e.BackupHow)
	case now.Sub(since) < backupGrace:
		e.fine(check, e.BackupNone, e.BackupHow)
	case newest.IsZero():
		e.problem(check, e.BackupNever, dir, e.BackupHow)
	default:
		e.problem(check, e.BackupOld, at(newest), e.BackupHow)
	}
}

// schedule checks that the last scheduled backup was made.
func (e *examination) schedule(ctx context.Context, newest, since, now time.Time) {
	const check = "backups"
	last, due, err := engine.BackupTimes(ctx, e.Config, e.store)
	if err != nil {
		e.verdict(check, err, "")
		return
	}
	if last.IsZero() { // the first one is due immediately
		due = since
	}
	what := e.BackupNoneMade
	if !newest.IsZero() {
		what = fmt.Sprintf(e.BackupNewest, at(newest))
	}
	switch {
	case now.Sub(due) > backupLate:
		e.problem(check, e.BackupDue, what, at(due), engine.BackupDir(e.Config))
	case newest.IsZero():
		e.fine(check, e.BackupFirst)
	case e.Config.Backup.Dir == "":
		e.fine(check, "%s", what+e.BackupBeside)
	default:
		e.fine(check, "%s", what)
	}
}

func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// begun returns when the store got its first user; zero: it is empty.
func (e *examination) begun(ctx context.Context) (since time.Time) {
	if !e.schema {
		return since
	}
	first, _, err := e.store.FindUsers(ctx, "", 0, 1)
	if err != nil || len(first) == 0 {
		return since
	}
	return first[0].CreatedAt
}
