package sqlstore

import (
	"context"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/everthread/everthread/core"
)

// SchemaOf reads the schema's version.
func SchemaOf(ctx context.Context, p *goose.Provider) (core.Schema, error) {
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return core.Schema{}, fmt.Errorf("read schema version: %w", err)
	}
	return core.Schema{Current: current, Target: target}, nil
}

// Migrate brings the schema up to date. If it is newer, Migrate changes nothing and fails with
// core.ErrNewerSchema.
func Migrate(ctx context.Context, p *goose.Provider) error {
	s, err := SchemaOf(ctx, p)
	if err != nil {
		return err
	}
	if s.Current > s.Target {
		return fmt.Errorf("schema %d, this program knows %d: %w", s.Current, s.Target, core.ErrNewerSchema)
	}
	if s.Current == s.Target {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
