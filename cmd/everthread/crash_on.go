//go:build crashpoints

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

var crashes atomic.Int64

// crash ends the process at the step that EVERTHREAD_CRASH_AT names; "step:3"
// lets two pass before.
func crash(step string) {
	want, nth, _ := strings.Cut(os.Getenv("EVERTHREAD_CRASH_AT"), ":")
	if want != step {
		return
	}
	n, _ := strconv.ParseInt(nth, 10, 64)
	if crashes.Add(1) >= max(n, 1) {
		os.Exit(137)
	}
}
