// Command everthread keeps one conversation with an assistant across messaging apps. Each subcommand has a file of its
// own; cmd_serve.go and wire.go assemble a process.
package main

import (
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // a bare system may have no zones, and days need them

	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/ops/server"
)

// readDocument is the argument with which a gateway starts this program to read one file.
const readDocument = "read-document"

// version is set by the linker; with `go install` it is that of the module.
var version = "dev"

func main() {
	_ = server.Private()                                 // if the kernel refuses, others of this user can read it, as before
	if len(os.Args) == 2 && os.Args[1] == readDocument { // a gateway started this to read a file
		os.Exit(document.Serve(os.Stdin, os.Stdout))
	}
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && strings.HasPrefix(info.Main.Version, "v") {
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
