package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// shared is a database that several processes share.
type shared interface {
	// Hears fails with core.ErrDeaf unless processes hear each other.
	Hears(ctx context.Context) error
	Connections(ctx context.Context, now time.Time) (core.Connections, error)
	Clock(ctx context.Context) (time.Time, error)
	// Distributed reports whether users are distributed over servers, and lists the tables
	// that are not where they belong.
	Distributed(ctx context.Context) (yes bool, astray []string, err error)
}

// shared checks what several processes need of their database.
func (e *examination) shared(ctx context.Context, db shared) {
	switch err := db.Hears(ctx); {
	case errors.Is(err, core.ErrDeaf), errors.Is(err, core.ErrPooler):
		e.problem("processes", "%s", e.ProcessesDeaf)
	default:
		e.verdict("processes", err, "%s", e.ProcessesHear)
	}
	if c, err := db.Connections(ctx, e.Now()); err != nil {
		e.problem("connections", "%s", err.Error())
	} else {
		e.connections(c)
	}
	e.databaseClock(ctx, db)
	e.distributed(ctx, db)
}

// distributed reports whether users are distributed over servers.
func (e *examination) distributed(ctx context.Context, db shared) {
	switch yes, astray, err := db.Distributed(ctx); {
	case err != nil:
		e.problem("distribution", "%s", err.Error())
	case len(astray) > 0:
		e.problem("distribution", e.DistributedHalf, strings.Join(astray, ", "))
	case yes:
		e.fine("distribution", "%s", e.DistributedGood)
	}
}

// connections checks that the server takes as many connections as processes may open.
func (e *examination) connections(c core.Connections) {
	each, processes := e.Config.DatabaseConns+1, max(c.Processes, 1) // one of them listens
	if c.Pooled {
		each = 1
	}
	wanted := processes * each
	if wanted > c.Limit {
		e.problem("connections", e.ConnectionsMany, processes, each, wanted, c.Limit)
		return
	}
	e.fine("connections", e.ConnectionsGood, processes, each, wanted, c.Limit)
}

// Limits of the database's clock: how far its readings may be apart, and how far it may be
// off ours.
const (
	maxScatter = 5 * time.Second
	maxOff     = time.Second
)

// databaseClock compares the machine's clock with that of the database.
func (e *examination) databaseClock(ctx context.Context, db shared) {
	var least, most time.Duration
	for n := range 3 {
		at, err := db.Clock(ctx)
		if err != nil {
			e.problem("database clock", "%s", err.Error())
			return
		}
		off := at.Sub(e.Now())
		if n == 0 {
			least, most = off, off
		}
		least, most = min(least, off), max(most, off)
	}
	switch {
	case most-least > maxScatter:
		e.problem("database clock", e.DatabaseClockWild, (most - least).Round(time.Second))
	case least.Abs() > maxOff:
		e.problem("database clock", e.DatabaseClockOff, least.Round(time.Second))
	default:
		e.fine("database clock", "%s", e.DatabaseClockGood)
	}
}
