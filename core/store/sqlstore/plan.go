package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const runColumns = `r.plan_id, r.due_at, r.state, r.cause, r.passed, r.message_id, r.turn_id, r.started_at, r.ended_at`

// selectPlans selects plans of a user with their newest runs.
func selectPlans(user string) string {
	return `SELECT k.user_id, k.id, k.kind, k.body, k.due_at, k.cron, k.zone, k.state, k.source_message, k.created_at, k.tainted, k.failures,
	COALESCE(r.due_at, 0), COALESCE(r.state, ''), COALESCE(r.cause, ''), COALESCE(r.passed, 0), COALESCE(r.message_id, 0), COALESCE(r.turn_id, 0),
	COALESCE(r.started_at, 0), COALESCE(r.ended_at, 0)
	FROM plans k LEFT JOIN plan_runs r ON r.user_id = ` + user + ` AND r.plan_id = k.id AND r.due_at = k.last_due`
}

func scanPlan(row scanner) (core.Plan, error) {
	var k core.Plan
	var tainted int64
	err := row.Scan(&k.User, &k.ID, &k.Kind, &k.Text, asTime(&k.DueAt), &k.Cron, &k.Zone, &k.State, &k.Source,
		asTime(&k.CreatedAt), &tainted, &k.Failures, asTime(&k.Last.Due), &k.Last.State, &k.Last.Cause, &k.Last.Passed,
		&k.Last.Message, &k.Last.Turn, asTime(&k.Last.Started), asTime(&k.Last.Ended))
	k.Tainted = tainted&madeTainted != 0
	if !k.Last.Due.IsZero() {
		k.Last.Plan = k.ID
	}
	return k, found(err)
}

func scanRun(row scanner) (r core.Run, err error) {
	return r, found(row.Scan(&r.Plan, asTime(&r.Due), &r.State, &r.Cause, &r.Passed, &r.Message, &r.Turn,
		asTime(&r.Started), asTime(&r.Ended)))
}

// OpenPlans lists the active and paused plans of a kind, soonest first.
func (s *Store) OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error) {
	return list(s.one(ctx), scanPlan, selectPlans(`$1`)+
		` WHERE k.user_id = $1 AND k.kind = $2 AND k.state IN ('active', 'paused') ORDER BY k.due_at LIMIT $3`, user, string(kind), limit)
}

// Plan returns a plan, or ErrNotFound.
func (s *Store) Plan(ctx context.Context, user core.UserID, id core.PlanID) (core.Plan, error) {
	return scanPlan(s.one(ctx).row(selectPlans(`$1`)+` WHERE k.user_id = $1 AND k.id = $2`, user, id))
}

// DuePlans lists active plans that are due, oldest first.
func (s *Store) DuePlans(ctx context.Context, now time.Time, limit int) ([]core.Plan, error) {
	return list(s.one(ctx), scanPlan, selectPlans(`k.user_id`)+` WHERE k.state = 'active' AND k.due_at <= $1
		AND NOT EXISTS (SELECT 1 FROM users WHERE users.id = k.user_id AND users.merging = 1) ORDER BY k.due_at LIMIT $2`,
		ms(now), limit)
}

// Runs lists the runs of a plan, newest first.
func (s *Store) Runs(ctx context.Context, user core.UserID, plan core.PlanID, limit int) ([]core.Run, error) {
	return list(s.one(ctx), scanRun, `SELECT `+runColumns+
		` FROM plan_runs r WHERE r.user_id = $1 AND r.plan_id = $2 ORDER BY r.due_at DESC LIMIT $3`, user, plan, limit)
}

