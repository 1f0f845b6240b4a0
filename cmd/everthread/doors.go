package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/recall"
)

// doors are the channels of the gateway itself, for people with a browser and for
// programs with an API key. They use the gateway, which is made after them.
func (a *app) doors() ([]core.Channel, error) {
	var out []core.Channel
	c := a.cfg.Channels
	if c.Web.Enabled {
		page, err := a.page()
		if err != nil {
			return nil, err
		}
		out = append(out, page)
	}
	address, err := client.AddressBehind(a.cfg.HTTP.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("http.trusted_proxies: %w", err)
	}
	a.guard = client.NewGuard(client.GuardOptions{Store: a.store, Address: address, Log: a.log.Named("keys"), Now: a.now})
	asker := &live.Asker{Hub: a.hub, Receiver: lazyGateway{a}, Store: a.store, Over: a.engine.Over}
	if c.OpenAI.Enabled {
		out = append(out, openai.New(openai.Options{Guard: a.guard, Asker: asker, Director: a.engine, Keeper: a.files, Store: a.store,
			Embedder: a.ledger.Embedder(a.embedders.system, 0), EmbeddingModel: a.cfg.Embeddings.Model, Tokens: a.tokens, Log: a.log.Named("openai"), Now: a.now}))
		out = append(out, api.New(api.Options{Guard: a.guard, Asker: asker, Actor: lazyGateway{a}, Store: a.store, Searcher: a.search, Memory: a.memory,
			Names: recall.UserNames(a.people), Zone: a.calendar.Zone, Log: a.log.Named("api"), Now: a.now}))
	}
	if c.MCP.Enabled {
		a.mcpServer, err = mcp.New(mcp.Options{Tools: append(recall.Tools(a.search, recall.UserNames(a.people)), a.memory.Tools()...), Actor: lazyGateway{a}, Days: a.store,
			Guard: a.guard, PublicURL: a.cfg.HTTP.PublicURL, Zone: a.calendar.Zone, Version: version, Log: a.log.Named("mcp_server"), Now: a.now})
		if err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
	}
	return out, nil
}

// page is the web page.
func (a *app) page() (*web.Channel, error) {
	h, w := a.cfg.HTTP, a.cfg.Channels.Web
	return web.New(web.Options{Store: a.store, People: a.people, Hub: a.hub, Gateway: lazyGateway{a}, Files: a.files, Search: a.search, Memory: a.memory, Items: a.memory,
		Settings: a.settingsPage(), Admin: a.adminPage(), Prices: a.prices(), Sure: a.people.Sure,
		Prompt: a.rebuild, Calendar: a.calendar, MediaDir: filepath.Join(a.cfg.DataDir, "media"), MediaMax: int64(a.cfg.Media.MaxBytes),
		Limits:    web.Limits{SignInsPerAddress: w.SignInsPerMinute, SessionLife: w.SessionLife, LivePages: w.LivePages},
		PublicURL: h.PublicURL, TrustedProxies: h.TrustedProxies, Language: a.cfg.DefaultLanguage, Zone: a.cfg.DefaultTimezone,
		Log: a.log.Named("web"), Now: a.now, Rand: rand.Reader, Intake: a.intake})
}

// lazyGateway is the gateway, which is made after those who use it.
type lazyGateway struct{ *app }

// Receive passes events on.
func (l lazyGateway) Receive(ctx context.Context, in ...core.Inbound) error {
	return l.gateway.Receive(ctx, in...)
}

// Act makes changes, all or none.
func (l lazyGateway) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error) {
	return l.gateway.Act(ctx, user, effects...)
}

// rebuild returns the prompt that a snapshot describes.
func (a *app) rebuild(ctx context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error) {
	return engine.Rebuild(ctx, a.store, a.cfg, a.tokens, user, s)
}
