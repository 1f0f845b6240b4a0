package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Reserve reserves n tokens of a day's budget for a job; see store.UsageStore.
func (s *Store) Reserve(ctx context.Context, user core.UserID, l core.Lease, day string, n, limit int) (bool, error) {
	var ok bool
	err := s.update(ctx, "reserve", user, func(t *tx) {
		t.holds(l)
		t.release(l)
		ok = t.reserve(&store.Budget{TokensPerDay: limit, Reserve: n, Day: day}) == nil
		if ok && limit > 0 {
			t.exec(`UPDATE jobs SET reserved = $3, day = $4 WHERE user_id = $1 AND id = $2`, t.user, l.Job, n, day)
		}
	})
	return ok, err
}

// release ends the reservation of a job.
func (t *tx) release(l core.Lease) {
	var day string
	var reserved int
	t.getOr(core.ErrNotFound, columns{&day, &reserved}, `SELECT day, reserved FROM jobs WHERE user_id = $1 AND id = $2`,
		t.user, l.Job)
	if reserved != 0 {
		t.spend(day, nil, reserved, 0)
		t.exec(`UPDATE jobs SET reserved = 0 WHERE user_id = $1 AND id = $2`, t.user, l.Job)
	}
}

// ReserveMore reserves more for a running turn; see store.TurnStore.
func (s *Store) ReserveMore(ctx context.Context, turn *core.Turn, b store.Budget) (bool, error) {
	ok := false
	err := s.update(ctx, "reserve more", turn.User, func(t *tx) {
		t.holds(turn.Lease)
		t.getOr(core.ErrNotFound, &b.Day, `SELECT day FROM turns WHERE user_id = $1 AND id = $2`, t.user, turn.ID)
		if ok = t.reserveFor(turn, &b); ok {
			t.exec(`UPDATE turns SET reserved = reserved + $3 WHERE user_id = $1 AND id = $2`, t.user, turn.ID, b.Reserve)
		}
	})
	if ok && err == nil && (b.TokensPerDay > 0 || turn.Task != 0) {
		turn.Reserved += b.Reserve
	}
	return ok, err
}

// reserveFor reserves b.Reserve for a turn; false if the budget does not allow it.
func (t *tx) reserveFor(turn *core.Turn, b *store.Budget) bool {
	if turn.Task != 0 {
		return t.reserveTask(b)
	}
	return t.reserve(b) == nil
}

// ReserveCall reserves tokens of a day's budget for one call; see store.UsageStore.
func (s *Store) ReserveCall(ctx context.Context, user core.UserID, day string, n, limit int) (bool, error) {
	ok := false
	err := s.update(ctx, "reserve call", user, func(t *tx) {
		ok = t.reserve(&store.Budget{TokensPerDay: limit, Reserve: n, Day: day}) == nil
	})
	return ok && err == nil, err
}

// SettleCall replaces the reservation of a call with its usage.
func (s *Store) SettleCall(ctx context.Context, user core.UserID, day string, n int, spent core.Bill) error {
	return s.update(ctx, "settle call", user, func(t *tx) { t.spend(day, spent, n, 0) })
}

// Spend adds what background calls took to a day.
func (s *Store) Spend(ctx context.Context, user core.UserID, day string, spent core.Bill) error {
	return s.update(ctx, "spend", user, func(t *tx) { t.spend(day, spent, 0, 0) })
}

// UsageOf returns the tokens used and reserved on a day.
func (s *Store) UsageOf(ctx context.Context, user core.UserID, day string) (used, reserved int, err error) {
	return usageOf(s.one(ctx), user, day)
}

func usageOf(q reader, user core.UserID, day string) (used, reserved int, err error) {
	err = q.row(
		`SELECT COALESCE(MAX(prompt + completion), 0), COALESCE(MAX(reserved), 0) FROM usage WHERE user_id = $1 AND day = $2`,
		user, day).Scan(&used, &reserved)
	return used, reserved, err
}

// TakeEgress adds to the egress of a day; see store.UsageStore.
func (s *Store) TakeEgress(ctx context.Context, user core.UserID, day string, want,
	most store.Egress) (got store.Egress, err error) {
	err = s.update(ctx, "count what goes out", user, func(t *tx) {
		var used store.Egress
		t.get(columns{&used.Calls, &used.Bytes}, `SELECT COALESCE(MAX(calls), 0), COALESCE(MAX(bytes), 0) FROM usage WHERE user_id = $1 AND day = $2`,
			t.user, day)
		got = store.Egress{Calls: within(want.Calls, used.Calls, most.Calls),
			Bytes: within(want.Bytes, used.Bytes, most.Bytes)}
		t.exec(`INSERT INTO usage (user_id, day, calls, bytes) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, day) DO UPDATE SET calls = usage.calls + excluded.calls, bytes = usage.bytes + excluded.bytes`,
			t.user, day, got.Calls, got.Bytes)
	})
	return got, err
}

