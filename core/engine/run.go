package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/scheduler"
)

// Grace periods of a stop: the process exits within 10 s of SIGTERM.
const (
	graceTurns = 7 * time.Second
	graceWay   = time.Second
)

// Run runs the engine and the doors until ctx ends. Channels and doors stop first; then
// running work is finished or handed back.
func (e *Engine) Run(ctx context.Context, doors ...func(context.Context) error) error {
	ctx = core.WithActor(ctx, core.Actor{}) // every event names its own actor
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	inner, workCtx := errgroup.WithContext(work)
	inner.Go(func() error { return e.Work(workCtx, graceTurns) })

	outer, ctx := errgroup.WithContext(ctx)
	for _, ch := range e.options.Channels {
		outer.Go(func() error { return e.runChannel(ctx, ch) })
	}
	for _, run := range doors {
		outer.Go(func() error { return run(ctx) })
	}
	outer.Go(func() error { // stop serving if the work ends
		select {
		case <-ctx.Done():
		case <-workCtx.Done():
		}
		return context.Cause(workCtx)
	})
	err := outer.Wait()
	stopWork()
	err = errors.Join(ignoreCancel(err), ignoreCancel(inner.Wait()))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceWay)
	defer cancel()
	return errors.Join(err, e.Way.Settle(end))
}

// TakeOver releases the claims of a process that died on the embedded store. It was the
// only server, as this one is now, so no lease must expire first.
func (e *Engine) TakeOver(ctx context.Context) error {
	if e.Config.DatabaseURL != "" {
		return nil
	}
	n, err := e.Store.Lapse(ctx)
	if n > 0 {
		e.Log.Info("interrupted jobs taken over", zap.Int("jobs", n))
	}
	return err
}

// Work runs turns, deliveries and background work until ctx ends. Running turns then have grace to finish.
func (e *Engine) Work(ctx context.Context, grace time.Duration) error {
	defer e.join(ctx)()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.Gateway.Run(ctx, grace) })
	run := []func(context.Context) error{e.beside, e.Ledger.Run, e.Store.Listen, e.Hub.Run, e.Embedders.warn}
	if e.Clock != nil {
		run = append(run, e.Clock.Run)
	}
	if st, ok := e.Store.(interface{ Tend(context.Context) error }); ok {
		run = append(run, st.Tend)
	}
	for _, run := range run {
		group.Go(func() error { return run(ctx) })
	}
	return ignoreCancel(group.Wait())
}

// join registers this process as a member among several. After ctx it leaves new work to
// the others; leave unregisters it.
func (e *Engine) join(ctx context.Context) (leave func()) {
	if e.members == nil {
		return func() {}
	}
	in, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.members.Run(in, ctx)
	}()
	return func() { end(); <-done }
}

// share returns the users whose work this process takes first.
func (e *Engine) share() store.Share {
	if e.members == nil {
		return store.Share{}
	}
	return e.members.Share()
}

func ignoreCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// The number of jobs of a queue that run at the same time.
const (
	summaryWorkers  = 16 // they yield to replies
	compressWorkers = 1  // nobody waits for it
	embedWorkers    = 2
	documentWorkers = 2
	downloadWorkers = 4
	speechWorkers   = 16 // people wait for it, and it mostly waits for its service
	pushWorkers     = 8
)

// Intervals at which jobs, and merges, are polled without a wake-up.
const (
	pollEvery = time.Second
	mergePoll = 2 * time.Second
)

// beside runs background work until ctx ends: jobs, the index, merges and the scheduler.
func (e *Engine) beside(ctx context.Context) error {
	runners := []*job.Runner{
		e.summaries,
		e.runner([]string{core.QueueCompress}, compressWorkers, e.compress.Take),
		e.runner([]string{core.QueueEmbed}, embedWorkers, e.embedding.Take),
		e.runner([]string{core.QueueDocument}, documentWorkers, e.documents.Take),
		e.runner(e.Files.Queues(), downloadWorkers, e.Files.Take),
		e.runner([]string{core.QueuePush}, pushWorkers, e.Push.Take),
	}
	if e.speech != nil {
		runners = append(runners, e.runner([]string{core.QueueSpeak}, speechWorkers, e.speech.Take))
	}
	clock := &scheduler.Scheduler{Tasks: e.tasks(), Leads: func() bool { return e.share().N == 0 },
		Log: e.Log.Named("scheduler")}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range runners {
		group.Go(func() error { return r.Run(ctx) })
	}
	for _, run := range []func(context.Context) error{clock.Run, e.index, e.servers.Run, e.merger.Run} {
		group.Go(func() error { return run(ctx) })
	}
	group.Go(func() error {
		for topic := range e.Store.Wakes(ctx) {
			for _, r := range runners {
				r.Wake(topic)
			}
		}
		return nil
	})
	return group.Wait()
}

func (e *Engine) runner(queues []string, workers int, take func(context.Context, store.JobRef)) *job.Runner {
	return &job.Runner{Jobs: e.Store, Queues: queues, Workers: workers, Share: e.share, Take: take,
		Poll: pollEvery, Now: e.Now, Log: e.Log}
}

