package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/adapters/web/settings"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/doctor"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/store"
)

// doors serve people with a browser and programs with an API key; a door that is turned off is nil.
type doors struct {
	guard  *client.Guard
	page   *web.Channel
	openai *openai.Server
	api    *api.Server
	mcp    *mcp.Server // over HTTP
	root   func(*http.Request) string
}

func (a *app) newDoors() (*doors, error) {
	c := a.Config.Channels
	proxies, err := client.ParseProxies(a.Config.HTTP.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("http.trusted_proxies: %w", err)
	}
	public, err := url.Parse(a.Config.HTTP.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("http.public_url: %w", err)
	}
	d := &doors{root: func(r *http.Request) string { return proxies.Root(r, public) }, guard: client.NewGuard(client.GuardOptions{Store: a.Store, Proxies: proxies,
		Log: a.Log.Named("keys"), Now: a.Now})}
	if c.Web.Enabled {
		if d.page, err = a.newPage(proxies); err != nil {
			return nil, err
		}
	}
	if c.OpenAI.Enabled {
		asker := &live.Asker{Hub: a.Hub, Receiver: a.Gateway, Store: a.Store, Budget: a.Turns}
		d.openai = openai.New(openai.Options{Guard: d.guard, Asker: asker, Director: a.Turns, Keeper: a.Files, Store: a.Store,
			Embedder: a.Embedders.Shared(), EmbeddingModel: a.Config.Embeddings.Model, Tokens: a.Tokens,
			ExtrasRoom: a.Config.Room().Extras(), Log: a.Log.Named("openai"), Now: a.Now})
		d.api = api.New(api.Options{Guard: d.guard, Asker: asker, Actor: a.Gateway, Proposer: a.Engine, Store: a.Store,
			Searcher: a.Search, Memory: a.Memory, Standing: a.Standing, Names: recall.UserNames(a.People), Zone: a.Calendar.Zone,
			Log: a.Log.Named("api"), Now: a.Now})
	}
	if c.MCP.Enabled {
		d.mcp, err = mcp.New(mcp.Options{Tools: a.ReadingTools(), Actor: a.Gateway, Days: a.Store, Guard: d.guard,
			PublicURL: a.Config.HTTP.PublicURL, Zone: a.Calendar.Zone, Version: version, Log: a.Log.Named("mcp_server"),
			Now: a.Now})
		if err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
	}
	return d, nil
}

func (a *app) newPage(proxies client.Proxies) (*web.Channel, error) {
	h, w := a.Config.HTTP, a.Config.Channels.Web
	rooms := []web.Room{
		chat.New(chat.Options{Store: a.Store, People: a.People, Hub: a.Hub, Gateway: a.Gateway, Keeper: a.Files,
			Tokens: a.Tokens, Search: a.Search, Memory: a.Memory, Plans: a.Plans, Rebuilder: a, Groups: a.Engine,
			Models:   a.Turns.Choices,
			MediaDir: a.Files.Dir, MediaMax: a.Files.Max, LivePages: w.LivePages, Now: a.Now}),
		settings.New(a.officeOptions()),
	}
	return web.New(web.Options{Store: a.Store, Owner: a.People, Gateway: a.Gateway, Rooms: rooms, Calendar: a.Calendar,
		Channels: a.Channels, Limits: web.Limits{SignInsPerAddress: w.SignInsPerMinute, SessionLife: w.SessionLife},
		PublicURL: h.PublicURL, Proxies: proxies, Language: a.Config.DefaultLanguage,
		Zone: a.Config.DefaultTimezone, Log: a.Log.Named("web"), Now: a.Now, Rand: rand.Reader})
}

// Rebuild returns the prompt that a snapshot describes.
func (a *app) Rebuild(ctx context.Context, user core.UserID, s *store.Snapshot) ([]core.ModelMessage, error) {
	return engine.Rebuild(ctx, a.Store, a.Config, a.Tokens, user, s)
}

// site returns everything that is served over HTTP.
func (a *app) site() *server.Site {
	routes := map[string]http.Handler{}
	for _, ch := range a.Channels {
		if h, ok := ch.(channel.Handler); ok {
			maps.Copy(routes, h.Routes(a.Gateway))
		}
	}
	if a.page != nil {
		maps.Copy(routes, a.page.Routes())
	}
	if a.openai != nil {
		maps.Copy(routes, a.openai.Routes())
		maps.Copy(routes, a.api.Routes())
	}
	if a.mcp != nil {
		routes["/mcp"] = a.mcp.Handler()
	}
	return &server.Site{Routes: routes, Store: a.store, Health: a.Health, Metrics: a.Metrics,
		Apart: a.Config.HTTP.MetricsListen != "", IsOwner: a.isOwner, Root: a.root}
}

// isOwner reports whether a request has a session of the owner, or a key that may administer.
func (a *app) isOwner(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		_, err := a.guard.Admit(r, core.CanAdmin)
		return err == nil
	}
	return a.page != nil && a.page.IsOwner(r)
}

// officeOptions returns what the pages of settings and administration need.
func (a *app) officeOptions() settings.Options {
	c := a.Config
	return settings.Options{Store: a.Store, People: a.People, Gateway: a.Gateway, Memory: a.Memory, Standing: a.Standing,
		Engine: a.Engine, Embeddings: a.Embedders, Agents: engine.Agents{Engine: a.Engine}, Services: a.Services, Inspector: inspector{a},
		Setup: setupPage{a}, Push: a.Push,
		Prices: engine.Prices(c), TokensPerDay: c.Limits.TokensPerDay, Summaries: c.Summaries.PostForward,
		Strategy: c.Context.Strategy, Voice: c.Speech.Model != "", Models: a.Turns.Choices, MediaDir: a.Files.Dir, PublicURL: c.HTTP.PublicURL,
		Log: a.Log.Named("web"), Now: a.Now, Rand: rand.Reader}
}

// inspector examines the whole gateway, for the owner's page.
type inspector struct{ *app }

// Check checks the configuration as `everthread doctor` does.
func (a inspector) Check(ctx context.Context, language string) []core.Finding {
	return doctor.Named(language, newDoctor(a.Config, language).Examine(ctx))
}

// CheckChannel checks everything that a channel which is on needs.
func (a inspector) CheckChannel(ctx context.Context, key, language string) ([]core.Finding, error) {
	found, err := newDoctor(a.Config, language).ExamineChannel(ctx, key)
	return doctor.Named(language, found), err
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
	return datadir.DatabaseSize(a.Config.DataDir)
}
