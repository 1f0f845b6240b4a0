package storetest

import (
	"sync"
	"testing"

	"github.com/everthread/everthread/core"
)

// TestUsersTogether checks on an engine where users do not exclude each other that turns of many
// share commits, that a failed one affects no other, and that nobody waits for a user whose row
// somebody else has locked.
func TestUsersTogether(t *testing.T, open Open) {
	b := newBench(t, open)
	var people []*bench
	for n := range 20 {
		u, i := b.person("P"+itoa(n), core.RoleMember, itoa(300+n))
		people = append(people, b.as(u, i))
	}
	lock, err := b.DB().BeginTx(b.ctx, nil)
	b.must(err)
	_, err = lock.ExecContext(b.ctx, `SELECT 1 FROM users WHERE id = $1 FOR UPDATE`, people[0].user.ID)
	b.must(err)
	beside := *people[0] // what waits behind the user whose row is locked goes on, too
	beside.n += 50
	before := b.Commits()
	var behind, others sync.WaitGroup
	for n, p := range people {
		wait := &others
		if n == 0 {
			wait = &behind
		}
		wait.Go(func() { p.exchanges(3, n == 1) })
	}
	behind.Go(func() {
		if _, err := beside.Append(b.ctx, beside.batch(false)); err != nil {
			t.Errorf("append beside: %v", err)
		}
	})
	others.Wait()
	if commits := b.Commits() - before; commits >= 3*3*19*4/5 {
		t.Errorf("got %d commits for %d transactions, want them shared", commits, 3*3*19)
	}
	b.must(lock.Rollback())
	behind.Wait()
	for _, p := range people {
		p.wantTexts("0", "ok", "1", "ok", "2", "ok")
	}
	Check(t, b.DB())
}

// exchanges runs turns; with stale, another process tries to commit each of them, too.
func (b *bench) exchanges(turns int, stale bool) {
	for n := range turns {
		out, err := b.Append(b.ctx, b.batch(true, itoa(n)))
		if err != nil || out.Turn == nil {
			b.t.Errorf("append: %v, turn %v", err, out.Turn)
			return
		}
		if stale {
			other := *out.Turn
			other.Lease.Attempt++
			if _, err := b.Commit(b.ctx, b.reply(&other, "no"), nil); !isFenced(err) {
				b.t.Errorf("commit without the lease: %v", err)
			}
		}
		b.carry(out.Turn)
	}
}
