package main

import "runtime"

type versionCmd struct{}

func (versionCmd) Run(c *console) error {
	system := runtime.GOOS + "/" + runtime.GOARCH
	return c.said(object{"go", runtime.Version(), "platform", system, "version", version}, "everthread %s (%s, %s)",
		version, runtime.Version(), system)
}
