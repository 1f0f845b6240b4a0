package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/everthread/everthread/adapters/web/office"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/trust/egress"
)

// officeOptions are what the pages of settings and administration need.
func (a *app) officeOptions() office.Options {
	c, prices := a.Config, a.Config.LLM.Prices
	return office.Options{Store: a.Store, People: a.People, Gateway: a.Gateway, Memory: a.Memory, Standing: a.Standing,
		Engine: a.Engine, Embeddings: a.Embedders, Agents: agentsPage{a}, Inspector: inspector{a},
		Prices: office.Prices{Prompt: prices.Prompt, Cached: prices.Cached, Completion: prices.Completion,
			Currency: c.LLM.Currency},
		TokensPerDay: c.Limits.TokensPerDay, Summaries: c.Summaries.PostForward, Strategy: c.Context.Strategy,
		Voice: c.Speech.Model != "", MediaDir: a.Files.Dir, PublicURL: c.HTTP.PublicURL, Log: a.Log.Named("web"), Now: a.Now,
		Rand: rand.Reader}
}

// agentsPage keeps the keys of people's own WhatsApp agents.
type agentsPage struct{ *app }

// List lists a user's agents with what is known to be wrong with them.
func (a agentsPage) List(ctx context.Context, user core.UserID) ([]office.Agent, error) {
	keys, err := a.store.AgentKeys(ctx)
	if err != nil {
		return nil, err
	}
	health := map[string]error{}
	for _, ch := range a.Channels {
		if accounts, ok := ch.(core.AccountChecker); ok {
			maps.Copy(health, accounts.CheckAccounts())
		}
	}
	var out []office.Agent
	for _, k := range keys {
		if k.User == user {
			out = append(out, office.Agent{ID: k.ID, Name: k.Name, Since: k.CreatedAt, Err: health[strconv.FormatInt(k.ID, 10)]})
		}
	}
	return out, nil
}

// Check tries a key with the service.
func (a agentsPage) Check(ctx context.Context, key string) error {
	for _, c := range channel.On(a.Config.Channels.Sections) {
		if k, ok := c.(channel.KeyChecker); ok {
			return k.CheckKey(ctx, channel.Host{Client: (*egress.Gate)(nil).Client, Now: a.Now}, key)
		}
	}
	return errors.New("no channel has keys of people")
}

// Add stores a key, encrypted, and has it taken up.
func (a agentsPage) Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error {
	_, err := engine.AddAgentKey(ctx, a.Config, a.store, core.AgentKey{User: user, Name: name, CreatedAt: now}, key)
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	a.RefreshAccounts()
	return nil
}

// Remove removes a user's agent.
func (a agentsPage) Remove(ctx context.Context, user core.UserID, id int64) error {
	if err := a.store.RemoveAgentKey(ctx, user, id); err != nil {
		return err
	}
	a.RefreshAccounts()
	return nil
}
