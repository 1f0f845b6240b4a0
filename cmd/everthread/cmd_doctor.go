package main

import (
	"context"
	"fmt"
	"io"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/doctor"
	"github.com/everthread/everthread/core/engine"
)

type doctorCmd struct {
	Health bool `help:"Only ask the server that runs here whether it is alive; the exit code is the answer."`
}

// Run checks everything it can and fails if something is wrong.
func (d doctorCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if d.Health {
		if err != nil {
			return err
		}
		return doctor.Alive(ctx, cfg.HTTP.Listen)
	}
	var found []core.Finding
	if err != nil {
		found = doctor.Wrong(err)
	} else {
		found = examine(ctx, cfg, c.language())
	}
	err = c.show(found, func(w io.Writer) {
		for _, line := range doctor.Lines(c.language(), found) {
			fmt.Fprintln(w, line)
		}
	})
	if err == nil && !doctor.Healthy(found) {
		return errSilent
	}
	return err
}

// examine makes every check of a configuration whose keys are right.
func examine(ctx context.Context, cfg configs.Config, language string) []core.Finding {
	return newDoctor(cfg, language, "").Examine(ctx)
}

// newDoctor is a doctor of all channels, or of one.
func newDoctor(cfg configs.Config, language, only string) *doctor.Doctor {
	return &doctor.Doctor{Config: cfg, Language: language, Version: version, Now: clock(), Hint: hint(language),
		Open: func(ctx context.Context) (doctor.Store, error) { return openStore(ctx, cfg) },
		Channels: func(ctx context.Context, st doctor.Store) ([]doctor.Channel, func()) {
			h := &engine.Hosting{Process: newProcess(cfg, zap.NewNop(), nil, clock())}
			h.Store, _ = st.(engine.Store)
			var out []doctor.Channel
			for _, c := range channel.On(cfg.Channels.Sections) {
				if only != "" && c.Key() != only {
					continue
				}
				ch, err := h.Open(ctx, c)
				out = append(out, doctor.Channel{Name: c.Key(), Channel: ch, Err: err})
			}
			return out, h.Close
		}}
}
