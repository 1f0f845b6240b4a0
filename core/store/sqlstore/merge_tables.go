package sqlstore

import (
	"github.com/everthread/everthread/core"
)

// copyTurns copies turns. Running ones are stored as stopped until the switch.
func (p pair) copyTurns(m *move, g keyRange) error {
	rows, err := p.rows(
		`SELECT id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot, task_id, task_due
		FROM turns WHERE user_id = $1 AND id > $2 AND id <= $3`+g.of("turns", 4), g.args(m.From, g.after[0], g.through[0])...)
	type turn struct {
		id, identity, epoch, stop, restarts, failures, reserved, started, ended, task, due int64
		thread                                                                             core.ThreadID
		segment                                                                            core.SegmentID
		state, inputs, cause, day, snapshot                                                string
	}
	list, err := collect(rows, err, func(r scanner) (t turn, err error) {
		return t, r.Scan(&t.id, &t.thread, &t.identity, &t.segment, &t.state, &t.inputs, &t.stop, &t.restarts, &t.failures,
			&t.cause, &t.reserved, &t.day, &t.started, &t.ended, &t.epoch, &t.snapshot, &t.task, &t.due)
	})
	r := g.numbers
	for _, t := range list {
		if err != nil {
			return err
		}
		if t.state == string(core.TurnRunning) {
			t.state = string(core.TurnStopped)
		}
		err = p.exec(
			`INSERT INTO turns (user_id, id, thread_id, identity_id, segment_id, state, inputs, stop, restarts, failures, error, reserved, day, started_at, ended_at, epoch_id, snapshot, task_id, task_due)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`, m.Into, r.other(t.id),
			r.thread(t.thread), r.other(t.identity), r.segment(t.segment), t.state, r.ids(t.inputs), t.stop, t.restarts,
			t.failures, t.cause, t.reserved, t.day, t.started, t.ended, r.other(t.epoch), r.snapshot(t.snapshot),
			r.other(t.task), t.due)
	}
	m.Rows += len(list)
	return err
}

