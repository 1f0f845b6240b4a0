package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// switchMerge makes the source user a part of the target user in one short transaction, when no
// delivery of the source user is in progress.
func (s *Store) switchMerge(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	return s.switched(ctx, m, now, (*pair).switchIdentities, (*pair).switchDeliveries, (*pair).switchTurns,
		(*pair).switchJobs, (*pair).switchHeld, (*pair).switchRest, (*pair).switchUsers)
}

// switching transfers one kind of rows.
type switching = func(p *pair, m *move, r renumbering, now time.Time)

// switched runs all steps in one transaction, unless a delivery is in progress: then the move waits.
func (s *Store) switched(ctx context.Context, m move, now time.Time, steps ...switching) (time.Duration, error) {
	r, err := s.numbersOf(ctx, m)
	if err != nil {
		return 0, err
	}
	waits := false
	err = s.step(ctx, m, func(p *pair, m *move) {
		if waits = p.sending(m.From, now); waits {
			return
		}
		for _, step := range steps {
			step(p, m, r, now)
		}
		m.next(core.MoveTold)
	})
	return waiting(waits), err
}

// sending reports whether a delivery of a user is in progress.
func (p *pair) sending(user core.UserID, now time.Time) bool {
	return valueOf[bool](p, `SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND state = 'running' AND lease_until > $2 AND queue LIKE 'deliver:%')`, user, ms(now))
}

// switchIdentities transfers the addresses to the target user.
func (p *pair) switchIdentities(m *move, _ renumbering, now time.Time) {
	list := listOf(p, scanIdentity,
		`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND detached = 0 ORDER BY id`, m.From)
	p.exec(`UPDATE identities SET detached = 1 WHERE user_id = $1`, m.From)
	var came []int64
	for _, i := range list {
		came = append(came, int64(i.ID)+m.plan.ID)
		p.attach(m.Into, int64(i.ID)+m.plan.ID, i)
	}
	p.exec(`UPDATE addresses SET user_id = $2, identity_id = identity_id + $3 WHERE user_id = $1`, m.From, m.Into, m.plan.ID)
	if len(came) > 0 {
		p.into.audit(core.AuditRow{At: now, Via: core.ViaGateway, What: core.AuditMerged, Object: "identity", IDs: came})
	}
}

// attach makes a copied identity like the original.
func (p *pair) attach(user core.UserID, id int64, i core.Identity) {
	p.exec(`UPDATE identities SET detached = 0, external = $3, blocked = $4, last_used = $5, window_until = $6, teased = $7, aliases = $8 WHERE user_id = $1 AND id = $2`,
		user, id, i.Address.External, flag(i.Blocked), ms(i.LastUsed), ms(i.Window), flag(i.Asked), text(i.Aliases))
}

// switchDeliveries copies the current state of deliveries that were unfinished.
func (p *pair) switchDeliveries(m *move, _ renumbering, _ time.Time) {
	for _, id := range m.plan.Live {
		there := int64(id) + m.plan.ID
		p.dropDelivery(m.Into, there)
		p.exec(deliveryCopy+` AND id = $5`, m.From, m.Into, m.plan.ID, m.plan.Message, id)
		p.exec(partCopy+` AND p.delivery_id = $4`, m.From, m.Into, m.plan.ID, id)
		p.exec(`INSERT INTO refs (user_id, identity_id, native_id, message_id) SELECT d.user_id, d.identity_id, p.native_id, d.message_id FROM deliveries d
			JOIN delivery_parts p ON p.user_id = $1 AND p.delivery_id = d.id WHERE d.user_id = $1 AND d.id = $2 AND p.native_id <> '' AND d.message_id > 0
			ON CONFLICT (user_id, identity_id, native_id) DO NOTHING`, m.Into, there)
		p.dropDelivery(m.From, int64(id))
	}
}

func (p *pair) dropDelivery(user core.UserID, id int64) {
	p.execEach([]string{`DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2`,
		`DELETE FROM deliveries WHERE user_id = $1 AND id = $2`}, user, id)
}

