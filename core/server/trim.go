package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
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

// Trim releases memory when the process has become idle after work: first the reserve of the heap, then, at each check,
// the pages of the program that something has needed. The next turn reads its pages again from the page cache, which
// takes 20 ms, so a short silence is not enough. What the meter counts is work, and so is a lot of allocation.
func Trim(ctx context.Context, log *zap.Logger, meter Meter) error {
	last, trimmed := uint64(0), uint64(0) // bytes allocated
	events := meter.Events()
	idle := time.Duration(0) // since the last work
	for rest := trimLook; ; {
		job.Wait(ctx, trimLook)
		if ctx.Err() != nil {
			return nil
		}
		total := allocated()
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
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

const (
	crowdFrom    = 256 // open connections that begin a crowd
	crowdUntil   = 128 // open connections that end it
	crowdGarbage = 25  // percent of garbage meanwhile
)

// crowd counts open connections. While there are many, garbage is collected earlier: otherwise the memory of their
// buffers would be doubled, even if they send nothing. GOGC in the environment takes precedence.
type crowd struct {
	mu    sync.Mutex
	open  int
	usual int // percent of garbage to restore; 0: there is no crowd
}

// note is for http.Server.ConnState.
func (c *crowd) note(_ net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
	case http.StateClosed, http.StateHijacked:
		c.open--
	default:
		return
	}
	switch {
	case c.usual == 0 && c.open >= crowdFrom && os.Getenv("GOGC") == "":
		c.usual = debug.SetGCPercent(crowdGarbage)
	case c.usual != 0 && c.open <= crowdUntil:
		debug.SetGCPercent(c.usual)
		c.usual = 0
	}
}
