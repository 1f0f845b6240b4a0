//go:build !crashpoints

package main

import "time"

// crash does nothing: only builds for tests die on demand.
func crash(string) {}

// clock is the process's clock.
func clock() func() time.Time { return time.Now }

// tick is how often the scheduler asks what is due, as a cron expression.
const tick = "* * * * *"

// The same for reminders, which have a minute, and for what is to be embedded.
const (
	remindTick = "@every 5s"
	embedTick  = "@every 30s"
)

func wall() time.Time { return time.Now() }
