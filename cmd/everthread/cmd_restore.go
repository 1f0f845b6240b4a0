package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/migrations"
)

type restoreCmd struct {
	File  string `arg:"" type:"path" placeholder:"FILE" help:"The backup."`
	Force bool   `help:"Move what is in the data folder aside."`
}

// Run puts a backup back where the configuration says. Nobody else may work there.
func (r restoreCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := folder.Make(cfg.DataDir); err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w; make it writable for this user, or set data_dir",
			cfg.DataDir, folder.Cause(err))
	}
	unlock, err := r.alone(ctx, cfg)
	if err != nil {
		return err
	}
	defer unlock()
	to := &backup.Restorer{Data: cfg.DataDir, Engine: backup.SQLite, Prepare: sqlite.Preparer(makeTables), Force: r.Force,
		Now: clock(), Sync: backup.SyncDisk, Crash: crash, Progress: c.bytes(c.words().BytesUnpacked)}
	if cfg.SecretKey != "" {
		if to.Key, err = keyID(cfg); err != nil {
			return err
		}
	}
	known := migrations.SQLite()
	if cfg.DatabaseURL != "" {
		st, err := postgres.Open(ctx, postgres.Options{URL: string(cfg.DatabaseURL), Direct: string(cfg.DatabaseListen),
			Library: makeTables})
		if err != nil {
			return explainStore(cfg, err)
		}
		defer func() { _ = st.Close() }()
		known, to.Engine, to.Tables = migrations.Postgres(), backup.Postgres, st
	}
	if to.Schema, err = newest(known); err != nil {
		return err
	}
	began := time.Now()
	res, err := to.Restore(ctx, r.File)
	if err != nil {
		return err
	}
	return c.show(map[string]any{"restored": res, "seconds": time.Since(began).Seconds()},
		func(w io.Writer) { c.words().restored(w, cfg, res) })
}

// alone makes sure that nobody works in the data folder.
func (r restoreCmd) alone(ctx context.Context, cfg configs.Config) (unlock func(), err error) {
	unlock, err = folder.Lock(cfg.DataDir)
	if errors.Is(err, folder.ErrServed) {
		return nil, fmt.Errorf("%w (%s); stop it first", err, cfg.DataDir)
	}
	if err != nil {
		return nil, err
	}
	if cfg.DatabaseURL == "" && sqlite.InUse(ctx, cfg.DataDir) {
		unlock()
		return nil, fmt.Errorf("somebody has the database in %s open, such as `everthread chat`; end that first", cfg.DataDir)
	}
	return unlock, nil
}

// newest is the version of the schema that this program knows.
func newest(migrations fs.FS) (version int64, err error) {
	names, err := fs.Glob(migrations, "*.sql")
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read the migrations: %w", err)
		}
		version = max(version, n)
	}
	return version, err
}

func (t *texts) restored(w io.Writer, cfg configs.Config, res backup.Restored) {
	fmt.Fprintf(w, t.Restored+"\n", res.Made.Format(time.RFC1123),
		res.Program, engine.DatabaseName(cfg), t.Messages.Of(int(res.Rows["messages"])),
		t.People.Of(int(max(0, res.Rows["users"]-1))), t.Attachments.Of(int(res.Files)))
	if res.Aside != "" {
		fmt.Fprintf(w, t.RestoredAside+"\n", res.Aside)
	}
	for _, left := range res.Left {
		fmt.Fprintf(w, t.RestoredLeft+"\n", left)
	}
	if res.OtherKey {
		fmt.Fprintln(w,
			t.RestoredKey)
	}
	fmt.Fprintln(w,
		t.RestoredTwice)
}
