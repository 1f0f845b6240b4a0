package egress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Meter stores the daily usage of users.
type Meter interface {
	// TakeEgress adds to a user's day as much of want as is left of most (0: no limit), and
	// returns that. Negative numbers are given back.
	TakeEgress(ctx context.Context, user core.UserID, day string, want, most store.Egress) (store.Egress, error)
}

// QuotaError means that a user's daily allowance is used up.
type QuotaError struct {
	Until time.Time // when it goes on
	After time.Duration
	Key   string // of the limit
}

// Error names the end of the day, and the setting that the operator can raise.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("what may be fetched from outside for one person in a day is used up; it goes on at %s, and the operator can raise %s",
		e.Until.UTC().Format("15:04 MST"), e.Key)
}

// A process takes one of shares of a day's allowance at a time, so that most calls need no
// write. If it dies, the unused part is lost.
const (
	shares     = 50
	meterTime  = 10 * time.Second
	refuseTime = time.Minute // before it asks again
)

// accounts holds the parts of allowances that were taken and are not used yet.
type accounts struct {
	mu sync.Mutex
	of map[core.UserID]*account
}

type account struct {
	mu      sync.Mutex
	day     core.Day
	left    store.Egress
	refused time.Time // when the meter had nothing left
}

// take uses some of a user's allowance. Errors are *QuotaError, or the meter's.
func (g *Gate) take(ctx context.Context, user core.UserID, n store.Egress) error {
	a := g.accounts.get(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meterTime) // bytes read count in any case
	defer cancel()
	now := g.Now()
	if !now.Before(a.day.End) {
		day, err := g.Day(ctx, user)
		if err != nil {
			return fmt.Errorf("find the day of a connection: %w", err)
		}
		a.day, a.left, a.refused = day, store.Egress{}, time.Time{}
	}
	if short := g.short(a.left, n); short != (store.Egress{}) && now.Sub(a.refused) > refuseTime {
		got, err := g.Meter.TakeEgress(ctx, user, a.day.Label, g.portion(short), g.PerDay)
		if err != nil {
			return fmt.Errorf("count a connection: %w", err)
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

// short returns how much is missing in left for n, where there is a limit.
func (g *Gate) short(left, n store.Egress) (out store.Egress) {
	if g.PerDay.Calls > 0 {
		out.Calls = max(0, n.Calls-left.Calls)
	}
	if g.PerDay.Bytes > 0 {
		out.Bytes = max(0, n.Bytes-left.Bytes)
	}
	return out
}

// portion returns how much to take when short is missing.
func (g *Gate) portion(short store.Egress) store.Egress {
	if short.Calls > 0 {
		short.Calls = max(short.Calls, g.PerDay.Calls/shares)
	}
	if short.Bytes > 0 {
		short.Bytes = max(short.Bytes, g.PerDay.Bytes/shares)
	}
	return short
}

// Settle gives unused parts back, at the end of a process.
func (g *Gate) Settle(ctx context.Context) error {
	g.accounts.mu.Lock()
	defer g.accounts.mu.Unlock()
	var errs []error
	for user, a := range g.accounts.of {
		a.mu.Lock()
		left := a.left
		a.left = store.Egress{}
		a.mu.Unlock()
		if left == (store.Egress{}) {
			continue
		}
		back := store.Egress{Calls: -left.Calls, Bytes: -left.Bytes}
		if _, err := g.Meter.TakeEgress(ctx, user, a.day.Label, back, g.PerDay); err != nil &&
			!errors.Is(err, core.ErrNotFound) {
			errs = append(errs, fmt.Errorf("give an unused allowance back: %w", err))
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
