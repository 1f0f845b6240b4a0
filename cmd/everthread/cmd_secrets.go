package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
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
func (secretsRotateCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
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
	return c.show(map[string]any{"changed": changed}, func(w io.Writer) {
		fmt.Fprintf(w, "The secret key is a new one; %s encrypted again. Backups that are older hold the old key.\n",
			counted(changed, "stored value was", "stored values were"))
	})
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
	changed, err := st.Reseal(ctx, resealed(s))
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
		return c.show(map[string]any{"changed": 0, "next": key}, func(w io.Writer) { fmt.Fprintf(w, howToRotate, key) })
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
	changed, err := st.Reseal(ctx, resealed(s))
	if err != nil {
		return err
	}
	return c.show(map[string]any{"changed": changed}, func(w io.Writer) {
		fmt.Fprintf(w,
			"%s encrypted again. When every process has been started with the new secret_key, remove previous_secret_key.\n",
			counted(changed, "stored value was", "stored values were"))
	})
}

const howToRotate = `The secret key is in the configuration, so it is changed there. In this order:

1. In the configuration of every process set previous_secret_key to this new key
   and leave secret_key as it is; restart them one after the other:
       %s
2. Exchange the two: secret_key is the new key, previous_secret_key the old one;
   restart them one after the other. A single process can begin with this step.
3. Run this command again: it re-encrypts everything.
4. Remove previous_secret_key. Keep the old key for backups that are older.

Nothing stops meanwhile: everybody reads what either key encrypted.
`

// resealed re-encrypts what was encrypted with another key than the present one.
func resealed(s *seal.Sealer) func(core.Sealed) (string, error) {
	return func(v core.Sealed) (string, error) {
		if s.Current(v.Text) {
			return v.Text, nil
		}
		what := sealedAs(v)
		plain, err := s.Open(what, v.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return s.Seal(what, plain)
	}
}

// sealedAs is what a stored value was encrypted as.
func sealedAs(v core.Sealed) string {
	switch v.Kind {
	case core.SealedAgent:
		return agentName(v.Agent)
	case core.SealedState:
		return v.Account + " " + v.Key
	}
	return engine.OwnKey
}
