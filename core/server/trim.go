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

// When a process that has nothing to do gives memory back.
const (
	trimLook = 3 * time.Second // how often it is looked
	trimRest = time.Minute     // of idleness, but for the first time: somebody may be about to answer
	trimIdle = 512 << 10       // bytes allocated between two looks: less is idle
	trimWork = 8 << 20         // bytes allocated since the last time that make it worthwhile
)

// Trim gives memory back when the process has become idle after work: what the
// heap keeps in reserve, and the pages of the program that only the start read. The
// next turn finds what it needs in the page cache, but that takes it 20 ms, so that a
// short silence changes nothing.
func Trim(ctx context.Context, log *zap.Logger) error {
	last, trimmed := uint64(0), uint64(0)
	var idle time.Duration
	for rest := trimLook; ; {
		job.Wait(ctx, trimLook)
		if ctx.Err() != nil {
			return nil
		}
		total := allocated()
		if idle += trimLook; total-last >= trimIdle {
			idle = 0
		}
		if idle >= rest && total-trimmed > trimWork {
			trimmed, rest = total, trimRest
			debug.FreeOSMemory()
			if err := dropProgram(); err != nil {
				log.Debug("memory not given back", zap.Error(err))
			}
		}
		last = total
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// How many open connections are a crowd, from how few on it is none again, and how
// much garbage is kept meanwhile, in percent of what is in use.
const (
	crowdFrom    = 256
	crowdUntil   = 128
	crowdGarbage = 25
)

// crowd counts open connections. While there are many, garbage is collected earlier:
// otherwise the memory that each holds for its buffers would be kept twice, even for
// connections that send nothing. GOGC in the environment is left as it is.
type crowd struct {
	mu    sync.Mutex
	open  int
	usual int // percent of garbage to go back to; 0: there is no crowd
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
