package main

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/folder"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema up to date."`
	Status migrateStatusCmd `cmd:"" help:"Say which version the schema has."`
}

// schemaView is the state of the schema.
type schemaView struct {
	Current int64 `json:"current"`
	Target  int64 `json:"target"`
}

type migrateUpCmd struct {
	Distributed bool `help:"Spread the tables over the nodes of Citus, by user."`
}

// distributable is a store that can be spread over several servers.
type distributable interface {
	// Distribute migrates and spreads it; core.ErrNotCitus where there are no others.
	Distribute(ctx context.Context) error
}

// migrate brings the schema up to date, and spreads it if that is asked for.
func (m migrateUpCmd) migrate(ctx context.Context, st store) error {
	if !m.Distributed {
		return st.Migrate(ctx)
	}
	if d, ok := st.(distributable); ok {
		return d.Distribute(ctx)
	}
	return core.ErrNotCitus
}

// Run migrates the store, made if need be.
func (m migrateUpCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := prepare(&cfg); err != nil {
		return err
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return explainStore(cfg, err)
	}
	defer st.Close()
	before, err := st.Schema(ctx)
	if err != nil {
		return explainStore(cfg, err)
	}
	if err := m.migrate(ctx, st); err != nil {
		return explainStore(cfg, err)
	}
	after := schemaView{before.Target, before.Target}
	if before.Current == before.Target {
		return c.said(after, c.words().SchemaGood, before.Target)
	}
	return c.said(after, c.words().SchemaWent, before.Current, before.Target)
}

type migrateStatusCmd struct{}

// Run tells the schema's version and changes nothing.
func (migrateStatusCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.DatabaseURL == "" && !folder.HasDatabase(cfg.DataDir) {
		return fmt.Errorf("there is no database in %s yet; `everthread migrate up` makes it", cfg.DataDir)
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return explainStore(cfg, err)
	}
	defer st.Close()
	s, err := st.Schema(ctx)
	if err != nil {
		return explainStore(cfg, err)
	}
	if s.Current > s.Target {
		return core.ErrNewerSchema
	}
	if s.Current == s.Target {
		return c.said(schemaView(s), c.words().SchemaGood, s.Current)
	}
	return c.said(schemaView(s), c.words().SchemaOld, s.Current, s.Target)
}
