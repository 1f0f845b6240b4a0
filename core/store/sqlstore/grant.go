package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// Grant grants a process tokens of a day; see core.UsageStore. The lock of user 0 serialises
// all processes.
func (s *Store) Grant(ctx context.Context, g core.Grant) (granted int, err error) {
	err = s.update(ctx, "grant", 0, func(t *tx) error {
		var others, has, used int
		var until int64
		err := t.row(
			`SELECT COALESCE(SUM(CASE WHEN until > $3 THEN granted ELSE used END), 0) FROM grants WHERE day = $1 AND worker <> $2`, g.Day, g.Worker, ms(g.Now)).Scan(&others)
		if err != nil {
			return err
		}
		err = optional(t.row(`SELECT granted, used, until FROM grants WHERE day = $1 AND worker = $2`, g.Day,
			g.Worker).Scan(&has, &used, &until))
		if err != nil {
			return err
		}
		used = max(used, g.Used)
		if until <= ms(g.Now) {
			has = used // the lease has expired: others may have the rest by now
		}
		granted = max(has, used)
		granted += max(0, min(g.Want, g.PerDay-others-granted))
		if err := t.exec(`DELETE FROM grants WHERE day < $1`,
			g.Now.UTC().AddDate(0, 0, -2).Format(time.DateOnly)); err != nil {
			return err
		}
		return t.exec(`INSERT INTO grants (day, worker, granted, used, until) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (day, worker) DO UPDATE SET granted = excluded.granted, used = excluded.used, until = excluded.until`,
			g.Day, g.Worker, granted, used, ms(g.Until))
	})
	return granted, err
}

// SpentAll returns the tokens of a day that all processes reported as used, and those that
// they were granted; see core.UsageStore.
func (s *Store) SpentAll(ctx context.Context, day string, now time.Time) (used, granted int, err error) {
	err = s.one(ctx).row(
		`SELECT COALESCE(SUM(used), 0), COALESCE(SUM(CASE WHEN until > $2 THEN granted ELSE used END), 0) FROM grants WHERE day = $1`, day, ms(now)).Scan(&used, &granted)
	return used, granted, wrap("read grants", err)
}
