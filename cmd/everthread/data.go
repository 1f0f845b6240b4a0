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
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/recall"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// opened is an open store and the command that opened it.
type opened struct {
	*console
	cfg   configs.Config
	store database
}

// open opens the store for a command, migrated, until the command ends. The embedded one must exist.
func (c *console) open(ctx context.Context, cfg configs.Config) (*opened, error) {
	err := engine.HasData(cfg, errors.New("run `everthread serve` or `everthread chat` there first, or say"))
	if err == nil && cfg.DatabaseURL == "" {
		err = engine.PrepareData(&cfg)
	}
	if err != nil {
		return nil, err
	}
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.atEnd = append(c.atEnd, func() { st.Close() })
	if cfg, err = c.inForce(ctx, cfg, st); err != nil {
		return nil, err
	}
	return &opened{console: c, cfg: cfg, store: st}, nil
}

// openAsIs opens the store without migrating it. The embedded one must exist, and no store
// may be newer than the program.
func openAsIs(ctx context.Context, cfg configs.Config) (database, error) {
	if err := engine.HasData(cfg, errors.New("say")); err != nil {
		return nil, err
	}
	st, s, err := openSchema(ctx, cfg)
	if err != nil {
		return nil, err
	}
	switch {
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

// openSchema opens the configured store and reads the version of its schema.
func openSchema(ctx context.Context, c configs.Config) (st database, s ports.Schema, err error) {
	if st, err = openStore(ctx, c); err != nil {
		return nil, s, engine.ExplainStore(c, err)
	}
	if s, err = st.Schema(ctx); err != nil {
		st.Close()
		return nil, s, engine.ExplainStore(c, err)
	}
	return st, s, nil
}

// openMigrated opens the configured store with the schema of this program.
func openMigrated(ctx context.Context, c configs.Config) (database, error) {
	st, err := openStore(ctx, c)
	if err != nil {
		return nil, engine.ExplainStore(c, err)
	}
	if err := st.Migrate(ctx); err != nil {
		st.Close()
		return nil, engine.ExplainStore(c, err)
	}
	return st, nil
}

// process returns a process over the open store, which logs nothing.
func (d *opened) process() *engine.Process { return newProcess(d.cfg, zap.NewNop(), d.store, clock()) }

// engine returns an engine over the open store that receives and works but runs no channel.
func (d *opened) engine(ctx context.Context) (*engine.Engine, error) {
	e, shut, err := hostEngine(ctx, d.process(), d.store)
	if err == nil {
		d.atEnd = append(d.atEnd, shut, func() { e.Ledger.Close(context.WithoutCancel(ctx)) })
	}
	return e, err
}

func (d *opened) embedders() (*engine.Embedders, error) { return engine.NewEmbedders(d.process(), nil) }

// searcher returns what searches the open store, and its embedders.
func (d *opened) searcher() (*recall.Searcher, *engine.Embedders, error) {
	embedders, err := d.embedders()
	if err != nil {
		return nil, nil, err
	}
	s, err := engine.NewSearcher(d.cfg, d.store, embedders.Of, tokens.New(), zap.NewNop())
	return s, embedders, err
}

// whose is the flag of commands about one user, who is provided to Run.
type whose struct {
	User string `placeholder:"U" help:"User (id or name); default: the owner."`
}

// ProvideUser finds the user.
func (w whose) ProvideUser(ctx context.Context, d *opened) (core.User, error) {
	return d.user(ctx, w.User)
}

// anyone is the flag of commands about one user or all of them.
type anyone struct {
	User string `placeholder:"U" help:"User (id or name); default: everybody."`
}

// users returns the user, or all users without the flag.
func (a anyone) users(ctx context.Context, d *opened) ([]core.User, error) {
	if a.User == "" {
		return d.store.Users(ctx)
	}
	u, err := d.user(ctx, a.User)
	return []core.User{u}, err
}

// missing replaces core.ErrNotFound with said.
func missing(err, said error) error {
	if errors.Is(err, core.ErrNotFound) {
		return said
	}
	return err
}

// person is user without group chats, which are never merged and as which nobody signs in.
func (d *opened) person(ctx context.Context, who string) (core.User, error) {
	u, err := d.user(ctx, who)
	if err == nil && u.Group() {
		err = fmt.Errorf("%s is a group chat, and no person", u.Name)
	}
	return u, err
}

// user finds a user by id or name; the owner by the empty name.
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
		found[0].Name = trust.Line(found[0].Name) // it is put into sentences
		return found[0], nil
	case len(found) > 1:
		return core.User{}, fmt.Errorf("several users are called %s; name one by its id (`everthread users list`)", who)
	case who == "":
		return core.User{}, errors.New("there is no owner yet; run `everthread serve` or `everthread chat` first")
	}
	return core.User{}, fmt.Errorf("there is no user %s; `everthread users list` shows them", who)
}
