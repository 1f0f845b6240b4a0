package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/eval"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/recall"
)

type evalCmd struct {
	Recall     evalRecallCmd     `cmd:"" help:"Measure how much of what was said is found again, on conversations in LoCoMo's JSON."`
	Continuity evalContinuityCmd `cmd:"" help:"Play scenes of people who come back, and see whether the configured model still knows."`
}

type evalRecallCmd struct {
	File     string `arg:"" type:"existingfile" help:"Conversations in LoCoMo's JSON."`
	Database string `name:"database-url" placeholder:"URL" help:"A PostgreSQL for trying things out; without one, an embedded database that is thrown away."`
	Missed   bool   `help:"List the questions of which nothing was found."`
}

// Run stores the conversations and asks their questions.
func (e evalRecallCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	f, err := os.Open(e.File)
	if err != nil {
		return err
	}
	defer f.Close()
	samples, err := recall.ReadLoCoMo(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", e.File, err)
	}
	cfg, remove, err := scratch(cfg, e.Database)
	if err != nil {
		return err
	}
	defer remove()
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	calendar, err := engine.NewCalendar(cfg)
	if err != nil {
		return err
	}
	search, err := engine.NewSearcher(cfg, st, nil, tokens.New(), zap.NewNop())
	if err != nil {
		return err
	}
	report, err := recall.Trial{Store: st, Search: search, Calendar: calendar, Now: time.Now(),
		Progress: c.err}.Run(ctx, samples)
	if err != nil {
		return err
	}
	if !e.Missed {
		report.Missed = nil
	}
	return c.show(report, report.Write)
}

// scratch is a configuration for a store that is thrown away.
func scratch(c configs.Config, url string) (configs.Config, func(), error) {
	dir, err := os.MkdirTemp("", "everthread-eval-")
	if err != nil {
		return c, nil, fmt.Errorf("make a folder: %w", err)
	}
	c.DataDir, c.DatabaseURL = dir, configs.Secret(url)
	return c, func() { _ = os.RemoveAll(dir) }, nil
}

type evalContinuityCmd struct {
	Scenes string `type:"existingfile" placeholder:"FILE" help:"Scenes of your own, in the form of docs/evaluation.md."`
	Only   string `placeholder:"NAME" help:"Only scenes whose names contain this."`
}

// errContinuity ends the command with exit code 1.
var errContinuity = errors.New("fewer than nine in ten callbacks were right")

// Run plays the scenes against the configured model.
func (e evalContinuityCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	scenes, err := eval.Load(e.Scenes, e.Only)
	if errors.Is(err, eval.ErrNoScene) {
		return errUsage{err}
	}
	if err != nil {
		return err
	}
	cfg, remove, err := scratch(cfg, "")
	if err != nil {
		return err
	}
	defer remove()
	cfg.Turn.Debounce, cfg.Limits.TurnsPerMinute, cfg.Limits.TokensPerDay, cfg.Summaries.PostForward = 0, 0, 0, "off"
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	open := func(channels []core.Channel, now func() time.Time) (eval.Gateway, error) {
		made, err := newEngine(newProcess(cfg, zap.NewNop(), st, now), st, channels)
		return measured{made}, err
	}
	p := &eval.Player{Model: strings.TrimSpace(cfg.LLM.Provider + " " + cfg.LLM.Model), Store: st,
		Open: open, Progress: c.err}
	report, err := p.Play(ctx, scenes)
	if err != nil {
		return err
	}
	if err := c.show(report, report.Write); err != nil {
		return err
	}
	if report.Score < continuityGoal {
		return errContinuity
	}
	return nil
}

// measured is an engine as scenes play with it.
type measured struct{ *engine.Engine }

// Receive takes what people write.
func (m measured) Receive(ctx context.Context, in ...core.Inbound) error {
	return m.Gateway.Receive(ctx, in...)
}

// continuityGoal is how many of the scenes a good model gets right.
const continuityGoal = 0.9
