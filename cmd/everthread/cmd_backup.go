package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/store/sqlite"
)

type backupCmd struct {
	To string `type:"path" placeholder:"PATH" help:"File to write, such as b.tar.zst, or folder; default: backup.dir, where the newest backup.keep stay."`
}

// Run makes a backup, also of a schema that is older than the program's.
func (b backupCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	st, err := openAsIs(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	to, keep := b.To, 0
	if to == "" {
		to, keep = engine.BackupDir(cfg), cfg.Backup.Keep
		if err := os.MkdirAll(to, 0o700); err != nil {
			return fmt.Errorf("make the folder of the backups: %w", err)
		}
	}
	m, err := newMaker(cfg, st)
	if err != nil {
		return err
	}
	began, shown := time.Now(), c.progress()
	m.Progress = shown.mebibytes(c.words().BytesRead)
	res, err := m.Make(ctx, to, keep)
	shown.end()
	if err != nil {
		return err
	}
	took := time.Since(began)
	return c.show(object{"backup", res, "seconds", took.Seconds()}, func(w io.Writer) {
		fmt.Fprintf(w, c.words().BackupMade+"\n", res.File, configs.Size(res.Bytes).Rounded(),
			configs.Size(res.Size).Rounded(), took.Round(100*time.Millisecond))
		for _, name := range res.Removed {
			fmt.Fprintf(w, c.words().BackupRemoved+"\n", name)
		}
		fmt.Fprintln(w, c.words().BackupReadable)
	})
}

func newMaker(c configs.Config, st database) (*backup.Maker, error) {
	key, err := engine.KeyID(c)
	if err != nil {
		return nil, err
	}
	m := &backup.Maker{Data: c.DataDir, Program: version, Key: key, Check: sqlite.Check, Lock: datadir.LockFile,
		Now: clock(), Wait: job.Wait, Progress: func(int64) {}, Crash: crash}
	if m.File, _ = st.(backup.FileStore); m.File == nil {
		m.Server, _ = st.(backup.Server)
	}
	return m, nil
}
