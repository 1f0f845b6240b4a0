package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/seal"
)

type secretsCmd struct {
	Rotate secretsRotateCmd `cmd:"" help:"Change the secret key: re-encrypt everything that is stored encrypted."`
}

type secretsRotateCmd struct{}

// Run changes the key file, or re-encrypts with the key of the configuration.
func (secretsRotateCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.SecretKey != "" {
		return rotateConfigured(ctx, c, cfg)
	}
	unlock, err := folder.Lock(cfg.DataDir)
	if errors.Is(err, folder.ErrServed) {
		return fmt.Errorf("%w (%s); stop it first: it knows the old key only", err, cfg.DataDir)
	}
	if err != nil {
		return err
	}
	defer unlock()
	st, err := c.openAsIs(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	changed, err := rotateFile(ctx, cfg, st)
	if err != nil {
		return err
	}
	return c.said(map[string]any{"changed": changed}, "%s %s", c.words().SecretNew, c.words().Resealed.Of(changed))
}

// rotateFile changes the key file of the embedded store. What was killed half-way
// goes on from there.
func rotateFile(ctx context.Context, cfg configs.Config, st store) (int, error) {
	old, err := folder.Key(cfg.DataDir)
	if err != nil {
		return 0, err
	}
	next, err := folder.NextKey(cfg.DataDir)
	if err != nil {
		return 0, err
	}
	s, err := seal.New(rand.Reader, next, old)
	if err != nil {
		return 0, err
	}
	if err := backup.SyncDir(cfg.DataDir); err != nil {
		return 0, err
	}
	changed, err := st.Reseal(ctx, engine.Resealed(s))
	if err != nil {
		return 0, err
	}
	crash("resealed")
	if err := folder.ChangeKey(cfg.DataDir); err != nil {
		return 0, err
	}
	return changed, backup.SyncDir(cfg.DataDir)
}

// rotateConfigured re-encrypts with the key of the configuration, or says how
// to change that. It may run beside servers that know both keys.
func rotateConfigured(ctx context.Context, c *console, cfg configs.Config) error {
	if cfg.PreviousKey == "" {
		key, err := folder.NewKey()
		if err != nil {
			return err
		}
		return c.said(map[string]any{"changed": 0, "next": key}, c.words().SecretHow, key)
	}
	st, err := c.openAsIs(ctx, cfg)
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
	return c.said(map[string]any{"changed": changed}, "%s %s", c.words().Resealed.Of(changed), c.words().SecretNext)
}
