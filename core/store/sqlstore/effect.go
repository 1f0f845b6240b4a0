package sqlstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// apply applies effects in order. out may be nil.
func (t *tx) apply(effects []core.Effect, out *store.Noted) {
	if out == nil {
		out = &store.Noted{}
	}
	effects = t.withRedactions(effects)
	for _, e := range effects {
		t.applyOne(e, out)
	}
	t.auditEffects(effects)
	if first := oldest(effects); first != 0 {
		t.redactNotices(first)
	}
}

func (t *tx) applyOne(e core.Effect, out *store.Noted) {
	switch e := e.(type) {
	case effect.SetSettings:
		t.exec(`UPDATE users SET settings = $2 WHERE id = $1`, t.user, text(e.Settings))
	case effect.SetName:
		t.setName(e.Name)
	case effect.OpenThread:
		t.openThread(e)
	case effect.UseThread:
		t.useThread(e.Identity, e.Thread)
	case effect.RenameThread:
		t.renameThread(e)
	case effect.DropThread:
		t.dropThread(e.Thread)
	case effect.StopTurn:
		t.stopTurn(e.Thread, out)
	case effect.RetryTurn:
		t.retryTurn(e, out)
	case effect.Redact:
		t.redactAsked(e, out)
	case effect.Regenerate:
		t.regenerate(e)
	case effect.ChooseAnswer:
		t.chooseAnswer(e)
	case effect.Summarize:
		t.summarizeAgain(e)
	case effect.CloseLoop:
		t.closeLoop(e)
	case effect.OpenLoop:
		t.openLoop(e)
	case effect.MentionLoop:
		t.mentionLoop(e.Loop, e.At)
	case effect.SetPlan:
		t.setPlan(e)
	case effect.CancelPlan:
		t.cancelPlan(e)
	case effect.PausePlan:
		t.pausePlan(e)
	case effect.ResumePlan:
		t.resumePlan(e)
	case effect.SnoozePlan:
		t.snoozePlan(e)
	case effect.Undo:
		t.undo(e)
	case effect.Approve:
		t.approve(e, out)
	case effect.Deny:
		t.deny(e)
	case effect.Release:
		t.releaseParked(e)
	case effect.Resume:
		t.resumePending(e.At)
	case effect.AskApproval:
		t.askApproval(e.Approval)
	case effect.Decide:
		t.decide(e)
	default:
		t.applyKept(e)
	}
}

// setName names the user. A group's chat is called like the group.
func (t *tx) setName(name string) {
	t.exec(`UPDATE users SET name = $2 WHERE id = $1`, t.user, name)
	t.exec(`UPDATE identities SET name = $2 WHERE user_id = $1 AND EXISTS (SELECT 1 FROM users WHERE id = $1 AND role = 'group')`,
		t.user, name)
}

// applyKept applies an effect on memory or standing instructions.
func (t *tx) applyKept(e core.Effect) {
	switch e := e.(type) {
	case effect.AddItem:
		t.addItem(e)
	case effect.ArchiveItem:
		t.archiveItem(e)
	case effect.RestoreItem:
		t.restoreItem(e)
	case effect.EditItem:
		t.editItem(e)
	case effect.DeleteItem:
		t.deleteItem(t.item(e.Item), e.At)
	case effect.AddInstruction:
		t.addInstruction(e)
	case effect.RemoveInstruction:
		t.removeInstruction(e)
	case effect.ProposeInstruction, effect.ProposeTask: // the reply asks
	default:
		t.applyLink(e)
	}
}

func (t *tx) summarizeAgain(e effect.Summarize) {
	t.exec(`UPDATE segments SET stale = 1, error = '', failed_at = 0, retry_at = 0 WHERE user_id = $1 AND id = $2`, t.user, e.Segment)
	t.summarize(e.Segment, e.At)
}