// FirePlan claims one occurrence of a plan; see store.PlanStore.
func (s *Store) FirePlan(ctx context.Context, f store.FirePlan) error {
	return s.update(ctx, "fire plan", f.User, func(t *tx) {
		t.claimPlan(f)
		b, run := f.Budget, f.Run
		if f.Instruction == nil {
			b.Reserve, b.Day = 0, ""
		} else if !t.reserveTask(&b) {
			t.fail(core.ErrRefused)
		}
		ended := f.Now
		if f.Message != nil {
			if said := t.sayPlanned(f); run.State == core.RunDone { // the text of a reminder, not a notice
				run.Message = said
			}
		}
		if f.Instruction != nil {
			run.Message, ended = t.instruct(f), time.Time{}
		}
		// An imported plan may have a run of this time.
		t.exec(`INSERT INTO plan_runs (user_id, plan_id, due_at, state, cause, passed, message_id, reserved, day, started_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (user_id, plan_id, due_at) DO UPDATE SET state = excluded.state, cause = excluded.cause, passed = excluded.passed,
				message_id = excluded.message_id, reserved = excluded.reserved, day = excluded.day, started_at = excluded.started_at,
				ended_at = excluded.ended_at`, t.user, run.Plan, ms(run.Due), string(run.State),
			string(run.Cause), run.Passed, run.Message, b.Reserve, b.Day, ms(f.Now), ms(ended))
		t.apply(f.Effects, nil)
	})
}

// claimPlan advances a plan to its next time.
func (t *tx) claimPlan(f store.FirePlan) {
	state, due := core.PlanActive, f.Next
	switch {
	case f.Next.IsZero():
		state, due = core.PlanDone, f.Due
	case f.Pause:
		state = core.PlanPaused
	}
	t.execOr(core.ErrChanged, `UPDATE plans SET state = $4, due_at = $5, last_due = $6, failures = failures + $7
		WHERE user_id = $1 AND id = $2 AND state = 'active' AND due_at = $3`, t.user, f.Run.Plan, ms(f.Due), string(state),
		ms(due), ms(f.Run.Due), flag(f.Run.State == core.RunFailed))
}

// instruct stores the instruction of a run like a message of its person, and ensures a turn that answers it.
func (t *tx) instruct(f store.FirePlan) core.MessageID {
	a := store.Append{User: t.user, Identity: f.Identity, Thread: t.threadOr(0),
		Messages: []core.NewMessage{*f.Instruction}, Now: f.Now, RunAt: f.Now}
	var to route
	t.ask(readRoute(a, &to))
	if to.identity.ID == 0 {
		t.fail(core.ErrNotFound)
		return 0
	}
	f.Instruction.Place = t.spotOf(to.identity.ID, askedPlan, int64(f.Run.Plan))
	id, _ := t.appendOne(*f.Instruction, core.Inbound{}, &to, nil, false)
	t.wantTurn(a, to, store.Appended{})
	return id
}

// askedPlan returns the message that requested the plan $3.
const askedPlan = `SELECT source_message FROM plans WHERE user_id = $1 AND id = $3`

// sayPlanned stores what a plan says, and sends it.
func (t *tx) sayPlanned(f store.FirePlan) core.MessageID {
	id := t.insert(*f.Message, place{thread: t.threadOr(0)})
	t.inPlace(f.Deliveries, askedPlan, int64(f.Run.Plan))
	t.deliverAll(f.Deliveries, []core.MessageID{id}, nil, f.Now)
	return id
}

// reserveTask reserves tokens of the day and of its budget for tasks: b.Reserve, or else b.Least,
// and then sets b.Reserve to that; false if the budget does not allow it.
func (t *tx) reserveTask(b *store.Budget) bool {
	used, reserved, err := usageOf(t, t.user, b.Day)
	t.fail(err)
	tasks := valueOf[int](t, `SELECT COALESCE(MAX(task_tokens + task_reserved), 0) FROM usage WHERE user_id = $1 AND day = $2`,
		t.user, b.Day)
	within := func(n int) bool {
		return (b.TokensPerDay <= 0 || used+reserved+n <= b.TokensPerDay) &&
			(b.TaskTokensPerDay <= 0 || tasks+n <= b.TaskTokensPerDay)
	}
	if !within(b.Reserve) && b.Least > 0 {
		b.Reserve = b.Least
	}
	if !within(b.Reserve) {
		return false
	}
	t.exec(`INSERT INTO usage (user_id, day, reserved, task_reserved) VALUES ($1, $2, $3, $3)
		ON CONFLICT (user_id, day) DO UPDATE SET reserved = usage.reserved + excluded.reserved,
			task_reserved = usage.task_reserved + excluded.task_reserved`, t.user, b.Day, b.Reserve)
	return true
}

