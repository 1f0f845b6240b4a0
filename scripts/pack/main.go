// Command pack makes the files of a release: archives, an image, and what is filled in
// from them (the Homebrew formula, the notes of the release page). The same input gives the same bytes: what a file system knows of
// files besides their content does not count, and every time is the one given.
//
//	pack archive OUT.tar.gz|OUT.zip EPOCH FOLDER FILE...
//	pack image OUT.tar EPOCH VERSION CERTIFICATES ZONES.zip ARCH[/VARIANT]=BINARY...
//	pack describe OUT TEMPLATE VERSION CHANGELOG SHA256SUMS
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
	if args[0] == "describe" && len(args) == 6 {
		return describe(args[1], args[2], args[3], args[4], args[5])
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
	}
	return errUsage
}
