package main

import (
	"fmt"
	"io"
	"runtime"
)

type versionCmd struct{}

// Run says which version this is.
func (versionCmd) Run(c *console) error {
	v := map[string]string{"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	return c.show(v, func(w io.Writer) {
		fmt.Fprintf(w, "everthread %s (%s, %s)\n", v["version"], v["go"], v["platform"])
	})
}
