package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core/job"
)

// How the clock is measured.
const (
	measureEvery = time.Minute
	measurements = 5                     // readings of one measurement
	maxScatter   = 5 * time.Second       // between readings, for the clock to be known
	maxOff       = 20 * time.Millisecond // that is not corrected
)

// DatabaseClock returns the time of a database that several processes share.
type DatabaseClock interface {
	Clock(ctx context.Context) (time.Time, error)
}

// Clock is the clock of a process, corrected by that of the database, so that processes on
// several machines agree on the time. It is safe for concurrent use.
type Clock struct {
	machine, wall func() time.Time
	database      DatabaseClock
	log           *zap.Logger
	off           atomic.Int64 // to be added, in nanoseconds
	scattered     atomic.Bool
}

// NewClock returns a clock that corrects a machine's. Wall is compared with the database's
// clock; a difference between machine and wall, as in tests, remains.
func NewClock(machine, wall func() time.Time, db DatabaseClock, log *zap.Logger) *Clock {
	return &Clock{machine: machine, wall: wall, database: db, log: log}
}

// Now returns the machine's corrected time.
func (c *Clock) Now() time.Time { return c.machine().Add(time.Duration(c.off.Load())) }

// Wall returns the time that all processes agree on.
func (c *Clock) Wall() time.Time { return c.wall().Add(time.Duration(c.off.Load())) }

// Off returns how far the machine's clock is behind the database's; negative: ahead.
func (c *Clock) Off() time.Duration { return time.Duration(c.off.Load()) }

// Known reports whether the database's time is known well enough to claim work by.
func (c *Clock) Known() bool { return !c.scattered.Load() }

// Measure compares the clocks. Of several readings it uses the quickest.
func (c *Clock) Measure(ctx context.Context) error {
	type reading struct{ off, took time.Duration }
	var all []reading
	for range measurements {
		asked := c.wall()
		at, err := c.database.Clock(ctx)
		if err != nil {
			return err
		}
		took := c.wall().Sub(asked)
		all = append(all, reading{off: at.Sub(asked.Add(took / 2)), took: took})
	}
	least := func(a, b reading) int { return int(a.off - b.off) }
	scatter := slices.MaxFunc(all, least).off - slices.MinFunc(all, least).off
	best := slices.MinFunc(all, func(a, b reading) int { return int(a.took - b.took) })
	if was := c.scattered.Swap(scatter > maxScatter); was != (scatter > maxScatter) {
		c.log.Warn("precision of the database's clock changed; no work is begun while it is insufficient",
			zap.Bool("sufficient", was), zap.Duration("scatter", scatter))
	}
	if best.off.Abs() > time.Second && (best.off-c.Off()).Abs() > time.Second {
		c.log.Warn("this machine's clock is not that of the database; the database's is used", zap.Duration("behind", best.off))
	}
	if (best.off - c.Off()).Abs() > maxOff {
		c.off.Store(int64(best.off))
	}
	return nil
}

// Run measures regularly until ctx ends.
func (c *Clock) Run(ctx context.Context) error {
	for job.Wait(ctx, measureEvery); ctx.Err() == nil; job.Wait(ctx, measureEvery) {
		if err := c.Measure(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("database's clock not read", zap.Error(err))
		}
	}
	return nil
}
