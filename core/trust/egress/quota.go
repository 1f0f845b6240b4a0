package egress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
)

// Meter keeps what users caused in a day.
type Meter interface {
	// TakeEgress adds to a user's day as much of want as is left of most (0: no
	// limit) and returns it. What is negative is given back.
	TakeEgress(ctx context.Context, user core.UserID, day string, want, most core.Egress) (core.Egress, error)
}

// QuotaError is why nothing more goes out for a user today.
type QuotaError struct {
	Until time.Time // when it goes on
	After time.Duration
	Key   string // of the limit
}

// Error says when it goes on, and what an operator can raise.
func (e *QuotaError) Error() string {
	return fmt.Sprintf(
		"what may be fetched from outside for one person in a day is used up; it goes on at %s, and the operator can raise %s",
		e.Until.UTC().Format("15:04 MST"), e.Key)
}

// Of a day's allowance a process takes one of shares at a time, so that most calls
// cost no write. What it has not used when it dies is lost.
const (
	shares     = 50
	meterTime  = 10 * time.Second
	refuseTime = time.Minute // until it is asked for again
)

// accounts are what users have taken and not used yet.
type accounts struct {
	mu sync.Mutex
	of map[core.UserID]*account
}

type account struct {
	mu      sync.Mutex
	day     core.Day
	left    core.Egress
	refused time.Time // when nothing more was to be had
}

// take uses some of a user's allowance. Errors are *QuotaError, or the meter's.
func (g *Gate) take(ctx context.Context, user core.UserID, n core.Egress) error {
	a := g.accounts.get(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meterTime) // what was read was read
	defer cancel()
	now := g.Now()
	if !now.Before(a.day.End) {
		day, err := g.Day(ctx, user)
		if err != nil {
			return fmt.Errorf("find the day of what goes out: %w", err)
		}
		a.day, a.left, a.refused = day, core.Egress{}, time.Time{}
	}
	if short := g.short(a.left, n); short != (core.Egress{}) && now.Sub(a.refused) > refuseTime {
		got, err := g.Meter.TakeEgress(ctx, user, a.day.Label, g.portion(short), g.PerDay)
		if err != nil {
			return fmt.Errorf("count what goes out: %w", err)
		}
		a.left.Calls += got.Calls
		a.left.Bytes += got.Bytes
	}
	switch short := g.short(a.left, n); {
	case short.Calls > 0:
		return g.over(a, now, "egress.calls_per_day")
	case short.Bytes > 0:
		return g.over(a, now, "egress.bytes_per_day")
	}
	if g.PerDay.Calls > 0 {
		a.left.Calls -= n.Calls
	}
	if g.PerDay.Bytes > 0 {
		a.left.Bytes -= n.Bytes
	}
	return nil
}

func (g *Gate) over(a *account, now time.Time, key string) error {
	if now.Sub(a.refused) > refuseTime {
		a.refused = now
	}
	return &QuotaError{Until: a.day.End, After: a.day.End.Sub(now), Key: key}
}

// short is by how much what is left falls short of n, where there is a limit.
func (g *Gate) short(left, n core.Egress) (out core.Egress) {
	if g.PerDay.Calls > 0 {
		out.Calls = max(0, n.Calls-left.Calls)
	}
	if g.PerDay.Bytes > 0 {
		out.Bytes = max(0, n.Bytes-left.Bytes)
	}
	return out
}

// portion is what is taken at once where so much is missing.
func (g *Gate) portion(short core.Egress) core.Egress {
	if short.Calls > 0 {
		short.Calls = max(short.Calls, g.PerDay.Calls/shares)
	}
	if short.Bytes > 0 {
		short.Bytes = max(short.Bytes, g.PerDay.Bytes/shares)
	}
	return short
}

// Settle gives back what was taken and not used. It is called when a process ends.
func (g *Gate) Settle(ctx context.Context) error {
	g.accounts.mu.Lock()
	defer g.accounts.mu.Unlock()
	var errs []error
	for user, a := range g.accounts.of {
		a.mu.Lock()
		left := a.left
		a.left = core.Egress{}
		a.mu.Unlock()
		if left == (core.Egress{}) {
			continue
		}
		back := core.Egress{Calls: -left.Calls, Bytes: -left.Bytes}
		if _, err := g.Meter.TakeEgress(ctx, user, a.day.Label, back, g.PerDay); err != nil &&
			!errors.Is(err, core.ErrNotFound) {
			errs = append(errs, fmt.Errorf("give back what was not used: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (a *accounts) get(user core.UserID) *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[user] == nil {
		a.of[user] = &account{}
	}
	return a.of[user]
}
