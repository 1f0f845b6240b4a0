package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// merger is the transaction of a merge: rows are inserted for the target user under new ids, and then everything of the
// source user is deleted. Its statements name both users only where rows are inserted.
type merger struct {
	*tx         // locked first
	from, into  *tx
	numbers     renumbering
	was, thread core.ThreadID // the continuous threads of the source and the target user
	running     *core.Turn    // of the merged thread; it may be nil
}

// join makes the source user a part of the target user.
func (m *merger) join(now time.Time) {
	m.was, m.thread = m.from.threadOr(0), m.into.threadOr(0)
	m.haltTurns()
	m.numbers = renumbering{message: m.into.lastMessage, id: m.into.lastID, segments: map[core.SegmentID]day{},
		threads: map[core.ThreadID]core.ThreadID{m.was: m.thread}}
	m.into.lastMessage += m.from.lastMessage
	m.into.lastID += m.from.lastID
	m.into.added, m.into.dirty = true, true
	m.place()
	m.prepare()
	m.joinDays()
	for _, c := range copiers() {
		c.rows(m)
		m.err = wrap(c.table, m.err)
	}
	m.moveAddresses(now)
	m.moveJobs(now)
	m.mergeUsers()
	m.from.deleteIndex()
	m.deleteRows(m.from.user)
	m.from.dirty = false
	m.into.resumeAll(now)
	m.into.flush()
}

// prepare changes rows of the source user before they are copied, and ends those that are not.
func (m *merger) prepare() {
	for _, name := range listOf(m, column[string], `SELECT name FROM threads WHERE user_id = $1 AND name <> ''`, m.into.user) {
		m.exec(`UPDATE threads SET name = '' WHERE user_id = $1 AND name = $2`, m.from.user, name)
	}
	m.exec(`DELETE FROM approvals WHERE user_id = $1 AND state = 'open'`, m.from.user) // nobody has seen them there
	for _, table := range []string{"page_forms", "pages", "repeats", "prints"} {       // they are made again
		m.exec(`DELETE FROM `+table+` WHERE user_id = $1`, m.into.user)
	}
}

// haltTurns halts the running turns of the source user. They run again after the merge, with their journal. If both
// continuous threads have a running turn, the inputs of the source user's become pending instead.
func (m *merger) haltTurns() {
	for _, t := range m.into.runningTurns() {
		if t.Thread == m.thread {
			m.running = &t
		}
	}
	for _, t := range m.from.runningTurns() {
		m.wake = append(m.wake, core.TurnTopic(t.User, t.ID))
		switch {
		case t.Thread != m.was:
		case m.running != nil:
			m.from.giveBack(t)
		default:
			m.running = &t
		}
	}
}

// runningTurns lists the running turns of the user.
func (t *tx) runningTurns() []core.Turn {
	return listOf(t, scanTurnOnly, `SELECT `+turnColumns+` FROM turns t WHERE t.user_id = $1 AND t.state = 'running' ORDER BY t.id`, t.user)
}

// scanTurnOnly scans a turn without its snapshot.
func scanTurnOnly(r scanner) (core.Turn, error) {
	t, _, err := scanTurn(r)
	return t, err
}

// giveBack makes the inputs of a turn pending again.
func (t *tx) giveBack(turn core.Turn) {
	h, busy := t.head(threadKey(turn.Thread))
	for _, id := range turn.Inputs {
		t.exec(`UPDATE messages SET position = 0, turn_id = 0 WHERE user_id = $1 AND id = $2 AND turn_id = $3`,
			turn.User, id, turn.ID)
	}
	if busy {
		t.dropTurn(turn.ID, core.Lease{Job: h.id, Key: threadKey(turn.Thread)})
	}
}

// moveAddresses gives the addresses of the source user, and what belongs to them, to the target user. Sessions, keys
// and codes are not transferred, as their holders were not asked; the used codes of questions are.
func (m *merger) moveAddresses(now time.Time) {
	from, into := m.from.user, m.into.user
	came := listOf(m, column[int64], `SELECT id FROM identities WHERE user_id = $1 AND detached = 0 ORDER BY id`, from)
	for i := range came {
		came[i] += m.numbers.id
	}
	if len(came) > 0 {
		m.into.audit(audit.Row{At: now, Via: core.ViaGateway, What: audit.Merged, Object: "identity", IDs: came})
	}
	m.exec(`UPDATE addresses SET user_id = $2, identity_id = identity_id + $3 WHERE user_id = $1`, from, into, m.numbers.id)
	m.exec(`INSERT INTO codes (user_id, `+codeRest+`) SELECT CAST($2 AS bigint), `+codeRest+` FROM codes WHERE user_id = $1 AND kind = 'linked'`,
		from, into)
	m.exec(`UPDATE tokens SET user_id = $2 WHERE user_id = $1 AND kind = 'linked'`, from, into)
	m.exec(`UPDATE merges SET from_user = $2, identity_id = CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END WHERE from_user = $1 AND phase = 'asked'`,
		from, into, m.numbers.id)
	m.exec(`UPDATE merges SET into_user = $2 WHERE into_user = $1 AND phase = 'asked'`, from, into)
	m.exec(`UPDATE merges SET phase = 'done' WHERE from_user = into_user AND phase = 'asked'`)
}

