package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/scheduler"
)

// How a process ends: SIGTERM to exit takes at most 10 s (SPEC 18).
const (
	graceTurns = 7 * time.Second
	graceHTTP  = time.Second
)

// serve runs everything until ctx ends: first the adapters stop taking, then what
// runs is finished or handed back.
func (a *app) serve(ctx context.Context, ln net.Listener) error {
	ctx = core.WithActor(ctx, core.Actor{}) // who comes in says who they are
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	inner, workCtx := errgroup.WithContext(work)
	inner.Go(func() error { return a.gateway.Run(workCtx, graceTurns) })
	inner.Go(func() error { return a.background(workCtx) })
	inner.Go(func() error { return a.ledger.Run(workCtx) })
	inner.Go(func() error { return a.store.Listen(workCtx) })
	inner.Go(func() error { return a.trim(workCtx) })
	inner.Go(func() error { return a.hub.Run(workCtx) })

	outer, ctx := errgroup.WithContext(ctx)
	for _, ch := range a.channels {
		outer.Go(func() error { return a.runChannel(ctx, ch) })
	}
	if ln != nil {
		outer.Go(func() error { return listen(ctx, ln, a.routes()) })
	}
	if a.metricsAt != nil {
		outer.Go(func() error { return listen(ctx, a.metricsAt, a.metricsRoutes()) })
	}
	outer.Go(func() error { // nothing is served if the work cannot go on
		select {
		case <-ctx.Done():
		case <-workCtx.Done():
		}
		return context.Cause(workCtx)
	})
	err := outer.Wait()
	stopWork()
	err = errors.Join(ignoreCancel(err), ignoreCancel(inner.Wait()))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceHTTP)
	defer cancel()
	return errors.Join(err, a.way.Settle(end))
}

func ignoreCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// background runs what nobody waits for: summaries, and what the clock asks for.
func (a *app) background(ctx context.Context) error {
	runners := []*job.Runner{{Jobs: a.store, Queues: []string{core.QueueSummarize}, Workers: summaryWorkers, Take: a.summary.Take,
		Poll: pollEvery, Now: a.now, Log: a.log}, a.compressions(), a.embeds(), a.downloads()}
	tick := &scheduler.Scheduler{Tasks: a.tasks(), Log: a.log.Named("scheduler"), Now: a.now}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range runners {
		group.Go(func() error { return r.Run(ctx) })
	}
	group.Go(func() error { return tick.Run(ctx) })
	group.Go(func() error { return a.index(ctx) })
	group.Go(func() error { return a.mcp.Run(ctx) })
	group.Go(func() error { return a.newMover().Run(ctx) })
	group.Go(func() error {
		for topic := range a.store.Wakes(ctx) {
			for _, r := range runners {
				r.Wake(topic)
			}
		}
		return nil
	})
	return group.Wait()
}

// summaryWorkers is how many summaries are written at once: they yield to replies.
const summaryWorkers = 16

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// listen serves HTTP until ctx ends.
func listen(ctx context.Context, ln net.Listener, routes http.Handler) error {
	s := &http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ConnState: new(crowd).note}
	stopped := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceHTTP)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	})
	defer stopped()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}
