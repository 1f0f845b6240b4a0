package main

import (
	"context"
	"io"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

type mcpCmd struct{ whose }

// Run serves the Model Context Protocol on standard input and output, with or without a running server.
func (m mcpCmd) Run(ctx context.Context, d *opened, u core.User) error {
	searcher, embedders, err := d.searcher()
	if err != nil {
		return err
	}
	tools := engine.ReadingTools(searcher, engine.NewMemory(d.cfg, d.store, searcher, embedders), d.store)
	s, err := mcp.New(mcp.Options{Tools: tools, Actor: engine.Noter{Store: d.store, Now: clock()}, Days: d.store,
		Zone: d.zone(core.User{}), Version: version, Log: zap.NewNop(), Now: clock()})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, u, io.NopCloser(d.in), unclosed{drawn(d.out)})
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
