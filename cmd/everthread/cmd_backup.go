package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/store/sqlite"
)

type backupCmd struct {
	Make  backupMakeCmd  `cmd:"" default:"withargs" help:"Make a backup (the default)."`
	List  backupListCmd  `cmd:"" help:"List the backups here and elsewhere."`
	Drill backupDrillCmd `cmd:"" help:"Restore a backup into a folder that is removed again, and say what that proves."`
}

type backupMakeCmd struct {
	To string `type:"path" placeholder:"PATH" help:"File to write, such as b.tar.zst, or folder; default: backup.dir, where the newest backup.keep stay, and from there backup.to."`
}

// Run makes a backup, also of a schema that is older than the program's.
func (b backupMakeCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	elsewhere, err := newElsewhere(cfg)
	if err != nil {
		return err
	}
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
	var sent *backup.Sent
	var unsent error
	if elsewhere != nil && b.To == "" {
		elsewhere.Progress = shown.mebibytes(c.words().BytesSent)
		s, err := elsewhere.Send(ctx, res.File)
		shown.end()
		if s.Name != "" {
			sent, err = &s, errors.Join(err, engine.NoteSent(ctx, cfg, st, res.File))
		}
		unsent = err
	}
	return errors.Join(c.show(object{"backup", res, "seconds", took.Seconds(), "sent,omitempty", sent}, func(w io.Writer) {
		fmt.Fprintf(w, c.words().BackupMade+"\n", res.File, configs.Size(res.Bytes).Rounded(),
			configs.Size(res.Size).Rounded(), took.Round(100*time.Millisecond))
		for _, name := range res.Removed {
			fmt.Fprintf(w, c.words().BackupRemoved+"\n", name)
		}
		fmt.Fprintln(w, c.words().BackupReadable)
		if sent == nil {
			return
		}
		said := c.words().BackupSent
		if !sent.Encrypted {
			said = c.words().BackupSentPlain
		}
		fmt.Fprintf(w, said+"\n", sent.To, sent.Name)
		for _, name := range sent.Removed {
			fmt.Fprintf(w, c.words().BackupRemovedThere+"\n", name)
		}
	}), unsent)
}

// newElsewhere returns where backups are put besides; nil: nowhere.
func newElsewhere(cfg configs.Config) (*backup.Elsewhere, error) {
	return engine.NewElsewhere(cfg, engine.WayOut(cfg), clock(), crash)
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

type backupListCmd struct{}

// Run lists the backups of both places. What is here is listed even if the other place cannot be reached.
func (backupListCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	type row struct {
		place string
		backup.Stored
	}
	var rows []row
	add := func(place string, all []backup.Stored) {
		for _, s := range all {
			rows = append(rows, row{place, s})
		}
	}
	here, err := backup.List(engine.BackupDir(cfg))
	if err != nil {
		return err
	}
	add(engine.BackupDir(cfg), here)
	elsewhere, err := newElsewhere(cfg)
	if err == nil && elsewhere != nil {
		var there []backup.Stored
		there, err = elsewhere.List(ctx)
		add(elsewhere.Place.String(), there)
	}
	t := c.words()
	shown := table(c, rows, t.BackupsHeader, t.BackupsNone, func(r row) (any, []any) {
		closed := t.No
		if r.Encrypted {
			closed = t.Yes
		}
		return object{"place", r.place, "name", r.Name, "size", r.Size, "made", r.Made, "encrypted", r.Encrypted},
			[]any{r.place, r.Name, clockTime(r.Made, time.Local), configs.Size(r.Size).Rounded(), closed}
	})
	return errors.Join(shown, err)
}

type backupDrillCmd struct{ backupFrom }

// Run restores a backup into a folder of its own, compares what is in it with what its end says, and removes the folder.
func (d backupDrillCmd) Run(ctx context.Context, c *console, cfg configs.Config) (err error) {
	in, err := d.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer in.Close()
	dir, drop, err := drillFolder(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	shown := c.progress()
	to, shut, err := newRestorer(ctx, c, cfg, shown)
	if err != nil {
		return err
	}
	defer shut()
	to.Identities = in.with
	began := time.Now()
	res, err := to.Drill(ctx, dir, in)
	shown.end()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, n := range res.Rows {
		total += n
	}
	return c.show(object{"drill", object{"from", in.name, "encrypted", in.sealed, "made", res.Made, "program", res.Program,
		"rows", res.Rows, "files", res.Files, "other_key", res.OtherKey}, "seconds", time.Since(began).Seconds()},
		func(w io.Writer) {
			t := c.words()
			said := t.DrillFile
			if cfg.DatabaseURL != "" {
				said = t.DrillServer
			}
			fmt.Fprintf(w, said+"\n", in.name, res.Made.Local().Format("2006-01-02 15:04"), total, len(res.Rows),
				t.Messages.Of(int(res.Rows["messages"])), t.Attachments.Of(int(res.Files)))
			if in.sealed {
				fmt.Fprintln(w, t.DrillSealed)
			}
			if res.OtherKey {
				fmt.Fprintln(w, t.RestoredKey)
			}
		})
}

// drillFolder makes an empty folder beside the backups, which drop removes. A killed drill's is removed by the next.
func drillFolder(cfg configs.Config) (dir string, drop func() error, err error) {
	home := engine.BackupDir(cfg)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", nil, fmt.Errorf("make the folder of the backups: %w", err)
	}
	lock := filepath.Join(home, ".everthread-backup-drill.partial")
	unlock, err := datadir.LockFile(lock)
	if errors.Is(err, datadir.ErrLocked) {
		return "", nil, errors.New("another drill is under way")
	}
	if err != nil {
		return "", nil, fmt.Errorf("make the folder of the drill: %w", err)
	}
	dir = filepath.Join(home, ".everthread-backup-drill")
	drop = func() error {
		err := os.RemoveAll(dir)
		unlock()
		return errors.Join(err, os.Remove(lock))
	}
	if err = os.RemoveAll(dir); err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("make the folder of the drill: %w", err), drop())
	}
	return dir, drop, nil
}
