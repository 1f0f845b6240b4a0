package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/migrations"
)

type restoreCmd struct {
	File  string `arg:"" type:"path" placeholder:"FILE" help:"Backup."`
	Force bool   `help:"Move the contents of the data folder aside."`
}

// Run restores a backup into the configured store, which no other process may use.
func (r restoreCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := engine.MakeData(cfg); err != nil {
		return err
	}
	unlock, err := alone(ctx, cfg)
	if err != nil {
		return err
	}
	defer unlock()
	shown := c.progress()
	to := &backup.Restorer{Data: cfg.DataDir, Engine: backup.SQLite, Prepare: sqlite.Preparer(makeTables), Force: r.Force,
		Now: clock(), Sync: backup.SyncDisk, Crash: crash, Progress: shown.mebibytes(c.words().BytesUnpacked)}
	if cfg.SecretKey != "" {
		if to.Key, err = engine.KeyID(cfg); err != nil {
			return err
		}
	}
	known := migrations.SQLite()
	if cfg.DatabaseURL != "" {
		st, err := postgres.Open(ctx, postgres.Options{URL: string(cfg.DatabaseURL), Direct: string(cfg.DatabaseListen)})
		if err != nil {
			return engine.ExplainStore(cfg, err)
		}
		defer func() { _ = st.Close() }()
		known, to.Engine, to.Server = migrations.Postgres(), backup.Postgres, st
	}
	if to.Schema, err = migrations.Newest(known); err != nil {
		return err
	}
	began := time.Now()
	res, err := to.Restore(ctx, r.File)
	shown.end()
	if err != nil {
		return err
	}
	return c.show(object{"restored", res, "seconds", time.Since(began).Seconds()},
		func(w io.Writer) { c.words().restored(w, cfg, res) })
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
