package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/trust"
)

// prepare makes the data folder and checks that it can be written, and reads or makes
// the secret key of the embedded store.
func prepare(c *configs.Config) error {
	if err := folder.Make(c.DataDir); err != nil {
		return fmt.Errorf("the data folder %s cannot be written: %w; make it writable for this user, or set data_dir",
			c.DataDir, folder.Cause(err))
	}
	if err := backup.Whole(c.DataDir); err != nil {
		return err
	}
	if c.SecretKey != "" || c.DatabaseURL != "" {
		return nil
	}
	key, err := folder.Key(c.DataDir)
	if err != nil {
		return err
	}
	next, err := folder.KnownNextKey(c.DataDir)
	c.SecretKey, c.PreviousKey = configs.Secret(key), configs.Secret(next)
	return err
}

// opened is an open store and whose it is, for commands that look after it.
type opened struct {
	*console
	cfg   configs.Config
	store store
}

// open opens the store for a command, migrated, until the command ends. The
// embedded one must exist.
func (c *console) open(ctx context.Context, cfg configs.Config) (*opened, error) {
	if err := backup.Whole(cfg.DataDir); err != nil {
		return nil, err
	}
	if cfg.DatabaseURL == "" && !folder.HasDatabase(cfg.DataDir) {
		return nil,
			fmt.Errorf(
				"there is no data in %s yet; run `everthread serve` or `everthread chat` there first, or say with EVERTHREAD_DATA_DIR or --config where it is", cfg.DataDir)
	}
	if cfg.DatabaseURL == "" {
		if err := prepare(&cfg); err != nil {
			return nil, err
		}
	}
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.atEnd = append(c.atEnd, func() { st.Close() })
	return &opened{console: c, cfg: cfg, store: st}, nil
}

// openMigrated opens the configured store with the schema of this program.
func openMigrated(ctx context.Context, c configs.Config) (store, error) {
	st, err := openStore(ctx, c)
	if err != nil {
		return nil, explainStore(c, err)
	}
	if err := st.Migrate(ctx); err != nil {
		st.Close()
		return nil, explainStore(c, err)
	}
	return st, nil
}

// explainStore says what to do about a store that does not open.
func explainStore(c configs.Config, err error) error {
	if told := toldBy(err); told != nil {
		return told
	}
	if c.DatabaseURL != "" {
		return fmt.Errorf("the database does not answer; check that it runs and that database_url is right: %w", err)
	}
	return fmt.Errorf("the database in %s cannot be used: %w", c.DataDir, err)
}

// toldBy is the error of a store that says itself what to do, if err is one.
func toldBy(err error) error {
	for _, told := range []error{core.ErrNewerSchema, core.ErrUnfinished, core.ErrOtherDatabase, core.ErrHalfDistributed,
		core.ErrNotCitus, core.ErrNotCoordinator} {
		if errors.Is(err, told) {
			return told
		}
	}
	return nil
}

// process is one over the open store, which logs nothing.
func (d *opened) process() *engine.Process { return newProcess(d.cfg, zap.NewNop(), d.store, clock()) }

// engine makes the engine of a process over the open store that receives and works but
// runs no channel. It logs nothing but errors.
func (d *opened) engine(ctx context.Context) (*engine.Engine, error) {
	h := &engine.Hosting{Process: d.process()}
	channels, err := h.OpenAll(ctx)
	if err != nil {
		return nil, err
	}
	d.atEnd = append(d.atEnd, h.Close)
	e, err := newEngine(h.Process, d.store, channels)
	if err == nil {
		d.atEnd = append(d.atEnd, func() { e.Ledger.Close(context.WithoutCancel(ctx)) })
	}
	return e, err
}

// whose is the flag of commands about one user, who is given to them. The variable of
// its name says what of theirs it is about.
type whose struct {
	User string `placeholder:"U" help:"${whose} (id or name); the owner's if it is not given."`
}

// ProvideUser finds the user.
func (w whose) ProvideUser(ctx context.Context, d *opened) (core.User, error) {
	return d.user(ctx, w.User)
}

// missing is what is said in place of core.ErrNotFound.
func missing(err, said error) error {
	if errors.Is(err, core.ErrNotFound) {
		return said
	}
	return err
}

// user finds the user that --user names, by id or name; the owner if it is empty.
func (d *opened) user(ctx context.Context, who string) (core.User, error) {
	users, err := d.store.Users(ctx)
	if err != nil {
		return core.User{}, err
	}
	var found []core.User
	for _, u := range users {
		if who == "" && u.Role == core.RoleOwner || who != "" && (who == strconv.FormatInt(int64(u.ID), 10) ||
			strings.EqualFold(who, u.Name)) {
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
