package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/alecthomas/kong"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/migrations"
)

type restoreCmd struct {
	backupFrom
	Force bool `help:"Move the contents of the data folder aside."`
}

// Run restores a backup into the configured store, which no other process may use.
func (r restoreCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	in, err := r.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := engine.MakeData(cfg); err != nil {
		return err
	}
	unlock, err := alone(ctx, cfg)
	if err != nil {
		return err
	}
	defer unlock()
	shown := c.progress()
	to, shut, err := newRestorer(ctx, c, cfg, shown)
	if err != nil {
		return err
	}
	defer shut()
	to.Force, to.Identities = r.Force, in.with
	began := time.Now()
	res, err := to.RestoreFrom(ctx, in)
	shown.end()
	if err != nil {
		return err
	}
	return c.show(object{"restored", res, "from", in.name, "seconds", time.Since(began).Seconds()},
		func(w io.Writer) { c.words().restored(w, cfg, res) })
}

// newRestorer returns what restores into the configured store.
func newRestorer(ctx context.Context, c *console, cfg configs.Config, shown *progress) (to *backup.Restorer, shut func(),
	err error) {
	to = &backup.Restorer{Data: cfg.DataDir, Engine: backup.SQLite, Prepare: sqlite.Preparer(makeTables),
		Count: sqlite.Count, Now: clock(), Sync: backup.SyncDisk, Crash: crash,
		Progress: shown.mebibytes(c.words().BytesUnpacked)}
	if cfg.SecretKey != "" {
		if to.Key, err = engine.KeyID(cfg); err != nil {
			return nil, nil, err
		}
	}
	shut = func() {}
	known := migrations.SQLite()
	if cfg.DatabaseURL != "" {
		st, err := postgres.Open(ctx, postgres.Options{URL: string(cfg.DatabaseURL), Direct: string(cfg.DatabaseListen)})
		if err != nil {
			return nil, nil, engine.ExplainStore(cfg, err)
		}
		shut = func() { _ = st.Close() }
		known, to.Engine, to.Server = migrations.Postgres(), backup.Postgres, st
	}
	if to.Schema, err = migrations.Newest(known); err != nil {
		shut()
		return nil, nil, err
	}
	return to, shut, nil
}

// backupFrom is where a backup is read from.
type backupFrom struct {
	From     string `arg:"" optional:"" placeholder:"FROM" help:"Backup: a file; a folder or the address of backup.to, whose newest one is taken; or backup.to/NAME. Default: backup.to."`
	Identity string `type:"path" placeholder:"FILE" help:"Secret key of age that opens an encrypted backup, as age-keygen writes it; not needed with backup.passphrase."`
}

// openedBackup is a backup that is read.
type openedBackup struct {
	io.ReadCloser
	name   string
	sealed bool
	with   []age.Identity
}

// open opens the backup, without reading it.
func (f backupFrom) open(ctx context.Context, cfg configs.Config) (*openedBackup, error) {
	with, err := backup.Identities(f.Identity, string(cfg.Backup.Passphrase))
	if err != nil {
		return nil, err
	}
	from, name := cmp.Or(f.From, cfg.Backup.To), ""
	if from == "" {
		return nil, errUsage{errors.New("name a backup: a file, or a folder of backups; or set backup.to")}
	}
	if strings.Contains(from, "://") {
		to := strings.TrimSuffix(cfg.Backup.To, "/")
		rest, ok := strings.CutPrefix(strings.TrimSuffix(from, "/"), to)
		if to == "" || !ok || rest != "" && !strings.HasPrefix(rest, "/") {
			return nil, errors.New("this is not the address in backup.to: set backup.to to it, and what signs in there (backup.user and backup.password)")
		}
		name = strings.TrimPrefix(rest, "/")
	} else {
		from = kong.ExpandPath(from)
		info, err := os.Stat(from)
		if err != nil {
			return nil, fmt.Errorf("read the backup: %w", err)
		}
		if !info.IsDir() {
			file, err := os.Open(from)
			if err != nil {
				return nil, fmt.Errorf("read the backup: %w", err)
			}
			return &openedBackup{file, from, filepath.Ext(from) == ".age", with}, nil
		}
		cfg.Backup.To = from
	}
	cfg.Backup.EncryptTo, cfg.Backup.Passphrase = nil, ""
	elsewhere, err := newElsewhere(cfg)
	if err != nil {
		return nil, err
	}
	s, err := elsewhere.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return &openedBackup{elsewhere.Open(ctx, s), strings.TrimSuffix(elsewhere.Place.String(), "/") + "/" + s.Name, s.Encrypted,
		with}, nil
}

// alone keeps other processes out of the data folder.
func alone(ctx context.Context, cfg configs.Config) (unlock func(), err error) {
	unlock, err = engine.LockData(cfg, errors.New("stop it first"))
	if err != nil {
		return nil, err
	}
	if cfg.DatabaseURL == "" && sqlite.InUse(ctx, cfg.DataDir) {
		unlock()
		return nil, fmt.Errorf("somebody has the database in %s open, such as `everthread chat`; end that first", cfg.DataDir)
	}
	return unlock, nil
}

func (t *texts) restored(w io.Writer, cfg configs.Config, res backup.Restored) {
	fmt.Fprintf(w, t.Restored+"\n", res.Made.Format(time.RFC1123),
		res.Program, engine.DatabaseName(cfg), t.Messages.Of(int(res.Rows["messages"])),
		t.People.Of(int(max(0, res.Rows["users"]-1))), t.Attachments.Of(int(res.Files)))
	if res.Aside != "" {
		fmt.Fprintf(w, t.RestoredAside+"\n", res.Aside)
	}
	if res.OtherKey {
		fmt.Fprintln(w, t.RestoredKey)
	}
	fmt.Fprintln(w, t.RestoredTwice)
}