// spendTask counts the usage of a task's turn towards the budget for tasks.
func (t *tx) spendTask(day string, u core.Usage, reserved int) {
	t.exec(`UPDATE usage SET task_tokens = task_tokens + $3,
		task_reserved = CASE WHEN task_reserved > $4 THEN task_reserved - $4 ELSE 0 END WHERE user_id = $1 AND day = $2`,
		t.user, day, u.Prompt+u.Completion, reserved)
}

// beginRun assigns a turn the task of its message, and the task's reservation.
func (t *tx) beginRun(turn *core.Turn, message core.MessageID, b *store.Budget) {
	if !t.find(columns{&turn.Task, asTime(&turn.Due), &b.Reserve, &b.Day}, `SELECT plan_id, due_at, reserved, day FROM plan_runs WHERE user_id = $1 AND message_id = $2 AND message_id > 0 AND state = 'started'`,
		t.user, message) {
		return
	}
	turn.Reserved = b.Reserve
	turn.Model = valueOf[string](t, `SELECT `+taskModel("$2"), t.user, turn.Task)
	t.exec(`UPDATE plan_runs SET turn_id = $4, reserved = 0 WHERE user_id = $1 AND plan_id = $2 AND due_at = $3`,
		t.user, turn.Task, ms(turn.Due), turn.ID)
}

// taskModel selects the model of a user's task; empty: the default.
func taskModel(task string) string {
	return `COALESCE((SELECT k.model FROM plans k WHERE k.user_id = $1 AND k.id = ` + task + `), '')`
}

// endRun stores the result of a run whose turn has ended.
func (t *tx) endRun(turn *core.Turn, state core.RunState, cause core.RunCause, now time.Time) {
	if turn.Task == 0 {
		return
	}
	t.exec(`UPDATE plan_runs SET state = $4, cause = $5, ended_at = $6 WHERE user_id = $1 AND plan_id = $2 AND due_at = $3`,
		t.user, turn.Task, ms(turn.Due), string(state), string(cause), ms(now))
	switch state {
	case core.RunDone:
		t.exec(`UPDATE plans SET failures = 0 WHERE user_id = $1 AND id = $2 AND failures > 0`, t.user, turn.Task)
	case core.RunFailed:
		t.exec(`UPDATE plans SET failures = failures + 1 WHERE user_id = $1 AND id = $2`, t.user, turn.Task)
	}
}

// runState returns the state of a run from the reply of its turn.
func runState(r store.Reply) core.RunState {
	switch {
	case r.Cause == core.CauseLate:
		return core.RunSkipped
	case r.State == core.TurnFailed:
		return core.RunFailed
	case r.State == core.TurnStopped:
		return core.RunStopped
	}
	return core.RunDone
}

func (t *tx) setPlan(e effect.SetPlan) {
	k := e.Plan
	if e.Max > 0 {
		n := valueOf[int](t, `SELECT COUNT(*) FROM plans WHERE user_id = $1 AND kind = $2 AND state IN ('active', 'paused')`, t.user,
			string(k.Kind))
		if n >= e.Max {
			t.fail(core.ErrRefused)
		}
	}
	if k.ID == 0 {
		k.ID = core.PlanID(t.nextID())
	}
	model := "" // a task keeps the model that its person uses when it is set
	if k.Kind == core.PlanTask {
		model = t.ownSettings().Model
	}
	t.exec(`INSERT INTO plans (user_id, id, kind, body, due_at, cron, zone, state, source_message, created_at, tainted, model)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8, $9, $10, $11) ON CONFLICT (user_id, id) DO NOTHING`, t.user, k.ID,
		string(k.Kind), k.Text, ms(k.DueAt), k.Cron, k.Zone, k.Source, ms(e.At), flag(k.Tainted), model)
}