// within returns the part of want that keeps the sum with used between 0 and most; most 0 is no limit.
func within(want, used, most int64) int64 {
	if want < 0 {
		return max(want, -used)
	}
	if most > 0 {
		return max(0, min(want, most-used))
	}
	return want
}

// UsageDays lists usage; see store.UsageStore. The usage of merged users counts for the target user.
func (s *Store) UsageDays(ctx context.Context, user core.UserID, from, through string) ([]store.UsageDay, error) {
	const columns = `SELECT g.user_id, g.day, g.prompt, g.cached, g.completion, g.task_tokens, g.turns FROM usage g JOIN users u ON u.id = g.user_id AND u.role <> 'none' WHERE `
	const used = ` AND (g.turns > 0 OR g.prompt > 0 OR g.completion > 0) ORDER BY g.day, g.user_id`
	query, args := columns+`g.day >= $1 AND g.day <= $2`+used, []any{from, through}
	if user != 0 {
		query, args = columns+`g.user_id = $3 AND g.day >= $1 AND g.day <= $2`+used, append(args, user)
	}
	return list(s.one(ctx), fields(func(d *store.UsageDay) []any {
		return []any{&d.User, &d.Day, &d.Usage.Prompt, &d.Usage.Cached, &d.Usage.Completion, &d.Tasks, &d.Turns}
	}), query, args...)
}

// UsageParts lists what the calls of a user took; see store.UsageStore.
func (s *Store) UsageParts(ctx context.Context, user core.UserID, from, through string) ([]store.UsagePart, error) {
	return list(s.one(ctx), fields(func(p *store.UsagePart) []any {
		return []any{&p.Day, &p.Model, &p.Purpose, &p.Calls, &p.Prompt, &p.Cached, &p.Completion, &p.Amount}
	}), `SELECT day, model, purpose, calls, prompt, cached, completion, amount FROM usage_parts
		WHERE user_id = $1 AND day >= $2 AND day <= $3 ORDER BY day, model, purpose`, user, from, through)
}

// UsageSums adds up what the calls of each user took; see store.UsageStore.
func (s *Store) UsageSums(ctx context.Context, from, through string) (map[core.UserID]core.Bill, error) {
	out := map[core.UserID]core.Bill{}
	rows, err := s.one(ctx).rows(`SELECT p.user_id, p.model, p.purpose, p.calls, p.prompt, p.cached, p.completion, p.amount
		FROM usage_parts p JOIN users u ON u.id = p.user_id AND u.role <> 'none'
		WHERE p.day >= $1 AND p.day <= $2 ORDER BY p.day, p.user_id`, from, through)
	err = each(rows, err, func(r scanner) error {
		var user core.UserID
		var p core.Spent
		err := r.Scan(&user, &p.Model, &p.Purpose, &p.Calls, &p.Prompt, &p.Cached, &p.Completion, &p.Amount)
		out[user] = out[user].And(core.Bill{p})
		return err
	})
	return out, wrap("add up usage", err)
}

// Grant grants a process tokens of a day; see store.UsageStore. The lock of user 0 serialises all processes.
func (s *Store) Grant(ctx context.Context, g store.Grant) (granted int, err error) {
	err = s.update(ctx, "grant", 0, func(t *tx) {
		var others, has, used int
		var until int64
		t.get(&others, `SELECT COALESCE(SUM(CASE WHEN until > $3 THEN granted ELSE used END), 0) FROM grants WHERE day = $1 AND worker <> $2`, g.Day, g.Worker, ms(g.Now))
		t.find(columns{&has, &used, &until}, `SELECT granted, used, until FROM grants WHERE day = $1 AND worker = $2`, g.Day,
			g.Worker)
		used = max(used, g.Used)
		if until <= ms(g.Now) {
			has = used // the lease has expired: others may have the rest by now
		}
		granted = max(has, used)
		granted += max(0, min(g.Want, g.PerDay-others-granted))
		t.exec(`DELETE FROM grants WHERE day < $1`, g.Now.UTC().AddDate(0, 0, -2).Format(time.DateOnly))
		t.exec(`INSERT INTO grants (day, worker, granted, used, until) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (day, worker) DO UPDATE SET granted = excluded.granted, used = excluded.used, until = excluded.until`,
			g.Day, g.Worker, granted, used, ms(g.Until))
	})
	return granted, err
}

// SpentAll returns the tokens of a day that all processes reported as used, and those that
// they were granted; see store.UsageStore.
func (s *Store) SpentAll(ctx context.Context, day string, now time.Time) (used, granted int, err error) {
	err = s.one(ctx).row(`SELECT COALESCE(SUM(used), 0), COALESCE(SUM(CASE WHEN until > $2 THEN granted ELSE used END), 0) FROM grants WHERE day = $1`, day, ms(now)).Scan(&used, &granted)
	return used, granted, wrap("read grants", err)
}
