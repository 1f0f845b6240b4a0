package main

import (
	"context"
	"errors"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
)

type secretsCmd struct {
	Rotate secretsRotateCmd `cmd:"" help:"Change the secret key, and encrypt stored keys with the new one."`
}

type secretsRotateCmd struct{}

// Run changes the key file, or encrypts with the key of the configuration.
func (secretsRotateCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.SecretKey != "" {
		return rotateConfigured(ctx, c, cfg)
	}
	unlock, err := engine.LockData(cfg, errors.New("stop it first: it knows the old key only"))
	if err != nil {
		return err
	}
	defer unlock()
	st, err := openAsIs(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	changed, err := engine.RotateKeyFile(ctx, cfg.DataDir, st, crash)
	if err != nil {
		return err
	}
	return c.said(object{"changed", changed}, "%s %s", c.words().SecretNew, c.words().Resealed.Of(changed))
}

// rotateConfigured encrypts with the key of the configuration, or says how to change that
// key. It may run beside servers that know both keys.
func rotateConfigured(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.PreviousKey == "" {
		key, err := datadir.NewKey()
		if err != nil {
			return err
		}
		return c.said(object{"changed", 0, "next", key}, c.words().SecretHow, key)
	}
	st, err := openAsIs(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := engine.NewSealer(cfg)
	if err != nil {
		return err
	}
	changed, err := st.Reseal(ctx, engine.Resealed(s))
	if err != nil {
		return err
	}
	return c.said(object{"changed", changed}, "%s %s", c.words().Resealed.Of(changed), c.words().SecretNext)
}
