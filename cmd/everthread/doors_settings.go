package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/everthread/everthread/adapters/web/office"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/export"
	"github.com/everthread/everthread/core/trust/egress"
)

// settingsPage is what the page of settings needs.
func (a *app) settingsPage() *office.Settings {
	c := a.Config
	apps := &linkApps{app: a}
	exporter := &export.Exporter{Store: a.store, Media: os.DirFS(a.Files.Dir), Zone: a.Calendar.Zone,
		Language: c.DefaultLanguage, Now: a.Now}
	return &office.Settings{Store: a.store, Capabilities: a.capable, NewCode: a.People.NewLinkCode, Apps: apps.list,
		Embeddings: a.Embedders, Agents: agentsPage{a}, Delete: a.Delete, Resume: a.Deleter.Resume, Traces: a.Traces,
		Export: func(ctx context.Context, w io.Writer, user core.UserID) error {
			if err := a.store.PutAudit(ctx, user, export.Done(user)); err != nil { // what has left cannot be taken back
				return err
			}
			return exporter.Write(ctx, w, user, nil)
		},
		TokensPerDay: c.Limits.TokensPerDay, Summaries: c.Summaries.PostForward, Strategy: c.Context.Strategy,
		Voice: c.Speech.Model != ""}
}

// capable are the capabilities of a channel, and whether it is there.
func (a *app) capable(channel string) (core.Capabilities, bool) {
	_, ok := a.Channels[channel]
	return a.Channels.Capabilities(channel), ok
}

// prices are what tokens cost.
func (a *app) prices() office.Prices {
	p := a.Config.LLM.Prices
	return office.Prices{Prompt: p.Prompt, Cached: p.Cached, Completion: p.Completion, Currency: a.Config.LLM.Currency}
}

// linkApps are the apps in which the assistant can be written to, by what their
// services say of it. What was learned is kept.
type linkApps struct {
	*app
	mu    sync.Mutex
	known map[string]core.App
}

// askApps bounds how long services are asked: without an answer there is no link.
const askApps = 3 * time.Second

func (l *linkApps) list(ctx context.Context) []core.App {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]core.App{}
	}
	ctx, cancel := context.WithTimeout(ctx, askApps)
	defer cancel()
	var out []core.App
	for _, name := range slices.Sorted(maps.Keys(l.Channels)) {
		one, ok := l.Channels[name].(core.Linker)
		if !ok {
			continue
		}
		if _, ok := l.known[name]; !ok {
			app, err := one.App(ctx)
			if err != nil {
				continue // the code can be sent by hand
			}
			l.known[name] = app
		}
		out = append(out, l.known[name])
	}
	return out
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
	for _, c := range configured(a.Config) {
		if k, ok := c.(channel.KeyChecker); ok {
			return k.CheckKey(ctx, channel.Host{Client: (*egress.Gate)(nil).Client, Now: a.Now}, key)
		}
	}
	return errors.New("no channel has keys of people")
}

// Add stores a key, encrypted, and has it taken up.
func (a agentsPage) Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error {
	s, err := a.Sealer()
	if err != nil {
		return err
	}
	_, err = a.store.AddAgentKey(ctx, core.AgentKey{User: user, Name: name, CreatedAt: now},
		func(id int64) (string, error) { return s.Seal(agentName(id), key) })
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
