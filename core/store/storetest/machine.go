package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// testMachine runs random histories of users, workers and crashes.
func testMachine(t *testing.T, open Open) {
	for seed := range fulltest.Size[uint64](1, 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newMachine(t, open, seed)
			for range 250 {
				m.step()
			}
			m.settle()
			m.verify()
			Check(t, m.b.DB())
		})
	}
}

// machine simulates users who write, and workers who answer and crash.
type machine struct {
	b       *bench
	r       *rand.Rand
	people  []*bench
	workers []*worker
	said    map[core.UserID][]string // texts in order of arrival
	gone    map[string]bool          // redacted texts
	natives map[core.UserID][]string
	sends   []send
}

// worker is a worker with the turn or delivery that it holds.
type worker struct {
	store    Store
	turn     *core.Turn
	delivery *core.Delivery
}

// send is one part that was passed to the service.
type send struct {
	user      core.UserID
	delivery  core.DeliveryID
	n         int
	address   string
	confirmed bool
}

func newMachine(t *testing.T, open Open, seed uint64) *machine {
	b := newBench(t, open)
	m := &machine{b: b, r: rand.New(rand.NewPCG(seed, 7)), said: map[core.UserID][]string{}, gone: map[string]bool{},
		natives: map[core.UserID][]string{}}
	m.people = []*bench{b}
	for n := range 2 {
		u, i := b.person("P"+itoa(n), core.RoleMember, itoa(200+n))
		m.people = append(m.people, b.as(u, i))
	}
	second := b.open()
	for n := range 4 {
		s := b.Store
		if n%2 == 1 {
			s = second
		}
		m.workers = append(m.workers, &worker{store: s})
	}
	return m
}

// step does one random thing.
func (m *machine) step() {
	p := m.people[m.r.IntN(len(m.people))]
	p.now = m.b.now
	w := m.workers[m.r.IntN(len(m.workers))]
	switch n := m.r.IntN(100); {
	case n < 25:
		m.write(p, w)
	case n < 30:
		m.disturb(p)
	case n < 33:
		*w = worker{store: w.store} // it dies; its leases expire
	case n < 36:
		m.b.now = m.b.now.Add(time.Duration(m.r.IntN(90)) * time.Second)
	default:
		m.b.now = m.b.now.Add(time.Duration(m.r.IntN(300)) * time.Millisecond)
		m.work(w)
	}
}

// write sends one to three messages, sometimes repeatedly.
func (m *machine) write(p *bench, w *worker) {
	var texts []string
	for range 1 + m.r.IntN(3) {
		texts = append(texts, fmt.Sprintf("u%d says %d", p.user.ID, len(m.said[p.user.ID])))
		m.said[p.user.ID] = append(m.said[p.user.ID], texts[len(texts)-1])
	}
	a := p.batch(m.r.IntN(2) == 0 && w.turn == nil, texts...)
	if m.r.IntN(4) == 0 {
		a.RunAt = p.now.Add(700 * time.Millisecond)
	}
	if m.r.IntN(6) == 0 { // the result of a client's tool call
		last := &a.Messages[len(a.Messages)-1]
		last.Role, last.ToolCallID, last.ToolName = core.RoleTool, "c", "theirs"
	}
	for _, e := range a.Events {
		m.natives[p.user.ID] = append(m.natives[p.user.ID], e.NativeID)
	}
	if out := one(p, w.store.Append, a); out.Turn != nil {
		w.turn = out.Turn
	}
	if m.r.IntN(5) == 0 {
		if out := one(p, w.store.Append, a); len(out.Messages) != 0 || out.Turn != nil {
			m.b.t.Errorf("a repeat was stored: %+v", out)
		}
	}
}

// disturb edits or redacts a message, or stops or retries a turn.
func (m *machine) disturb(p *bench) {
	n := len(m.said[p.user.ID])
	if n == 0 {
		return
	}
	n = m.r.IntN(n)
	switch m.r.IntN(4) {
	case 0:
		p.must(p.edit(m.natives[p.user.ID][n], fmt.Sprintf("edit%d-%d", p.user.ID, m.r.Int64()), m.said[p.user.ID][n]))
	case 1:
		id, err := p.Referred(p.ctx, p.user.ID, p.at.ID, m.natives[p.user.ID][n])
		p.must(err)
		m.gone[m.said[p.user.ID][n]] = true
		p.effects(effect.Redact{Message: id, At: p.now})
	case 2:
		p.effects(effect.StopTurn{})
	default:
		p.effects(effect.RetryTurn{At: p.now})
	}
}

