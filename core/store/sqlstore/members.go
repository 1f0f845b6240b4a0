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
	err = s.writeShared(ctx, "join", func(t *transaction) {
		t.exec(`INSERT INTO leases (name, worker, fence, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET until = excluded.until`, own+m.Worker, m.Worker, memberVersion, ms(m.Until))
		if m.Leaving {
			t.exec(`DELETE FROM leases WHERE name = $1`, other+m.Worker)
		}
		freed = t.expireMembers(m)
		live = listOf(t, column[string], `SELECT worker FROM leases WHERE `+withPrefix(memberPrefix)+` ORDER BY name`)
		t.get(&oldest, `SELECT MIN(fence) FROM leases WHERE `+withPrefix(memberPrefix)+` OR `+withPrefix(leavingPrefix))
	})
	if err == nil {
		s.oldest.Store(oldest)
	}
	return live, freed, err
}

// expireMembers ends expired memberships and the leases of their jobs.
func (t *transaction) expireMembers(m core.Membership) (freed int) {
	for _, prefix := range []string{memberPrefix, leavingPrefix} {
		for _, worker := range listOf(t, column[string],
			`DELETE FROM leases WHERE `+withPrefix(prefix)+` AND until <= $1 RETURNING worker`, ms(m.Now)) {
			freed += t.endLeases(worker)
		}
	}
	return freed
}

// Leave ends a membership; see core.MemberStore.
func (s *Store) Leave(ctx context.Context, worker string) error {
	return s.writeShared(ctx, "leave", func(t *transaction) {
		t.exec(`DELETE FROM leases WHERE name IN ($1, $2)`, memberPrefix+worker, leavingPrefix+worker)
		t.endLeases(worker)
	})
}

// Tell passes a topic to the Wakes of this process; see core.MemberStore.
func (s *Store) Tell(topic string) { s.bus.publish(topic) }
