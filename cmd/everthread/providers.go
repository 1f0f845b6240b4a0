package main

import (
	"context"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/media"
	"github.com/everthread/everthread/core/trust"
)

// ledgerLease is how long what a process was granted of a day is kept for it.
const ledgerLease = 10 * time.Minute

// newLedger makes the ledger through which all providers are asked.
func (a *app) newLedger() {
	a.ledger = &trust.Ledger{Store: a.store, PerDay: allTokensPerDay(a.cfg), PerUser: a.cfg.Limits.TokensPerDay, Worker: a.worker, Lease: ledgerLease, Tokens: a.tokens,
		MaxOutput: a.cfg.LLM.MaxOutputTokens, Log: a.log.Named("ledger"), Now: a.now,
		Day: func(ctx context.Context, user core.UserID) (core.Day, error) {
			u, err := a.store.User(ctx, user)
			return a.calendar.Day(u.Settings, a.now()), err
		}}
}

// allTokensPerDay is how many tokens all users may use a day; 0: there is no limit.
func allTokensPerDay(c configs.Config) int {
	switch n := c.Limits.AllTokensPerDay; {
	case n < 0:
		return 0
	case n == 0 && c.Access.Policy == "open":
		return configs.OpenTokensPerDay
	default:
		return n
	}
}

// models is a configured model with its fallbacks, as the ledger counts it.
func (a *app) models(c configs.LLM) (core.Model, error) {
	m, err := models(c, a.tokens, a.way)
	if err != nil {
		return nil, err
	}
	return a.ledger.Model(m), nil
}

// transcriber is the configured one, as the ledger counts it; nil: there is none.
func (a *app) transcriber() media.Transcriber {
	t := transcriber(a.cfg.Transcription, a.way)
	if t == nil {
		return nil
	}
	return a.ledger.Transcriber(t)
}

// busy reports whether background work is to hold back: replies are being written,
// or the day has no tokens left for it.
func (a *app) busy() bool {
	return a.gateway.Busy() || !a.engine.Closed(core.Settings{}).IsZero()
}