// tasks returns the scheduled tasks. Each asks the store what is due.
func (e *Engine) tasks() []scheduler.Task {
	often := e.options.Ticks
	return []scheduler.Task{
		{Name: "finalize days", Spec: often.Usual, Run: e.summary.Finalize},
		{Name: "post summaries", Spec: often.Usual, Run: e.summary.Post},
		{Name: "receive approved messages", Spec: often.Usual, Run: e.receiveApproved},
		{Name: "ask about linked addresses", Spec: often.Usual, Run: e.People.AskLinks},
		{Name: "close late questions", Spec: often.Usual, Run: e.closeLate},
		{Name: "fire plans", Spec: often.Reminders,
			Run: func(ctx context.Context) error { return e.firer.Run(ctx, e.Now()) }},
		{Name: "redirect what is parked", Spec: often.Reminders, Run: e.Gateway.Redirect},
		{Name: "embed", Spec: often.Embeddings, Run: e.Embedders.want},
		{Name: "back up", Spec: often.Usual, Run: e.backups.run},
		{Name: "sweep", Spec: "17 * * * *", Run: e.sweep},
	}
}

// receiveApproved receives held messages whose sender has been admitted, in case the
// process that admitted them died before it did.
func (e *Engine) receiveApproved(ctx context.Context) error {
	held, err := e.Store.Approved(ctx, 100)
	if err != nil || len(held) == 0 {
		return err
	}
	return e.Gateway.Receive(ctx, held...)
}

func (e *Engine) sweep(ctx context.Context) error {
	now := e.Now()
	_, err := e.Store.Sweep(ctx, now.Add(-e.Config.Retention.Raw), now)
	_, late := e.Store.SweepAudit(ctx, now.Add(-e.Config.Retention.Audit))
	return errors.Join(err, late)
}

// closeLate closes expired questions.
func (e *Engine) closeLate(ctx context.Context) error {
	_, err := e.Store.ExpireApprovals(ctx, e.Now())
	return err
}

const (
	indexUsers = 256             // whose new messages one round indexes
	indexMany  = 200             // documents of a round, after which the next one follows immediately
	indexEvery = 5 * time.Second // between the others: rounds of few documents would disturb turns more than help
)

// index updates the full-text index until ctx ends.
func (e *Engine) index(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := e.Store.Index(ctx, indexUsers, e.share())
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("messages not indexed", zap.Error(err))
		}
		if n < indexMany || err != nil || e.slots.Busy() {
			job.Wait(ctx, indexEvery)
		}
	}
	return nil
}

// runChannel runs a channel until ctx ends, and restarts it after errors. A channel with an
// account runs only while this process holds its lease.
func (e *Engine) runChannel(ctx context.Context, ch core.Channel) error {
	log := e.Log.With(zap.String("channel", ch.Name()))
	for ctx.Err() == nil {
		var err error
		if s, ok := ch.(core.Accounter); ok {
			err = e.While(ctx, AccountName(ch.Name(), s.Account()), func(ctx context.Context) error { return e.attend(ctx, ch) })
		} else {
			err = ch.Run(ctx, e.Gateway)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			log.Error("channel stopped; it is restarted", zap.Error(err))
		}
		job.Wait(ctx, job.Renew)
	}
	return nil
}

// attend runs a channel. If it is a OneProcess channel, it also takes the deliveries of the
// channel and of those that it carries.
func (e *Engine) attend(ctx context.Context, ch core.Channel) error {
	if !e.Channels.Capabilities(ch.Name()).OneProcess {
		return ch.Run(ctx, e.Gateway)
	}
	names := slices.Sorted(maps.Keys(gateway.NewChannels(ch)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return ch.Run(ctx, e.Gateway) })
	group.Go(func() error { defer cancel(); return e.Gateway.Deliver(ctx, names...) })
	return group.Wait()
}

// Finalize closes the days that are due.
func (e *Engine) Finalize(ctx context.Context) error { return e.summary.Finalize(ctx) }

// Summarize requests the summary of a day and waits for it. This process writes it, unless another is quicker.
func (e *Engine) Summarize(ctx context.Context, g core.Segment) (core.Segment, error) {
	now := e.Now()
	_, err := e.Store.Note(ctx, store.Note{User: g.User, Effects: []core.Effect{effect.Summarize{Segment: g.ID, At: now}},
		Now: now})
	for err == nil {
		if err = e.summarizeDue(ctx, g.User); err != nil {
			break
		}
		g, err = e.Store.Segment(ctx, g.User, g.ID)
		switch {
		case err != nil:
			return g, err
		case g.SummaryError != "":
			return g, fmt.Errorf("%s; it can be requested again", g.SummaryError)
		case !g.Stale:
			return g, nil
		}
		job.Wait(ctx, pollEvery/5)
		if ctx.Err() != nil {
			return g, errors.New("stopped waiting; a server continues")
		}
	}
	return g, err
}

// summarizeDue runs a user's summary jobs that are due.
func (e *Engine) summarizeDue(ctx context.Context, user core.UserID) error {
	refs, _, err := e.Store.Due(ctx, []string{core.QueueSummarize}, e.Now(), 100, store.Share{})
	for _, r := range refs {
		if r.User == user {
			e.summary.Take(ctx, r)
		}
	}
	return err
}
