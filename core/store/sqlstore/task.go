package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

const runColumns = `r.task_id, r.due_at, r.state, r.cause, r.passed, r.message_id, r.turn_id, r.started_at, r.ended_at`

// selectTasks selects tasks of a user with their newest runs.
func selectTasks(user string) string {
	return `SELECT k.user_id, k.id, k.body, k.due_at, k.cron, k.zone, k.state, k.message_id, k.created_at, k.tainted, k.failures,
	COALESCE(r.due_at, 0), COALESCE(r.state, ''), COALESCE(r.cause, ''), COALESCE(r.passed, 0), COALESCE(r.message_id, 0), COALESCE(r.turn_id, 0),
	COALESCE(r.started_at, 0), COALESCE(r.ended_at, 0)
	FROM tasks k LEFT JOIN task_runs r ON r.user_id = ` + user + ` AND r.task_id = k.id AND r.due_at = k.last_due`
}

func scanTask(row scanner) (core.Task, error) {
	var k core.Task
	var tainted int64
	err := row.Scan(&k.User, &k.ID, &k.Text, asTime(&k.DueAt), &k.Cron, &k.Zone, &k.State, &k.Source, asTime(&k.CreatedAt),
		&tainted, &k.Failures, asTime(&k.Last.Due), &k.Last.State, &k.Last.Cause, &k.Last.Passed, &k.Last.Message,
		&k.Last.Turn, asTime(&k.Last.Started), asTime(&k.Last.Ended))
	k.Tainted = tainted != 0
	if !k.Last.Due.IsZero() {
		k.Last.Task = k.ID
	}
	return k, found(err)
}

func scanRun(row scanner) (r core.Run, err error) {
	return r, found(row.Scan(&r.Task, asTime(&r.Due), &r.State, &r.Cause, &r.Passed, &r.Message, &r.Turn,
		asTime(&r.Started), asTime(&r.Ended)))
}

// Tasks lists active and paused tasks, soonest first.
func (s *Store) Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error) {
	return list(s.one(ctx), scanTask, selectTasks(`$1`)+
		` WHERE k.user_id = $1 AND k.state IN ('active', 'paused') ORDER BY k.due_at LIMIT $2`, user, limit)
}

// Task returns a task, or ErrNotFound.
func (s *Store) Task(ctx context.Context, user core.UserID, id core.TaskID) (core.Task, error) {
	return scanTask(s.one(ctx).row(selectTasks(`$1`)+` WHERE k.user_id = $1 AND k.id = $2`, user, id))
}

// DueTasks lists active tasks that are due, oldest first.
func (s *Store) DueTasks(ctx context.Context, now time.Time, limit int) ([]core.Task, error) {
	return list(s.one(ctx), scanTask, selectTasks(`k.user_id`)+` WHERE k.state = 'active' AND k.due_at <= $1
		AND NOT EXISTS (SELECT 1 FROM users WHERE users.id = k.user_id AND users.merging = 1) ORDER BY k.due_at LIMIT $2`,
		ms(now), limit)
}

// Runs lists the runs of a task, newest first.
func (s *Store) Runs(ctx context.Context, user core.UserID, task core.TaskID, limit int) ([]core.Run, error) {
	return list(s.one(ctx), scanRun, `SELECT `+runColumns+
		` FROM task_runs r WHERE r.user_id = $1 AND r.task_id = $2 ORDER BY r.due_at DESC LIMIT $3`, user, task, limit)
}

