package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/api"
	openaidoor "github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
)

// store is a store of either engine.
type store interface {
	engine.Store
	Migrate(ctx context.Context) error
	Schema(ctx context.Context) (core.Schema, error)
	Analyze(a core.Analyzer)
	Reseal(ctx context.Context, f func(core.Sealed) (string, error)) (changed int, err error)
}

// openStore opens the configured store without migrating it.
func openStore(ctx context.Context, c configs.Config) (store, error) {
	analyzer, err := engine.NewAnalyzer(c)
	if err != nil {
		return nil, err
	}
	st, err := openEngine(ctx, c)
	if err != nil {
		return nil, err
	}
	st.Analyze(analyzer)
	return st, nil
}

func openEngine(ctx context.Context, c configs.Config) (store, error) {
	if c.DatabaseURL == "" {
		return sqlite.Open(c.DataDir)
	}
	return postgres.Open(ctx, postgres.Options{URL: string(c.DatabaseURL), Direct: string(c.DatabaseListen),
		Conns: c.DatabaseConns, Trace: tracing()})
}

// newProcess is a process whose connections count as nobody's.
func newProcess(c configs.Config, log *zap.Logger, st store, now func() time.Time) *engine.Process {
	return engine.NewProcess(c, st, log, now, engine.WayOut(c), nil)
}

// newEngine makes the engine of a process over a store, with these channels and those of
// its doors.
func newEngine(p *engine.Process, st store, channels []core.Channel) (*engine.Engine, error) {
	maker, err := newMaker(p.Config, st)
	if err != nil {
		return nil, err
	}
	c := p.Config.Channels
	if c.Web.Enabled {
		channels = append(channels, web.Door())
	}
	if c.OpenAI.Enabled {
		channels = append(channels, openaidoor.Door(), api.Door())
	}
	self, err := itself()
	if err != nil {
		return nil, fmt.Errorf("find the program itself, which reads documents: %w", err)
	}
	return engine.New(p, engine.Options{Channels: channels, Version: version, Backup: maker, Crash: crash,
		ReadDocument: []string{self, readDocument},
		Ticks:        engine.Ticks{Usual: tick, Reminders: remindTick, Embeddings: embedTick}})
}

// itself is the path of this program: as the system says, else, where no /proc is, as it
// was called.
func itself() (string, error) {
	if path, err := os.Executable(); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// app is a process that serves: the engine with its doors.
type app struct {
	*engine.Engine
	*doors
	store store
}

// newApp makes a process that serves the configured channels. What they opened is closed
// by shut.
func newApp(ctx context.Context, p *engine.Process, st store) (a *app, shut func(), err error) {
	h := &engine.Hosting{Process: p}
	channels, err := h.OpenAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	a = &app{store: st}
	if a.Engine, err = newEngine(p, st, channels); err == nil {
		a.doors, err = a.newDoors()
	}
	if err != nil {
		h.Close()
	}
	return a, h.Close, err
}

// serve runs everything until ctx ends. metricsAt is where the metrics alone are
// served; nil: they have no address of their own.
func (a *app) serve(ctx context.Context, ln, metricsAt net.Listener) error {
	run := []func(context.Context) error{
		func(ctx context.Context) error { return server.Serve(ctx, ln, a.routes()) },
		func(ctx context.Context) error { return server.Trim(ctx, a.Log) },
	}
	if a.page != nil {
		run = append(run, a.page.Run)
	}
	if metricsAt != nil {
		run = append(run, func(ctx context.Context) error { return server.Serve(ctx, metricsAt, a.metricsRoutes()) })
	}
	return a.Run(ctx, run...)
}
