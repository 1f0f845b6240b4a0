package engine

import (
	"context"
	"maps"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/gateway"
	"github.com/everthread/everthread/core/job"
)

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
