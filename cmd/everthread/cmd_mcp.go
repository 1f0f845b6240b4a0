package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/recall"
)

type mcpCmd struct {
	whose `set:"whose=Whose conversation and memory"`
}

// Run serves the Model Context Protocol on standard input and output. It needs no
// server, and does not mind one.
func (m mcpCmd) Run(ctx context.Context, d *opened, u core.User) error {
	tools, err := d.tools()
	if err != nil {
		return err
	}
	s, err := mcp.New(mcp.Options{Tools: tools, Actor: noter{d.store, clock()}, Days: d.store, Zone: d.zone(core.User{}),
		Version: version, Now: clock()})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, u, io.NopCloser(d.in), unclosed{drawn(d.out)})
}

// tools are those of recall and memory, over the open store.
func (d *opened) tools() ([]core.Tool, error) {
	searcher, embedders, err := d.searcher()
	if err != nil {
		return nil, err
	}
	return engine.ReadingTools(searcher, engine.NewMemory(d.cfg, d.store, searcher, embedders), d.store), nil
}

// embedders are those of the open store.
func (d *opened) embedders() (*engine.Embedders, error) {
	return engine.NewEmbedders(d.process(), nil)
}

// searcher searches the open store.
func (d *opened) searcher() (*recall.Searcher, *engine.Embedders, error) {
	embedders, err := d.embedders()
	if err != nil {
		return nil, nil, err
	}
	s, err := engine.NewSearcher(d.cfg, d.store, embedders.Of, tokens.New(), zap.NewNop())
	return s, embedders, err
}

// noter makes changes in the store.
type noter struct {
	store store
	now   func() time.Time
}

// Act makes changes of a user's, all or none.
func (n noter) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error) {
	out, err := n.store.Note(ctx, core.Note{User: user, Effects: effects, Now: n.now()})
	if err != nil {
		return out, fmt.Errorf("change what is kept: %w", err)
	}
	return out, nil
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
