package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

type jobsCmd struct {
	List  jobsListCmd  `cmd:"" help:"List failed jobs."`
	Retry jobsRetryCmd `cmd:"" help:"Retry a failed job."`
}

// maxDead bounds the failed jobs that retry looks through.
const maxDead = 10_000

type jobsListCmd struct {
	Limit howMany `default:"50" help:"Number of jobs."`
}

func (l jobsListCmd) Run(ctx context.Context, d *opened) error {
	jobs, err := d.store.DeadJobs(ctx, int(l.Limit))
	if err != nil {
		return err
	}
	return table(d.console, jobs, d.words().JobsHeader, d.words().JobsNone, func(j store.Job) (any, []any) {
		return object{"id", j.ID, "user_id", j.User, "queue", j.Queue, "ref", j.Ref, "attempts", j.Lease.Attempt,
				"error", j.Error, "since", j.Since},
			[]any{j.ID, j.User, j.Queue, j.Ref, j.Lease.Attempt, j.Since, cmp.Or(short(j.Error, 60), "-")}
	})
}

type jobsRetryCmd struct {
	ID core.JobID `arg:"" name:"id" help:"Id, as shown by jobs list."`
}

func (r jobsRetryCmd) Run(ctx context.Context, d *opened) error {
	jobs, err := d.store.DeadJobs(ctx, maxDead)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(jobs, func(j store.Job) bool { return j.ID == r.ID })
	if i < 0 {
		return fmt.Errorf("no job %d gave up; `everthread jobs list` shows those that did", r.ID)
	}
	if err := d.store.Revive(ctx, jobs[i].User, r.ID, clock()()); err != nil {
		return err
	}
	return d.said(object{"retried", r.ID}, d.words().Redone)
}
