package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/engine"
)

// storedSettings are the values that the owner sets on the page, over a configuration without them.
type storedSettings struct {
	console *console
	store   database
	without configs.Config
	// override has the last word, before the values are checked.
	override func(c *configs.Config) error

	began configs.Stored // what the process runs with
	fault error          // why it does not run with what is stored
	saved chan struct{}  // receives when something was stored here
}

// newSettings returns the settings of an open store.
func (c *console) newSettings(st database, without configs.Config, override func(c *configs.Config) error) *storedSettings {
	return &storedSettings{console: c, store: st, without: without, override: override, saved: make(chan struct{}, 1)}
}

// inForce returns the configuration with what the page set in the store.
func (c *console) inForce(ctx context.Context, cfg configs.Config, st database) (configs.Config, error) {
	return c.newSettings(st, cfg, nil).begin(ctx)
}

// begin returns the configuration with what is stored.
func (s *storedSettings) begin(ctx context.Context) (c configs.Config, err error) {
	if s.began, err = engine.StoredSettings(ctx, s.without, s.store); err != nil || len(s.began) == 0 {
		return s.without, err
	}
	return s.with(s.began)
}

// with returns the configuration with values of the page, checked.
func (s *storedSettings) with(stored configs.Stored) (configs.Config, error) {
	c, err := configs.LoadStored(stored, s.console.configFile(), s.console.environ, sections()...)
	if err != nil {
		return c, err
	}
	w := s.without // these are in use already
	c.DatabaseURL, c.DatabaseListen, c.DatabaseConns, c.DataDir = w.DatabaseURL, w.DatabaseListen, w.DatabaseConns, w.DataDir
	c.SecretKey, c.PreviousKey, c.HTTP, c.Log = w.SecretKey, w.PreviousKey, w.HTTP, w.Log
	if s.override != nil {
		err = s.override(&c)
	} else {
		err = c.Validate()
	}
	if err == nil {
		_, err = engine.NewAnalyzer(c)
	}
	return c, err
}

// Try returns the configuration with changes, of which an empty text removes a value, and stores nothing.
func (s *storedSettings) Try(ctx context.Context, changes map[string]string) (configs.Config, error) {
	stored, err := engine.StoredSettings(ctx, s.without, s.store)
	if err == nil {
		stored, err = stored.Set(changes, sections()...)
	}
	if err != nil {
		return configs.Config{}, err
	}
	return s.with(stored)
}

// Save stores changes that Try accepts, and records each key in the audit of the user who made them. Every process then
// restarts with them, this one immediately.
func (s *storedSettings) Save(ctx context.Context, user core.UserID, changes map[string]string) error {
	if _, err := s.Try(ctx, changes); err != nil {
		return err
	}
	if err := engine.SaveSettings(ctx, s.without, s.store, changes); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		row := audit.Row{What: audit.Setup, Tool: key, Result: audit.Done}
		if err := s.store.PutAudit(ctx, user, row); err != nil {
			return err
		}
	}
	select {
	case s.saved <- struct{}{}:
	default:
	}
	return nil
}

// errChanged ends the engine of a process that restarts with other settings.
var errChanged = errors.New("the settings have changed")

// settingsPoll is the interval at which a process looks for changes made in another one.
const settingsPoll = 5 * time.Second

// watch returns errChanged when other values are stored than those that the process began with, or nil when ctx ends.
func (s *storedSettings) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.saved:
		case <-time.After(settingsPoll):
		}
		stored, err := engine.StoredSettings(ctx, s.without, s.store)
		if err == nil && !maps.Equal(stored, s.began) { // after an error it is asked again
			return errChanged
		}
	}
}
