package trust

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// LedgerStore is what a Ledger is kept in.
type LedgerStore interface {
	Grant(ctx context.Context, g core.Grant) (granted int, err error)
	Spend(ctx context.Context, user core.UserID, day string, u core.Usage) error
	ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error)
	SettleCall(ctx context.Context, user core.UserID, day string, n int, u core.Usage) error
}

// Ledger counts what all providers are asked, before they are: no call is made that
// the gateway's day has no tokens for. A process is granted some ahead, so that no
// call waits for another process. Its methods may be called concurrently.
type Ledger struct {
	Store  LedgerStore
	PerDay int // tokens of all users a day (UTC); 0: no limit
	// PerUser is tokens of one user a day; 0: no limit. Turns and jobs reserve theirs
	// themselves, what else is called for a user is reserved here.
	PerUser int
	Worker  string
	Lease   time.Duration // of what is granted
	Tokens  core.Tokenizer
	// MaxOutput bounds an answer of which the request says nothing.
	MaxOutput int
	// Day is a user's day, for what is charged to them beside turns.
	Day func(ctx context.Context, user core.UserID) (core.Day, error)
	Log *zap.Logger
	Now func() time.Time

	mu       sync.Mutex
	day      string
	granted  int // of the day, to this process
	used     int
	reserved int
	refilled time.Time
	until    time.Time                  // of the lease
	reported int                        // of used, in the store
	charges  map[core.UserID]core.Usage // of calls that no turn or job charges
	asking   sync.Mutex                 // one grant at a time
}

// OverCap is the error of a call that the gateway's day has no tokens for, or, with
// One, a user's.
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

// today is the day that is counted now, and when it ends.
func (l *Ledger) today() (string, time.Time) {
	now := l.Now().UTC()
	return now.Format(time.DateOnly), now.Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// ahead is how many tokens a process keeps ready.
func (l *Ledger) ahead() int { return max(l.PerDay/20, 1) }

// turn begins a new day, with nothing granted. The caller holds mu.
func (l *Ledger) turn() {
	if day, _ := l.today(); day != l.day {
		l.day, l.granted, l.used, l.reported, l.until = day, 0, 0, 0,
			time.Time{} // what is reserved goes on, and is settled on the new day
	}
	if !l.until.IsZero() && !l.Now().Before(l.until) { // others may have the rest by now
		l.granted, l.until = l.used, time.Time{}
	}
}

// left is what may still be reserved without asking. The caller holds mu.
func (l *Ledger) left() int { return l.granted - l.used - l.reserved }

// Closed is until when the day has no n tokens left; zero: it has.
func (l *Ledger) Closed(ctx context.Context, n int) time.Time {
	if l.PerDay <= 0 {
		return time.Time{}
	}
	l.mu.Lock()
	l.turn()
	enough := l.left() >= n
	l.mu.Unlock()
	if enough || l.refill(ctx, n) == nil && l.has(n) {
		return time.Time{}
	}
	_, end := l.today()
	return end
}

func (l *Ledger) has(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left() >= n
}

// emptyFor is how long a process does not ask again after it got nothing.
const emptyFor = 2 * time.Second

// refill asks for more than n tokens, unless it was refused just now.
func (l *Ledger) refill(ctx context.Context, n int) error {
	l.asking.Lock()
	defer l.asking.Unlock()
	l.mu.Lock()
	l.turn()
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
	got, err := l.Store.Grant(ctx, core.Grant{Day: day, Worker: l.Worker, Used: used, Want: want, PerDay: l.PerDay,
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

// Take reserves n tokens for a call. Give puts what it took in their place. The
// error is an OverCap, or the store's.
func (l *Ledger) Take(ctx context.Context, n int) (give func(took int), err error) {
	if l.PerDay <= 0 {
		return func(int) {}, nil
	}
	for range 2 {
		l.mu.Lock()
		l.turn()
		if l.left() >= n {
			l.reserved += n
			l.mu.Unlock()
			var once sync.Once
			return func(took int) {
				once.Do(func() {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.turn()
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

// keepEvery is how often that is done.
const keepEvery = 10 * time.Second

// Run keeps what is granted, fetches more ahead, and writes down what is charged,
// until ctx ends; then it gives the rest back.
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
	l.turn()
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
		l.Log.Warn("keep the tokens of the day", zap.Error(err))
	}
}

// Close gives back what is not used, at the end of a process.
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
	if _, err := l.Store.Grant(ctx, core.Grant{Day: day, Worker: l.Worker, Used: used, PerDay: l.PerDay, Now: l.Now(),
		Until: l.Now()}); err != nil {
		l.Log.Warn("give back tokens of the day", zap.Error(err))
	}
}

// charge writes down what was charged to users since the last time.
func (l *Ledger) charge(ctx context.Context) {
	l.mu.Lock()
	all := l.charges
	l.charges = nil
	l.mu.Unlock()
	for user, u := range all {
		day, err := l.Day(ctx, user)
		if err == nil {
			err = l.Store.Spend(ctx, user, day.Label, u)
		}
		if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrMoving) {
			continue // they are gone
		}
		if err != nil {
			l.owe(user, u)
		}
	}
}

// owe charges a user for what no turn and no job charges.
func (l *Ledger) owe(user core.UserID, u core.Usage) {
	if user == 0 || u == (core.Usage{}) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.charges == nil {
		l.charges = map[core.UserID]core.Usage{}
	}
	l.charges[user] = l.charges[user].Add(u)
}

// takeFor reserves n tokens for a call for a user, of theirs and of all.
func (l *Ledger) takeFor(ctx context.Context, user core.UserID, n int) (give func(u core.Usage), err error) {
	all, err := l.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	if l.PerUser <= 0 || user == 0 {
		return func(u core.Usage) {
			all(u.Prompt + u.Completion)
			l.owe(user, u)
		}, nil
	}
	day, err := l.Day(ctx, user)
	ok := false
	if err == nil {
		ok, err = l.Store.ReserveCall(ctx, user, day.Label, n, l.PerUser)
	}
	if err == nil && !ok {
		err = &OverCap{Until: day.End, One: true}
	}
	if err != nil {
		all(0)
		return nil, err
	}
	return func(u core.Usage) {
		all(u.Prompt + u.Completion)
		if err := l.Store.SettleCall(context.WithoutCancel(ctx), user, day.Label, n, u); err != nil {
			l.Log.Warn("settle a call", zap.Int64("user", int64(user)), zap.Error(err))
		}
	}, nil
}

// Usage is how much of the day this process knows to be used, of how much it was
// granted.
func (l *Ledger) Usage() (used, granted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	return l.used + l.reserved, l.granted
}
