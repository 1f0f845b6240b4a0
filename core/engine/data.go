package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
)

// MakeData makes the data folder, and checks that it can be written.
func MakeData(c configs.Config) error {
	if err := datadir.Make(c.DataDir); err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w; make it writable for this user, or set data_dir",
			c.DataDir, disk.Cause(err))
	}
	return nil
}

// PrepareData makes the data folder, and reads or makes the secret key of the embedded store.
func PrepareData(c *configs.Config) error {
	if err := MakeData(*c); err != nil {
		return err
	}
	if err := backup.Whole(c.DataDir); err != nil {
		return err
	}
	if c.SecretKey != "" || c.DatabaseURL != "" {
		return nil
	}
	key, err := datadir.Key(c.DataDir)
	if err != nil {
		return err
	}
	next, err := datadir.KnownNextKey(c.DataDir)
	c.SecretKey, c.PreviousKey = configs.Secret(key), configs.Secret(next)
	return err
}

// HasData returns an error with the advice if there is no embedded store yet.
func HasData(c configs.Config, advice error) error {
	if err := backup.Whole(c.DataDir); err != nil {
		return err
	}
	if c.DatabaseURL == "" && !datadir.HasDatabase(c.DataDir) {
		return fmt.Errorf("there is no data in %s yet; %w with EVERTHREAD_DATA_DIR or --config where it is", c.DataDir,
			advice)
	}
	return nil
}

// LockData keeps other processes from serving the data folder. If one serves it, the error
// is datadir.ErrServed with the advice.
func LockData(c configs.Config, advice error) (unlock func(), err error) {
	unlock, err = datadir.Lock(c.DataDir)
	if errors.Is(err, datadir.ErrServed) {
		err = fmt.Errorf("%w (%s); %w", err, c.DataDir, advice)
	}
	return unlock, err
}

// ExplainStore says what to do about a store that does not open.
func ExplainStore(c configs.Config, err error) error {
	if told := toldBy(err); told != nil {
		return told
	}
	if c.DatabaseURL != "" {
		return fmt.Errorf("the database does not answer; check that it runs and that database_url is right: %w", err)
	}
	return fmt.Errorf("the database in %s cannot be used: %w", c.DataDir, err)
}

// toldBy returns the error of a store that says itself what to do; nil: err is another.
func toldBy(err error) error {
	for _, told := range []error{core.ErrNewerSchema, core.ErrUnfinished, core.ErrOtherDatabase, core.ErrPooler,
		core.ErrHalfDistributed, core.ErrNotCitus, core.ErrNotCoordinator} {
		if errors.Is(err, told) {
			return told
		}
	}
	return nil
}

// Pauses between two tries of a database that does not answer.
const (
	firstTry = 500 * time.Millisecond
	lastTry  = 15 * time.Second
)

// Migrator is a store whose schema can be brought up to date.
type Migrator interface {
	Migrate(ctx context.Context) error
}

// AwaitStore migrates a store, and waits for a database server that does not answer, until ctx ends.
func AwaitStore(ctx context.Context, c configs.Config, st Migrator, log *zap.Logger) error {
	for wait := firstTry; ; wait = min(2*wait, lastTry) {
		err := st.Migrate(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if toldBy(err) != nil || c.DatabaseURL == "" {
			return ExplainStore(c, err)
		}
		log.Warn("the database does not answer; check that it runs and that database_url is right", zap.Duration("next_try", wait), zap.Error(err))
		job.Wait(ctx, wait)
	}
}

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

// run makes a backup if one is due, in one process at a time. It retries a failed one after backupRetry.
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
			store.Fence{})
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

// BackupTimes returns the time of the last scheduled backup, zero for none, and when the next one is due.
func BackupTimes(ctx context.Context, c configs.Config, st store.StateStore) (last, due time.Time, err error) {
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
