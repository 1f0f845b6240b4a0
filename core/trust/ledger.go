package trust

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// LedgerStore is the part of a store that a Ledger uses.
type LedgerStore interface {
	Grant(ctx context.Context, g store.Grant) (granted int, err error)
	Spend(ctx context.Context, user core.UserID, day string, spent core.Bill) error
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, spent core.Bill) error
}

// Ledger counts all calls of providers before they are made: no call is made for which the gateway's day has no tokens.
// Each process gets tokens ahead, so that no call waits for another process. Its methods may be called concurrently.
type Ledger struct {
	Store  LedgerStore
	PerDay int // tokens of all users a day (UTC); 0: no limit
	// PerUser is the tokens of one user a day. Turns and jobs reserve their own; the ledger reserves those of other calls.
	PerUser core.DailyTokens
	Worker  string
	Lease   time.Duration // of granted tokens
	Tokens  core.Tokenizer
	// MaxOutput bounds an answer whose request has no bound.
	MaxOutput int
	// Day returns a user with their current day, for calls outside of turns.
	Day func(ctx context.Context, user core.UserID) (core.User, core.Day, error)
	Log *zap.Logger
	Now func() time.Time

	mu       sync.Mutex
	day      string
	granted  int // of the day, to this process
	used     int
	reserved int
	refilled time.Time                 // of the last refused grant; zero: the last succeeded
	until    time.Time                 // end of the lease
	reported int                       // used, as the store knows it
	charges  map[core.UserID]core.Bill // of calls that no turn or job charges
	asking   sync.Mutex                // one grant at a time
}

// OverCap is the error of a call for which the gateway's day has no tokens; with One, the user's day.
type OverCap struct {
	Until time.Time
	One   bool
}

// Error returns the message.
func (e *OverCap) Error() string {
	if e.One {
		return "the user's tokens of today are used up (limits.tokens_per_day); it goes on at " + e.Until.Format("15:04 MST")
	}
	return "the gateway's tokens of today are used up (limits.all_tokens_per_day); it goes on at " +
		e.Until.Format("15:04 MST")
}

// today returns the current day and its end, in UTC.
func (l *Ledger) today() (string, time.Time) {
	now := l.Now().UTC()
	return now.Format(time.DateOnly), now.Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// ahead returns how many tokens a process keeps ready.
func (l *Ledger) ahead() int { return max(l.PerDay/20, 1) }

// rollOver begins a new day with nothing granted, and ends an expired lease. Reserved tokens
// are settled on the new day. The caller holds mu.
func (l *Ledger) rollOver() {
	if day, _ := l.today(); day != l.day {
		l.day, l.granted, l.used, l.reported, l.until = day, 0, 0, 0, time.Time{}
	}
	if !l.until.IsZero() && !l.Now().Before(l.until) { // others may have the rest by now
		l.granted, l.until = l.used, time.Time{}
	}
}

// left returns the tokens that can be reserved without a grant. The caller holds mu.
func (l *Ledger) left() int { return l.granted - l.used - l.reserved }

// Closed returns until when the day has fewer than n tokens left; zero: it has enough.
func (l *Ledger) Closed(ctx context.Context, n int) time.Time {
	if l.PerDay <= 0 || l.has(n) || l.refill(ctx, n) == nil && l.has(n) {
		return time.Time{}
	}
	_, end := l.today()
	return end
}

func (l *Ledger) has(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollOver()
	return l.left() >= n
}

// emptyFor is the delay before a process asks again after a grant gave nothing.
const emptyFor = 2 * time.Second

// refill requests a grant beyond n tokens, unless one was just refused.
func (l *Ledger) refill(ctx context.Context, n int) error {
	l.asking.Lock()
	defer l.asking.Unlock()
	l.mu.Lock()
	l.rollOver()
	day, used, want := l.day, l.used, max(0, n+l.ahead()/2-l.left())
	refused := l.Now().Sub(l.refilled) < emptyFor && !l.refilled.IsZero()
	l.mu.Unlock()
	if want == 0 || refused {
		return nil
	}
	return l.grant(ctx, day, used, want)
}

func (l *Ledger) grant(ctx context.Context, day string, used, want int) error {
	now := l.Now()
	got, err := l.Store.Grant(ctx, store.Grant{Day: day, Worker: l.Worker, Used: used, Want: want, PerDay: l.PerDay,
		Now: now, Until: now.Add(l.Lease)})
	if err != nil {
		return fmt.Errorf("get tokens of the day: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.day != day {
		return nil
	}
	l.refilled = time.Time{}
	if want > 0 && got <= l.granted {
		l.refilled = now
	}
	l.granted, l.until, l.reported = got, now.Add(l.Lease), used
	return nil
}

// Take reserves n tokens for a call. Give replaces them with the tokens that it used. The
// error is an OverCap, or the store's.
func (l *Ledger) Take(ctx context.Context, n int) (give func(took int), err error) {
	if l.PerDay <= 0 {
		return func(int) {}, nil
	}
	for range 2 {
		l.mu.Lock()
		l.rollOver()
		if l.left() >= n {
			l.reserved += n
			l.mu.Unlock()
			var once sync.Once
			return func(took int) {
				once.Do(func() {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.rollOver()
					l.reserved, l.used = l.reserved-n, l.used+took
				})
			}, nil
		}
		l.mu.Unlock()
		if err := l.refill(ctx, n); err != nil {
			return nil, err
		}
	}
	_, end := l.today()
	return nil, &OverCap{Until: end}
}

const keepEvery = 10 * time.Second

// Run renews the lease of granted tokens, gets more ahead, and stores charges, until ctx
// ends; then it gives the rest back.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		l.keep(ctx)
		select {
		case <-ctx.Done():
			l.Close(context.WithoutCancel(ctx))
			return nil
		case <-tick.C:
		}
	}
}

