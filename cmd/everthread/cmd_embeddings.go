package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

type embeddingsCmd struct {
	Status  embeddingsStatusCmd  `cmd:"" help:"Count the texts with and without vectors."`
	Rebuild embeddingsRebuildCmd `cmd:"" help:"Make all vectors again, after a change of provider or model."`
}

type embeddingsStatusCmd struct{}

type embedded struct {
	user   core.UserID
	counts map[string]int
	faults []ports.EmbeddingFault
}

func (embeddingsStatusCmd) Run(ctx context.Context, d *opened) error {
	all, err := d.countEmbeddings(ctx)
	if err != nil {
		return err
	}
	t := d.words()
	err = table(d.console, all, t.EmbeddingsHeader, t.EmbeddingsNone, func(e embedded) (any, []any) {
		pending, ready, failed := e.counts[string(core.EmbeddingPending)], e.counts[string(core.EmbeddingReady)],
			e.counts[string(core.EmbeddingError)]
		faults := views(e.faults, func(f ports.EmbeddingFault) object { return object{"reason", f.Reason, "count", f.Count} })
		return object{"user_id", e.user, "pending", pending, "ready", ready, "error", failed, "stale", e.counts["stale"],
			"faults,omitempty", faults}, []any{e.user, ready, pending, failed, e.counts["stale"]}
	})
	if err != nil || d.json {
		return err
	}
	for _, e := range all {
		for _, f := range e.faults {
			fmt.Fprintln(d.out, t.Unembedded.Of(f.Count, e.user, trust.Line(f.Reason)))
		}
	}
	return nil
}

func (d *opened) countEmbeddings(ctx context.Context) (out []embedded, err error) {
	embedders, err := d.embedders()
	if err != nil {
		return nil, err
	}
	users, err := d.store.Users(ctx)
	for _, u := range users {
		config, err := embedders.Name(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		e := embedded{user: u.ID}
		if e.counts, err = d.store.EmbeddingCounts(ctx, u.ID, config); err != nil {
			return nil, err
		}
		if e.faults, err = d.store.EmbeddingFaults(ctx, u.ID); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, err
}

type embeddingsRebuildCmd struct {
	anyone
	Yes bool `help:"Confirm."`
}

// Run marks every vector as pending. A running server makes them.
func (r embeddingsRebuildCmd) Run(ctx context.Context, d *opened) error {
	embedders, err := d.embedders()
	if err != nil {
		return err
	}
	users, err := r.users(ctx, d)
	if err != nil {
		return err
	}
	total, with := 0, ""
	for _, u := range users {
		config, err := embedders.Name(ctx, u.ID)
		if err != nil {
			return err
		}
		if config == "" {
			continue
		}
		n, err := d.store.Reembed(ctx, u.ID, config, !r.Yes, clock()())
		if err != nil {
			return err
		}
		total, with = total+n, config
	}
	if with == "" {
		return errors.New("no embeddings are configured; set embeddings.provider and embeddings.model first")
	}
	if !r.Yes {
		return errUsage{fmt.Errorf("this makes %d vectors again with %s; say --yes to do it", total, llmembed.Named(with))}
	}
	return d.said(object{"config", with, "pending", total}, "%s", d.words().Reembedding.Of(total))
}
