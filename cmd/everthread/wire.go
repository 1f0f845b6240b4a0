package main

import (
	"context"
	"database/sql"
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
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/trust/egress"
)

// store is a store of either engine.
type store interface {
	engine.Store
	Migrate(ctx context.Context) error
	Schema(ctx context.Context) (core.Schema, error)
	Analyze(a core.Analyzer)
	Beside() (db *sql.DB, dialect string, err error)
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

// holder is a process that makes channels.
type holder struct {
	*engine.Process
	cfg    configs.Config
	store  store
	log    *zap.Logger
	now    func() time.Time
	way    *egress.Gate
	intake *intake.Budget
}

// newHolder is a process whose connections count as nobody's.
func newHolder(c configs.Config, log *zap.Logger, st store, now func() time.Time) *holder {
	return holderBy(engine.WayOut(c), c, log, st, now, nil)
}

// newServing is a process in which what goes out for a user counts as theirs.
func newServing(ctx context.Context, c configs.Config, log *zap.Logger, st store) (*holder, error) {
	now, agreed := clock(), (*engine.Clock)(nil)
	if db, ok := st.(engine.DatabaseClock); ok {
		agreed = engine.NewClock(now, wall, db, log.Named("clock"))
		if err := agreed.Measure(ctx); err != nil {
			return nil, err
		}
		now = agreed.Now
	}
	way, err := engine.CountingWayOut(c, st, now)
	return holderBy(way, c, log, st, now, agreed), err
}

func holderBy(way *egress.Gate, c configs.Config, log *zap.Logger, st store, now func() time.Time,
	agreed *engine.Clock) *holder {
	p := engine.NewProcess(c, st, log, now, way, agreed)
	return &holder{Process: p, cfg: c, store: st, log: log, now: now, way: way, intake: p.Intake}
}

// engine makes the engine of a process with these channels, and those of its doors.
func (h *holder) engine(channels []core.Channel) (*engine.Engine, error) {
	maker, err := newMaker(h.cfg, h.store)
	if err != nil {
		return nil, err
	}
	c := h.cfg.Channels
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
	return engine.New(h.Process, engine.Options{Channels: channels, Version: version, Backup: maker, Crash: crash,
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

// newApp makes a process that serves channels.
func newApp(h *holder, channels []core.Channel) (*app, error) {
	e, err := h.engine(channels)
	if err != nil {
		return nil, err
	}
	a := &app{Engine: e, store: h.store}
	a.doors, err = a.newDoors()
	return a, err
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
