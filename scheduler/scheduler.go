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
}

// Run runs each task once at the start and then at its times, until ctx ends and the last one returned. It skips a time
// at which the task still runs.
func (s *Scheduler) Run(ctx context.Context) error {
	once := cron.NewChain(cron.SkipIfStillRunning(cron.DiscardLogger))
	clock := cron.New(cron.WithLocation(time.UTC))
	var first sync.WaitGroup
	defer first.Wait()
	for _, t := range s.Tasks {
		job := once.Then(cron.FuncJob(func() { s.run(ctx, t) }))
		if _, err := clock.AddJob(t.Spec, job); err != nil {
			return fmt.Errorf("schedule %s: %w", t.Name, err)
		}
		first.Go(job.Run)
	}
	clock.Start()
	<-ctx.Done()
	<-clock.Stop().Done()
	return nil
}

func (s *Scheduler) run(ctx context.Context, t Task) {
	if ctx.Err() != nil || !s.Leads() {
		return
	}
	if err := t.Run(ctx); err != nil && ctx.Err() == nil {
		s.Log.Warn("task failed", zap.String("task", t.Name), zap.Error(err))
	}
}
