package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/disk"
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
