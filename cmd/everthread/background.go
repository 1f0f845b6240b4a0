package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/long"
	"github.com/everthread/everthread/core/loops"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/summary"
	"github.com/everthread/everthread/scheduler"
)

// newSummary wires the summaries: with a model of their own if one is configured.
func (a *app) newSummary(chat core.Model) error {
	c := a.cfg
	m, llm := chat, c.LLM
	if c.SummaryLLM.Provider != "" {
		var err error
		llm = c.SummaryLLM
		if m, err = a.models(llm); err != nil {
			return fmt.Errorf("summary_llm: %w", err)
		}
	}
	a.summary = &summary.Summarizer{
		Store: a.store, Jobs: a.jobs, Users: a.people, Planner: lazyPlanner{a}, Model: m, Tokens: a.tokens,
		Settings: summary.Settings{Window: engine.SmallestWindow(llm), MaxOutput: llm.MaxOutputTokens, TokensPerDay: c.Limits.TokensPerDay,
			Attempts: c.Summaries.Attempts, PostForward: c.Summaries.PostForward, PostMin: c.Summaries.PostMinMessages,
			PostExpires: c.Summaries.PostExpires, Language: c.DefaultLanguage},
		Calendar: a.calendar, Channels: a, Support: a.search.Support, SameLoop: loops.Match,
		Count: a.meter.Count, Log: a.log.Named("summary"), Now: a.now,
	}
	x := c.Context.Long
	a.compress = &long.Worker{
		Store: a.store, Jobs: a.jobs, Users: a.people, Model: m, Compressor: long.New(a.tokens, long.Options{}), Tokens: a.tokens,
		Settings: long.Settings{Budget: engine.LongBudget(c), Threshold: x.CompressThreshold, Raw: engine.LongRaw(c), MaxOutput: llm.MaxOutputTokens,
			TokensPerDay: c.Limits.TokensPerDay, Attempts: c.Summaries.Attempts},
		Calendar: a.calendar, Count: a.meter.Count, Log: a.log.Named("compress"), Now: a.now,
	}
	return nil
}

// compressions is the work on pages. One at a time is enough: nobody waits for it.
func (a *app) compressions() *job.Runner {
	return &job.Runner{Jobs: a.store, Queues: []string{core.QueueCompress}, Workers: 1, Take: a.compress.Take, Poll: pollEvery, Now: a.now, Log: a.log}
}

// downloads fetches attachments.
func (a *app) downloads() *job.Runner {
	return &job.Runner{Jobs: a.store, Queues: a.files.Queues(), Workers: downloadWorkers, Take: a.files.Take, Poll: pollEvery, Now: a.now, Log: a.log}
}

// downloadWorkers is how many attachments are fetched at once.
const downloadWorkers = 4

// lazyPlanner is the gateway's planner, which is made after the summaries.
type lazyPlanner struct{ *app }

// Plan picks where something proactive goes.
func (l lazyPlanner) Plan(ctx context.Context, u core.User, all bool) ([]core.Target, error) {
	return l.gateway.Plan(ctx, u, all)
}

// tasks are what the clock asks for. Each asks the store what is due.
func (a *app) tasks() []scheduler.Task {
	return []scheduler.Task{
		{Name: "finalize days", Spec: tick, Run: a.summary.Finalize},
		{Name: "post summaries", Spec: tick, Run: a.summary.Post},
		{Name: "receive approved messages", Spec: tick, Run: a.receiveApproved},
		{Name: "ask about linked addresses", Spec: tick, Run: a.people.AskLinks},
		{Name: "close late questions", Spec: tick, Run: a.closeLate},
		{Name: "remind", Spec: remindTick, Run: a.remind},
		{Name: "redirect what is parked", Spec: remindTick, Run: a.gateway.Redirect},
		{Name: "embed", Spec: embedTick, Run: a.wantEmbeddings},
		{Name: "back up", Spec: tick, Run: a.backUp},
		{Name: "sweep", Spec: "17 * * * *", Run: a.sweep},
	}
}

// newMover wires what merges and splits people.
func (a *app) newMover() *people.Mover {
	return &people.Mover{Store: a.store, Channels: a, Language: a.cfg.DefaultLanguage, Released: a.receiveApproved, Poll: movePoll, Worker: a.worker, Log: a.log.Named("people"), Now: a.now, Crash: crash}
}

// movePoll is how often merges and splits are looked for when nothing wakes.
const movePoll = 2 * time.Second

// receiveApproved receives held messages whose sender has been let in, in case
// the process that let them in died before it did.
func (a *app) receiveApproved(ctx context.Context) error {
	held, err := a.store.Approved(ctx, 100)
	if err != nil || len(held) == 0 {
		return err
	}
	return a.gateway.Receive(ctx, held...)
}

func (a *app) sweep(ctx context.Context) error {
	now := a.now()
	_, err := a.store.Sweep(ctx, now.Add(-a.cfg.Retention.Raw), now)
	_, late := a.store.SweepAudit(ctx, now.Add(-a.cfg.Retention.Audit))
	return errors.Join(err, late)
}

// closeLate closes questions that nobody answered in time.
func (a *app) closeLate(ctx context.Context) error {
	_, err := a.store.ExpireApprovals(ctx, a.now())
	return err
}
