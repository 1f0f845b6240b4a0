//go:build crashpoints

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core/engine"
)

var crashes atomic.Int64

// crash ends the process at the step that EVERTHREAD_CRASH_AT names; with "step:3" at the third.
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

// clock returns the machine's clock, moved by the milliseconds in the file that
// EVERTHREAD_TEST_CLOCK names, which a test may change while the process runs.
func clock() func() time.Time {
	path := os.Getenv("EVERTHREAD_TEST_CLOCK")
	if path == "" {
		return wall
	}
	return func() time.Time {
		b, _ := os.ReadFile(path)
		offset, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return wall().Add(time.Duration(offset) * time.Millisecond)
	}
}

// wall is the machine's clock, off by EVERTHREAD_TEST_WRONG.
func wall() time.Time {
	wrong, _ := time.ParseDuration(os.Getenv("EVERTHREAD_TEST_WRONG"))
	return time.Now().Add(wrong)
}

// ticks are short, so that a moved clock is noticed immediately.
func ticks() engine.Ticks {
	return engine.Ticks{Usual: "@every 1s", Reminders: "@every 1s", Embeddings: "@every 1s"}
}
