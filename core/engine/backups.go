package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/backup"
)

// mediaDir is the folder of attachments.
func mediaDir(c configs.Config) string { return filepath.Join(c.DataDir, "media") }

// BackupDir returns the folder of the backups.
func BackupDir(c configs.Config) string {
	if c.Backup.Dir != "" {
		return c.Backup.Dir
	}
	return filepath.Join(c.DataDir, "backups")
}

// The state that stores the time of the last scheduled backup, for all processes.
const (
	backupState = "backup"
	backupMade  = "made"
	backupRetry = 15 * time.Minute
)

// backups makes scheduled backups.
type backups struct {
	*Process
	maker *backup.Maker // nil: none is made
	meter core.Counter
	next  time.Time // of a retry
}

// run makes a backup if one is due, in one process at a time. It retries a failed one after
// backupRetry.
func (b *backups) run(ctx context.Context) error {
	if b.maker == nil || b.Config.Backup.Cron == "" || b.Now().Before(b.next) {
		return nil
	}
	return b.While(ctx, "backup", func(ctx context.Context) error {
		_, due, err := BackupTimes(ctx, b.Config, b.Store)
		now := b.Now()
		if err != nil || now.Before(due) {
			return err
		}
		made, err := b.make(ctx)
		if err != nil {
			b.next = b.Now().Add(backupRetry)
			b.meter.Count("everthread_backups_total", 1, "failed")
			return err
		}
		b.meter.Count("everthread_backups_total", 1, "made")
		err = b.Store.SetState(ctx, backupState, map[string]string{backupMade: strconv.FormatInt(now.UnixMilli(), 10)},
			core.Fence{})
		if err == nil {
			b.Log.Info("backup made", made...)
		}
		return err
	})
}

// make makes a backup, and returns the fields of its log entry.
func (b *backups) make(ctx context.Context) ([]zap.Field, error) {
	dir := BackupDir(b.Config)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the backups: %w", err)
	}
	began := b.Now()
	res, err := b.maker.Make(ctx, dir, b.Config.Backup.Keep)
	return []zap.Field{zap.String("file", res.File), zap.Int64("bytes", res.Size),
		zap.Duration("took", b.Now().Sub(began)), zap.Strings("removed", res.Removed)}, err
}

// BackupTimes returns the time of the last scheduled backup, zero for none, and when the
// next one is due.
func BackupTimes(ctx context.Context, c configs.Config, st core.StateStore) (last, due time.Time, err error) {
	schedule, err := cron.ParseStandard("CRON_TZ=" + c.DefaultTimezone + " " + c.Backup.Cron)
	if err != nil {
		return last, due, fmt.Errorf("backup.cron: %w", err)
	}
	text, err := st.State(ctx, backupState, backupMade)
	if err != nil {
		return last, due, err
	}
	if made, err := strconv.ParseInt(text, 10, 64); err == nil {
		last = time.UnixMilli(made)
	}
	return last, schedule.Next(time.UnixMilli(max(0, last.UnixMilli()))), nil
}
