package main

import (
	"context"
	"fmt"

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

type migrateUpCmd struct{}

// Run migrates the store, made if need be.
func (migrateUpCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
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
	if err := st.Migrate(ctx); err != nil {
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
func (migrateStatusCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
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