// work makes a worker do one step of its work.
func (m *machine) work(w *worker) {
	b := *m.b
	b.Store = w.store
	switch {
	case w.delivery != nil:
		m.deliver(&b, w)
	case w.turn != nil:
		m.answer(&b, w)
	default:
		m.find(&b, w)
	}
}

// find claims a due job.
func (m *machine) find(b *bench, w *worker) {
	refs := b.due(turns, deliveries)
	if len(refs) == 0 {
		return
	}
	ref := refs[m.r.IntN(len(refs))]
	var err error
	if ref.Queue == turns {
		w.turn, _, err = b.ClaimTurn(b.ctx, ref, b.claim(), store.Budget{})
	} else {
		w.delivery, err = b.ClaimDelivery(b.ctx, ref, b.claim())
	}
	b.must(err)
}

// answer ends a worker's turn with a reply, a failure or a retry.
func (m *machine) answer(b *bench, w *worker) {
	t := w.turn
	w.turn = nil
	if win, err := b.Window(b.ctx, t, query()); err != nil ||
		!slices.IsSortedFunc(win.Messages, func(x, y core.Message) int { return int(x.Position - y.Position) }) {
		b.t.Errorf("window: %v", err)
	}
	r := b.reply(t, "re 1", "re 2")
	var err error
	switch m.r.IntN(10) {
	case 0:
		err = b.RetryTurn(b.ctx, t, b.now.Add(2*time.Second), "down")
	case 1:
		r.State, r.Messages, r.Deliveries, r.Snapshot = core.TurnFailed, nil, nil, nil
		_, err = b.Commit(b.ctx, r, nil)
	default:
		var out store.Committed
		c := b.claim()
		out, err = b.Commit(b.ctx, r, &c)
		w.delivery = out.Delivery
	}
	if err != nil && !isFenced(err) {
		b.t.Error(err)
	}
}

// deliver sends one part, and stores the result unless the worker dies before that.
func (m *machine) deliver(b *bench, w *worker) {
	d := w.delivery
	n := slices.IndexFunc(d.Parts, func(p core.DeliveryPart) bool {
		return p.State == core.DeliverySending || p.State == core.DeliveryUnknown
	})
	if n < 0 || b.now.After(d.Lease.Until) {
		w.delivery = nil // a worker without the lease must not send
		return
	}
	m.sends = append(m.sends, send{user: d.User, delivery: d.ID, n: n, address: d.To.String()})
	if m.r.IntN(12) == 0 {
		w.delivery = nil // it dies before it stores the service's confirmation
		return
	}
	r := store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: fmt.Sprintf("s%d", len(m.sends))}}
	if m.r.IntN(10) == 0 {
		r = store.PartResult{State: core.DeliveryPending, RetryAt: b.now.Add(time.Second)}
	}
	more, err := b.FinishPart(b.ctx, d, n, r, b.now)
	if err != nil && !isFenced(err) {
		b.t.Error(err)
	}
	if err == nil && r.State == core.DeliverySent {
		m.sends[len(m.sends)-1].confirmed = true
	}
	if !more {
		w.delivery = nil
	}
}

// settle runs healthy workers until everything is finished.
func (m *machine) settle() {
	for _, w := range m.workers {
		*w = worker{store: w.store}
	}
	for _, p := range m.people {
		p.now = m.b.now
		p.effects(effect.RetryTurn{At: p.now})
	}
	m.r = rand.New(rand.NewPCG(1, 99))
	for range 4000 {
		m.b.now = m.b.now.Add(2 * time.Second)
		for _, w := range m.workers {
			m.work(w)
		}
		if m.idle() {
			return
		}
		for _, p := range m.people { // failures return inputs
			p.now = m.b.now
			if log, err := p.Backlog(p.ctx, p.user.ID, 0); err == nil && log.Pending > 0 && !log.Turn {
				p.effects(effect.RetryTurn{At: p.now})
			}
		}
	}
	m.b.t.Fatal("the machine does not settle")
}

