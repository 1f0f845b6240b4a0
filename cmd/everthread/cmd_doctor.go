package main

import (
	"context"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/doctor"
)

type doctorCmd struct {
	Health bool `help:"Only ask the local server whether it is alive; the exit code is the answer."`
}

// Run makes every check, and fails if one finds a problem.
func (d doctorCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if d.Health {
		if err != nil {
			return err
		}
		return doctor.Alive(ctx, cfg.HTTP.Listen)
	}
	var found []core.Finding
	if err == nil {
		if with, wrong := c.withPage(ctx, cfg); wrong == nil { // else the doctor finds what is wrong
			cfg = with
		}
	}
	if err != nil {
		found = doctor.Wrong(err)
	} else {
		found = newDoctor(cfg, c.language()).Examine(ctx)
	}
	err = c.lines(found, doctor.Lines(c.language(), found)...)
	if err == nil && !doctor.Healthy(found) {
		return errSilent
	}
	return err
}

func newDoctor(cfg configs.Config, language string) *doctor.Doctor {
	return &doctor.Doctor{Config: cfg, Language: language, Version: version, Now: clock(), Hint: hint(language),
		Opener: opener{}}
}

// opener opens the store of a configuration.
type opener struct{}

// Open opens the store without migrating it.
func (opener) Open(ctx context.Context, c configs.Config) (doctor.Store, error) {
	return openStore(ctx, c)
}