// applyLink applies an effect on identities, browsers or keys.
func (t *tx) applyLink(e core.Effect) {
	switch e := e.(type) {
	case effect.NewLink:
		t.newLink(e.Code)
	case effect.NewConnect:
		t.requirePerson()
		e.Code.Kind, e.Code.User = effect.CodeConnect, t.user
		t.putCode(e.Code)
	case effect.NewWebLink:
		t.newWebLink(e.Code)
	case effect.WrongLink:
		t.wrongLink(e.Address, e.At)
	case effect.UseLink:
		t.useLink(e)
	case effect.AcceptLink:
		t.acceptLink(e)
	case effect.Unlink:
		t.unlink(e.Identity)
	case effect.UseYes:
		t.useYes(e)
	case effect.AddKey:
		t.addKey(e.Key)
	case store.Also:
		t.also(e.Note)
	case effect.Tell: // auditEffects writes it
	case effect.RevokeKey:
		t.revokeKey(e.Key)
	case effect.EndSession:
		t.endSession(e.Session)
	default:
		t.fail(fmt.Errorf("effect %T is not known", e))
	}
}

// releaseParked sends the parked deliveries of an identity.
func (t *tx) releaseParked(e effect.Release) {
	t.exec(`UPDATE identities SET blocked = 0, teased = 0 WHERE user_id = $1 AND id = $2`, t.user, e.Identity)
	t.unpark(e.Identity, e.At)
}

// deny revokes a pairing code and drops the held events of its address. Their ids stay known,
// so that a repeat is not held again.
func (t *tx) deny(e effect.Deny) {
	c := t.useCode(effect.CodePair, e.CodeHash, e.At)
	t.exec(
		`UPDATE events SET state = 'done', payload = NULL WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held'`,
		c.Address.Channel, c.Address.Account, c.Address.External)
}

func (t *tx) openThread(e effect.OpenThread) {
	id := core.ThreadID(t.nextID())
	t.exec(`INSERT INTO threads (user_id, id, mode, title, own, created_at) VALUES ($1, $2, 'thread', $3, $4, $5)`, t.user,
		id, e.Title, flag(!e.Tainted), ms(e.At))
	t.useThread(e.Identity, id)
}

func (t *tx) useThread(identity core.IdentityID, thread core.ThreadID) {
	if thread != 0 {
		var mode core.Mode
		t.getOr(core.ErrNotFound, &mode, `SELECT mode FROM threads WHERE user_id = $1 AND id = $2 AND mode <> 'gone'`, t.user,
			thread)
		if mode == core.ModeContinuous {
			thread = 0
		}
	}
	t.exec(`UPDATE identities SET thread_id = $3 WHERE user_id = $1 AND id = $2`, t.user, identity, thread)
}

func (t *tx) renameThread(e effect.RenameThread) {
	if t.count(`UPDATE threads SET title = $3, own = 1 WHERE user_id = $1 AND id = $2 AND mode = 'thread'`, t.user, e.Thread,
		e.Title) == 0 {
		t.fail(core.ErrNotFound)
	}
}

// dropThread removes a plain thread. Its row stays, without a word, for the rows that refer to it; withRedactions
// adds what becomes of its messages.
func (t *tx) dropThread(id core.ThreadID) {
	t.removed(valueOf[string](t, `SELECT COALESCE(MAX(title), '') FROM threads WHERE user_id = $1 AND id = $2`, t.user, id))
	if t.count(`UPDATE threads SET mode = 'gone', title = '', name = '' WHERE user_id = $1 AND id = $2 AND mode = 'thread'`,
		t.user, id) == 0 {
		t.fail(core.ErrNotFound)
		return
	}
	t.exec(`UPDATE identities SET thread_id = 0 WHERE user_id = $1 AND thread_id = $2`, t.user, id)
}

// withRedactions adds to effects that remove a thread those that redact its messages.
func (t *tx) withRedactions(effects []core.Effect) (out []core.Effect) {
	for _, e := range effects {
		out = append(out, e)
		gone, ok := e.(effect.DropThread)
		if !ok {
			continue
		}
		ids := listOf(t, column[core.MessageID],
			`SELECT id FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 AND shown = position AND redacted = 0
			UNION ALL SELECT id FROM messages WHERE user_id = $1 AND thread_id = $2 AND shown <> position AND redacted = 0`,
			t.user, gone.Thread)
		slices.Sort(ids)
		for _, id := range ids {
			out = append(out, effect.Redact{Message: id, At: gone.At})
		}
	}
	return out
}