func (l *Ledger) keep(ctx context.Context) {
	l.charge(ctx)
	if l.PerDay <= 0 {
		return
	}
	l.asking.Lock()
	defer l.asking.Unlock()
	l.mu.Lock()
	l.rollOver()
	day, used, want := l.day, l.used, 0
	if l.left() < l.ahead()/2 {
		want = l.ahead() - l.left()
	}
	due := want > 0 || used-l.reported > l.ahead()/10 || l.until.Sub(l.Now()) < l.Lease/2
	l.mu.Unlock()
	if !due {
		return
	}
	if err := l.grant(ctx, day, used, want); err != nil && ctx.Err() == nil {
		l.Log.Warn("tokens of the day not renewed", zap.Error(err))
	}
}

// Close gives unused tokens back, at the end of a process.
func (l *Ledger) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	l.charge(ctx)
	if l.PerDay <= 0 {
		return
	}
	l.asking.Lock()
	defer l.asking.Unlock()
	l.mu.Lock()
	day, used := l.day, l.used+l.reserved
	l.mu.Unlock()
	if _, err := l.Store.Grant(ctx, store.Grant{Day: day, Worker: l.Worker, Used: used, PerDay: l.PerDay, Now: l.Now(),
		Until: l.Now()}); err != nil {
		l.Log.Warn("tokens of the day not given back", zap.Error(err))
	}
}

// charge stores the charges since the last time.
func (l *Ledger) charge(ctx context.Context) {
	l.mu.Lock()
	all := l.charges
	l.charges = nil
	l.mu.Unlock()
	for user, spent := range all {
		_, day, err := l.Day(ctx, user)
		if err == nil {
			err = l.Store.Spend(ctx, user, day.Label, spent)
		}
		if errors.Is(err, core.ErrNotFound) {
			continue // the user is gone
		}
		if err != nil {
			l.owe(user, spent)
		}
	}
}

// owe charges a user for a call that no turn and no job charges.
func (l *Ledger) owe(user core.UserID, spent core.Bill) {
	if user == 0 || len(spent) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.charges == nil {
		l.charges = map[core.UserID]core.Bill{}
	}
	l.charges[user] = l.charges[user].And(spent)
}

// takeFor reserves n tokens for a user's call, of the user's day and of the gateway's.
func (l *Ledger) takeFor(ctx context.Context, user core.UserID, n int) (give func(spent core.Bill), err error) {
	all, err := l.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	unbounded := func(spent core.Bill) {
		all(spent.Total().Tokens())
		l.owe(user, spent)
	}
	if l.PerUser == (core.DailyTokens{}) || user == 0 {
		return unbounded, nil
	}
	u, day, err := l.Day(ctx, user)
	limit, ok := l.PerUser.Of(u), false
	if err == nil && limit <= 0 {
		return unbounded, nil
	}
	if err == nil {
		ok, err = l.Store.ReserveCall(ctx, user, day.Label, n, limit)
	}
	if err == nil && !ok {
		err = &OverCap{Until: day.End, One: true}
	}
	if err != nil {
		all(0)
		return nil, err
	}
	return func(spent core.Bill) {
		all(spent.Total().Tokens())
		if err := l.Store.SettleCall(context.WithoutCancel(ctx), user, day.Label, n, spent); err != nil {
			l.Log.Warn("call not settled", zap.Int64("user", int64(user)), zap.Error(err))
		}
	}, nil
}

// Usage returns the tokens of the day that this process used or reserved, and was granted.
func (l *Ledger) Usage() (used, granted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollOver()
	return l.used + l.reserved, l.granted
}
