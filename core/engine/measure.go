package engine

import (
	"context"
	"net/http"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Health returns the error of every channel, or nil; of a channel with many accounts one error each.
func (e *Engine) Health() map[string]error {
	out := map[string]error{}
	for name, ch := range e.Channels {
		if accounts, ok := ch.(core.AccountChecker); ok {
			for account, err := range accounts.CheckAccounts() {
				out[name+":"+account] = err
			}
			continue
		}
		out[name] = nil
		if c, ok := ch.(core.Checker); ok {
			out[name] = c.Check()
		}
	}
	return out
}

// Metrics serves the metrics, and reads those of the store at each scrape. Ready reports
// whether messages can be received.
func (e *Engine) Metrics(ready func(context.Context) bool) http.Handler {
	return e.Meter.Handler(func(ctx context.Context) { e.measure(ctx, ready(ctx)) })
}

// measure sets the gauges, without those that cannot be read.
func (e *Engine) measure(ctx context.Context, ready bool) {
	m, truth := e.Meter, map[bool]float64{true: 1}
	database := "sqlite"
	if e.Config.DatabaseURL != "" {
		database = "postgres"
	}
	m.Set("everthread_info", 1, e.options.Version, database)
	m.Set("everthread_ready", truth[ready])
	for name, err := range e.Health() {
		m.Set("everthread_channel_up", truth[err == nil], name)
	}
	e.measureQueues(ctx)
	e.measureDay(ctx)
	e.measureBackups(ctx)
}

// measureBackups sets the gauges of backups, those that are configured.
func (e *Engine) measureBackups(ctx context.Context) {
	m := e.Meter
	if e.Config.Backup.To != "" {
		if s, err := ReadElsewhere(ctx, e.Config, e.Store); err == nil && s.Failed.IsZero() {
			m.Set("everthread_backup_unsent_seconds", 0)
		} else if err == nil {
			m.Set("everthread_backup_unsent_seconds", max(0, e.Now().Sub(s.Failed).Seconds()))
		}
	}
	if e.Config.Backup.Cron == "" {
		return
	}
	last, due, err := BackupTimes(ctx, e.Config, e.Store)
	if err != nil {
		return
	}
	if last.IsZero() { // the first one is due from the start
		due = e.began
	}
	m.Set("everthread_backup_overdue_seconds", max(0, e.Now().Sub(due).Seconds()))
	m.Set("everthread_backup_last_timestamp_seconds", max(0, float64(last.Unix())))
}

// measureDay sets the gauges of the day's tokens.
func (e *Engine) measureDay(ctx context.Context) {
	used, granted, err := e.Store.SpentAll(ctx, e.Now().UTC().Format(time.DateOnly), e.Now())
	if e.Ledger.PerDay <= 0 || err != nil {
		return
	}
	for state, n := range map[string]int{"used": used, "granted": granted, "limit": e.Ledger.PerDay} {
		e.Meter.Set("everthread_day_tokens", float64(n), state)
	}
}

func (e *Engine) measureQueues(ctx context.Context) {
	stats, err := e.Store.QueueStats(ctx)
	if err != nil {
		return
	}
	for _, queue := range []string{core.QueueTurn, core.QueueSummarize, core.QueueEmbed, core.QueueCompress} {
		for _, state := range []store.JobState{store.JobWaiting, store.JobReady, store.JobRunning, store.JobDead} {
			e.Meter.Set("everthread_queue_depth", 0, queue, string(state))
			e.Meter.Set("everthread_queue_age_seconds", 0, queue, string(state))
		}
	}
	for _, q := range stats {
		e.Meter.Set("everthread_queue_depth", float64(q.Depth), q.Queue, string(q.State))
		e.Meter.Set("everthread_queue_age_seconds", max(0, e.Now().Sub(q.Oldest).Seconds()), q.Queue, string(q.State))
	}
}