// stopTurn asks the running turn of a thread to stop. One that waits for a retry ends here.
func (t *tx) stopTurn(thread core.ThreadID, out *store.Noted) {
	thread = t.threadOr(thread)
	h, busy := t.head(threadKey(thread))
	if !busy || h.state != store.JobReady || h.ref == 0 {
		t.askTurn(thread, stopIt, out)
		return
	}
	t.dropTurn(core.TurnID(h.ref), core.Lease{Job: h.id, Key: threadKey(thread)})
}

// dropTurn ends a turn without a reply, and releases its reservation.
func (t *tx) dropTurn(id core.TurnID, l core.Lease) {
	var day string
	var reserved int
	turn := core.Turn{ID: id}
	t.get(columns{&day, &reserved, &turn.Task, asTime(&turn.Due), asTime(&turn.StartedAt)},
		`UPDATE turns SET state = 'stopped', stop = 1 WHERE user_id = $1 AND id = $2 RETURNING day, reserved, task_id, task_due, started_at`,
		t.user, id)
	if reserved > 0 {
		t.spendTurn(&turn, day, nil, reserved, 0)
	}
	t.endRun(&turn, core.RunStopped, "", turn.StartedAt)
	t.forgetCalls(id)
	t.end(l, "")
}

// forgetCalls drops the calls of a finished turn that only read. The others stay, as another turn may answer the same
// message.
func (t *tx) forgetCalls(id core.TurnID) {
	t.exec(`DELETE FROM journal WHERE user_id = $1 AND turn_id = $2 AND message_id = 0`, t.user, id)
}

// Requests to a running turn.
const (
	stopIt    = `UPDATE turns SET stop = 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
	restartIt = `UPDATE turns SET restarts = restarts + 1 WHERE user_id = $1 AND thread_id = $2 AND state = 'running' RETURNING id`
)

// askTurn sets a flag of the running turn of a thread.
func (t *tx) askTurn(thread core.ThreadID, what string, out *store.Noted) {
	var id core.TurnID
	if t.find(&id, what, t.user, thread) {
		t.toldTurn(id, out)
	}
}

// toldTurn reports that the flags of a turn changed.
func (t *tx) toldTurn(id core.TurnID, out *store.Noted) {
	out.StopTurns = append(out.StopTurns, id)
	t.wake = append(t.wake, core.TurnTopic(t.user, id))
}

// retryTurn restarts the running turn, makes a waiting one run now, or starts one for pending messages.
func (t *tx) retryTurn(e effect.RetryTurn, out *store.Noted) {
	thread := t.threadOr(e.Thread)
	if t.count(`UPDATE jobs SET run_at = $3 WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running') AND state = 'ready'`,
		t.user, threadKey(thread), ms(e.At)) > 0 {
		t.awaken(core.QueueTurn)
	} else if _, busy := t.head(threadKey(thread)); busy {
		t.askTurn(thread, restartIt, out)
	} else {
		t.exec(`UPDATE messages SET refused = 0 WHERE user_id = $1 AND thread_id = $2 AND `+unread, t.user, thread)
		t.turnIfPending(thread, e.At)
	}
}

func (t *tx) turnIfPending(thread core.ThreadID, at time.Time) {
	if len(t.pending(thread)) == 0 {
		return
	}
	if _, busy := t.head(threadKey(thread)); !busy {
		t.enqueue(turnJob(thread, at))
	}
}

func (t *tx) resumePending(at time.Time) {
	for _, id := range listOf(t, column[core.ThreadID], `SELECT id FROM threads WHERE user_id = $1`, t.user) {
		t.turnIfPending(id, at)
	}
}

// ends runs a statement that ends something. It fails with core.ErrNotFound if that is not there any more, except of a
// reply: meanwhile it may have ended by itself, and the reply is worth storing.
func (t *tx) ends(query string, args ...any) {
	if t.count(query, args...) == 0 && !t.answers {
		t.fail(core.ErrNotFound)
	}
}

func (t *tx) closeLoop(e effect.CloseLoop) {
	t.ends(`UPDATE loops SET state = 'closed', mentioned_at = $3, changed = $4, tainted = tainted | $5 WHERE user_id = $1 AND id = $2 AND state = 'open'`, t.user, e.Loop, ms(e.At), t.change(), ended(e.Tainted))
}
