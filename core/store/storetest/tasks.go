package storetest

import (
	"errors"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func taskCases() []testCase {
	return []testCase{
		{"a task becomes one turn, with its reservation", testTaskRuns},
		{"a task without tokens left does not change the day", testTaskTokens},
		{"a skipped run is reported once, and the task continues", testTaskSkipped},
		{"a failed task is counted, and not read again", testTaskFails},
		{"a task waits behind a turn and is read alone", testTaskAlone},
		{"a paused task continues when it is resumed", testTaskPaused},
		{"a task is redacted with its source message", testTaskRedacted},
		{"redacting a run deletes the task", testTaskRunRedacted},
		{"a stopped task releases its reservation", testTaskStopped},
		{"a merge copies tasks and their runs", testTaskMerged},
	}
}

// task sets a task that is due in an hour.
func (b *bench) task(text, cron string, source core.MessageID) core.Plan {
	b.t.Helper()
	id := core.PlanID(one(b, b.NewID, b.user.ID))
	b.effects(effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, ID: id, Text: text, DueAt: b.now.Add(time.Hour),
		Cron: cron, Zone: "UTC",
		Source: source}, At: b.now, Max: 10})
	k, err := b.Plan(b.ctx, b.user.ID, id)
	b.must(err)
	return k
}

// fires returns an occurrence of a task whose turn may use 100 of 250 tokens for tasks.
func (b *bench) fires(k core.Plan, next time.Time) store.FirePlan {
	return store.FirePlan{User: b.user.ID, Due: k.DueAt, Next: next, Identity: b.at.ID, Now: b.now,
		Run: core.Run{Plan: k.ID, Due: k.DueAt, State: core.RunStarted},
		Instruction: &core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: k.Text, Tokens: 5, SentAt: b.now,
			Day: dayOf(b.now), Task: &core.TaskMark{Due: k.DueAt, Set: k.CreatedAt}},
		Budget: store.Budget{Reserve: 100, Least: 60, Day: dayOf(b.now).Label, TokensPerDay: 1000, TaskTokensPerDay: 250}}
}

// took returns the tokens that tasks have used and reserved today, and all that are reserved.
func (b *bench) took() (tokens, reserved, all int) {
	b.t.Helper()
	b.must(b.DB().QueryRow(`SELECT task_tokens, task_reserved, reserved FROM usage WHERE user_id = `+
		itoa(int(b.user.ID))+` AND day = '`+dayOf(b.now).Label+`'`).Scan(&tokens, &reserved, &all))
	days, err := b.UsageDays(b.ctx, b.user.ID, dayOf(b.now).Label, dayOf(b.now).Label)
	b.must(err)
	for _, d := range days {
		equal(b, "tokens of tasks", d.Tasks, tokens)
	}
	return tokens, reserved, all
}

func testTaskRuns(b *bench) {
	k := b.task("tell the news", "0 * * * *", 0)
	equal(b, "due too early", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	b.now = b.now.Add(61 * time.Minute)
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 1)
	f := b.fires(k, k.DueAt.Add(time.Hour))
	b.must(b.FirePlan(b.ctx, f))
	if err := b.FirePlan(b.ctx, f); !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("fired twice: got %v, want ErrChanged", err)
	}
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	tokens, reserved, all := b.took()
	equal(b, "before the turn", [3]int{tokens, reserved, all}, [3]int{0, 100, 100})
	turn := b.take()
	equal(b, "the turn's task", turn.Task, k.ID)
	equal(b, "due", turn.Due.Equal(k.DueAt), true)
	equal(b, "reserved", turn.Reserved, 100)
	m := b.message(turn.Inputs[0])
	if m.Task == nil || !m.Task.Due.Equal(k.DueAt) || m.Text != k.Text {
		b.t.Errorf("the instruction is %+v", m)
	}
	ok, err := b.ReserveMore(b.ctx, turn, store.Budget{Reserve: 100, TaskTokensPerDay: 250})
	b.must(err)
	equal(b, "more", ok, true)
	ok, err = b.ReserveMore(b.ctx, turn, store.Budget{Reserve: 100, TaskTokensPerDay: 250})
	b.must(err)
	equal(b, "more than tasks may take", ok, false)
	r := b.reply(turn, "here they are")
	r.Spent = took(core.Usage{Prompt: 70, Completion: 20})
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	tokens, reserved, all = b.took()
	equal(b, "after the turn", [3]int{tokens, reserved, all}, [3]int{90, 0, 0})
	again := valueOf(b.Plan(b.ctx, b.user.ID, k.ID))
	equal(b, "state", again.State, core.PlanActive)
	equal(b, "last", again.Last.State, core.RunDone)
	equal(b, "turn", again.Last.Turn, turn.ID)
	equal(b, "next", again.DueAt.Equal(f.Next), true)
	runs, err := b.Runs(b.ctx, b.user.ID, k.ID, 10)
	b.must(err)
	equal(b, "runs", len(runs), 1)
	equal(b, "answered", b.message(out.Messages[0]).Text, "here they are")
}

