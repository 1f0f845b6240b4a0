package main

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/everthread/everthread/adapters/web/office"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/doctor"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/setup"
)

// officeOptions returns what the pages of settings and administration need.
func (a *app) officeOptions() office.Options {
	c, prices := a.Config, a.Config.LLM.Prices
	return office.Options{Store: a.Store, People: a.People, Gateway: a.Gateway, Memory: a.Memory, Standing: a.Standing,
		Engine: a.Engine, Embeddings: a.Embedders, Agents: engine.Agents{Engine: a.Engine}, Inspector: inspector{a},
		Prices: office.Prices{Prompt: prices.Prompt, Cached: prices.Cached, Completion: prices.Completion,
			Currency: c.LLM.Currency},
		TokensPerDay: c.Limits.TokensPerDay, Summaries: c.Summaries.PostForward, Strategy: c.Context.Strategy,
		Voice: c.Speech.Model != "", MediaDir: a.Files.Dir, PublicURL: c.HTTP.PublicURL, Log: a.Log.Named("web"), Now: a.Now,
		Rand: rand.Reader}
}

// inspector examines the whole gateway, for the owner's page.
type inspector struct{ *app }

// Check checks the configuration as `everthread doctor` does.
func (a inspector) Check(ctx context.Context, language string) []core.Finding {
	return doctor.Named(language, newDoctor(a.Config, language).Examine(ctx))
}

// Setups returns every channel and how the configuration has it.
func (a inspector) Setups(language string) []channel.Setup {
	return channel.Setups(a.Config.Channels.Sections, language)
}

// CheckChannel checks everything that a channel which is on needs.
func (a inspector) CheckChannel(ctx context.Context, key, language string) ([]core.Finding, error) {
	found, err := newDoctor(a.Config, language).ExamineChannel(ctx, key)
	return doctor.Named(language, found), err
}

// TryChannel tries a channel with answers, and stores none of them.
func (a inspector) TryChannel(ctx context.Context, key, language string,
	answers map[string]string) (office.Tried, error) {
	for _, s := range a.Config.Channels.Sections {
		if s.Key() != key {
			continue
		}
		said, lines, err := setup.ChannelTrier{Way: a.Way, Now: a.Now, Rand: rand.Reader}.Try(ctx, s, language, answers)
		switch {
		case errors.Is(err, setup.ErrNoGuide):
			return office.Tried{}, core.ErrNotFound
		case err != nil:
			return office.Tried{Wrong: err.Error()}, nil
		}
		return office.Tried{Said: said, Lines: lines}, nil
	}
	return office.Tried{}, core.ErrNotFound
}

// Kept checks the data folder, the store and its backups.
func (a inspector) Kept(ctx context.Context, language string) []core.Finding {
	d := newDoctor(a.Config, language)
	d.Lent = a.store
	return doctor.Named(language, d.ExamineKept(ctx))
}

// DatabaseSize returns the bytes of the embedded database; 0: there is none.
func (a inspector) DatabaseSize() (bytes int64) {
	if a.Config.DatabaseURL != "" {
		return 0
	}
	return folder.DatabaseSize(a.Config.DataDir)
}
