package sqlstore

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// apply applies effects in order. out may be nil.
func (t *tx) apply(effects []core.Effect, out *core.Noted) error {
	if out == nil {
		out = &core.Noted{}
	}
	for _, e := range effects {
		if err := t.applyOne(e, out); err != nil {
			return err
		}
	}
	if err := t.auditEffects(effects); err != nil {
		return err
	}
	if first := oldest(effects); first != 0 {
		return t.redactNotices(first)
	}
	return nil
}

// redactNotices empties the gateway's notices since a redacted message: an answer to a command
// may show a summary or a loop made from it.
func (t *tx) redactNotices(since core.MessageID) error {
	const ours = ` WHERE user_id = $1 AND delivery_id IN (SELECT d.id FROM messages m JOIN deliveries d ON d.user_id = $1 AND d.message_id = m.id
		WHERE m.user_id = $1 AND m.id > $2 AND m.kind = 'notice' AND m.redacted = 0 AND d.message_id > 0)`
	return t.execEach([]string{
		`DELETE FROM delivery_parts` + ours + ` AND state = 'pending'`,
		`UPDATE delivery_parts SET body = '{"text":""}'` + ours,
		`UPDATE messages SET body = '', tokens = 0, extra = '{}', redacted = 1 WHERE user_id = $1 AND id > $2 AND kind = 'notice' AND redacted = 0`,
	}, t.user, since)
}

func (t *tx) applyOne(e core.Effect, out *core.Noted) error {
	switch e := e.(type) {
	case core.SetSettings:
		return t.exec(`UPDATE users SET settings = $2 WHERE id = $1`, t.user, text(e.Settings))
	case core.SetName:
		return t.exec(`UPDATE users SET name = $2 WHERE id = $1`, t.user, e.Name)
	case core.OpenThread:
		return t.openThread(e)
	case core.UseThread:
		return t.useThread(e.Identity, e.Thread)
	case core.StopTurn:
		return t.stopTurn(e.Thread, out)
	case core.RetryTurn:
		return t.retryTurn(e, out)
	case core.Redact:
		return t.redact(e, out)
	case core.Regenerate:
		return t.regenerate(e)
	case core.ChooseAnswer:
		return t.chooseAnswer(e)
	case core.Summarize:
		return t.summarizeAgain(e)
	case core.CloseLoop:
		return t.closeLoop(e)
	case core.OpenLoop:
		return t.openLoop(e)
	case core.MentionLoop:
		return t.mentionLoop(e.Loop, e.At)
	case core.SetReminder:
		return t.setReminder(e)
	case core.CancelReminder:
		return t.cancelReminder(e)
	case core.SnoozeReminder:
		return t.snoozeReminder(e)
	case core.Undo:
		return t.undo(e)
	case core.Approve:
		return t.approve(e, out)
	case core.Deny:
		return t.deny(e)
	case core.Release:
		return t.releaseParked(e)
	case core.Resume:
		return t.resumePending(e.At)
	case core.AskApproval:
		return t.askApproval(e.Approval)
	case core.Decide:
		return t.decide(e)
	}
	return t.applyKept(e)
}

// applyKept applies an effect on tasks, memory or standing instructions.
func (t *tx) applyKept(e core.Effect) error {
	if known, err := t.applyTask(e); known || err != nil {
		return err
	}
	switch e := e.(type) {
	case core.AddItem:
		return t.addItem(e)
	case core.ArchiveItem:
		return t.archiveItem(e)
	case core.RestoreItem:
		return t.restoreItem(e)
	case core.EditItem:
		return t.editItem(e)
	case core.DeleteItem:
		return t.removeItem(e)
	case core.AddInstruction:
		return t.addInstruction(e)
	case core.RemoveInstruction:
		return t.removeInstruction(e)
	case core.ProposeInstruction:
		return nil // the reply asks
	}
	return t.applyLink(e)
}

func (t *tx) summarizeAgain(e core.Summarize) error {
	if err := t.exec(`UPDATE segments SET stale = 1, error = '' WHERE user_id = $1 AND id = $2`, t.user,
		e.Segment); err != nil {
		return err
	}
	return t.summarize(e.Segment, e.At)
}

// applyLink applies an effect on identities, browsers or keys.
func (t *tx) applyLink(e core.Effect) error {
	switch e := e.(type) {
	case core.NewLink:
		return t.newLink(e.Code)
	case core.NewWebLink:
		return t.newWebLink(e.Code)
	case core.WrongLink:
		return t.wrongLink(e.Address, e.At)
	case core.UseLink:
		return t.useLink(e)
	case core.AcceptLink:
		return t.acceptLink(e)
	case core.Unlink:
		return t.unlink(e.Identity)
	case core.Split:
		return t.split(e)
	case core.UseYes:
		return t.useYes(e)
	case core.AddKey:
		_, err := t.addKey(e.Key)
		return err
	case core.Also:
		return t.also(e.Note)
	case core.Tell:
		return nil // auditEffects writes it
	case core.RevokeKey:
		return t.revokeKey(e.Key)
	case core.EndSession:
		return t.endSession(e.Session)
	}
	return fmt.Errorf("effect %T is not known", e)
}

// releaseParked sends the parked deliveries of an identity.
func (t *tx) releaseParked(e core.Release) error {
	if err := t.exec(`UPDATE identities SET blocked = 0, teased = 0 WHERE user_id = $1 AND id = $2`, t.user,
		e.Identity); err != nil {
		return err
	}
	return t.unpark(e.Identity, e.At)
}