func testTaskTokens(b *bench) {
	one, two := b.task("one", "", 0), b.task("two", "", 0)
	three := b.task("three", "", 0)
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(one, time.Time{})))
	b.must(b.FirePlan(b.ctx, b.fires(two, time.Time{})))
	f := b.fires(three, time.Time{})
	f.Budget.Least = 0
	if err := b.FirePlan(b.ctx, f); !errors.Is(err, core.ErrRefused) {
		b.t.Errorf("more than tasks may take: got %v, want ErrRefused", err)
	}
	f.Budget.TaskTokensPerDay, f.Budget.TokensPerDay = 0, 290
	if err := b.FirePlan(b.ctx, f); !errors.Is(err, core.ErrRefused) {
		b.t.Errorf("more than the day has: got %v, want ErrRefused", err)
	}
	equal(b, "still due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 1)
	_, reserved, all := b.took()
	equal(b, "reserved", [2]int{reserved, all}, [2]int{200, 200})
	for range 2 {
		b.answer(b.take(), "done")
	}
}

func testTaskSkipped(b *bench) {
	k := b.task("tell the news", "0 * * * *", 0)
	b.now = b.now.Add(5 * time.Hour)
	f := b.fires(k, b.now.Add(time.Hour))
	f.Instruction, f.Run.State, f.Run.Cause, f.Run.Passed = nil, core.RunSkipped, core.CauseLate, 3
	f.Message = &core.NewMessage{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "too late", SentAt: b.now}
	f.Deliveries = []core.NewDelivery{{To: b.at.Address, Identity: b.at.ID, Kind: core.DeliverTask,
		Parts: []core.Part{{Text: "too late"}}}}
	b.must(b.FirePlan(b.ctx, f))
	b.sent(b.takeDelivery())
	equal(b, "turns", len(b.due(turns)), 0)
	again := valueOf(b.Plan(b.ctx, b.user.ID, k.ID))
	equal(b, "last", again.Last.State, core.RunSkipped)
	equal(b, "cause", again.Last.Cause, core.CauseLate)
	equal(b, "passed over", again.Last.Passed, 3)
	equal(b, "failures", again.Failures, 0)
	equal(b, "state", again.State, core.PlanActive)
}

// failRun makes the turn of a task fail.
func (b *bench) failRun(k core.Plan, next time.Time) {
	b.t.Helper()
	b.must(b.FirePlan(b.ctx, b.fires(k, next)))
	t := b.take()
	r := b.reply(t, "it was not done")
	r.State, r.Error, r.Cause = core.TurnFailed, "no model", core.CauseModel
	_, err := b.Commit(b.ctx, r, nil)
	b.must(err)
}

func testTaskFails(b *bench) {
	k := b.task("tell the news", "0 * * * *", 0)
	b.now = b.now.Add(time.Hour)
	b.failRun(k, k.DueAt.Add(time.Hour))
	equal(b, "turns", len(b.due(turns)), 0)
	k = valueOf(b.Plan(b.ctx, b.user.ID, k.ID))
	equal(b, "failures", k.Failures, 1)
	equal(b, "last", k.Last.State, core.RunFailed)
	equal(b, "cause", k.Last.Cause, core.CauseModel)
	b.sent(b.takeDelivery())
	turn := b.turn("what happened?")
	equal(b, "inputs of the next turn", len(turn.Inputs), 1)
	b.sent(b.answer(turn, "it failed").Delivery)
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(k, k.DueAt.Add(time.Hour))))
	b.sent(b.answer(b.take(), "done").Delivery)
	equal(b, "failures in a row", valueOf(b.Plan(b.ctx, b.user.ID, k.ID)).Failures, 0)
}

func testTaskAlone(b *bench) {
	k := b.task("tell the news", "", 0)
	b.now = b.now.Add(time.Hour)
	turn := b.turn("hello")
	b.must(b.FirePlan(b.ctx, b.fires(k, time.Time{})))
	b.say(true, "and again")
	b.answer(turn, "hi")
	task := b.take()
	equal(b, "inputs of the task", len(task.Inputs), 1)
	equal(b, "the turn's task", task.Task, k.ID)
	b.answer(task, "the news")
	last := b.take()
	equal(b, "the last turn's task", last.Task, core.PlanID(0))
	b.answer(last, "yes")
	b.wantTexts("hello", "hi", "tell the news", "the news", "and again", "yes")
	equal(b, "state", valueOf(b.Plan(b.ctx, b.user.ID, k.ID)).State, core.PlanDone)
}

