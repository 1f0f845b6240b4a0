package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core/job"
)

// Criteria for releasing the memory of an idle process.
const (
	trimLook = 5 * time.Second // between two checks
	trimRest = time.Minute     // of idleness after work: the user may be about to answer
	trimIdle = 1 << 20         // bytes allocated between two checks: with more it is not idle
	trimWork = 4 << 20         // bytes allocated since the last time that make it worthwhile
)

// Meter counts the events of the process.
type Meter interface{ Events() uint64 }

// Trim lets more garbage grow while the process is busy, and releases memory when it has become idle after work: first
// the reserve of the heap, then, at each check, the pages of the program that something has needed. The next turn reads
// its pages again from the page cache, which takes 20 ms, so a short silence is not enough. What the meter counts is
// work, and so is a lot of allocation.
func Trim(ctx context.Context, log *zap.Logger, meter Meter, g *Garbage) error {
	last, trimmed := uint64(0), uint64(0) // bytes allocated
	events := meter.Events()
	idle := time.Duration(0) // since the last work
	for rest := trimLook; ; {
		job.Wait(ctx, trimLook)
		if ctx.Err() != nil {
			return nil
		}
		total := allocated()
		g.work(total-last, value("/gc/heap/live:bytes"))
		if idle += trimLook; total-last >= trimIdle || meter.Events() != events {
			if idle = 0; trimmed > 0 {
				rest = trimRest
			}
		}
		last, events = total, meter.Events()
		if idle < rest {
			continue
		}
		if total-trimmed > trimWork {
			debug.FreeOSMemory()
			last = allocated()
			trimmed = last
		}
		if err := dropProgram(); err != nil {
			log.Debug("memory not released", zap.Error(err))
		}
	}
}

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 { return value("/gc/heap/allocs:bytes") }

// value returns a metric of the runtime.
func value(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
