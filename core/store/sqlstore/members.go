package sqlstore

import (
	"context"

	"github.com/everthread/everthread/core"
)

// Prefixes of the leases of live processes: those that claim work, and those that only finish
// theirs.
const (
	memberPrefix  = "process:"
	leavingPrefix = "leaving:"
)

// Versions of stored forms, kept as the fence of a membership. While a process is alive that
// does not know a form, nobody writes it.
const (
	leasesVersion = 2 // leases in rows
	headsVersion  = 3 // shared texts of heads, stored once
	memberVersion = headsVersion
)

// allKnow reports whether every live process has at least a version.
func (s *Store) allKnow(version int64) bool {
	oldest := s.oldest.Load()
	return oldest == 0 || oldest >= version
}

// withPrefix returns the condition that a lease's name begins with a prefix, which ends with a
// colon, in a form that an index supports.
func withPrefix(prefix string) string {
	return `name > '` + prefix + `' AND name < '` + prefix[:len(prefix)-1] + `;'`
}

// Join creates or renews a membership; see core.MemberStore.
func (s *Store) Join(ctx context.Context, m core.Membership) (live []string, freed int, err error) {
	own, other := memberPrefix, leavingPrefix
	if m.Leaving {
		own, other = other, own
	}
	oldest := int64(0)
	err = s.writeShared(ctx, "join", func(q querier) error {
		live, freed = nil, 0
		if _, err := q.exec(`INSERT INTO leases (name, worker, fence, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET until = excluded.until`, own+m.Worker, m.Worker, memberVersion,
			ms(m.Until)); err != nil {
			return err
		}
		if m.Leaving {
			if _, err := q.exec(`DELETE FROM leases WHERE name = $1`, other+m.Worker); err != nil {
				return err
			}
		}
		if freed, err = expireMembers(q, m); err != nil {
			return err
		}
		live, err = list(q, column[string], `SELECT worker FROM leases WHERE `+withPrefix(memberPrefix)+` ORDER BY name`)
		if err != nil {
			return err
		}
		return q.row(`SELECT MIN(fence) FROM leases WHERE ` + withPrefix(memberPrefix) + ` OR ` +
			withPrefix(leavingPrefix)).Scan(&oldest)
	})
	if err == nil {
		s.oldest.Store(oldest)
	}
	return live, freed, err
}

// expireMembers ends expired memberships and the leases of their jobs.
func expireMembers(q querier, m core.Membership) (freed int, err error) {
	for _, prefix := range []string{memberPrefix, leavingPrefix} {
		gone, err := list(q, column[string],
			`DELETE FROM leases WHERE `+withPrefix(prefix)+` AND until <= $1 RETURNING worker`, ms(m.Now))
		for worker := range until(&err, gone) {
			var n int
			n, err = endLeases(q, worker)
			freed += n
		}
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// Leave ends a membership; see core.MemberStore.
func (s *Store) Leave(ctx context.Context, worker string) error {
	return s.writeShared(ctx, "leave", func(q querier) error {
		if _, err := q.exec(`DELETE FROM leases WHERE name IN ($1, $2)`, memberPrefix+worker, leavingPrefix+worker); err != nil {
			return err
		}
		_, err := endLeases(q, worker)
		return err
	})
}

// Tell passes a topic to the Wakes of this process; see core.MemberStore.
func (s *Store) Tell(topic string) { s.bus.publish(topic) }
