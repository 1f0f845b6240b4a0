package server

import (
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
)

// How much garbage may grow, in percent of what is in use, before it is collected.
const (
	usualGarbage = 100
	crowdGarbage = 25  // while there is a crowd
	mostGarbage  = 400 // while the process is busy
)

const (
	crowdFrom  = 256      // open connections that begin a crowd
	crowdUntil = 128      // open connections that end it
	busyFrom   = 4 << 20  // bytes allocated between two checks of Trim that make a process busy
	busyRoom   = 24 << 20 // bytes of garbage that may grow meanwhile
)

// Garbage determines how much garbage may grow. While many connections are open it is less: otherwise the memory of
// their buffers would be doubled, even if they send nothing. While the process is busy it is more: a collection takes
// 5 ms, and with few megabytes in use one turn in ten would pay for it. GOGC in the environment takes precedence. The
// zero value is ready; a process has one.
type Garbage struct {
	mu    sync.Mutex
	open  int // connections
	crowd bool
	busy  int // percent; 0: the process is not busy
	set   int // percent that was set last; 0: none
}

// note is for http.Server.ConnState.
func (g *Garbage) note(_ net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.open++
	case http.StateClosed, http.StateHijacked:
		g.open--
	default:
		return
	}
	g.crowd = g.open >= crowdFrom || g.crowd && g.open > crowdUntil
	g.apply()
}

// work notes how many bytes were allocated between two checks, and how many are in use.
func (g *Garbage) work(allocated, live uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy = 0; allocated >= busyFrom {
		g.busy = int(min(busyRoom*100/max(live, 1), mostGarbage))
	}
	g.apply()
}

func (g *Garbage) apply() {
	percent := max(usualGarbage, g.busy)
	if g.crowd {
		percent = crowdGarbage
	}
	if percent != g.set && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
		g.set = percent
	}
}
