// Package scheduler runs tasks at regular times. No task relies on a tick: each asks the store what is due, so that
// downtime, daylight saving and several processes need no special case (docs/architecture.md, "Level-triggered").
package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"
)

// Task is a periodic task. Run asks what is due and does or enqueues it. While the lead
// changes it may run in two processes at the same time.
type Task struct {
	Name string
	Spec string // standard five-field cron expression, in UTC
	Run  func(ctx context.Context) error
}

// Scheduler runs tasks.
type Scheduler struct {
	Tasks []Task
	// Leads reports whether this process runs the tasks now, of several.
	Leads func() bool
	Log   *zap.Logger
	Now   func() time.Time
}

// Run runs each task once at the start and then at its times, until ctx ends. It skips a time
// at which the task still runs.
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
		if s.Leads() {
			if err := t.Run(ctx); err != nil && ctx.Err() == nil {
				s.Log.Warn("task failed", zap.String("task", t.Name), zap.Error(err))
			}
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
