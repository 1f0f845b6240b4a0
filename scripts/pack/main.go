// Command pack makes the files of a release: archives, an image, a bill of
// materials. The same input gives the same bytes: what a file system knows of
// files besides their content does not count, and every time is the one given.
//
//	pack archive OUT.tar.gz|OUT.zip EPOCH FOLDER FILE...
//	pack image OUT.tar EPOCH VERSION CERTIFICATES ZONES.zip ARCH=BINARY...
//	pack sbom OUT.json EPOCH VERSION BINARY
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("see the package comment for how it is called")

func run(args []string) error {
	if len(args) < 4 {
		return errUsage
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("epoch: %w", err)
	}
	out, at, rest := args[1], time.Unix(seconds, 0).UTC(), args[3:]
	switch {
	case args[0] == "archive" && len(rest) > 1:
		return archive(out, at, rest[0], rest[1:])
	case args[0] == "image" && len(rest) > 3:
		return image(out, at, rest[0], rest[1], rest[2], rest[3:])
	case args[0] == "sbom" && len(rest) == 2:
		return sbom(out, at, rest[0], rest[1])
	}
	return errUsage
}
