package main

import (
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/everthread/everthread/configs"
)

type configCmd struct {
	Check   configCheckCmd   `cmd:"" help:"Say whether the configuration is right."`
	Example configExampleCmd `cmd:"" help:"Write the commented example."`
}

type configCheckCmd struct{}

// Run checks the configuration without starting anything.
func (configCheckCmd) Run(c *console, _ configs.Config) error {
	return c.said(map[string]bool{"ok": true}, c.words().ConfigRight)
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
