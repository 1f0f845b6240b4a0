package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/server"
)

type serveCmd struct {
	Strategy          string  `placeholder:"NAME" help:"What the model sees: continuous, long or truncate. In place of context.strategy."`
	ContextBudget     int     `placeholder:"TOKENS" help:"Of a prompt of the strategy long. In place of context.long.budget."`
	CompressThreshold float64 `placeholder:"SHARE" help:"Of that budget, above which old messages are compressed. In place of context.long.compress_threshold."`
	RawRecentTokens   int     `placeholder:"TOKENS" help:"Newest tokens that stay as they are. In place of context.long.raw_recent_tokens."`
}

// Run serves until a signal comes.
func (s serveCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := s.override(&cfg); err != nil {
		return err
	}
	log := newLogger(cfg.Log, c.err)
	defer log.Sync()
	if err := prepare(&cfg); err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		unlock, err := folder.Lock(cfg.DataDir)
		if errors.Is(err, folder.ErrServed) {
			return fmt.Errorf("%w (%s); stop it first, or give this one a data_dir of its own", err, cfg.DataDir)
		}
		if err != nil {
			return err
		}
		defer unlock()
	}
	return serveStore(ctx, c, cfg, log)
}

// override puts what was given with the command in place of the configuration.
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
	stopTracing, err := startTracing(ctx)
	if err != nil {
		return err
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return explainStore(cfg, err)
	}
	defer st.Close()
	if err := awaitStore(ctx, cfg, st, ln, log); err != nil || ctx.Err() != nil {
		return err
	}
	a, shut, err := startApp(ctx, cfg, log, st)
	if err != nil {
		return err
	}
	defer shut()
	g, err := a.greeting(ctx, ln.Addr())
	if err != nil {
		return err
	}
	if cfg.Log.Format == "console" && isTerminal(c.err) {
		g.draw(drawn(c.err), c.language(), widthOf(c.err))
	} else {
		g.log(a.Log)
	}
	err = a.serve(ctx, ln, metricsAt)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), server.Grace)
	defer cancel()
	if err := stopTracing(end); err != nil {
		log.Warn("the last traces were not sent", zap.Error(err))
	}
	log.Info("everthread has stopped")
	return err
}

// startApp makes the process that serves a store. What its channels opened is closed by
// shut.
func startApp(ctx context.Context, cfg configs.Config, log *zap.Logger, st store) (a *app, shut func(), err error) {
	p, err := engine.NewServing(ctx, cfg, st, log, clock(), wall)
	if err != nil {
		return nil, nil, err
	}
	if a, shut, err = newApp(ctx, p, st); err != nil {
		return nil, nil, err
	}
	if err = a.TakeOver(ctx); err != nil {
		shut()
	}
	return a, shut, err
}

// How long a database that is away is left in peace between two tries.
const (
	firstTry = 500 * time.Millisecond
	lastTry  = 15 * time.Second
)

// awaitStore migrates the store, and waits for a database server that is away.
// Meanwhile the process says that it is alive.
func awaitStore(ctx context.Context, cfg configs.Config, st store, ln net.Listener, log *zap.Logger) error {
	defer server.Alive(ln)()
	for wait := firstTry; ; wait = min(2*wait, lastTry) {
		err := st.Migrate(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if toldBy(err) != nil || cfg.DatabaseURL == "" {
			return explainStore(cfg, err)
		}
		log.Warn("the database does not answer; check that it runs and that database_url is right",
			zap.Duration("next_try", wait), zap.Error(err))
		job.Wait(ctx, wait)
	}
}
