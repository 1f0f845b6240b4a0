// Command everthread keeps one conversation with an assistant across messaging
// apps. Each subcommand has a file of its own; serve.go and wire.go say what a
// process is made of.
package main

import (
	"os"
	_ "time/tzdata" // a bare system may have no zones, and days need them
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())) }
