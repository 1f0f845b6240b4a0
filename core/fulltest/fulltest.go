// Package fulltest says how much of the tests is to run. Plain `go test` leaves out
// what takes long, or runs it at a smaller size; `make test` runs everything in full.
package fulltest

import (
	"os"
	"testing"
)

// variable asks for all tests, at their full size.
const variable = "EVERTHREAD_TEST_ALL"

// Asked reports whether all tests are asked for.
func Asked() bool { return os.Getenv(variable) != "" }

// Only skips the rest of a test that takes long, unless all tests are asked for.
func Only(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skip("it takes long: " + variable + "=1 runs it, and so does `make test`")
	}
}

// Size returns full if all tests are asked for, else small.
func Size[N any](small, full N) N {
	if Asked() {
		return full
	}
	return small
}
