package main

import (
	"cmp"
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
	"github.com/everthread/everthread/core/trust"
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
	a.guard = client.NewGuard(client.GuardOptions{Store: a.store, Address: address, Log: a.log.Named("keys"), Now: a.now})
	asker := &live.Asker{Hub: a.hub, Receiver: lazyGateway{a}, Store: a.store, Over: a.over}
	if c.OpenAI.Enabled {
		out = append(out, openai.New(openai.Options{Guard: a.guard, Asker: asker, Director: &director{a, chat}, Keeper: a.files, Store: a.store,
			Embedder: a.ledger.Embedder(a.embedders.system, 0), EmbeddingModel: a.cfg.Embeddings.Model, Tokens: a.tokens, Log: a.log.Named("openai"), Now: a.now}))
		out = append(out, api.New(api.Options{Guard: a.guard, Asker: asker, Actor: lazyGateway{a}, Store: a.store, Searcher: a.search, Memory: a.memory,
			Names: a.names, Zone: a.calendar.Zone, Log: a.log.Named("api"), Now: a.now}))
	}
	if c.MCP.Enabled {
		a.mcpServer, err = mcp.New(mcp.Options{Tools: append(recall.Tools(a.search, a.names), a.memory.Tools()...), Actor: lazyGateway{a}, Days: a.store,
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

// over tells until when the budget of a user's day is used up; zero: it is not.
func (a *app) over(ctx context.Context, user core.UserID) (time.Time, error) {
	u, err := a.people.User(ctx, user)
	if err != nil {
		return time.Time{}, err
	}
	if until := a.closed(u.Settings); !until.IsZero() {
		return until, nil
	}
	limit := a.cfg.Limits.TokensPerDay
	if limit == 0 {
		return time.Time{}, nil
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

// Afford takes tokens of a user's day before a call.
func (d *director) Afford(ctx context.Context, user core.UserID, tokens int) (func(core.Usage) error, error) {
	u, err := d.people.User(ctx, user)
	if err != nil {
		return nil, err
	}
	today := d.calendar.Day(u.Settings, d.now())
	if until := d.ledger.Closed(ctx, tokens); !until.IsZero() {
		return nil, &live.OverBudget{Until: until}
	}
	ok, err := d.store.ReserveCall(ctx, user, today.Label, tokens, d.cfg.Limits.TokensPerDay)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &live.OverBudget{Until: today.End}
	}
	if d.cfg.Limits.TokensPerDay == 0 {
		tokens = 0 // nothing was reserved
	}
	return func(took core.Usage) error {
		return d.store.SettleCall(context.WithoutCancel(ctx), user, today.Label, tokens, took)
	}, nil
}

// Direct asks once. What it may take is reserved before, and what it takes is
// charged, whatever comes of it.
func (d *director) Direct(ctx context.Context, user core.UserID, req core.ModelRequest) (core.Delta, error) {
	most := cmp.Or(req.MaxTokens, d.cfg.LLM.MaxOutputTokens)
	settle, err := d.Afford(ctx, user, d.promptTokens(req)+most)
	if err != nil {
		return core.Delta{}, err
	}
	var out core.Delta
	for delta, streamErr := range d.model.Stream(ctx, req) {
		if err = streamErr; err != nil {
			break
		}
		delta.Text = out.Text + delta.Text
		out = delta
	}
	var over *trust.OverCap
	if errors.As(err, &over) {
		err = &live.OverBudget{Until: over.Until}
	}
	if err == nil && out.Finish == "" {
		err = &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off")}
	}
	return out, cmp.Or(err, settle(d.took(req, out)))
}

// promptTokens counts what a request shows the model.
func (d *director) promptTokens(req core.ModelRequest) (n int) {
	for _, m := range req.Messages {
		n += d.tokens.Count(m.Content)
	}
	return n
}

// took is what a call took, counted here if the model did not say.
func (d *director) took(req core.ModelRequest, out core.Delta) core.Usage {
	switch {
	case out.Usage != nil:
		return *out.Usage
	case out.Text == "" && out.Finish == "":
		return core.Usage{}
	}
	return core.Usage{Completion: d.tokens.Count(out.Text), Prompt: d.promptTokens(req)}
}