func (t *tx) cancelPlan(e effect.CancelPlan) {
	t.ends(`UPDATE plans SET state = 'cancelled', tainted = tainted | $3 WHERE user_id = $1 AND id = $2 AND state IN ('active', 'paused')`,
		t.user, e.Plan, ended(e.Tainted))
}

func (t *tx) pausePlan(e effect.PausePlan) {
	t.exec(`UPDATE plans SET state = 'paused' WHERE user_id = $1 AND id = $2 AND state = 'active'`, t.user, e.Plan)
}

func (t *tx) resumePlan(e effect.ResumePlan) {
	t.execOr(core.ErrNotFound,
		`UPDATE plans SET state = 'active', failures = 0, due_at = $3 WHERE user_id = $1 AND id = $2 AND state = 'paused'`,
		t.user, e.Plan, ms(e.Due))
}

func (t *tx) snoozePlan(e effect.SnoozePlan) {
	if !e.Until.After(e.At) {
		t.fail(core.ErrRefused)
		return
	}
	t.execOr(core.ErrNotFound,
		`UPDATE plans SET due_at = $3 WHERE user_id = $1 AND id = $2 AND state = 'active'`, t.user, e.Plan, ms(e.Until))
}

// redactPlans deletes the plans that a message requested or is an instruction of, with what they said.
func (t *tx) redactPlans(m core.Message, now time.Time, out *store.Noted) {
	query, id := ` WHERE k.user_id = $1 AND k.source_message = $2 AND k.source_message > 0`, int64(m.ID)
	if m.Task != nil {
		if !t.find(&id, `SELECT plan_id FROM plan_runs WHERE user_id = $1 AND message_id = $2 AND message_id > 0`, t.user, m.ID) {
			return
		}
		query = ` WHERE k.user_id = $1 AND k.id = $2`
	}
	for _, k := range listOf(t, scanPlan, selectPlans(`$1`)+query, t.user, id) {
		t.dropPlan(k, m.ID, now, out)
	}
}

// dropPlan deletes a plan with its runs, and releases the reservations of runs that have not begun.
func (t *tx) dropPlan(k core.Plan, redacted core.MessageID, now time.Time, out *store.Noted) {
	type run struct {
		message  core.MessageID
		reserved int
		day      string
	}
	runs := listOf(t, fields(func(r *run) []any { return []any{&r.message, &r.reserved, &r.day} }),
		`SELECT message_id, reserved, day FROM plan_runs WHERE user_id = $1 AND plan_id = $2 ORDER BY due_at`, t.user, k.ID)
	t.removed(k.Text)
	t.execEach([]string{`DELETE FROM plans WHERE user_id = $1 AND id = $2`,
		`DELETE FROM plan_runs WHERE user_id = $1 AND plan_id = $2`}, t.user, k.ID)
	for _, r := range runs {
		if r.reserved > 0 {
			t.spendTurn(&core.Turn{Task: k.ID}, r.day, nil, r.reserved, 0)
		}
		if r.message > 0 && r.message != redacted {
			t.redact(effect.Redact{Message: r.message, At: now}, out)
		}
	}
	if k.Kind == core.PlanReminder {
		t.redactReminded(k)
	}
}

// redactReminded empties the messages of a reminder: an import knows the last one only.
func (t *tx) redactReminded(k core.Plan) {
	for _, m := range listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND kind = 'reminder' AND redacted = 0`, t.user, k.Source) {
		if strings.Contains(m.Text, k.Text) {
			t.exec(`UPDATE messages SET body = '', tokens = 0, redacted = 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID)
			t.redactDeliveries(m)
		}
	}
}
