package main

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Migrate the schema to this version."`
	Status migrateStatusCmd `cmd:"" help:"Show the version of the schema."`
}

type migrateUpCmd struct {
	Distributed bool `help:"Distribute the tables over the nodes of Citus, by user."`
}

// distributable is a store that can be distributed over several servers.
type distributable interface {
	// Distribute migrates and distributes it; core.ErrNotCitus without other servers.
	Distribute(ctx context.Context) error
}

// Run migrates the store; it makes a missing one.
func (m migrateUpCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := engine.PrepareData(&cfg); err != nil {
		return err
	}
	st, s, err := openSchema(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	migrate := st.Migrate
	if m.Distributed {
		d, ok := st.(distributable)
		if !ok {
			return core.ErrNotCitus
		}
		migrate = d.Distribute
	}
	if err := migrate(ctx); err != nil {
		return engine.ExplainStore(cfg, err)
	}
	text := fmt.Sprintf(c.words().SchemaWent, s.Current, s.Target)
	if s.Current == s.Target {
		text = fmt.Sprintf(c.words().SchemaGood, s.Target)
	}
	return c.lines(object{"current", s.Target, "target", s.Target}, text)
}

type migrateStatusCmd struct{}

func (migrateStatusCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.DatabaseURL == "" && !datadir.HasDatabase(cfg.DataDir) {
		return fmt.Errorf("there is no database in %s yet; `everthread migrate up` makes it", cfg.DataDir)
	}
	st, s, err := openSchema(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	text := fmt.Sprintf(c.words().SchemaOld, s.Current, s.Target)
	switch {
	case s.Current > s.Target:
		return core.ErrNewerSchema
	case s.Current == s.Target:
		text = fmt.Sprintf(c.words().SchemaGood, s.Current)
	}
	return c.lines(object{"current", s.Current, "target", s.Target}, text)
}
