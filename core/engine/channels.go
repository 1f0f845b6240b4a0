package engine

import (
	"context"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// runChannel runs a channel; one that has an account only while this process holds it.
// What is wrong with one channel stops no other.
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
			log.Error("channel stopped; it is tried again", zap.Error(err))
		}
		job.Wait(ctx, job.Renew)
	}
	return nil
}

// attend runs a channel, and sends on it and on those that it carries if only the
// process that runs it may.
func (e *Engine) attend(ctx context.Context, ch core.Channel) error {
	if !e.Channels.Capabilities(ch.Name()).OneProcess {
		return ch.Run(ctx, e.Gateway)
	}
	names := []string{ch.Name()}
	if carrier, ok := ch.(core.Carrier); ok {
		for _, other := range carrier.Carries() {
			names = append(names, other.Name())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return ch.Run(ctx, e.Gateway) })
	group.Go(func() error { defer cancel(); return e.Gateway.Deliver(ctx, names...) })
	return group.Wait()
}