// FireTask claims one occurrence of a task; see core.TaskStore.
func (s *Store) FireTask(ctx context.Context, f core.FireTask) error {
	return s.update(ctx, "fire task", f.User, func(t *tx) {
		t.claimTask(f)
		b, run := f.Budget, f.Run
		if f.Instruction == nil {
			b.Reserve, b.Day = 0, ""
		} else if !t.reserveTask(&b) {
			t.fail(core.ErrRefused)
		}
		var message core.MessageID
		if f.Notice != nil {
			t.notifyOfTask(f)
		}
		if f.Instruction != nil {
			message = t.instruct(f)
		}
		ended := f.Now
		if run.State == core.RunStarted {
			ended = time.Time{}
		}
		t.exec(`INSERT INTO task_runs (user_id, task_id, due_at, state, cause, passed, message_id, reserved, day, started_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, t.user, run.Task, ms(run.Due), string(run.State),
			string(run.Cause), run.Passed, message, b.Reserve, b.Day, ms(f.Now), ms(ended))
		t.apply(f.Effects, nil)
	})
}

// claimTask advances a task to its next time.
func (t *tx) claimTask(f core.FireTask) {
	state, due := core.TaskActive, f.Next
	switch {
	case f.Next.IsZero():
		state, due = core.TaskDone, f.Due
	case f.Pause:
		state = core.TaskPaused
	}
	t.execOr(core.ErrChanged, `UPDATE tasks SET state = $4, due_at = $5, last_due = $6, failures = failures + $7
		WHERE user_id = $1 AND id = $2 AND state = 'active' AND due_at = $3`, t.user, f.Run.Task, ms(f.Due), string(state),
		ms(due), ms(f.Run.Due), flag(f.Run.State == core.RunFailed))
}

// instruct stores the instruction of a run like a message of its person, and ensures a turn that answers it.
func (t *tx) instruct(f core.FireTask) core.MessageID {
	a := core.Append{User: t.user, Identity: f.Identity, Thread: t.threadOr(0),
		Messages: []core.NewMessage{*f.Instruction}, Now: f.Now, RunAt: f.Now}
	var to route
	t.ask(readRoute(a, &to))
	if to.identity.ID == 0 {
		t.fail(core.ErrNotFound)
		return 0
	}
	f.Instruction.Place = t.spotOf(to.identity.ID, askedTask, int64(f.Run.Task))
	id, _ := t.appendOne(*f.Instruction, core.Inbound{}, &to, nil)
	t.wantTurn(a, to, core.Appended{})
	return id
}

// askedTask returns the message that requested the task $3.
const askedTask = `SELECT message_id FROM tasks WHERE user_id = $1 AND id = $3`

// notifyOfTask stores the notice about a run.
func (t *tx) notifyOfTask(f core.FireTask) {
	id := t.insert(*f.Notice, place{thread: t.threadOr(0)})
	t.inPlace(f.Deliveries, askedTask, int64(f.Run.Task))
	t.deliverAll(f.Deliveries, []core.MessageID{id}, nil, f.Now)
}

// reserveTask reserves tokens of the day and of its budget for tasks: b.Reserve, or else b.Least,
// and then sets b.Reserve to that; false if the budget does not allow it.
func (t *tx) reserveTask(b *core.Budget) bool {
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
func (t *tx) beginRun(turn *core.Turn, message core.MessageID, b *core.Budget) {
	if !t.find(columns{&turn.Task, asTime(&turn.Due), &b.Reserve, &b.Day}, `SELECT task_id, due_at, reserved, day FROM task_runs WHERE user_id = $1 AND message_id = $2 AND message_id > 0 AND state = 'started'`,
		t.user, message) {
		return
	}
	turn.Reserved = b.Reserve
	t.exec(`UPDATE task_runs SET turn_id = $4, reserved = 0 WHERE user_id = $1 AND task_id = $2 AND due_at = $3`,
		t.user, turn.Task, ms(turn.Due), turn.ID)
}

// endRun stores the result of a run whose turn has ended.
func (t *tx) endRun(turn *core.Turn, state core.RunState, cause core.RunCause, now time.Time) {
	if turn.Task == 0 {
		return
	}
	t.exec(`UPDATE task_runs SET state = $4, cause = $5, ended_at = $6 WHERE user_id = $1 AND task_id = $2 AND due_at = $3`,
		t.user, turn.Task, ms(turn.Due), string(state), string(cause), ms(now))
	switch state {
	case core.RunDone:
		t.exec(`UPDATE tasks SET failures = 0 WHERE user_id = $1 AND id = $2 AND failures > 0`, t.user, turn.Task)
	case core.RunFailed:
		t.exec(`UPDATE tasks SET failures = failures + 1 WHERE user_id = $1 AND id = $2`, t.user, turn.Task)
	}
}

// runState returns the state of a run from the reply of its turn.
func runState(r core.Reply) core.RunState {
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

func (t *tx) setTask(e core.SetTask) {
	k := e.Task
	if e.Max > 0 {
		n := valueOf[int](t, `SELECT COUNT(*) FROM tasks WHERE user_id = $1 AND state IN ('active', 'paused')`, t.user)
		if n >= e.Max {
			t.fail(core.ErrRefused)
		}
	}
	if k.ID == 0 {
		k.ID = core.TaskID(t.nextID())
	}
	t.exec(`INSERT INTO tasks (user_id, id, body, due_at, cron, zone, state, message_id, created_at, tainted)
		VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, $8, $9) ON CONFLICT (user_id, id) DO NOTHING`, t.user, k.ID, k.Text,
		ms(k.DueAt), k.Cron, k.Zone, k.Source, ms(e.At), flag(k.Tainted))
}

func (t *tx) cancelTask(e core.CancelTask) {
	t.execOr(core.ErrNotFound,
		`UPDATE tasks SET state = 'cancelled' WHERE user_id = $1 AND id = $2 AND state IN ('active', 'paused')`, t.user, e.Task)
}

func (t *tx) pauseTask(e core.PauseTask) {
	t.exec(`UPDATE tasks SET state = 'paused' WHERE user_id = $1 AND id = $2 AND state = 'active'`, t.user, e.Task)
}

func (t *tx) resumeTask(e core.ResumeTask) {
	t.execOr(core.ErrNotFound,
		`UPDATE tasks SET state = 'active', failures = 0, due_at = $3 WHERE user_id = $1 AND id = $2 AND state = 'paused'`,
		t.user, e.Task, ms(e.Due))
}

// redactTasks deletes the tasks that a message requested or is an instruction of, and redacts their other instructions.
func (t *tx) redactTasks(m core.Message, now time.Time, out *core.Noted) {
	query, id := ` WHERE k.user_id = $1 AND k.message_id = $2 AND k.message_id > 0`, int64(m.ID)
	if m.Task != nil {
		if !t.find(&id, `SELECT task_id FROM task_runs WHERE user_id = $1 AND message_id = $2 AND message_id > 0`, t.user, m.ID) {
			return
		}
		query = ` WHERE k.user_id = $1 AND k.id = $2`
	}
	for _, k := range listOf(t, scanTask, selectTasks(`$1`)+query, t.user, id) {
		t.dropTask(k, m.ID, now, out)
	}
}

// dropTask deletes a task with its runs, and releases the reservations of runs that have not begun.
func (t *tx) dropTask(k core.Task, redacted core.MessageID, now time.Time, out *core.Noted) {
	type run struct {
		message  core.MessageID
		reserved int
		day      string
	}
	runs := listOf(t, fields(func(r *run) []any { return []any{&r.message, &r.reserved, &r.day} }),
		`SELECT message_id, reserved, day FROM task_runs WHERE user_id = $1 AND task_id = $2 ORDER BY due_at`, t.user, k.ID)
	t.removed(k.Text)
	t.execEach([]string{`DELETE FROM tasks WHERE user_id = $1 AND id = $2`,
		`DELETE FROM task_runs WHERE user_id = $1 AND task_id = $2`}, t.user, k.ID)
	for _, r := range runs {
		if r.reserved > 0 {
			t.spendTurn(&core.Turn{Task: k.ID}, r.day, core.Usage{}, r.reserved, 0)
		}
		if r.message > 0 && r.message != redacted {
			t.redact(core.Redact{Message: r.message, At: now}, out)
		}
	}
}