// deny revokes a pairing code and drops the held events of its address. Their ids stay known,
// so that a repeat is not held again.
func (t *tx) deny(e core.Deny) error {
	c, err := t.useCode(core.CodePair, e.CodeHash, e.At)
	if err != nil {
		return err
	}
	return t.exec(
		`UPDATE events SET state = 'done', payload = NULL WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held'`,
		c.Address.Channel, c.Address.Account, c.Address.External)
}

func (t *tx) openThread(e core.OpenThread) error {
	id := core.ThreadID(t.nextID())
	err := t.exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, $2, 'thread', $3, $4)`, t.user,
		id, e.Title, ms(e.At))
	if err != nil {
		return err
	}
	return t.useThread(e.Identity, id)
}

func (t *tx) useThread(identity core.IdentityID, thread core.ThreadID) error {
	if thread != 0 {
		var mode core.Mode
		err := t.row(`SELECT mode FROM threads WHERE user_id = $1 AND id = $2`, t.user, thread).Scan(&mode)
		if err != nil {
			return found(err)
		}
		if mode == core.ModeContinuous {
			thread = 0
		}
	}
	return t.exec(`UPDATE identities SET thread_id = $3 WHERE user_id = $1 AND id = $2`, t.user, identity, thread)
}

// stopTurn asks the running turn of a thread to stop. One that waits for a retry ends here.
func (t *tx) stopTurn(thread core.ThreadID, out *core.Noted) error {
	thread, err := threadOr(t, t.user, thread)
	if err != nil {
		return err
	}
	h, busy, err := t.head(threadKey(thread))
	if err != nil {
		return err
	}
	if !busy || h.state != core.JobReady || h.ref == 0 {
		return t.askTurn(thread, stopIt, out)
	}
	return t.dropTurn(core.TurnID(h.ref), core.Lease{Job: h.id, Key: threadKey(thread)})
}

// dropTurn ends a turn without a reply, and releases its reservation.
func (t *tx) dropTurn(id core.TurnID, l core.Lease) error {
	var day string
	var reserved int
	turn := core.Turn{ID: id}
	err := t.row(
		`UPDATE turns SET state = 'stopped', stop = 1 WHERE user_id = $1 AND id = $2 RETURNING day, reserved, task_id, task_due, started_at`,
		t.user, id).Scan(&day, &reserved, &turn.Task, asTime(&turn.Due), asTime(&turn.StartedAt))
	if err != nil {
		return err
	}
	if reserved > 0 {
		if err := t.spendTurn(&turn, day, core.Usage{}, reserved, 0); err != nil {
			return err
		}
	}
	if err := t.endRun(&turn, core.RunStopped, "", turn.StartedAt); err != nil {
		return err
	}
	if err := t.forgetCalls(id); err != nil {
		return err
	}
	return t.end(l, "")
}

// forgetCalls drops the journal of a finished turn.
func (t *tx) forgetCalls(id core.TurnID) error {
	return t.exec(`DELETE FROM journal WHERE user_id = $1 AND turn_id = $2`, t.user, id)
}

// Requests to a running turn.
const (
	stopIt    = `UPDATE turns SET stop = 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
	restartIt = `UPDATE turns SET restarts = restarts + 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
)

// askTurn sets a flag of the running turn of a thread.
func (t *tx) askTurn(thread core.ThreadID, what string, out *core.Noted) error {
	var id core.TurnID
	err := t.row(what, t.user, thread).Scan(&id)
	if err != nil {
		return optional(err)
	}
	out.StopTurns = append(out.StopTurns, id)
	t.wake = append(t.wake, core.TurnTopic(t.user, id))
	return nil
}

// retryTurn restarts the running turn, makes a waiting one run now, or starts one for pending
// messages.
func (t *tx) retryTurn(e core.RetryTurn, out *core.Noted) error {
	thread, err := threadOr(t, t.user, e.Thread)
	if err != nil {
		return err
	}
	e.Thread = thread
	n, err := t.count(
		`UPDATE jobs SET run_at = $3 WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running') AND state = 'ready'`,
		t.user, threadKey(e.Thread), ms(e.At))
	if err != nil || n > 0 {
		t.awaken(core.QueueTurn)
		return err
	}
	if _, busy, err := t.head(threadKey(e.Thread)); err != nil || busy {
		if err == nil {
			err = t.askTurn(e.Thread, restartIt, out)
		}
		return err
	}
	return t.turnIfPending(e.Thread, e.At)
}

func (t *tx) turnIfPending(thread core.ThreadID, at time.Time) error {
	run, err := t.pending(thread)
	if err != nil || len(run) == 0 {
		return err
	}
	if _, busy, err := t.head(threadKey(thread)); err != nil || busy {
		return err
	}
	return t.enqueue(turnJob(thread, at))
}

func (t *tx) resumePending(at time.Time) error {
	ids, err := list(t, column[core.ThreadID], `SELECT id FROM threads WHERE user_id = $1`, t.user)
	for _, id := range ids {
		if err != nil {
			return err
		}
		err = t.turnIfPending(id, at)
	}
	return err
}

func (t *tx) closeLoop(e core.CloseLoop) error {
	return t.execOr(core.ErrNotFound,
		`UPDATE loops SET state = 'closed', mentioned_at = $3, changed = $4, tainted = tainted | $5 WHERE user_id = $1 AND id = $2 AND state = 'open'`, t.user, e.Loop, ms(e.At), t.change(), ended(e.Tainted))
}