func (p pair) copyEpochs(m *move, g keyRange) error {
	rows, err := p.rows(`SELECT id, thread_id, data, whole FROM epochs WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From,
		g.after[0], g.through[0])
	type epoch struct {
		id     int64
		thread core.ThreadID
		data   string
		whole  int64
	}
	list, err := collect(rows, err, func(r scanner) (e epoch, err error) {
		return e, r.Scan(&e.id, &e.thread, &e.data, &e.whole)
	})
	for _, e := range list {
		if err != nil {
			return err
		}
		err = p.exec(`INSERT INTO epochs (user_id, id, thread_id, data, whole) VALUES ($1, $2, $3, $4, $5)`, m.Into,
			g.numbers.other(e.id), g.numbers.thread(e.thread), g.numbers.epoch(e.data), e.whole)
	}
	return err
}

// deliveryCopy and partCopy copy deliveries with their parts; unfinished ones are copied in the
// switch. The keys of their parts do not change.
const (
	deliveryCopy = `INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, error, created_at, expires_at, born)
		SELECT CAST($2 AS bigint), id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END, CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END, channel, account, external, kind, state, why, error,
			created_at, expires_at, CASE WHEN born = '' THEN user_id || '-' || id ELSE born END FROM deliveries WHERE user_id = $1`
	partCopy = `INSERT INTO delivery_parts (user_id, delivery_id, n, body, state, native_id, repeats, resent, sent_at, error)
		SELECT CAST($2 AS bigint), p.delivery_id + $3, p.n, p.body, p.state, p.native_id, p.repeats, p.resent, p.sent_at, p.error FROM delivery_parts p WHERE p.user_id = $1`
)

func (p pair) copyDeliveries(m *move, g keyRange) error {
	err := p.exec(deliveryCopy+` AND id > $5 AND id <= $6 AND state NOT IN ('pending', 'sending')`+g.of("deliveries", 7),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
	if err != nil {
		return err
	}
	return p.exec(partCopy+
		` AND p.delivery_id > $4 AND p.delivery_id <= $5 AND p.delivery_id IN
			(SELECT d.id - $3 FROM deliveries d WHERE d.user_id = $2 AND d.id > $4 + $3 AND d.id <= $5 + $3)`,
		m.From, m.Into, m.plan.ID, g.after[0], g.through[0])
}

func (p pair) copyLoops(m *move, g keyRange) error {
	rows, err := p.rows(
		`SELECT id, body, state, sources, opened_at, mentioned_at, tainted FROM loops WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From, g.after[0], g.through[0])
	type loop struct {
		id, opened, mentioned, tainted int64
		body, state, sources           string
	}
	list, err := collect(rows, err, func(r scanner) (l loop, err error) {
		return l, r.Scan(&l.id, &l.body, &l.state, &l.sources, &l.opened, &l.mentioned, &l.tainted)
	})
	for _, l := range list {
		if err != nil {
			return err
		}
		if m.Kind == core.MoveSplit {
			if goes, err := p.loopGoes(m, l.sources); err != nil {
				return err
			} else if !goes {
				continue
			}
		}
		err = p.exec(
			`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			m.Into, g.numbers.other(l.id), g.numbers.text(l.body), l.state, g.numbers.ids(l.sources), l.opened,
			l.mentioned, l.tainted)
	}
	return err
}

// copyItems copies memory items that the target user does not have.
func (p pair) copyItems(m *move, g keyRange) error {
	rows, err := p.rows(
		`SELECT i.id, i.digest, i.content, i.theme, i.status, h.name, h.description, i.updated_at, h.tainted FROM items i JOIN themes h ON h.user_id = $1 AND h.slug = i.theme
		WHERE i.user_id = $1 AND i.id > $2 AND i.id <= $3`+g.of("i", 4), g.args(m.From, g.after[0], g.through[0])...)
	type item struct {
		id, updated                                        int64
		digest, content, theme, status, named, description string
		tainted                                            bool
	}
	list, err := collect(rows, err, func(r scanner) (i item, err error) {
		return i, r.Scan(&i.id, &i.digest, &i.content, &i.theme, &i.status, &i.named, &i.description, &i.updated, &i.tainted)
	})
	for _, i := range list {
		if err != nil {
			return err
		}
		if err = p.copyItem(m, i.id); err != nil {
			continue
		}
		var there bool
		if err = p.row(`SELECT EXISTS (SELECT 1 FROM items WHERE user_id = $1 AND id = $2)`, m.Into,
			g.numbers.other(i.id)).Scan(&there); err != nil || !there {
			continue
		}
		active := int(flag(i.status == string(core.ItemActive)))
		if err = p.into.countTheme(i.theme, core.Theme{Name: i.named, Description: i.description, Tainted: i.tainted}, active,
			at(i.updated)); err != nil {
			continue
		}
		if err = p.into.index(core.DocItem, g.numbers.other(i.id), i.content); err == nil {
			err = p.into.send()
		}
	}
	if err != nil {
		return err
	}
	return p.copyEmbeddings(m, core.VectorItem, "items", g)
}

func (p pair) copyItem(m *move, id int64) error {
	return p.exec(
		`INSERT INTO items (user_id, id, theme, type, content, tags, digest, source_thread, source_message, status, created_at, updated_at, tainted, history, noted)
		SELECT CAST($2 AS bigint), id + $3, theme, type, content, tags, digest, CASE WHEN source_thread = $6 THEN $7 WHEN source_thread > 0 THEN source_thread + $3 ELSE 0 END,
			CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, status, created_at, updated_at, tainted, history, noted
		FROM items WHERE user_id = $1 AND id = $5 ON CONFLICT DO NOTHING`, m.From, m.Into, m.plan.ID, m.plan.Message, id,
		m.plan.Was, m.plan.Thread)
}

// copyEmbeddings copies the states and vectors of a copied page.
func (p pair) copyEmbeddings(m *move, kind core.VectorKind, table string, g keyRange) error {
	if err := p.into.send(); err != nil {
		return err
	}
	err := p.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, error, revision, updated_at)
		SELECT CAST($2 AS bigint), e.kind, e.id + $3, e.config, e.state, e.error, e.revision, e.updated_at FROM embeddings e
		WHERE e.user_id = $1 AND e.kind = $4 AND e.id > $5 AND e.id <= $6 AND e.id IN (SELECT x.id - $3 FROM `+table+
		` x WHERE x.user_id = $2 AND x.id > $5 + $3 AND x.id <= $6 + $3)`,
		m.From, m.Into, m.plan.ID, string(kind), g.after[0], g.through[0])
	if err != nil {
		return err
	}
	after, through := int64Of(g.after[0]), int64Of(g.through[0])
	return p.execAll(p.s.dialect.Vector.Copy(kind, m.From, m.Into, after, through, m.plan.ID)...)
}

