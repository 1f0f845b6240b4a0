package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

// metrics serves the metrics. What stands in the store is read at each scrape.
func (a *app) metrics() http.Handler { return a.Meter.Handler(a.measure) }

// measure reads the gauges. What cannot be read is left out.
func (a *app) measure(ctx context.Context) {
	m, truth := a.Meter, map[bool]float64{true: 1}
	m.Set("everthread_info", 1, version, strings.Fields(databaseName(a.Config))[0])
	state := a.readiness(ctx)
	m.Set("everthread_ready", truth[state.Ready])
	for name, said := range state.Channels {
		m.Set("everthread_channel_up", truth[said == "ok"], name)
	}
	a.measureQueues(ctx)
	a.measureDay(ctx)
	if a.Config.Backup.Cron == "" {
		return
	}
	last, due, err := engine.BackupTimes(ctx, a.Config, a.Store)
	if err != nil {
		return
	}
	if last.IsZero() { // the first one is due from the start
		due = a.began
	}
	m.Set("everthread_backup_overdue_seconds", max(0, a.Now().Sub(due).Seconds()))
	m.Set("everthread_backup_last_timestamp_seconds", max(0, float64(last.Unix())))
}

// measureDay tells how much of the day's tokens is used.
func (a *app) measureDay(ctx context.Context) {
	used, granted, err := a.Store.SpentAll(ctx, a.Now().UTC().Format(time.DateOnly), a.Now())
	if a.Ledger.PerDay <= 0 || err != nil {
		return
	}
	for state, n := range map[string]int{"used": used, "granted": granted, "limit": a.Ledger.PerDay} {
		a.Meter.Set("everthread_day_tokens", float64(n), state)
	}
}

func (a *app) measureQueues(ctx context.Context) {
	stats, err := a.Store.QueueStats(ctx)
	if err != nil {
		return
	}
	for _, queue := range []string{core.QueueTurn, core.QueueSummarize, core.QueueEmbed, core.QueueCompress} {
		for _, state := range []core.JobState{core.JobWaiting, core.JobReady, core.JobRunning, core.JobDead} {
			a.Meter.Set("everthread_queue_depth", 0, queue, string(state))
			a.Meter.Set("everthread_queue_age_seconds", 0, queue, string(state))
		}
	}
	for _, q := range stats {
		a.Meter.Set("everthread_queue_depth", float64(q.Depth), q.Queue, string(q.State))
		a.Meter.Set("everthread_queue_age_seconds", max(0, a.Now().Sub(q.Oldest).Seconds()), q.Queue, string(q.State))
	}
}