// switchTurns makes the transferred turns run again; their inputs come last.
func (p *pair) switchTurns(m *move, r renumbering, _ time.Time) {
	for _, id := range m.plan.Turns {
		there := core.TurnID(r.other(int64(id)))
		p.exec(`UPDATE turns SET state = 'running' WHERE user_id = $1 AND id = $2`, m.Into, there)
		t := p.into.turn(there)
		last := valueOf[int64](p, `SELECT `+lastPosition+` FROM threads h WHERE h.user_id = $1 AND h.id = $2`, m.Into, t.Thread)
		last = p.restand(m.Into, t, last)
		p.exec(`UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, m.Into, t.Thread, last)
		p.exec(`INSERT INTO journal (user_id, turn_id, step, call, name, body, message_id, at) SELECT CAST($2 AS bigint), turn_id + $3, step, call, name, body, CASE WHEN message_id > 0 THEN message_id + $5 ELSE 0 END, at FROM journal WHERE user_id = $1 AND turn_id = $4`,
			m.From, m.Into, m.plan.ID, id, m.plan.Message)
		p.exec(`INSERT INTO usage (user_id, day, reserved, task_reserved) SELECT user_id, day, reserved, CASE WHEN task_id > 0 THEN reserved ELSE 0 END FROM turns WHERE user_id = $1 AND id = $2 AND reserved > 0
			ON CONFLICT (user_id, day) DO UPDATE SET reserved = usage.reserved + excluded.reserved, task_reserved = usage.task_reserved + excluded.task_reserved`,
			m.Into, there)
	}
	if m.Kind == core.MoveSplit {
		p.stopHere(m)
		return
	}
	p.execEach([]string{`DELETE FROM journal WHERE user_id = $1`,
		`UPDATE turns SET state = 'stopped' WHERE user_id = $1 AND state = 'running'`,
		`UPDATE usage SET reserved = 0, task_reserved = 0 WHERE user_id = $1 AND reserved > 0`}, m.From)
}

// switchJobs transfers jobs under their new ids. Embeddings are requested again, and messages
// that only wait for a turn get one.
func (p *pair) switchJobs(m *move, r renumbering, now time.Time) {
	for _, j := range p.takeJobs(m) {
		dead := j.State == core.JobDead
		if j.Queue == core.QueueEmbed || j.Queue == core.QueueCompress || j.Queue == core.QueueTurn && j.Ref == 0 && !dead {
			continue
		}
		n := core.NewJob{User: m.Into, Queue: j.Queue, Key: j.Key, Ref: j.Ref, Payload: j.Payload, RunAt: now}
		n, err := r.job(j, n)
		p.fail(err)
		if dead {
			p.switchDead(m, r, j, n)
			continue
		}
		if j.Queue == core.QueueTurn { // messages that wait there get a turn behind this one
			p.exec(`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND ref = 0 AND state IN ('ready', 'waiting')`,
				m.Into, n.Key)
		}
		p.into.enqueue(n)
	}
}

// job sets the ids of n, the job of the target user that replaces j.
func (r renumbering) job(j core.Job, n core.NewJob) (core.NewJob, error) {
	switch {
	case j.Queue == core.QueueSummarize:
		n.Ref, n.Unique = int64(r.segment(core.SegmentID(j.Ref))), true
	case j.Queue == core.QueueTurn:
		return switchTurnJob(r, j, n)
	case strings.HasPrefix(j.Queue, core.QueueFetch):
		n.Ref = int64(r.messageID(core.MessageID(j.Ref)))
		n.Key = "fetch:" + numberCursor(int(n.Ref)) + j.Key[strings.LastIndexByte(j.Key, ':'):]
	case j.Queue == core.QueueDocument, j.Queue == core.QueueSpeak:
		n.Ref = int64(r.messageID(core.MessageID(j.Ref)))
	default:
		n.Ref = r.other(j.Ref)
	}
	return n, nil
}

// takeJobs removes and returns the jobs to transfer.
func (p *pair) takeJobs(m *move) []core.Job {
	list := listOf(p, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE user_id = $1 ORDER BY id`, m.From)
	if m.Kind == core.MoveSplit {
		return slices.DeleteFunc(list, func(j core.Job) bool { return !p.splitJob(m, j) })
	}
	p.exec(`DELETE FROM jobs WHERE user_id = $1`, m.From)
	return list
}

// switchTurnJob sets the ids of n, the job of a transferred turn.
func switchTurnJob(r renumbering, j core.Job, n core.NewJob) (core.NewJob, error) {
	var thread core.ThreadID
	if err := json.Unmarshal(j.Payload, &thread); err != nil {
		return n, fmt.Errorf("read the thread of a job: %w", err)
	}
	n.Key, n.Ref, n.Payload = threadKey(r.thread(thread)), r.other(j.Ref), json.RawMessage(text(r.thread(thread)))
	return n, nil
}

// switchDead transfers a dead job, so that the owner still sees it.
func (p *pair) switchDead(m *move, r renumbering, j core.Job, n core.NewJob) {
	p.exec(`INSERT INTO jobs (user_id, id, queue, key, ref, payload, state, run_at, attempt, error, failures, since) VALUES ($1, $2, $3, $4, $5, $6, 'dead', $7, $8, $9, $10, $11)`,
		m.Into, r.other(int64(j.ID)), n.Queue, n.Key, n.Ref, string(n.Payload), ms(j.RunAt), j.Lease.Attempt, j.Error,
		j.Failures, ms(j.Since))
}

// switchHeld renumbers the threads of events held for the source user.
func (p *pair) switchHeld(m *move, r renumbering, _ time.Time) {
	for _, e := range listOf(p, scanHeld,
		`SELECT payload FROM events WHERE user_id = 0 AND state = 'held' AND payload IS NOT NULL AND (channel, account, external) IN
		(SELECT channel, account, external FROM identities WHERE user_id = $1)`, m.From) {
		if e.Thread == 0 {
			continue
		}
		e.Thread = r.thread(e.Thread)
		p.exec(`UPDATE events SET payload = $4 WHERE user_id = 0 AND message_id = 0 AND channel = $1 AND account = $2 AND event_id = $3 AND state = 'held'`,
			e.Address.Channel, e.Address.Account, e.EventID, []byte(text(e)))
	}
}

// switchRest transfers rows without ids, and ends the epochs. Sessions, keys and codes are not
// transferred, as their holders were not asked.
func (p *pair) switchRest(m *move, _ renumbering, _ time.Time) {
	p.forgetPages(m)
	p.hand(handing{"codes", codeRest, codeRest, ` AND kind = 'linked'`}, m.From, m.Into)
	p.hand(handing{"agent_keys", agentKeyRest, agentKeyRest, ``}, m.From, m.Into)
	p.exec(`DELETE FROM tokens WHERE user_id = $1 AND kind <> 'linked'`, m.From)
	p.exec(`UPDATE tokens SET user_id = $2 WHERE user_id = $1`, m.From, m.Into)
	p.exec(`DELETE FROM codes WHERE user_id = $1 AND kind <> 'linked'`, m.From)
	p.exec(`DELETE FROM sessions WHERE user_id = $1`, m.From)
	p.exec(`DELETE FROM api_keys WHERE user_id = $1`, m.From)
	p.exec(`UPDATE event_ids SET user_id = $2 WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events WHERE user_id = $1 AND message_id = 0)`, m.From, m.Into)
	p.exec(`UPDATE threads SET edits = edits + 1, summaries = summaries + 1, epoch_id = 0 WHERE user_id = $1 AND id = $2`, m.Into, m.plan.Thread)
	p.exec(`UPDATE moves SET from_user = $2, identity_id = CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END WHERE from_user = $1 AND phase = 'asked'`, m.From, m.Into, m.plan.ID)
	p.exec(`UPDATE moves SET into_user = $2 WHERE into_user = $1 AND phase = 'asked'`, m.From, m.Into)
	p.exec(`UPDATE moves SET phase = 'done' WHERE from_user = into_user AND phase = 'asked'`)
	p.hand(handing{"events", eventRest, eventRest, ` AND message_id = 0`}, m.From, m.Into)
}

// handing describes rows of a table that are handed to another user: the columns after the
// user, their new values, and a condition.
type handing struct{ table, columns, become, where string }

// Columns after the user.
const (
	agentKeyRest = `id, name, sealed, created_at`
	codeRest     = `kind, hash, hint, channel, account, external, name, created_at, expires_at`
	eventRest    = `message_id, channel, account, event_id, external, state, received_at, payload`
)

// hand gives rows to another user: it inserts them there and deletes them here, as no statement
// changes the owner of a row. args are the parameters of the condition, from $2 on.
func (p *pair) hand(h handing, from, into core.UserID, args ...any) {
	p.handAs(h, from, into, args)
}

// handAs is hand for rows that change; more holds the parameters of the new values, after args.
func (p *pair) handAs(h handing, from, into core.UserID, args []any, more ...any) {
	where := ` FROM ` + h.table + ` WHERE user_id = $1` + h.where
	args = append([]any{from}, args...)
	all := append(args[:len(args):len(args)], more...)
	p.exec(fmt.Sprintf(`INSERT INTO %s (user_id, %s) SELECT CAST($%d AS bigint), %s%s`, h.table, h.columns, len(all)+1,
		h.become, where), append(all, into)...)
	p.exec(`DELETE`+where, args...)
}

// forgetPages removes the pages of both users, which are made again.
func (p *pair) forgetPages(m *move) {
	for _, table := range []string{"page_forms", "pages", "repeats", "prints"} {
		for _, user := range []core.UserID{m.From, m.Into} {
			p.exec(`DELETE FROM `+table+` WHERE user_id = $1`, user)
		}
	}
}

// switchUsers resumes the target user and retires the source user.
func (p *pair) switchUsers(m *move, r renumbering, now time.Time) {
	p.mergeSettings(r)
	p.exec(`UPDATE users SET standing = standing + $2 WHERE id = $1`, m.Into, p.standingOf(m.From))
	p.exec(`UPDATE users SET role = 'none', moving = 2, indexed = last_message, unindexed = 0 WHERE id = $1`, m.From)
	p.exec(`UPDATE users SET moving = $2 WHERE id = $1`, m.Into, letting)
	p.into.resumeAll(now)
}

// standingOf returns the count of changes to a user's standing instructions.
func (p *pair) standingOf(user core.UserID) int64 {
	return valueOf[int64](p, `SELECT standing FROM users WHERE id = $1`, user)
}

// mergeSettings completes the target user's settings with those of the source user.
func (p *pair) mergeSettings(r renumbering) {
	mine, theirs := p.into.ownSettings(), p.from.ownSettings()
	mine.Zone, mine.Language = cmp.Or(mine.Zone, theirs.Zone), cmp.Or(mine.Language, theirs.Language)
	mine.Summaries, mine.Strategy = cmp.Or(mine.Summaries, theirs.Summaries), cmp.Or(mine.Strategy, theirs.Strategy)
	mine.Home = cmp.Or(mine.Home, core.IdentityID(r.other(int64(theirs.Home))))
	p.exec(`UPDATE users SET settings = $2 WHERE id = $1`, p.into.user, text(mine))
}

// resumeAll makes all jobs of the user run again, and ensures turns for pending messages.
func (t *tx) resumeAll(now time.Time) {
	t.wakeJobs(now)
	paused := t.ownSettings().Paused
	for _, id := range listOf(t, column[core.ThreadID], `SELECT DISTINCT thread_id FROM messages WHERE user_id = $1 AND `+unread, t.user) {
		if paused {
			return
		}
		if h, busy := t.head(threadKey(id)); busy {
			t.queueTurn(h, id, now)
		} else {
			t.enqueue(turnJob(id, now))
		}
	}
	t.rewriteOpen(now)
}

// rewriteOpen requests new summaries of open days; the nightly task finds final ones.
func (t *tx) rewriteOpen(now time.Time) {
	ids := listOf(t, column[core.SegmentID],
		`SELECT id FROM segments WHERE user_id = $1 AND state = 'open' AND stale = 1 AND version > 0
		AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous') ORDER BY label DESC LIMIT 5`,
		t.user)
	for _, id := range ids {
		t.summarize(id, now)
	}
}
