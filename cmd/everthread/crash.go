//go:build !crashpoints

package main

import (
	"time"

	"github.com/everthread/everthread/core/engine"
)

// crash does nothing: only builds for tests crash on demand.
func crash(string) {}

// clock returns the clock of the process.
func clock() func() time.Time { return time.Now }

func wall() time.Time { return time.Now() }

// ticks returns how often the scheduler asks what is due. Reminders are due at a minute.
func ticks() engine.Ticks {
	return engine.Ticks{Usual: "* * * * *", Reminders: "@every 5s", Embeddings: "@every 30s"}
}