const codeRest = `kind, hash, hint, channel, account, external, name, created_at, expires_at, grouped`

// moveJobs gives the jobs of the source user to the target user under their new ids. Embeddings are requested again,
// messages that only wait for a turn get one, and notifications end with their sessions.
func (m *merger) moveJobs(now time.Time) {
	for _, j := range listOf(m, scanJob, `SELECT `+jobColumns+` FROM jobs WHERE user_id = $1 ORDER BY id`, m.from.user) {
		dead := j.State == store.JobDead
		if j.Queue == core.QueueEmbed || j.Queue == core.QueueCompress || j.Queue == core.QueuePush || j.Queue == core.QueueTurn && j.Ref == 0 && !dead {
			continue
		}
		n := m.job(j, now)
		if dead { // the owner still sees it
			m.exec(`INSERT INTO jobs (user_id, id, queue, key, ref, payload, state, run_at, attempt, error, failures, since) VALUES ($1, $2, $3, $4, $5, $6, 'dead', $7, $8, $9, $10, $11)`,
				n.User, m.numbers.other(int64(j.ID)), n.Queue, n.Key, n.Ref, string(n.Payload), ms(j.RunAt), j.Lease.Attempt,
				j.Error, j.Failures, ms(j.Since))
			continue
		}
		if j.Queue == core.QueueTurn { // messages that wait there get a turn behind this one
			m.exec(`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND ref = 0 AND state IN ('ready', 'waiting')`, n.User, n.Key)
		}
		m.into.enqueue(n)
	}
}

// job returns the job of the target user that replaces j.
func (m *merger) job(j store.Job, now time.Time) store.NewJob {
	n := store.NewJob{User: m.into.user, Queue: j.Queue, Key: j.Key, Ref: j.Ref, Payload: j.Payload, RunAt: now}
	switch {
	case j.Queue == core.QueueSummarize:
		n.Ref, n.Unique = int64(m.numbers.segment(core.SegmentID(j.Ref))), true
	case j.Queue == core.QueueTurn:
		var thread core.ThreadID
		if err := json.Unmarshal(j.Payload, &thread); err != nil {
			m.fail(fmt.Errorf("read the thread of a job: %w", err))
		}
		thread = m.numbers.thread(thread)
		n.Key, n.Ref, n.Payload = threadKey(thread), m.numbers.other(j.Ref), json.RawMessage(text(thread))
	case strings.HasPrefix(j.Queue, core.QueueFetch):
		n.Ref = int64(m.numbers.messageID(core.MessageID(j.Ref)))
		n.Key = fmt.Sprintf("fetch:%d%s", n.Ref, j.Key[strings.LastIndexByte(j.Key, ':'):])
	case j.Queue == core.QueueDocument, j.Queue == core.QueueSpeak:
		n.Ref = int64(m.numbers.messageID(core.MessageID(j.Ref)))
	default:
		n.Ref = m.numbers.other(j.Ref)
	}
	return n
}

// mergeUsers completes the target user's settings with those of the source user, and ends the epoch. Memory stays off if
// either has switched it off. The target's model, voice and pause remain; neither the source's allowed tools nor its keys
// come along.
func (m *merger) mergeUsers() {
	mine, theirs := m.into.ownSettings(), m.from.ownSettings()
	mine.Zone, mine.Language = cmp.Or(mine.Zone, theirs.Zone), cmp.Or(mine.Language, theirs.Language)
	mine.Summaries, mine.Strategy = cmp.Or(mine.Summaries, theirs.Summaries), cmp.Or(mine.Strategy, theirs.Strategy)
	mine.MemoryOff = mine.MemoryOff || theirs.MemoryOff
	mine.Home = cmp.Or(mine.Home, core.IdentityID(m.numbers.other(int64(theirs.Home))))
	m.exec(`UPDATE users SET settings = $2, standing = standing + $3 WHERE id = $1`, m.into.user, text(mine), m.from.standing)
	m.into.listServices()
	m.exec(`UPDATE threads SET edits = edits + 1, summaries = summaries + 1, epoch_id = 0 WHERE user_id = $1 AND id = $2`,
		m.into.user, m.thread)
}

// resumeAll ends the pause of the user, and ensures turns for pending messages and summaries of open days. The nightly
// task finds closed ones.
func (t *tx) resumeAll(now time.Time) {
	t.exec(`UPDATE users SET merging = 0 WHERE id = $1`, t.user)
	t.merging = false
	if !t.ownSettings().Paused {
		for _, id := range listOf(t, column[core.ThreadID], `SELECT DISTINCT thread_id FROM messages WHERE user_id = $1 AND `+unread, t.user) {
			if h, busy := t.head(threadKey(id)); busy {
				t.queueTurn(h, id, now)
			} else {
				t.enqueue(turnJob(id, now))
			}
		}
	}
	t.awaken(core.QueueTurn)
	for _, id := range listOf(t, column[core.SegmentID],
		`SELECT id FROM segments WHERE user_id = $1 AND state = 'open' AND stale = 1 AND version > 0
		AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous') ORDER BY label DESC LIMIT 5`, t.user) {
		t.summarize(id, now)
	}
}
