package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/recall"
)

type mcpCmd struct {
	User string `placeholder:"U" help:"Whose conversation and memory (id or name); the owner's if it is not given."`
}

// Run serves the Model Context Protocol on standard input and output. It needs no
// server, and does not mind one.
func (m mcpCmd) Run(ctx context.Context, d *desk) error {
	u, err := d.user(ctx, m.User)
	if err != nil {
		return err
	}
	tools, err := d.tools()
	if err != nil {
		return err
	}
	s, err := mcp.New(mcp.Options{Tools: tools, Actor: noter{d.store, clock()}, Days: d.store, Zone: d.zone(core.User{}), Version: version, Now: clock()})
	if err != nil {
		return err
	}
	return s.Stdio(ctx, u, io.NopCloser(d.in), unclosed{drawn(d.out)})
}

// tools are those of recall and memory, over the desk's store.
func (d *desk) tools() ([]core.Tool, error) {
	analyzer, err := newAnalyzer(d.cfg)
	if err != nil {
		return nil, err
	}
	embedders, err := newHolder(d.cfg, zap.NewNop(), d.store, clock()).newEmbedders()
	if err != nil {
		return nil, err
	}
	searcher := newSearcher(d.cfg, d.store, analyzer, embedders.of, tokens.New(), zap.NewNop())
	kept := &memory.Memory{Store: d.store, Signals: searcher, Embed: embedders.name,
		Settings: memory.Settings{SemanticWeight: d.cfg.Recall.SemanticWeight, LexicalWeight: d.cfg.Recall.LexicalWeight, Candidates: d.cfg.Recall.Candidates}}
	return append(recall.Tools(searcher, recall.UserNames(d.store)), kept.Tools()...), nil
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
