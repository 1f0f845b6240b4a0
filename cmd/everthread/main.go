// Command everthread keeps one conversation with an assistant across messaging
// apps. Each subcommand has a file of its own; serve.go and wire.go say what a
// process is made of.
package main

import (
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // a bare system may have no zones, and days need them
)

// version is set by the linker; a program that `go install` built has its module's.
var version = "dev"

func main() {
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && strings.HasPrefix(info.Main.Version, "v") {
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
