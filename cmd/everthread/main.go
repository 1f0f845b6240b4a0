// Command everthread keeps one conversation with an assistant across messaging
// apps. Each subcommand has a file of its own; serve.go and wire.go say what a
// process is made of.
package main

import (
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // a bare system may have no zones, and days need them

	"github.com/everthread/everthread/core/document"
)

// readDocument is the argument with which a gateway starts this program to read a file.
const readDocument = "read-document"

// version is set by the linker; a program that `go install` built has its module's.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == readDocument { // one file of a gateway, which started this
		os.Exit(document.Serve(os.Stdin, os.Stdout))
	}
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && strings.HasPrefix(info.Main.Version, "v") {
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
