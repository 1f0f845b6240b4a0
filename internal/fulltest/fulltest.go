// Package fulltest decides the size of tests. Plain `go test` skips long tests, or runs
// them at a smaller size; `make test` runs everything in full.
package fulltest

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// variable requests all tests, at their full size.
const variable = "EVERTHREAD_TEST_ALL"

// Asked reports whether all tests are requested.
func Asked() bool { return os.Getenv(variable) != "" }

// Only skips the rest of a long test, unless all tests are requested.
func Only(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skip("it takes long: " + variable + "=1 runs it, and so does `make test`")
	}
}

// Size returns full if all tests are requested, else small.
func Size[N any](small, full N) N {
	if Asked() {
		return full
	}
	return small
}

// Named reports whether -run names a part of a test, which then runs whatever the size.
func Named() bool { return strings.Contains(flag.Lookup("test.run").Value.String(), "/") }

// Waits lets four tests run at a time, unless -parallel says otherwise. TestMain calls it where
// tests mostly wait: on two processors two of them would.
func Waits() {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
}
