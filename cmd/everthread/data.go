package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/trust"
)

// prepare makes the data folder and checks that it can be written, and reads or
// makes the secret key of the embedded store.
func prepare(c *configs.Config) error {
	if err := writable(c.DataDir); err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w; make it writable for this user, or set data_dir", c.DataDir, bare(err))
	}
	if err := unfinished(c.DataDir); err != nil {
		return err
	}
	if c.SecretKey != "" || c.DatabaseURL != "" {
		return nil
	}
	key, err := secretKey(filepath.Join(c.DataDir, secretFile))
	if err != nil {
		return err
	}
	next, err := nextKey(c.DataDir)
	c.SecretKey, c.PreviousKey = configs.Secret(key), configs.Secret(next)
	return err
}

// unfinished is an error if a restore into a data folder was not finished.
func unfinished(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, backup.Unfinished)); err == nil {
		return fmt.Errorf("%w (%s)", core.ErrUnfinished, dir)
	}
	return nil
}

// secretFile is the name of the key file in the data folder.
const secretFile = "secret_key"

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".write-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// bare is the cause of an error about a path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// secretKey reads the key file, made if it is not there.
func secretKey(path string) (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", fmt.Errorf("make the secret key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the secret key: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	text := hex.EncodeToString(key)
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	return text, nil
}

// lock makes sure that one process serves a data folder. The lock ends with the
// process, however that ends.
func lock(dir string) (unlock func(), err error) {
	unlock, err = lockFile(filepath.Join(dir, "serve.lock"))
	if errors.Is(err, errLocked) {
		return nil, errServed
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return unlock, nil
}

// errLocked: somebody else holds the lock.
var errLocked = errors.New("it is locked")

var errServed = errors.New("another everthread serves this data folder already")

// served reports whether a process serves the embedded store.
func served(c configs.Config) bool {
	if c.DatabaseURL != "" {
		return false
	}
	unlock, err := lock(c.DataDir)
	if err == nil {
		unlock()
	}
	return errors.Is(err, errServed)
}

// desk is an open store and whose it is, for commands that look after it.
type desk struct {
	*console
	cfg   configs.Config
	store store
}

// open opens the store for a command, migrated, until the command ends. The
// embedded one must exist.
func (c *console) open(ctx context.Context) (*desk, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	if err := unfinished(cfg.DataDir); err != nil {
		return nil, err
	}
	if cfg.DatabaseURL == "" && !hasDatabase(cfg) {
		return nil, fmt.Errorf("there is no data in %s yet; run `everthread serve` or `everthread chat` there first, or say with EVERTHREAD_DATA_DIR or --config where it is", cfg.DataDir)
	}
	if cfg.DatabaseURL == "" {
		if err := prepare(&cfg); err != nil {
			return nil, err
		}
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := st.Migrate(ctx); err != nil {
		st.Close()
		return nil, explainStore(cfg, err)
	}
	c.atEnd = append(c.atEnd, func() { st.Close() })
	return &desk{console: c, cfg: cfg, store: st}, nil
}

func hasDatabase(c configs.Config) bool {
	_, err := os.Stat(filepath.Join(c.DataDir, "everthread.db"))
	return err == nil
}

// explainStore says what to do about a store that does not open.
func explainStore(c configs.Config, err error) error {
	switch {
	case errors.Is(err, core.ErrNewerSchema):
		return core.ErrNewerSchema
	case errors.Is(err, core.ErrUnfinished):
		return core.ErrUnfinished
	case c.DatabaseURL != "":
		return fmt.Errorf("the database does not answer; check that it runs and that database_url is right: %w", err)
	}
	return fmt.Errorf("the database in %s cannot be used: %w", c.DataDir, err)
}

// engine makes the engine of a process over the desk's store that receives and works but
// runs no channel. It logs nothing but errors.
func (d *desk) engine(ctx context.Context) (*engine.Engine, error) {
	h := newHolder(d.cfg, zap.NewNop(), d.store, clock())
	chs, shut, err := h.channels(ctx)
	if err != nil {
		return nil, err
	}
	d.atEnd = append(d.atEnd, shut)
	e, err := h.engine(chs)
	if err == nil {
		d.atEnd = append(d.atEnd, func() { e.Ledger.Close(context.WithoutCancel(ctx)) })
	}
	return e, err
}

// user finds the user that --user names, by id or name; the owner if it is empty.
func (d *desk) user(ctx context.Context, who string) (core.User, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return core.User{}, err
	}
	var found []core.User
	for _, u := range users {
		if who == "" && u.Role == core.RoleOwner || who != "" && (who == strconv.FormatInt(int64(u.ID), 10) || strings.EqualFold(who, u.Name)) {
			found = append(found, u)
		}
	}
	switch {
	case len(found) == 1:
		found[0].Name = trust.Line(found[0].Name) // it is said in sentences
		return found[0], nil
	case len(found) > 1:
		return core.User{}, fmt.Errorf("several users are called %s; name one by its id (`everthread users list`)", who)
	case who == "":
		return core.User{}, errors.New("there is no owner yet; run `everthread serve` or `everthread chat` first")
	}
	return core.User{}, fmt.Errorf("there is no user %s; `everthread users list` shows them", who)
}
