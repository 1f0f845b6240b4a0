package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// A turn or delivery that is claimed as it is stored keeps its lease in its own row, which
// saves the insertion and deletion of a job. A transaction that reads its user's jobs first
// converts such a lease to a job, with the row's id; so does a process that notices that the
// holder has ended. Transactions that run with every turn handle both forms (knowsLeases).

// lease is a lease kept in the row of a turn or delivery.
type lease struct {
	user   core.UserID
	id     int64 // of the turn or delivery
	thread core.ThreadID
	to     core.Address // of a delivery
	worker string
	until  int64
	since  int64
}

// ownLeases and ownSending select the leases in rows of turns and of deliveries.
const ownLeases = `SELECT user_id, id, thread_id, '' AS channel, '' AS account, '' AS external, worker, lease_until, started_at
		FROM turns WHERE state = 'running' AND lease_until > 0`
const ownSending = ` UNION ALL SELECT user_id, id, 0, channel, account, external, worker, lease_until, created_at
		FROM deliveries WHERE ` + underWay + ` AND lease_until > 0`

func scanLease(r scanner) (l lease, err error) {
	return l, r.Scan(&l.user, &l.id, &l.thread, &l.to.Channel, &l.to.Account, &l.to.External, &l.worker, &l.until,
		&l.since)
}

// readLeases returns the statement that reads the leases in the user's rows.
func (t *tx) readLeases() Statement {
	t.leases = nil
	return Statement{Query: ownLeases + ` AND user_id = $1` + ownSending + ` AND user_id = $1`, Args: []any{t.user},
		All: func(r Row) error {
			l, err := scanLease(r)
			t.leases = append(t.leases, l)
			return err
		}}
}

// enter locks the user's row, reads first with it, and converts the leases in the user's
// rows to jobs, unless t knows them.
func (t *tx) enter(first ...Statement) {
	if t.unlocked {
		return
	}
	ask := append([]Statement{t.lock()}, first...)
	if t.user != 0 && !t.knowsLeases {
		ask = append(ask, t.readLeases())
	}
	t.ask(ask...)
	t.makeJobs()
}

// keepable reports whether the job of a key may be a lease in a row: of a turn, or of a delivery.
func keepable(key string) bool {
	_, delivery := core.ParseAddressKey(key)
	return delivery || strings.HasPrefix(key, "thread:")
}

// leasesAsJobs converts leases to jobs in a transaction that knows them, before it reads jobs.
func (t *tx) leasesAsJobs() {
	if !t.knowsLeases {
		return
	}
	t.knowsLeases = false
	t.ask(t.readLeases())
	t.makeJobs()
}

func (t *tx) makeJobs() {
	for _, l := range t.leases {
		t.makeJob(l, l.until)
	}
	t.leases = nil
}

// makeJob converts a lease to a job that is held until `until`, unless somebody else has.
func (t *transaction) makeJob(l lease, until int64) {
	table, job := "turns", turnJob(l.thread, at(l.since))
	if l.to.Channel != "" {
		table, job = "deliveries", deliveryJob(l.to, core.DeliveryID(l.id), at(l.since))
	}
	job.User, job.Ref = l.user, l.id
	if t.count(`UPDATE `+table+` SET lease_until = 0 WHERE user_id = $1 AND id = $2 AND lease_until > 0`, l.user, l.id) > 0 {
		t.exec(insertJob, jobRow(job, core.JobID(l.id), core.JobRunning, core.Lease{Attempt: 1, Until: at(until)},
			l.worker)...)
	}
}

// overdue is how often a process looks for expired leases in rows.
const overdue = 30 * time.Second

// lapse converts expired leases in rows to jobs, at most once per overdue.
func (s *Store) lapse(ctx context.Context, now time.Time) error {
	last := s.lapsed.Load()
	if now.UnixMilli()-last < overdue.Milliseconds() || !s.lapsed.CompareAndSwap(last, now.UnixMilli()) {
		return nil
	}
	const expired = ` AND lease_until <= $1`
	over, err := list(s.one(ctx), scanLease, ownLeases+expired+ownSending+expired, ms(now))
	if err != nil || len(over) == 0 {
		return err
	}
	return s.writeShared(ctx, "end leases", func(t *transaction) { t.lapsed(over) })
}

// lapsed converts leases to jobs that anybody may claim.
func (t *transaction) lapsed(over []lease) {
	for _, l := range over {
		t.makeJob(l, 0)
	}
}

// endLeases ends the leases of a worker (empty: of all) and returns their number.
func (t *transaction) endLeases(worker string) int {
	mine, args := ``, []any(nil)
	if worker != "" {
		mine, args = ` AND worker = $1`, []any{worker}
	}
	t.lapsed(listOf(t, scanLease, ownLeases+mine+ownSending+mine, args...))
	return int(t.count(`UPDATE jobs SET lease_until = 0 WHERE state = 'running'`+mine, args...))
}
