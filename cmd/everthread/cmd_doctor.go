package main

import (
	"context"
	"fmt"
	"io"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/doctor"
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
	return newDoctor(cfg, language).Examine(ctx)
}

// newDoctor is a doctor of all channels.
func newDoctor(cfg configs.Config, language string) *doctor.Doctor {
	return &doctor.Doctor{Config: cfg, Language: language, Version: version, Now: clock(), Hint: hint(language),
		Opener: opener{}}
}

// opener opens the store of a configuration, or lends one that is open.
type opener struct{ lent store }

// Open opens the store.
func (o opener) Open(ctx context.Context, c configs.Config) (doctor.Store, error) {
	if o.lent != nil {
		return lent{o.lent}, nil
	}
	return openStore(ctx, c)
}

// lent is a store that its borrower must not close.
type lent struct{ store }

// Close does nothing.
func (lent) Close() error { return nil }
