package job

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// DueJobs lists due jobs. It also returns when the next one is due.
type DueJobs interface {
	Due(ctx context.Context, queues []string, now time.Time, limit int,
		share store.Share) ([]store.JobRef, time.Time, error)
}

// Runner finds due jobs of some queues and takes them, at most Workers concurrently. It polls when woken, when the next
// job is due, and every Poll; the only process less often after it has found nothing several times. Of several
// processes each polls less often, so that all together poll every Poll.
type Runner struct {
	Jobs    DueJobs
	Queues  []string
	Workers int
	// Share returns the users whose work this process takes first; nil: it takes everything.
	Share func() store.Share
	// Take claims a job and runs it to its end.
	Take func(ctx context.Context, ref store.JobRef)
	// Do runs a claimed job to its end; see Begin. nil: there are none.
	Do   func(ctx context.Context, j *store.Job)
	Poll time.Duration
	Now  func() time.Time
	Log  *zap.Logger

	once   sync.Once
	wake   chan struct{}
	idle   int // how many polls have found nothing since one found something
	slots  chan struct{}
	work   sync.WaitGroup
	mu     sync.Mutex
	ctx    context.Context // of Run, while it takes jobs; else nil
	taking map[jobKey]bool
}

type jobKey struct {
	user core.UserID
	job  core.JobID
}

func (r *Runner) init() {
	r.once.Do(func() {
		r.wake = make(chan struct{}, 1)
		r.taking = map[jobKey]bool{}
		r.slots = make(chan struct{}, r.Workers)
	})
}

// Wake makes the runner poll if the topic names work in its share, or means that wake-ups may have been lost.
func (r *Runner) Wake(topic string) {
	r.init()
	queue, user, ok := core.ParseWakeTopic(topic)
	if ok && (!slices.Contains(r.Queues, queue) || !r.share().Mine(user)) ||
		!ok && topic != core.TopicListening && topic != core.TopicShares && topic != core.TopicWritten {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run takes jobs until ctx ends, and waits for those that it started.
func (r *Runner) Run(ctx context.Context) error {
	r.init()
	if len(r.Queues) == 0 {
		<-ctx.Done()
		return nil
	}
	r.open(ctx)
	defer r.work.Wait()
	defer r.close()
	for ctx.Err() == nil {
		wait := r.round(ctx)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-t.C:
		}
		t.Stop()
	}
	return nil
}

func (r *Runner) open(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
}

func (r *Runner) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = nil
}

// Free reports whether a job would begin immediately. A process that knows may claim jobs when it
// enqueues them, and then calls Begin.
func (r *Runner) Free() bool {
	r.init()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ctx != nil && r.ctx.Err() == nil && len(r.slots) < r.Workers && r.share().N >= 0
}

// Begin runs a job that this process claimed when it was enqueued, also if others have taken the
// last worker meanwhile. When Run has ended, the job waits for its lease to end.
func (r *Runner) Begin(j *store.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx := r.ctx; ctx != nil {
		r.work.Go(func() {
			select {
			case r.slots <- struct{}{}:
				defer func() { <-r.slots }()
			default:
			}
			r.Do(ctx, j)
		})
	}
}

// round starts due jobs and returns the wait before the next round.
func (r *Runner) round(ctx context.Context) time.Duration {
	now, share := r.Now(), r.share()
	refs, next, err := r.Jobs.Due(ctx, r.Queues, now, 2*r.Workers, share)
	if r.idle++; len(refs) > 0 || err != nil {
		r.idle = 0
	}
	poll := min(r.interval(share.Of), max(r.Poll, longestPoll))
	if err != nil {
		if ctx.Err() == nil {
			r.Log.Warn("due jobs not read", zap.Strings("queues", r.Queues), zap.Error(err))
		}
		return poll
	}
	for _, ref := range refs {
		if !r.reserve(jobKey{ref.User, ref.ID}) {
			continue
		}
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			r.release(jobKey{ref.User, ref.ID})
			return 0
		}
		r.work.Go(func() {
			defer func() { <-r.slots; r.release(jobKey{ref.User, ref.ID}) }()
			r.Take(ctx, ref)
		})
	}
	if len(refs) == 2*r.Workers {
		return 0
	}
	if wait := next.Sub(now); !next.IsZero() && wait < poll {
		return max(wait, time.Millisecond)
	}
	return poll
}

// interval returns how long to wait for the next poll as one of so many processes. Several help each
// other with what nobody has taken, which only a poll finds.
func (r *Runner) interval(of int) time.Duration {
	if of > 1 {
		return r.Poll * time.Duration(of)
	}
	return r.Poll << min(r.idle, 4)
}

// longestPoll bounds the interval at which a process polls.
const longestPoll = 10 * time.Second

func (r *Runner) share() store.Share {
	if r.Share == nil {
		return store.Share{}
	}
	return r.Share()
}

// reserve records that this process takes a job. It returns false if it does already.
func (r *Runner) reserve(id jobKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taking[id] {
		return false
	}
	r.taking[id] = true
	return true
}

func (r *Runner) release(id jobKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.taking, id)
}
