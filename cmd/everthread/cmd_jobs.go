package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

type jobsCmd struct {
	List  jobsListCmd  `cmd:"" help:"List jobs that gave up."`
	Retry jobsRetryCmd `cmd:"" help:"Do one again."`
}

// jobView is a dead job as commands show it.
type jobView struct {
	ID       core.JobID  `json:"id"`
	User     core.UserID `json:"user_id"`
	Queue    string      `json:"queue"`
	Ref      int64       `json:"ref"`
	Attempts int         `json:"attempts"`
	Error    string      `json:"error"`
	Since    time.Time   `json:"since"`
}

func viewJob(j core.Job) jobView {
	return jobView{j.ID, j.User, j.Queue, j.Ref, j.Lease.Attempt, j.Error, j.Since}
}

// maxDead bounds the dead jobs that are looked at.
const maxDead = 10_000

type jobsListCmd struct {
	Limit howMany `default:"50" help:"How many."`
}

// Run lists dead jobs.
func (l jobsListCmd) Run(ctx context.Context, d *opened) error {
	jobs, err := d.store.DeadJobs(ctx, int(l.Limit))
	if err != nil {
		return err
	}
	return table(d.console, views(jobs, viewJob), d.words().JobsHeader, d.words().JobsNone, func(v jobView) []any {
		return []any{v.ID, v.User, v.Queue, v.Ref, v.Attempts, v.Since, dash(short(v.Error, 60))}
	})
}

type jobsRetryCmd struct {
	ID core.JobID `arg:"" name:"id" help:"The job, as jobs list shows it."`
}

// Run makes a dead job ready again.
func (r jobsRetryCmd) Run(ctx context.Context, d *opened) error {
	jobs, err := d.store.DeadJobs(ctx, maxDead)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(jobs, func(j core.Job) bool { return j.ID == r.ID })
	if i < 0 {
		return fmt.Errorf("no job %d gave up; `everthread jobs list` shows those that did", r.ID)
	}
	if err := d.store.Revive(ctx, jobs[i].User, r.ID, clock()()); err != nil {
		return err
	}
	return d.said(map[string]any{"retried": r.ID}, d.words().Redone)
}
