package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store/sqlite"
)

type backupCmd struct {
	To string `type:"path" placeholder:"PATH" help:"The file to write, or a folder; by default backup.dir, where only backup.keep stay."`
}

// Run makes a backup. The schema may be older than the program's.
func (b backupCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	st, err := c.openAsIs(ctx, cfg)
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
	began := time.Now()
	m.Progress = c.bytes(c.words().BytesRead)
	res, err := m.Make(ctx, to, keep)
	if err != nil {
		return err
	}
	took := time.Since(began)
	return c.show(map[string]any{"backup": res, "seconds": took.Seconds()}, func(w io.Writer) {
		fmt.Fprintf(w, c.words().BackupMade+"\n", res.File, rounded(res.Bytes),
			rounded(res.Size), took.Round(100*time.Millisecond))
		for _, name := range res.Removed {
			fmt.Fprintf(w, c.words().BackupRemoved+"\n", name)
		}
		fmt.Fprintln(w, c.words().BackupReadable)
	})
}

// openAsIs opens the store for a command without migrating it. The embedded one
// must exist, and no store may be newer than the program.
func (c *console) openAsIs(ctx context.Context, cfg configs.Config) (store, error) {
	if err := backup.Whole(cfg.DataDir); err != nil {
		return nil, err
	}
	if cfg.DatabaseURL == "" && !folder.HasDatabase(cfg.DataDir) {
		return nil, fmt.Errorf("there is no data in %s yet; say with EVERTHREAD_DATA_DIR or --config where it is",
			cfg.DataDir)
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return nil, explainStore(cfg, err)
	}
	s, err := st.Schema(ctx)
	switch {
	case err != nil:
		err = explainStore(cfg, err)
	case s.Current > s.Target:
		err = core.ErrNewerSchema
	case s.Current == 0:
		err = errors.New("there is no data in the database yet")
	default:
		return st, nil
	}
	st.Close()
	return nil, err
}

// bytes shows how far long work is: on a terminal in one line, else now and then.
func (c *console) bytes(what string) func(int64) {
	screen, every := c.pace()
	shown := time.Now()
	return func(done int64) {
		if c.json || time.Since(shown) < every {
			return
		}
		shown = time.Now()
		if screen {
			fmt.Fprintf(drawn(c.err), "\r"+what+" ", done>>20)
			return
		}
		fmt.Fprintf(c.err, what+"\n", done>>20)
	}
}

// pace is how often long work shows how far it is, and whether it does in one line, on a
// terminal.
func (c *console) pace() (screen bool, every time.Duration) {
	if isTerminal(c.err) {
		return true, 200 * time.Millisecond
	}
	return false, 10 * time.Second
}

// newMaker makes backups of a store.
func newMaker(c configs.Config, st store) (*backup.Maker, error) {
	key, err := keyID(c)
	if err != nil {
		return nil, err
	}
	m := &backup.Maker{Data: c.DataDir, Program: version, Key: key, Check: sqlite.Check, Lock: folder.LockFile,
		Now: clock(), Wait: job.Wait, Crash: crash}
	if file, ok := st.(backup.FileStore); ok {
		m.File = file
	} else {
		m.Tables, _ = st.(backup.TableStore)
	}
	return m, nil
}

// keyID is the id of the secret key, empty if there is none yet.
func keyID(c configs.Config) (string, error) {
	if c.SecretKey == "" {
		key, err := folder.KnownKey(c.DataDir)
		if err != nil || key == "" {
			return "", err
		}
		c.SecretKey = configs.Secret(key)
	}
	s, err := engine.NewSealer(c)
	if err != nil {
		return "", err
	}
	return s.Key(), nil
}

// rounded is a size without what nobody wants to know of it.
func rounded(bytes int64) configs.Size {
	unit := int64(1)
	for bytes/unit >= 10<<10 {
		unit <<= 10
	}
	return configs.Size((bytes + unit - 1) / unit * unit)
}
