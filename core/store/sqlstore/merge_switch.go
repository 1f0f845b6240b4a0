package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// switchMerge makes the source user a part of the target user, in one short transaction,
// when nothing is being sent any more for the source user.
func (s *Store) switchMerge(ctx context.Context, m move, now time.Time) (time.Duration, error) {
	return s.switched(ctx, m, now, func(p pair) []switching {
		return []switching{p.switchIdentities, p.switchDeliveries, p.switchTurns, p.switchJobs, p.switchHeld, p.switchRest,
			p.switchUsers}
	})
}

// switching hands over one kind of what a move carries.
type switching = func(m *move, r renumbering, now time.Time) error

// switched hands over all of it in one transaction, unless something is being sent: that
// is waited for.
func (s *Store) switched(ctx context.Context, m move, now time.Time, steps func(p pair) []switching) (time.Duration,
	error) {
	r, err := s.numbersOf(ctx, m)
	if err != nil {
		return 0, err
	}
	waits := false
	err = s.step(ctx, m, func(p pair, m *move) error {
		if waits, err = p.sending(m.From, now); err != nil || waits {
			return err
		}
		for _, step := range steps(p) {
			if err := step(m, r, now); err != nil {
				return err
			}
		}
		m.next(core.MoveTold)
		return nil
	})
	if waits {
		return moveWaits, err
	}
	return 0, err
}

// sending reports whether a part of a user's is being sent.
func (p pair) sending(user core.UserID, now time.Time) (yes bool, err error) {
	err = p.row(
		`SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND state = 'running' AND lease_until > $2 AND queue LIKE 'deliver:%')`, user, ms(now)).Scan(&yes)
	return yes, err
}

// switchIdentities gives the addresses to the target user.
func (p pair) switchIdentities(m *move, _ renumbering, now time.Time) error {
	rows, err := p.rows(`SELECT `+identityColumns+` FROM identities i WHERE user_id = $1 AND detached = 0 ORDER BY id`,
		m.From)
	list, err := collect(rows, err, scanIdentity)
	var came []int64
	if err == nil {
		err = p.exec(`UPDATE identities SET detached = 1 WHERE user_id = $1`, m.From)
	}
	for _, i := range list {
		if err != nil {
			return err
		}
		err = p.exec(
			`UPDATE identities SET detached = 0, external = $3, blocked = $4, last_used = $5, window_until = $6, teased = $7, aliases = $8 WHERE user_id = $1 AND id = $2`,
			m.Into, int64(i.ID)+m.plan.ID, i.Address.External, flag(i.Blocked), ms(i.LastUsed), ms(i.Window),
			flag(i.Asked), text(i.Aliases))
		came = append(came, int64(i.ID)+m.plan.ID)
	}
	if err == nil {
		err = p.exec(`UPDATE addresses SET user_id = $2, identity_id = identity_id + $3 WHERE user_id = $1`,
			m.From, m.Into, m.plan.ID)
	}
	if err != nil || len(came) == 0 {
		return err
	}
	return p.into.audit(core.AuditRow{At: now, Via: core.ViaGateway, What: core.AuditMerged,
		Object: "identity", IDs: came})
}