func int64Of(v any) int64 {
	n, _ := v.(int64)
	return n
}

func (p pair) copyReminders(m *move, g keyRange) error {
	return p.exec(
		`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id, tainted)
		SELECT CAST($2 AS bigint), id + $3, body, due_at, cron, zone, state, CASE WHEN source_message > 0 THEN source_message + $4 ELSE 0 END, created_at, fired_at,
			CASE WHEN message_id > 0 AND `+reminded(m)+
			` THEN message_id + $4 ELSE 0 END, tainted FROM reminders WHERE user_id = $1 AND id > $5 AND id <= $6`+
			g.of("reminders", 7),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
}

// copyApprovals copies approvals, except open ones, as the target user has not seen them.
func (p pair) copyApprovals(m *move, g keyRange) error {
	return p.exec(
		`INSERT INTO approvals (user_id, id, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, decided_at, code)
		SELECT CAST($2 AS bigint), id + $3, kind, state, identity_id + $3, CASE WHEN message_id > 0 THEN message_id + $4 ELSE 0 END,
			CASE WHEN turn_id > 0 THEN turn_id + $3 ELSE 0 END, word, subject, asked_at, expires_at, decided_at, code
		FROM approvals WHERE user_id = $1 AND id > $5 AND id <= $6 AND state <> 'open'`+g.of("approvals", 7),
		g.args(m.From, m.Into, m.plan.ID, m.plan.Message, g.after[0], g.through[0])...)
}

// reminded returns the condition that the messages of reminders are copied. A split copies none,
// as they belong to no identity.
func reminded(m *move) string {
	if m.Kind == core.MoveSplit {
		return "1 = 0"
	}
	return "1 = 1"
}

// copyWindows copies windows of days whose windows are kept.
func (p pair) copyWindows(m *move, g keyRange) error {
	err := p.exec(`INSERT INTO windows (user_id, id, segment_id, first_message, last_message, tokens, passages)
		SELECT CAST($2 AS bigint), w.id + $3, s.into_id, w.first_message + $4, w.last_message + $4, w.tokens, w.passages
		FROM windows w JOIN move_segments s ON s.user_id = $1 AND s.segment_id = w.segment_id AND s.windows = 1
		WHERE w.user_id = $1 AND w.id > $5 AND w.id <= $6`, m.From, m.Into, m.plan.ID, m.plan.Message,
		g.after[0], g.through[0])
	if err != nil {
		return err
	}
	return p.copyEmbeddings(m, core.VectorWindow, "windows", g)
}

// copyUsage adds the usage of both users. Reservations are transferred with running turns.
func (p pair) copyUsage(m *move, g keyRange) error {
	return p.exec(`INSERT INTO usage (user_id, day, reserved, prompt, cached, completion, turns, calls, bytes, task_tokens)
		SELECT CAST($2 AS bigint), day, 0, prompt, cached, completion, turns, calls, bytes, task_tokens FROM usage WHERE user_id = $1 AND day > $3 AND day <= $4
		ON CONFLICT (user_id, day) DO UPDATE SET prompt = usage.prompt + excluded.prompt, cached = usage.cached + excluded.cached,
			completion = usage.completion + excluded.completion, turns = usage.turns + excluded.turns,
			calls = usage.calls + excluded.calls, bytes = usage.bytes + excluded.bytes, task_tokens = usage.task_tokens + excluded.task_tokens`, m.From, m.Into,
		g.after[0], g.through[0])
}
