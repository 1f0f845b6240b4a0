package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/everthread/everthread/adapters/api"
	"github.com/everthread/everthread/adapters/mcp"
	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/recall"
)

// doors are the channels of the gateway itself, for people with a browser and for
// programs with an API key. They use the gateway, which is made after them.
func (a *app) doors(chat core.Model) ([]core.Channel, error) {
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
	guard := client.NewGuard(client.GuardOptions{Store: a.store, Address: address, Log: a.log.Named("keys"), Now: a.now})
	asker := &live.Asker{Hub: a.hub, Receiver: lazyGateway{a}, Store: a.store, Over: a.over}
	if c.OpenAI.Enabled {
		out = append(out, openai.New(openai.Options{Guard: guard, Asker: asker, Director: &director{a, chat}, Keeper: lazyGateway{a}, Store: a.store,
			Embedder: a.embedders.system, EmbeddingModel: a.cfg.Embeddings.Model, Tokens: a.tokens, Log: a.log.Named("openai"), Now: a.now}))
		out = append(out, api.New(api.Options{Guard: guard, Asker: asker, Actor: lazyGateway{a}, Store: a.store, Searcher: a.search, Memory: a.memory,
			Names: a.names, Zone: a.zoneOf, Log: a.log.Named("api"), Now: a.now}))
	}
	if c.MCP.Enabled {
		a.mcpServer, err = mcp.New(mcp.Options{Tools: append(recall.Tools(a.search, a.names), a.memory.Tools()...), Actor: lazyGateway{a}, Days: a.store,
			Guard: guard, PublicURL: a.cfg.HTTP.PublicURL, Zone: a.zoneOf, Version: version, Log: a.log.Named("mcp_server"), Now: a.now})
		if err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
	}
	return out, nil
}

// zoneOf is where a user lives.
func (a *app) zoneOf(u core.User) *time.Location { return u.Settings.Location(a.calendar.zone) }

// page is the web page.
func (a *app) page() (*web.Channel, error) {
	h, w := a.cfg.HTTP, a.cfg.Channels.Web
	return web.New(web.Options{Store: a.store, People: a.people, Hub: a.hub, Gateway: lazyGateway{a}, Search: a.search, Memory: a.memory, Items: a.memory,
		Settings: a.settingsPage(), Admin: a.adminPage(), Prices: a.prices(),
		Prompt: a.rebuild, Day: a.calendar.Day, MediaDir: filepath.Join(a.cfg.DataDir, "media"), MediaMax: int64(a.cfg.Media.MaxBytes),
		Limits:    web.Limits{SignInsPerAddress: w.SignInsPerMinute, SessionLife: w.SessionLife, LivePages: w.LivePages},
		PublicURL: h.PublicURL, TrustedProxies: h.TrustedProxies, Language: a.cfg.DefaultLanguage, Zone: a.cfg.DefaultTimezone,
		Log: a.log.Named("web"), Now: a.now, Rand: rand.Reader})
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

// Keep stores a file for a message.
func (l lazyGateway) Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error) {
	return l.gateway.Keep(ctx, user, f)
}

// over tells until when the budget of a user's day is used up; zero: it is not.
func (a *app) over(ctx context.Context, user core.UserID) (time.Time, error) {
	limit := a.cfg.Limits.TokensPerDay
	if limit == 0 {
		return time.Time{}, nil
	}
	u, err := a.people.User(ctx, user)
	if err != nil {
		return time.Time{}, err
	}
	today := a.calendar.Day(u.Settings, a.now())
	used, reserved, err := a.store.UsageOf(ctx, user, today.Label)
	if err != nil || used+reserved == 0 || used+reserved+a.step(u.Settings) <= limit {
		return time.Time{}, err
	}
	return today.End, nil
}

// director asks the model without a thread.
type director struct {
	*app
	model core.Model
}

// Direct asks once. What it takes is charged, whatever comes of it.
func (d *director) Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error) {
	until, err := d.over(ctx, user)
	if err != nil {
		return core.Delta{}, err
	}
	if !until.IsZero() {
		return core.Delta{}, &live.OverBudget{Until: until}
	}
	var out core.Delta
	for delta, err := range d.model.Stream(ctx, req) {
		if err != nil {
			return out, err
		}
		delta.Text = out.Text + delta.Text
		out = delta
	}
	if out.Finish == "" {
		return out, &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off")}
	}
	return out, d.charge(context.WithoutCancel(ctx), user, req, out)
}

func (d *director) charge(ctx context.Context, user core.UserID, req core.ModelRequest, out core.Delta) error {
	u, err := d.people.User(ctx, user)
	if err != nil {
		return err
	}
	used := out.Usage
	if used == nil {
		used = &core.Usage{Completion: d.tokens.Count(out.Text)}
		for _, m := range req.Messages {
			used.Prompt += d.tokens.Count(m.Content)
		}
	}
	return d.store.Spend(ctx, user, d.calendar.Day(u.Settings, d.now()).Label, *used)
}