// switchDeliveries brings what was under way as it is now.
func (p pair) switchDeliveries(m *move, _ renumbering, _ time.Time) error {
	for _, id := range m.plan.Live {
		there := int64(id) + m.plan.ID
		for _, st := range []Statement{
			{Query: `DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2`, Args: []any{m.Into, there}},
			{Query: `DELETE FROM deliveries WHERE user_id = $1 AND id = $2`, Args: []any{m.Into, there}},
			{Query: deliveryCopy + ` AND id = $5`, Args: []any{m.From, m.Into, m.plan.ID, m.plan.Message, id}},
			{Query: partCopy + ` AND p.delivery_id = $4`, Args: []any{m.From, m.Into, m.plan.ID, id}},
			{Query: `INSERT INTO refs (user_id, identity_id, native_id, message_id) SELECT d.user_id, d.identity_id, p.native_id, d.message_id FROM deliveries d
				JOIN delivery_parts p ON p.user_id = $1 AND p.delivery_id = d.id WHERE d.user_id = $1 AND d.id = $2 AND p.native_id <> '' AND d.message_id > 0
				ON CONFLICT (user_id, identity_id, native_id) DO NOTHING`, Args: []any{m.Into, there}},
			{Query: `DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2`, Args: []any{m.From, id}},
			{Query: `DELETE FROM deliveries WHERE user_id = $1 AND id = $2`, Args: []any{m.From, id}},
		} {
			if err := p.exec(st.Query, st.Args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchTurns lets the turns that come along run again; their inputs stand last.
func (p pair) switchTurns(m *move, r renumbering, _ time.Time) error {
	for _, id := range m.plan.Turns {
		there := core.TurnID(r.other(int64(id)))
		if err := p.exec(`UPDATE turns SET state = 'running' WHERE user_id = $1 AND id = $2`, m.Into, there); err != nil {
			return err
		}
		t, _, err := turnByID(p, m.Into, there)
		if err != nil {
			return err
		}
		var last int64
		if err := p.row(`SELECT last_position FROM threads WHERE user_id = $1 AND id = $2`, m.Into,
			t.Thread).Scan(&last); err != nil {
			return err
		}
		if last, err = p.restand(m.Into, t, last); err != nil {
			return err
		}
		for _, st := range []Statement{
			{Query: `UPDATE threads SET last_position = $3 WHERE user_id = $1 AND id = $2`, Args: []any{m.Into, t.Thread, last}},
			{Query: `INSERT INTO journal (user_id, turn_id, step, call, name, body) SELECT CAST($2 AS bigint), turn_id + $3, step, call, name, body FROM journal WHERE user_id = $1 AND turn_id = $4`,
				Args: []any{m.From, m.Into, m.plan.ID, id}},
			{Query: `INSERT INTO usage (user_id, day, reserved, task_reserved) SELECT user_id, day, reserved, CASE WHEN task_id > 0 THEN reserved ELSE 0 END FROM turns WHERE user_id = $1 AND id = $2 AND reserved > 0
				ON CONFLICT (user_id, day) DO UPDATE SET reserved = usage.reserved + excluded.reserved, task_reserved = usage.task_reserved + excluded.task_reserved`,
				Args: []any{m.Into, there}},
		} {
			if err := p.exec(st.Query, st.Args...); err != nil {
				return err
			}
		}
	}
	if m.Kind == core.MoveSplit {
		return p.stopHere(m)
	}
	for _, query := range []string{`DELETE FROM journal WHERE user_id = $1`,
		`UPDATE turns SET state = 'stopped' WHERE user_id = $1 AND state = 'running'`,
		`UPDATE usage SET reserved = 0, task_reserved = 0 WHERE user_id = $1 AND reserved > 0`} {
		if err := p.exec(query, m.From); err != nil {
			return err
		}
	}
	return nil
}

// switchJobs brings jobs under their new numbers. Those of embeddings are asked
// for again, and what only waits for a turn gets one.
func (p pair) switchJobs(m *move, r renumbering, now time.Time) error {
	list, err := p.takeJobs(m)
	for _, j := range list {
		if err != nil {
			return err
		}
		dead := j.State == core.JobDead
		if j.Queue == core.QueueEmbed || j.Queue == core.QueueCompress || j.Queue == core.QueueTurn && j.Ref == 0 && !dead {
			continue
		}
		n, e := r.job(j, core.NewJob{User: m.Into, Queue: j.Queue, Key: j.Key, Ref: j.Ref, Payload: j.Payload, RunAt: now})
		switch {
		case e != nil:
			err = e
		case dead:
			err = p.switchDead(m, r, j, n)
		case j.Queue == core.QueueTurn: // what waits there gets its turn behind this
			if err = p.into.exec(
				`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND ref = 0 AND state IN ('ready', 'waiting')`, m.Into,
				n.Key); err == nil {
				err = p.into.enqueue(n)
			}
		default:
			err = p.into.enqueue(n)
		}
	}
	return err
}

// job gives n, which is j for the target user, the numbers there.
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

// takeJobs takes the jobs that come along away from who they come from.
func (p pair) takeJobs(m *move) ([]core.Job, error) {
	rows, err := p.rows(`SELECT `+jobColumns+` FROM jobs WHERE user_id = $1 ORDER BY id`, m.From)
	list, err := collect(rows, err, scanJob)
	if err == nil && m.Kind == core.MoveSplit {
		return p.splitJobs(m, list)
	}
	if err == nil {
		err = p.exec(`DELETE FROM jobs WHERE user_id = $1`, m.From)
	}
	if err == nil {
		err = p.send()
	}
	return list, err
}

// switchTurnJob is the job of a turn that comes along.
func switchTurnJob(r renumbering, j core.Job, n core.NewJob) (core.NewJob, error) {
	var thread core.ThreadID
	if err := json.Unmarshal(j.Payload, &thread); err != nil {
		return n, fmt.Errorf("read the thread of a job: %w", err)
	}
	n.Key, n.Ref, n.Payload = threadKey(r.thread(thread)), r.other(j.Ref), json.RawMessage(text(r.thread(thread)))
	return n, nil
}

// switchDead keeps a job that gave up, for the owner to see.
func (p pair) switchDead(m *move, r renumbering, j core.Job, n core.NewJob) error {
	return p.exec(
		`INSERT INTO jobs (user_id, id, queue, key, ref, payload, state, run_at, attempt, error, failures, since) VALUES ($1, $2, $3, $4, $5, $6, 'dead', $7, $8, $9, $10, $11)`,
		m.Into, r.other(int64(j.ID)), n.Queue, n.Key, n.Ref, string(n.Payload), ms(j.RunAt), j.Lease.Attempt, j.Error,
		j.Failures, ms(j.Since))
}

// switchHeld gives what is held for the source user the new numbers of its threads.
func (p pair) switchHeld(m *move, r renumbering, _ time.Time) error {
	rows, err := p.rows(
		`SELECT payload FROM events WHERE user_id = 0 AND state = 'held' AND payload IS NOT NULL AND (channel, account, external) IN
		(SELECT channel, account, external FROM identities WHERE user_id = $1)`, m.From)
	held, err := collect(rows, err, scanHeld)
	for _, e := range held {
		if err != nil {
			return err
		}
		if e.Thread == 0 {
			continue
		}
		e.Thread = r.thread(e.Thread)
		err = p.exec(
			`UPDATE events SET payload = $4 WHERE user_id = 0 AND message_id = 0 AND channel = $1 AND account = $2 AND event_id = $3 AND state = 'held'`,
			e.Address.Channel, e.Address.Account, e.EventID, []byte(text(e)))
	}
	return err
}

// switchRest brings what hangs on no number, and begins new prompts. Sessions, keys
// and codes do not come along: their holders were not asked.
func (p pair) switchRest(m *move, _ renumbering, _ time.Time) error {
	if err := p.forgetPages(m); err != nil {
		return err
	}
	for _, h := range []handing{
		{"codes", codeRest, codeRest, ` AND kind = 'linked'`},
		{"agent_keys", `id, name, sealed, created_at`, `id, name, sealed, created_at`, ``},
	} {
		if err := p.hand(h, m.From, m.Into); err != nil {
			return err
		}
	}
	for _, st := range []Statement{
		{Query: `DELETE FROM tokens WHERE user_id = $1 AND kind <> 'linked'`, Args: []any{m.From}},
		{Query: `UPDATE tokens SET user_id = $2 WHERE user_id = $1`, Args: []any{m.From, m.Into}},
		{Query: `DELETE FROM codes WHERE user_id = $1 AND kind <> 'linked'`, Args: []any{m.From}},
		{Query: `DELETE FROM sessions WHERE user_id = $1`, Args: []any{m.From}},
		{Query: `DELETE FROM api_keys WHERE user_id = $1`, Args: []any{m.From}},
		{Query: `UPDATE event_ids SET user_id = $2 WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events WHERE user_id = $1 AND message_id = 0)`, Args: []any{m.From, m.Into}},
		{Query: `UPDATE threads SET edits = edits + 1, summaries = summaries + 1, epoch_id = 0 WHERE user_id = $1 AND id = $2`, Args: []any{m.Into, m.plan.Thread}},
		{Query: `UPDATE moves SET from_user = $2, identity_id = CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END WHERE from_user = $1 AND phase = 'asked'`,
			Args: []any{m.From, m.Into, m.plan.ID}},
		{Query: `UPDATE moves SET into_user = $2 WHERE into_user = $1 AND phase = 'asked'`, Args: []any{m.From, m.Into}},
		{Query: `UPDATE moves SET phase = 'done' WHERE from_user = into_user AND phase = 'asked'`},
	} {
		if err := p.exec(st.Query, st.Args...); err != nil {
			return err
		}
	}
	return p.hand(handing{"events", eventRest, eventRest, ` AND message_id = 0`}, m.From, m.Into)
}

// handing says which rows of a table a user hands over: their columns after the user, what
// these become, and a condition.
type handing struct{ table, columns, become, where string }

// Columns after the user.
const (
	codeRest  = `kind, hash, hint, channel, account, external, name, created_at, expires_at`
	eventRest = `message_id, channel, account, event_id, external, state, received_at, payload`
)

// hand gives rows to another user: they are stored there and deleted here, as no statement
// changes whose a row is. In the condition $2 and on are args; where they become something,
// the parameters after these are more.
func (p pair) hand(h handing, from, into core.UserID, args ...any) error {
	return p.handAs(h, from, into, args)
}

// handAs is hand for rows that become something that more says.
func (p pair) handAs(h handing, from, into core.UserID, args []any, more ...any) error {
	where := ` FROM ` + h.table + ` WHERE user_id = $1` + h.where
	args = append([]any{from}, args...)
	all := append(args[:len(args):len(args)], more...)
	err := p.exec(fmt.Sprintf(`INSERT INTO %s (user_id, %s) SELECT CAST($%d AS bigint), %s%s`, h.table, h.columns, len(all)+1,
		h.become, where), append(all, into)...)
	if err != nil {
		return err
	}
	return p.exec(`DELETE`+where, args...)
}

// forgetPages takes what long prompts showed of both: it is made again.
func (p pair) forgetPages(m *move) error {
	for _, table := range []string{"page_forms", "pages", "repeats", "prints"} {
		for _, user := range []core.UserID{m.From, m.Into} {
			if err := p.exec(`DELETE FROM `+table+` WHERE user_id = $1`, user); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchUsers lets the target user be answered again, and the source user be nobody.
func (p pair) switchUsers(m *move, r renumbering, now time.Time) error {
	if err := p.mergeSettings(r); err != nil {
		return err
	}
	var theirs int64
	if err := p.row(`SELECT standing FROM users WHERE id = $1`, m.From).Scan(&theirs); err != nil {
		return err
	}
	for _, st := range []Statement{
		{Query: `UPDATE users SET standing = standing + $2 WHERE id = $1`, Args: []any{m.Into, theirs}},
		{Query: `UPDATE users SET role = 'none', moving = 2, indexed = last_message, unindexed = 0 WHERE id = $1`, Args: []any{m.From}},
		{Query: `UPDATE users SET moving = $2 WHERE id = $1`, Args: []any{m.Into, letting}},
	} {
		if err := p.exec(st.Query, st.Args...); err != nil {
			return err
		}
	}
	return p.resumeAll(p.into, now)
}

// mergeSettings takes what the target user has not chosen from the source user.
func (p pair) mergeSettings(r renumbering) error {
	var mine, theirs core.Settings
	if err := unjson(p.into.settings, &mine); err != nil {
		return err
	}
	if err := unjson(p.from.settings, &theirs); err != nil {
		return err
	}
	for _, x := range []struct{ mine, theirs *string }{{&mine.Zone, &theirs.Zone}, {&mine.Language, &theirs.Language},
		{&mine.Summaries, &theirs.Summaries}, {&mine.Strategy, &theirs.Strategy}} {
		if *x.mine == "" {
			*x.mine = *x.theirs
		}
	}
	if mine.Home == 0 {
		mine.Home = core.IdentityID(r.other(int64(theirs.Home)))
	}
	return p.exec(`UPDATE users SET settings = $2 WHERE id = $1`, p.into.user, text(mine))
}

// resumeAll lets everything of a user run again, and what waits get its turn.
func (p pair) resumeAll(t *tx, now time.Time) error {
	if err := p.send(); err != nil {
		return err
	}
	if err := t.wakeJobs(now); err != nil {
		return err
	}
	var settings core.Settings
	if err := unjson(t.settings, &settings); err != nil {
		return err
	}
	rows, err := t.rows(`SELECT DISTINCT thread_id FROM messages WHERE user_id = $1 AND `+unread, t.user)
	threads, err := collect(rows, err, func(r scanner) (id core.ThreadID, err error) { return id, r.Scan(&id) })
	for _, id := range threads {
		if err != nil || settings.Paused {
			return err
		}
		var h head
		var busy bool
		if h, busy, err = t.head(threadKey(id)); err != nil {
			continue
		}
		if busy {
			err = t.behind(h, id, now)
		} else {
			err = t.enqueue(turnJob(id, now))
		}
	}
	if err != nil {
		return err
	}
	return t.rewriteOpen(now)
}

// rewriteOpen asks for new summaries of days that are not over; those that are
// over are found by the nightly task.
func (t *tx) rewriteOpen(now time.Time) error {
	rows, err := t.rows(`SELECT id FROM segments WHERE user_id = $1 AND state = 'open' AND stale = 1 AND version > 0
		AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous') ORDER BY label DESC LIMIT 5`,
		t.user)
	ids, err := collect(rows, err, func(r scanner) (id core.SegmentID, err error) { return id, r.Scan(&id) })
	for _, id := range ids {
		if err != nil {
			return err
		}
		err = t.summarize(id, now)
	}
	return err
}