func testTaskPaused(b *bench) {
	k := b.task("tell the news", "0 * * * *", 0)
	b.effects(effect.PausePlan{Plan: k.ID, At: b.now})
	b.now = b.now.Add(2 * time.Hour)
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 0)
	equal(b, "listed", len(valueOf(b.OpenPlans(b.ctx, b.user.ID, core.PlanTask, 10))), 1)
	b.effects(effect.ResumePlan{Plan: k.ID, Due: b.now, At: b.now})
	equal(b, "due", len(valueOf(b.DuePlans(b.ctx, b.now, 10))), 1)
	b.effects(effect.CancelPlan{Plan: k.ID, At: b.now})
	equal(b, "listed", len(valueOf(b.OpenPlans(b.ctx, b.user.ID, core.PlanTask, 10))), 0)
	err := second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.ResumePlan{Plan: k.ID, Due: b.now, At: b.now}}}))
	equal(b, "resumed after cancellation", errors.Is(err, core.ErrNotFound), true)
	full := effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, Text: "one more", DueAt: b.now, Zone: "UTC"}, Max: 1,
		At: b.now}
	b.effects(full)
	err = second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{full}}))
	equal(b, "one too many", errors.Is(err, core.ErrRefused), true)
}

func testTaskRedacted(b *bench) {
	q, _ := b.exchange("each hour the news of the xylophone", "I will")
	k := b.task("tell of the xylophone", "0 * * * *", q)
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(k, k.DueAt.Add(time.Hour))))
	b.sent(b.answer(b.take(), "nothing new").Delivery)
	k = valueOf(b.Plan(b.ctx, b.user.ID, k.ID))
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(k, k.DueAt.Add(time.Hour)))) // its turn has not begun
	b.effects(effect.Redact{Message: q, At: b.now})
	b.missing("xylophone")
	_, err := b.Plan(b.ctx, b.user.ID, k.ID)
	b.notFound("task", err)
	_, reserved, all := b.took()
	equal(b, "reserved", [2]int{reserved, all}, [2]int{0, 0})
}

func testTaskRunRedacted(b *bench) {
	k := b.task("tell of the xylophone", "0 * * * *", 0)
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(k, k.DueAt.Add(time.Hour))))
	turn := b.take()
	b.sent(b.answer(turn, "nothing new").Delivery)
	b.effects(effect.Redact{Message: turn.Inputs[0], At: b.now})
	b.missing("xylophone")
	_, err := b.Plan(b.ctx, b.user.ID, k.ID)
	b.notFound("task", err)
}

func testTaskStopped(b *bench) {
	k := b.task("tell the news", "0 * * * *", 0)
	b.now = b.now.Add(time.Hour)
	b.must(b.FirePlan(b.ctx, b.fires(k, k.DueAt.Add(time.Hour))))
	turn := b.take()
	b.must(b.RetryTurn(b.ctx, turn, b.now.Add(time.Hour), "no model"))
	b.effects(effect.StopTurn{})
	_, reserved, all := b.took()
	equal(b, "reserved", [2]int{reserved, all}, [2]int{0, 0})
	equal(b, "last", valueOf(b.Plan(b.ctx, b.user.ID, k.ID)).Last.State, core.RunStopped)
}

func testTaskMerged(b *bench) {
	p := b.second("Ben", "114")
	q, _ := p.exchange("each hour the news", "I will")
	k := p.task("tell the news", "0 * * * *", q)
	p.now = p.now.Add(time.Hour)
	p.must(p.FirePlan(p.ctx, p.fires(k, k.DueAt.Add(time.Hour))))
	turn := p.take()
	p.sent(p.answer(turn, "here").Delivery)
	b.now = p.now
	b.carryMerge(p.merge(b.user.ID))
	list, err := b.OpenPlans(b.ctx, b.user.ID, core.PlanTask, 10)
	b.must(err)
	if len(list) != 1 {
		b.t.Fatalf("got %d tasks, want 1", len(list))
	}
	got := list[0]
	equal(b, "text", got.Text, k.Text)
	equal(b, "asked by", b.message(got.Source).Text, "each hour the news")
	equal(b, "the run's instruction", b.message(got.Last.Message).Text, k.Text)
	ran, _, err := b.Turn(b.ctx, b.user.ID, got.Last.Turn)
	b.must(err)
	equal(b, "the run's turn", ran.Task, got.ID)
	equal(b, "theirs", len(valueOf(b.OpenPlans(b.ctx, p.user.ID, core.PlanTask, 10))), 0)
}
