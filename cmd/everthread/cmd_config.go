package main

import (
	"fmt"
	"io"

	"github.com/everthread/everthread/configs"
)

type configCmd struct {
	Check   configCheckCmd   `cmd:"" help:"Say whether the configuration is right."`
	Example configExampleCmd `cmd:"" help:"Write the commented example."`
}

type configCheckCmd struct{}

// Run checks the configuration without starting anything.
func (configCheckCmd) Run(c *console) error {
	if _, err := c.config(); err != nil {
		return err
	}
	return c.show(map[string]bool{"ok": true}, func(w io.Writer) { fmt.Fprintln(w, "The configuration is right.") })
}

type configExampleCmd struct{}

// Run writes the example; it is YAML in any case.
func (configExampleCmd) Run(c *console) error {
	_, err := c.out.Write(configs.Example)
	return err
}
