// Package scheduler asks at regular times what is due. It never relies on a
// tick: every task looks at the store, so that downtime, daylight saving and
// several processes need no special case (docs/architecture.md, "Level-triggered").
package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"
)

// Task is something to be looked at regularly. Run asks what is due and does it
// or enqueues it; while another process begins to lead it may run in both.
type Task struct {
	Name string
	Spec string // standard five-field cron expression, in UTC
	Run  func(ctx context.Context) error
}

// Scheduler runs tasks.
type Scheduler struct {
	Tasks []Task
	// Leads reports whether this is the one process of several that asks now.
	Leads func() bool
	Log   *zap.Logger
	Now   func() time.Time
}

// Run runs each task once at the start and then at its times, until ctx ends. A
// task that still runs at its next time is left to finish.
func (s *Scheduler) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	for _, t := range s.Tasks {
		schedule, err := cron.ParseStandard(t.Spec)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", t.Name, err)
		}
		work.Go(func() { s.repeat(ctx, t, schedule) })
	}
	return nil
}

func (s *Scheduler) repeat(ctx context.Context, t Task, schedule cron.Schedule) {
	for {
		var err error
		if s.Leads() {
			err = t.Run(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("task", zap.String("task", t.Name), zap.Error(err))
		}
		now := s.Now().UTC()
		timer := time.NewTimer(schedule.Next(now).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
