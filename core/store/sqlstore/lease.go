package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// A turn or delivery that is claimed as it is stored keeps its lease in its own row, which
// saves writing a job and deleting it. Such a lease is used as long as all goes well: a
// transaction that looks at its user's jobs makes a job of it first, under the row's own
// id, and so does a process that notices that the holder ended. What runs with every turn knows
// both forms; see updateLeased.

// lease is one that its own row keeps.
type lease struct {
	user   core.UserID
	id     int64 // of the turn or delivery
	thread core.ThreadID
	to     core.Address // of a delivery
	worker string
	until  int64
	since  int64
}

// ownLeases reads leases: columns of leases that are kept by turns and by deliveries.
const ownLeases = `SELECT user_id, id, thread_id, '' AS channel, '' AS account, '' AS external, worker, lease_until, started_at
		FROM turns WHERE state = 'running' AND lease_until > 0`
const ownSending = ` UNION ALL SELECT user_id, id, 0, channel, account, external, worker, lease_until, created_at
		FROM deliveries WHERE ` + underWay + ` AND lease_until > 0`

func scanLease(r scanner) (l lease, err error) {
	return l, r.Scan(&l.user, &l.id, &l.thread, &l.to.Channel, &l.to.Account, &l.to.External, &l.worker, &l.until,
		&l.since)
}

// toLeases returns what reads those of a user.
func (t *tx) toLeases() Statement {
	t.leases = nil
	return Statement{Query: ownLeases + ` AND user_id = $1` + ownSending + ` AND user_id = $1`, Args: []any{t.user},
		All: func(r Row) error {
			l, err := scanLease(r)
			t.leases = append(t.leases, l)
			return err
		}}
}

// enter locks the user's row, reads what is to be read with it, and makes jobs of the
// leases that rows of the user keep.
func (t *tx) enter(first ...Statement) error {
	if t.free {
		return nil
	}
	ask := append([]Statement{t.lock()}, first...)
	if t.user != 0 && !t.knowsLeases {
		ask = append(ask, t.toLeases())
	}
	if err := t.ask(ask...); err != nil {
		return err
	}
	return t.makeJobs()
}

// leasesAsJobs is for a transaction that knows leases, before it looks at jobs.
func (t *tx) leasesAsJobs() error {
	if !t.knowsLeases {
		return nil
	}
	t.knowsLeases = false
	if err := t.ask(t.toLeases()); err != nil {
		return err
	}
	return t.makeJobs()
}

// keptLease follows a row that keeps its lease: where others do not know of such leases a
// job is made of it.
func (t *tx) keptLease() error {
	if t.s.allKnow(leasesVersion) {
		return nil
	}
	return t.leasesAsJobs()
}

func (t *tx) makeJobs() error {
	for _, l := range t.leases {
		if err := makeJob(t.count, l, l.until); err != nil {
			return err
		}
	}
	t.leases = nil
	return nil
}

// makeJob makes the job of a lease, held until then, if nobody else did.
func makeJob(count func(query string, args ...any) (int64, error), l lease, until int64) error {
	table, job := "turns", turnJob(l.thread, at(l.since))
	if l.to.Channel != "" {
		table, job = "deliveries", deliveryJob(l.to, core.DeliveryID(l.id), at(l.since))
	}
	n, err := count(`UPDATE `+table+` SET lease_until = 0 WHERE user_id = $1 AND id = $2 AND lease_until > 0`, l.user, l.id)
	if err != nil || n == 0 {
		return err
	}
	job.User, job.Ref = l.user, l.id
	_, err = count(insertJob, jobRow(job, core.JobID(l.id), core.JobRunning, core.Lease{Attempt: 1, Until: at(until)},
		l.worker)...)
	return err
}

// overdue is how often a process looks for leases that rows keep beyond their time.
const overdue = 30 * time.Second

// lapse makes jobs of leases that rows keep beyond their time, now and then.
func (s *Store) lapse(ctx context.Context, now time.Time) error {
	last := s.lapsed.Load()
	if now.UnixMilli()-last < overdue.Milliseconds() || !s.lapsed.CompareAndSwap(last, now.UnixMilli()) {
		return nil
	}
	rows, err := s.one(ctx).rows(ownLeases+` AND lease_until <= $1`+ownSending+` AND lease_until <= $1`, ms(now))
	over, err := collect(rows, err, scanLease)
	if err != nil || len(over) == 0 {
		return err
	}
	return s.writeShared(ctx, "end leases", func(q querier) error { return q.endLeases(over) })
}

// endLeases makes jobs of leases that are over, which anybody may take.
func (q querier) endLeases(over []lease) error {
	for _, l := range over {
		if err := makeJob(q.count, l, 0); err != nil {
			return err
		}
	}
	return nil
}

// endLeases ends the leases of a process, and says how many there were; of all without one.
func endLeases(q querier, worker string) (int, error) {
	mine, args := ``, []any(nil)
	if worker != "" {
		mine, args = ` AND worker = $1`, []any{worker}
	}
	rows, err := q.rows(ownLeases+mine+ownSending+mine, args...)
	kept, err := collect(rows, err, scanLease)
	if err != nil {
		return 0, err
	}
	if err := q.endLeases(kept); err != nil {
		return 0, err
	}
	n, err := q.count(`UPDATE jobs SET lease_until = 0 WHERE state = 'running'`+mine, args...)
	return int(n), err
}
