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
	Recall     evalRecallCmd     `cmd:"" help:"Measure how much search finds, on conversations in LoCoMo's JSON."`
	Continuity evalContinuityCmd `cmd:"" help:"Measure what the configured model remembers, with scenes of people who come back."`
}

type evalRecallCmd struct {
	File     string `arg:"" type:"existingfile" help:"Conversations in LoCoMo's JSON."`
	Database string `name:"database-url" placeholder:"URL" help:"PostgreSQL database for tests; default: a temporary embedded one."`
	Missed   bool   `help:"List the questions without a hit."`
}

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
	st, remove, err := scratch(ctx, &cfg, e.Database)
	if err != nil {
		return err
	}
	defer remove()
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

// scratch opens a temporary store, or the one of url, and configures it.
func scratch(ctx context.Context, c *configs.Config, url string) (st store, remove func(), err error) {
	dir, err := os.MkdirTemp("", "everthread-eval-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder: %w", err)
	}
	c.DataDir, c.DatabaseURL = dir, configs.Secret(url)
	if st, err = openMigrated(ctx, *c); err != nil {
		_ = os.RemoveAll(dir)
	}
	return st, func() { _ = st.Close(); _ = os.RemoveAll(dir) }, err
}

type evalContinuityCmd struct {
	Scenes string `type:"existingfile" placeholder:"FILE" help:"Scenes of your own, in the format of docs/evaluation.md."`
	Only   string `placeholder:"NAME" help:"Part of the names of the scenes to play."`
}

var errContinuity = errors.New("fewer than nine in ten callbacks were right")

func (e evalContinuityCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	scenes, err := eval.Load(e.Scenes, e.Only)
	if errors.Is(err, eval.ErrNoScene) {
		return errUsage{err}
	}
	if err != nil {
		return err
	}
	st, remove, err := scratch(ctx, &cfg, "")
	if err != nil {
		return err
	}
	defer remove()
	cfg.Turn.Debounce, cfg.Limits.TurnsPerMinute, cfg.Limits.TokensPerDay, cfg.Summaries.PostForward = 0, 0, 0, "off"
	open := func(channels []core.Channel, now func() time.Time) (eval.Gateway, error) {
		e, err := newEngine(newProcess(cfg, zap.NewNop(), st, now), st, channels)
		if err != nil {
			return nil, err
		}
		return measured{e, e.Gateway}, nil
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

// measured is an engine as an eval.Gateway.
type measured struct {
	*engine.Engine
	core.Receiver
}

// continuityGoal is the share of callbacks that a good model gets right.
const continuityGoal = 0.9