func (m *machine) idle() bool {
	stats, err := m.b.QueueStats(m.b.ctx)
	m.b.must(err)
	for _, p := range m.people {
		log, err := p.Backlog(p.ctx, p.user.ID, 0)
		p.must(err)
		if log.Pending > 0 || log.Turn {
			return false
		}
	}
	return len(stats) == 0 && !slices.ContainsFunc(m.workers, func(w *worker) bool {
		return w.turn != nil ||
			w.delivery != nil
	})
}

// verify checks that no message was lost, duplicated or moved.
func (m *machine) verify() {
	for _, p := range m.people {
		m.verifyTranscript(p)
		m.verifyTurns(p)
	}
	m.verifySends()
}

func (m *machine) verifyTranscript(p *bench) {
	all, err := p.History(p.ctx, p.user.ID, 0, 0, 1000)
	p.must(err)
	var got []string
	for _, msg := range all {
		if msg.Role != core.RoleAssistant && !msg.Redacted {
			got = append(got, msg.Text)
		}
	}
	var want []string
	for _, text := range m.said[p.user.ID] {
		if !m.gone[text] {
			want = append(want, text)
		}
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("user %d: got %q, want %q", p.user.ID, got, want)
	}
}

func (m *machine) verifyTurns(p *bench) {
	all, err := p.Turns(p.ctx, p.user.ID, 100_000)
	p.must(err)
	rows, err := p.DB().Query(
		`SELECT turn_id, COUNT(*) FROM messages WHERE user_id = $1 AND role = 'assistant' AND turn_id > 0 GROUP BY turn_id`,
		p.user.ID)
	p.must(err)
	defer rows.Close()
	replies := map[core.TurnID]int{}
	for rows.Next() {
		var id core.TurnID
		var n int
		p.must(rows.Scan(&id, &n))
		replies[id] = n
	}
	p.must(rows.Err())
	for _, t := range all {
		want := 0
		if t.State == core.TurnDone {
			want = 1
		}
		equal(p, fmt.Sprintf("replies of turn %d (%s)", t.ID, t.State), replies[t.ID], want)
	}
}

func (m *machine) verifySends() {
	confirmed := map[string]bool{}
	last := map[string]send{}
	for _, s := range m.sends {
		key := fmt.Sprint(s.user, s.delivery, s.n)
		if confirmed[key] {
			m.b.t.Errorf("a confirmed part was sent again: %+v", s)
		}
		confirmed[key] = s.confirmed
		if l, ok := last[s.address]; ok && (l.delivery > s.delivery || l.delivery == s.delivery && l.n > s.n) {
			m.b.t.Errorf("out of order: %+v after %+v", s, l)
		}
		last[s.address] = s
	}
}

// testTogether writes, answers and delivers concurrently.
func testTogether(t *testing.T, open Open) {
	b := newBench(t, open)
	second := b.open()
	var people []*bench
	for n := range 4 {
		u, i := b.person("P"+itoa(n), core.RoleMember, itoa(200+n))
		people = append(people, b.as(u, i))
	}
	var wg sync.WaitGroup
	for n := range 12 {
		p := *people[n%len(people)]
		p.n += 100_000 * (n + 1)
		if n%2 == 1 {
			p.Store = second
		}
		wg.Go(func() {
			for k := range 10 {
				out := p.say(k%2 == 0, fmt.Sprintf("%d/%d", n, k))
				if out.Turn != nil {
					p.carry(out.Turn)
				}
			}
		})
	}
	wg.Wait()
	for refs := b.due(turns); len(refs) > 0; refs = b.due(turns) {
		turn, _, err := b.ClaimTurn(b.ctx, refs[0], b.claim(), store.Budget{})
		b.must(err)
		b.carry(turn)
	}
	for _, p := range people {
		seen := map[string]int{}
		for _, text := range p.texts() {
			seen[text]++
		}
		equal(b, "texts and answers", len(seen), 31)
	}
	Check(t, b.DB())
}

// carry commits a reply to a turn; an unclaimed delivery is left to others.
func (b *bench) carry(t *core.Turn) {
	c := b.claim()
	out, err := b.Commit(b.ctx, b.reply(t, "ok"), &c)
	if err != nil {
		b.t.Error(err)
		return
	}
	if out.Delivery != nil {
		if _, err := b.FinishPart(b.ctx, out.Delivery, 0, store.PartResult{State: core.DeliverySent}, b.now); err != nil {
			b.t.Error(err)
		}
	}
}

func isFenced(err error) bool { return errors.Is(err, core.ErrFenced) }
