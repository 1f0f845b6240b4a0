package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/everthread/everthread/adapters/api"
	openaidoor "github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/server"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/postgres"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/trust"
)

// database is a database of either engine.
type database interface {
	engine.Store
	engine.Resealer
	Migrate(ctx context.Context) error
	Schema(ctx context.Context) (ports.Schema, error)
	Analyze(a core.Analyzer)
}

// openStore opens the configured store without migrating it.
func openStore(ctx context.Context, c configs.Config) (database, error) {
	analyzer, err := engine.NewAnalyzer(c)
	if err != nil {
		return nil, err
	}
	var st database
	if c.DatabaseURL == "" {
		st, err = sqlite.Open(c.DataDir)
	} else {
		st, err = postgres.Open(ctx, postgres.Options{URL: string(c.DatabaseURL), Direct: string(c.DatabaseListen),
			Conns: c.DatabaseConns})
	}
	if err != nil {
		return nil, err
	}
	st.Analyze(analyzer)
	return st, nil
}

// newProcess returns a process whose connections count for no user.
func newProcess(c configs.Config, log *zap.Logger, st database, now func() time.Time) *engine.Process {
	return engine.NewProcess(c, st, log, now, engine.WayOut(c), nil)
}

// newEngine makes the engine of a process over a store, with these channels and those of its doors.
func newEngine(p *engine.Process, st database, channels []core.Channel) (*engine.Engine, error) {
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
		ReadDocument: []string{self, readDocument}, Ticks: ticks()})
}

// itself returns the path of this program: as the system says, else (without /proc) as it was called.
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

// hostEngine makes an engine with the configured channels and more. shut closes what they opened.
func hostEngine(ctx context.Context, p *engine.Process, st database, more ...core.Channel) (e *engine.Engine,
	shut func(), err error) {
	h := &engine.Hosting{Process: p}
	channels, err := h.OpenAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e, err = newEngine(p, st, append(channels, more...)); err != nil {
		h.Close()
	}
	return e, h.Close, err
}

// app is a process that serves: the engine with its doors.
type app struct {
	*engine.Engine
	*doors
	store    database
	settings *storedSettings
	scans    *scans
}

// startApp makes the process that serves the store of settings, with a configuration. shut closes what its channels
// opened.
func startApp(ctx context.Context, cfg configs.Config, log *zap.Logger, s *storedSettings) (a *app, shut func(), err error) {
	analyzer, err := engine.NewAnalyzer(cfg)
	if err != nil {
		return nil, nil, err
	}
	s.store.Analyze(analyzer)
	p, err := engine.NewServing(ctx, cfg, s.store, log, clock(), wall)
	if err != nil {
		return nil, nil, err
	}
	if a, shut, err = newApp(ctx, p, s); err != nil {
		return nil, nil, err
	}
	if err = a.TakeOver(ctx); err != nil {
		shut()
	}
	return a, shut, err
}

// newApp makes an engine with its doors. shut closes what its channels opened, and ends what the page began.
func newApp(ctx context.Context, p *engine.Process, s *storedSettings) (a *app, shut func(), err error) {
	a = &app{store: s.store, settings: s, scans: newScans(ctx)}
	engine, closeChannels, err := hostEngine(ctx, p, s.store)
	if err != nil {
		return nil, nil, err
	}
	a.Engine = engine
	shut = func() { a.scans.close(); closeChannels() }
	if a.doors, err = a.newDoors(); err != nil {
		shut()
	}
	return a, shut, err
}

// serve runs everything until ctx ends, beside what more does. metricsAt is where the
// metrics alone are served; nil: they have no address of their own.
func (a *app) serve(ctx context.Context, ln, metricsAt net.Listener, more ...func(context.Context) error) error {
	site := a.site()
	run := append(more, func(ctx context.Context) error { return server.Serve(ctx, server.Lend(ln), site.Handler()) })
	if a.page != nil {
		run = append(run, a.page.Run)
	}
	if metricsAt != nil {
		run = append(run, func(ctx context.Context) error {
			return server.Serve(ctx, server.Lend(metricsAt), site.MetricsHandler())
		})
	}
	return a.Run(ctx, run...)
}

func newLogger(c configs.Log, w io.Writer) *zap.Logger {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		level = zapcore.InfoLevel // Validate refuses it before
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	form := zapcore.NewJSONEncoder(enc)
	if c.Format == "console" {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		form = zapcore.NewConsoleEncoder(enc)
	}
	safe := trust.LogEncoder{Encoder: form, Redact: configs.Redact}
	return zap.New(zapcore.NewCore(safe, zapcore.Lock(zapcore.AddSync(w)), level))
}

// fileLogger logs warnings and errors to a private file.
func fileLogger(path string) (*zap.Logger, func(), error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return newLogger(configs.Log{Level: "warn", Format: "console"}, f), func() { f.Close() }, nil
}
