package main

import (
	"cmp"
	"context"
	"errors"
	"net"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/server"
)

type serveCmd struct {
	Strategy          string  `placeholder:"NAME" help:"Context strategy: continuous, long or truncate. Overrides context.strategy."`
	ContextBudget     int     `placeholder:"TOKENS" help:"Prompt budget of the strategy long. Overrides context.long.budget."`
	CompressThreshold float64 `placeholder:"SHARE" help:"Share of that budget above which old messages are compressed. Overrides context.long.compress_threshold."`
	RawRecentTokens   int     `placeholder:"TOKENS" help:"Newest tokens that are never compressed. Overrides context.long.raw_recent_tokens."`
}

// Run serves until a signal comes.
func (s serveCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := s.override(&cfg); err != nil {
		return err
	}
	log := newLogger(cfg.Log, c.err)
	defer log.Sync()
	if err := engine.PrepareData(&cfg); err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		unlock, err := engine.LockData(cfg, errors.New("stop it first, or give this one a data_dir of its own"))
		if err != nil {
			return err
		}
		defer unlock()
	}
	return serveStore(ctx, c, cfg, log)
}

// override replaces values of the configuration with flags.
func (s serveCmd) override(cfg *configs.Config) error {
	x := &cfg.Context
	x.Strategy = cmp.Or(s.Strategy, x.Strategy)
	x.Long.Budget = cmp.Or(s.ContextBudget, x.Long.Budget)
	x.Long.CompressThreshold = cmp.Or(s.CompressThreshold, x.Long.CompressThreshold)
	x.Long.RawRecentTokens = cmp.Or(s.RawRecentTokens, x.Long.RawRecentTokens)
	return cfg.Validate()
}

// serveStore listens, waits for the database and serves until ctx ends.
func serveStore(ctx context.Context, c *console, cfg configs.Config, log *zap.Logger) error {
	ln, err := server.Listen("http.listen", cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	var metricsAt net.Listener
	if at := cfg.HTTP.MetricsListen; at != "" {
		if metricsAt, err = server.Listen("http.metrics_listen", at); err != nil {
			return err
		}
		defer metricsAt.Close()
	}
	if cfg.HTTP.PublicURL == cfg.HTTP.At(cfg.HTTP.Listen) { // the port may be any that was free
		cfg.HTTP.PublicURL = cfg.HTTP.At(ln.Addr().String())
	}
	stopTracing, err := engine.StartTracing(ctx, version)
	if err != nil {
		return err
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return engine.ExplainStore(cfg, err)
	}
	defer st.Close()
	alive := server.Alive(ln) // until the database answers
	err = engine.AwaitStore(ctx, cfg, st, log)
	if alive(); err != nil || ctx.Err() != nil {
		return err
	}
	a, shut, err := startApp(ctx, cfg, log, st)
	if err != nil {
		return err
	}
	defer shut()
	welcome, err := a.Welcome(ctx)
	if err != nil {
		return err
	}
	greeting{welcome, cfg, ln.Addr().String()}.show(c, a.Log)
	err = a.serve(ctx, ln, metricsAt)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), server.Grace)
	defer cancel()
	if err := stopTracing(end); err != nil {
		log.Warn("the last traces were not sent", zap.Error(err))
	}
	log.Info("everthread has stopped")
	return err
}
