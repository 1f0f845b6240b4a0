package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
)

type configCmd struct {
	Check   configCheckCmd   `cmd:"" help:"Say whether the configuration is right."`
	Show    configShowCmd    `cmd:"" help:"Show what is in force, and where it is set."`
	Export  configExportCmd  `cmd:"" help:"Write what was set on the page as a configuration file, with its secrets."`
	Example configExampleCmd `cmd:"" help:"Write the commented example."`
}

type configCheckCmd struct{}

// Run checks the configuration without starting anything.
func (configCheckCmd) Run(c *console, _ configs.Config) error {
	return c.said(map[string]bool{"ok": true}, c.words().ConfigRight)
}

type configShowCmd struct {
	All bool `help:"Show the defaults, too."`
}

// shownSetting is a key as it is in force.
type shownSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"` // *** for a secret
	From  string `json:"from"`  // default, page, file, or the name of a variable
}

// Run shows the keys that are set, or all.
func (s configShowCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	with, err := c.withPage(ctx, cfg)
	if err == nil {
		cfg = with
	} else { // what the file and the environment set is shown all the same
		c.complain(err)
	}
	out := []shownSetting{}
	var lines []string
	for _, x := range cfg.Settings() {
		from := cmp.Or(x.Origin.Name, string(x.Origin.Layer), "default")
		if x.Origin.Layer == configs.FromDefaults && !s.All {
			continue
		}
		out = append(out, shownSetting{x.Key, x.Value, from})
		lines = append(lines, fmt.Sprintf("%s: %s  # %s", x.Key, x.Value, from))
	}
	if len(out) == 0 {
		lines = []string{c.words().ConfigNothing}
	}
	return c.lines(out, lines...)
}

// withPage returns the configuration with what the page set, if there is a store yet.
func (c *console) withPage(ctx context.Context, cfg configs.Config) (configs.Config, error) {
	if cfg.DatabaseURL == "" && !datadir.HasDatabase(cfg.DataDir) {
		return cfg, nil
	}
	st, err := openAsIs(ctx, cfg)
	if err != nil {
		return cfg, err
	}
	defer st.Close()
	if err := engine.PrepareData(&cfg); err != nil {
		return cfg, err
	}
	return c.inForce(ctx, cfg, st)
}

type configExportCmd struct{}

// Run writes what was set on the page.
func (configExportCmd) Run(ctx context.Context, d *opened) error {
	stored, err := engine.StoredSettings(ctx, d.cfg, d.store)
	if err != nil {
		return err
	}
	text, err := stored.YAML(true, sections()...)
	if err != nil {
		return err
	}
	if d.json {
		return d.show(stored, nil)
	}
	_, err = d.out.Write(text)
	return err
}

type configExampleCmd struct{}

// Run writes the example; as JSON its values without the comments.
func (configExampleCmd) Run(c *console) error {
	if !c.json {
		_, err := c.out.Write(configs.Example(sections()...))
		return err
	}
	b, err := yaml.YAMLToJSON(configs.Example(sections()...))
	if err != nil {
		return fmt.Errorf("read the example: %w", err)
	}
	return c.show(json.RawMessage(b), nil)
}
