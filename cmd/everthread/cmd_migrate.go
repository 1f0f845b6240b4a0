package main

import (
	"context"
	"fmt"
	"io"

	"github.com/everthread/everthread/core"
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
	return c.show(schemaView{before.Target, before.Target}, func(w io.Writer) {
		if before.Current == before.Target {
			fmt.Fprintf(w, "The schema is up to date (version %d).\n", before.Target)
			return
		}
		fmt.Fprintf(w, "The schema went from version %d to %d.\n", before.Current, before.Target)
	})
}

type migrateStatusCmd struct{}

// Run tells the schema's version and changes nothing.
func (migrateStatusCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if cfg.DatabaseURL == "" && !hasDatabase(cfg) {
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
	return c.show(schemaView{s.Current, s.Target}, func(w io.Writer) {
		if s.Current == s.Target {
			fmt.Fprintf(w, "The schema is up to date (version %d).\n", s.Current)
			return
		}
		fmt.Fprintf(w, "The schema has version %d, this program wants %d: run `everthread migrate up`.\n",
			s.Current, s.Target)
	})
}
