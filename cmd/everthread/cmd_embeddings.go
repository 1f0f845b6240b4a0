package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

type embeddingsCmd struct {
	Status  embeddingsStatusCmd  `cmd:"" help:"How many texts have vectors."`
	Rebuild embeddingsRebuildCmd `cmd:"" help:"Make all vectors again, after the provider or the model changed."`
}

type embeddingsStatusCmd struct{}

// embeddingsView counts a user's embeddings.
type embeddingsView struct {
	User    core.UserID `json:"user_id"`
	Pending int         `json:"pending"`
	Ready   int         `json:"ready"`
	Error   int         `json:"error"`
	Stale   int         `json:"stale"`
	Faults  []faultView `json:"faults,omitempty"`
}

// faultView is why texts have no vectors, and how many.
type faultView struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Run counts embeddings by user.
func (embeddingsStatusCmd) Run(ctx context.Context, d *opened) error {
	embedders, err := d.embedders()
	if err != nil {
		return err
	}
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	var counted []embeddingsView
	for _, u := range users {
		config, err := embedders.Name(ctx, u.ID)
		if err != nil {
			return err
		}
		n, err := d.store.EmbeddingCounts(ctx, u.ID, config)
		if err != nil {
			return err
		}
		faults, err := d.store.EmbeddingFaults(ctx, u.ID)
		if err != nil {
			return err
		}
		v := embeddingsView{u.ID, n[string(core.EmbeddingPending)], n[string(core.EmbeddingReady)],
			n[string(core.EmbeddingError)], n["stale"],
			views(faults, func(f core.EmbeddingFault) faultView { return faultView(f) })}
		counted = append(counted, v)
	}
	err = table(d.console, counted, d.words().EmbeddingsHeader, d.words().EmbeddingsNone,
		func(v embeddingsView) []any { return []any{v.User, v.Ready, v.Pending, v.Error, v.Stale} })
	if err != nil || d.json {
		return err
	}
	for _, v := range counted {
		for _, f := range v.Faults {
			fmt.Fprintln(d.out, d.words().Unembedded.Of(f.Count, v.User, trust.Line(f.Reason)))
		}
	}
	return nil
}

type embeddingsRebuildCmd struct {
	User string `placeholder:"U" help:"Whose (id or name); everybody's if it is not given."`
	Yes  bool   `help:"Do it."`
}

// Run marks everything to be embedded again. A running server does it.
func (r embeddingsRebuildCmd) Run(ctx context.Context, d *opened) error {
	embedders, err := d.embedders()
	if err != nil {
		return err
	}
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	if r.User != "" {
		u, err := d.user(ctx, r.User)
		if err != nil {
			return err
		}
		users = []core.User{u}
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
		with = config
		n, err := d.store.Reembed(ctx, u.ID, config, !r.Yes, clock()())
		if err != nil {
			return err
		}
		total += n
	}
	if with == "" {
		return errors.New("no embeddings are configured; set embeddings.provider and embeddings.model first")
	}
	if !r.Yes {
		return errUsage{fmt.Errorf("this makes %d vectors again with %s; say --yes to do it", total, with)}
	}
	return d.said(map[string]any{"pending": total, "config": with}, "%s", d.words().Reembedding.Of(total))
}
