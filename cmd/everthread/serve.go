package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/gateway"
	"github.com/everthread/everthread/scheduler"
)

// How a process ends: SIGTERM to exit takes at most 10 s (SPEC 18).
const (
	graceTurns = 7 * time.Second
	graceHTTP  = time.Second
)

// How long a polled account is held without a renewal; another process takes it
// over within leaseAccount + renewAccount of a death (SPEC 18: 15 s).
const (
	leaseAccount = 10 * time.Second
	renewAccount = 3 * time.Second
)

// serve runs everything until ctx ends: first the adapters stop taking, then what
// runs is finished or handed back.
func (a *app) serve(ctx context.Context, ln net.Listener) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	inner, workCtx := errgroup.WithContext(work)
	inner.Go(func() error { return a.gateway.Run(workCtx, graceTurns) })
	inner.Go(func() error { return a.background(workCtx) })
	inner.Go(func() error { return a.store.Listen(workCtx) })
	inner.Go(func() error { return a.trim(workCtx) })

	outer, ctx := errgroup.WithContext(ctx)
	for _, ch := range a.channels {
		outer.Go(func() error { return a.runChannel(ctx, ch) })
	}
	if ln != nil {
		outer.Go(func() error { return a.listen(ctx, ln) })
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
	return errors.Join(ignoreCancel(err), ignoreCancel(inner.Wait()))
}

func ignoreCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// background runs what nobody waits for: summaries, and what the clock asks for.
func (a *app) background(ctx context.Context) error {
	runners := []*gateway.Runner{{Jobs: a.store, Queues: []string{core.QueueSummarize}, Workers: summaryWorkers, Take: a.summary.Take,
		Poll: pollEvery, Now: a.now, Log: a.log}}
	if e := a.embedders(); e != nil {
		runners = append(runners, e)
	}
	tick := &scheduler.Scheduler{Tasks: a.tasks(), Log: a.log.Named("scheduler"), Now: a.now}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range runners {
		group.Go(func() error { return r.Run(ctx) })
	}
	group.Go(func() error { return tick.Run(ctx) })
	group.Go(func() error { return a.index(ctx) })
	group.Go(func() error { return a.mcp.Run(ctx) })
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

// account is what polled channels have: one process at a time may run them.
type account interface{ Account() string }

// runChannel runs a channel; one that has an account only while this process
// holds its lease. With the embedded store the lock of the data folder is that
// lease, and nothing has to lapse after a crash. What is wrong with one channel
// stops no other.
func (a *app) runChannel(ctx context.Context, ch core.Channel) error {
	log := a.log.With(zap.String("channel", ch.Name()))
	for ctx.Err() == nil {
		var err error
		if acc, ok := ch.(account); ok && a.cfg.DatabaseURL != "" {
			err = a.leased(ctx, "channel:"+ch.Name()+":"+acc.Account(), func(ctx context.Context) error { return ch.Run(ctx, a.gateway) })
		} else {
			err = ch.Run(ctx, a.gateway)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			log.Error("channel stopped; it is tried again", zap.Error(err))
		}
		pause(ctx, renewAccount)
	}
	return nil
}

// leased runs f while this process holds the lease of name, and returns when f
// ended or the lease is somebody else's.
func (a *app) leased(ctx context.Context, name string, f func(context.Context) error) error {
	held, err := a.acquire(ctx, name)
	if err != nil || !held {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewAccount)
		defer cancel()
		if err := a.store.Release(ctx, name, a.worker); err != nil {
			a.log.Warn("release lease", zap.String("name", name), zap.Error(err))
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return f(ctx) })
	group.Go(func() error { defer cancel(); return a.renew(ctx, name) })
	return ignoreCancel(group.Wait())
}

func (a *app) acquire(ctx context.Context, name string) (bool, error) {
	now := a.now()
	_, held, err := a.store.Acquire(ctx, name, a.worker, now, now.Add(leaseAccount))
	return held, err
}

// renew keeps a lease until ctx ends. It gives up, so that the work under the
// lease stops, before somebody else can take it.
func (a *app) renew(ctx context.Context, name string) error {
	until := a.now().Add(leaseAccount)
	for {
		pause(ctx, renewAccount)
		if ctx.Err() != nil {
			return nil
		}
		asked := a.now()
		try, cancel := context.WithTimeout(ctx, renewAccount)
		held, err := a.acquire(try, name)
		cancel()
		switch {
		case err == nil && !held:
			return fmt.Errorf("the lease of %s was taken by another process", name)
		case err == nil:
			until = asked.Add(leaseAccount)
		case a.now().Add(2 * renewAccount).After(until):
			return fmt.Errorf("renew the lease of %s: %w", name, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// listen serves HTTP until ctx ends.
func (a *app) listen(ctx context.Context, ln net.Listener) error {
	s := &http.Server{Handler: a.routes(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
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
