package main

import (
	"context"
	"fmt"
	"io"

	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

type mcpCmd struct{ whose }

// Run serves the Model Context Protocol on standard input and output, with or without a
// running server.
func (m mcpCmd) Run(ctx context.Context, d *opened, u core.User) error {
	searcher, embedders, err := d.searcher()
	if err != nil {
		return err
	}
	s, err := mcp.New(mcp.Options{
		Tools: engine.ReadingTools(searcher, engine.NewMemory(d.cfg, d.store, searcher, embedders), d.store),
		Actor: noter{d.store}, Days: d.store, Zone: d.zone(core.User{}), Version: version, Now: clock()})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, u, io.NopCloser(d.in), unclosed{drawn(d.out)})
}

// noter stores changes.
type noter struct{ store store }

// Act makes changes of a user's, all or none.
func (n noter) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error) {
	out, err := n.store.Note(ctx, core.Note{User: user, Effects: effects, Now: clock()()})
	if err != nil {
		return out, fmt.Errorf("change what is kept: %w", err)
	}
	return out, nil
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
