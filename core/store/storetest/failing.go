package storetest

import (
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

func failingCases() []testCase {
	return []testCase{
		{"a transaction that fails at any statement returns that error and leaves nothing", testFailing},
		{"work that fails at any statement returns that error and leaves nothing", testFailingWork},
		{"a merge that fails at any statement leaves both users as they were", testFailingMerge},
	}
}

// failing is a process whose statements fail from one on.
type failing struct {
	bench
	from int // the number of the first failing statement
	step int // between two numbers that are tried
}

func newFailing(b *bench) *failing {
	f := &failing{bench: *b, step: 1}
	f.Store = b.open()
	f.Trace(func(_ string, args []any) {
		if len(args) == 0 {
			return
		}
		if f.from--; f.from == 0 {
			args[0] = make(chan int) // no database takes a channel
			f.from++
		}
	})
	return f
}

// fails runs a call with its first statement failing, then with a later one, and so on, until the
// call succeeds. It must not panic, hide the cause or change anything.
func (f *failing) fails(name string, call func() error) {
	f.t.Helper()
	before := Dump(f.t, f.DB())
	for n := 1; ; n += f.step {
		f.from = n
		err := call()
		f.from = 0
		if err == nil {
			if n == 1 {
				f.t.Errorf("%s: succeeds with all its statements failing", name)
			}
			return
		}
		if !strings.Contains(err.Error(), "chan int") {
			f.t.Errorf("%s: statement %d fails, and the error is %v", name, n, err)
			return
		}
		if !f.unchanged(before) {
			f.t.Errorf("%s: something changes although statement %d fails", name, n)
			return
		}
	}
}

// noted returns a call of Note with an effect.
func (f *failing) noted(e core.Effect) func() error {
	n := store.Note{User: f.user.ID, Identity: f.at.ID, Effects: []core.Effect{e}, Now: f.now}
	return func() error { _, err := f.Note(f.ctx, n); return err }
}

func testFailing(b *bench) {
	v, _ := b.second("Vera", "222").victim()
	q, a := b.exchange("first", "1")
	b.item("likes herons", q)
	r := b.remind("water the plants", "0 8 * * *", 0)
	f := newFailing(b)
	batch := f.batch(true, "one", "two")
	var t *core.Turn
	f.fails("append", func() error {
		out, err := f.Append(f.ctx, batch)
		t = out.Turn
		return err
	})
	reply, c := f.reply(t, "an answer", "in two parts"), f.claim()
	reply.Epoch = &store.Epoch{ID: t.ID, StartedAt: f.now, Start: 1, Budgets: "f"}
	reply.Effects = []core.Effect{effect.SetPlan{At: f.now, Plan: core.Plan{Kind: core.PlanReminder,
		ID: core.PlanID(one(b, b.NewID, b.user.ID)), Text: "tea", DueAt: f.now.Add(time.Hour), Zone: "UTC"}}}
	var d *core.Delivery
	f.fails("commit", func() error {
		out, err := f.Commit(f.ctx, reply, &c)
		d = out.Delivery
		return err
	})
	for n := range d.Parts {
		done := *d
		f.fails("finish part", func() error {
			_, err := f.FinishPart(f.ctx, &done, n, store.PartResult{State: core.DeliverySent,
				Receipt: core.Receipt{NativeID: itoa(n)}}, f.now)
			return err
		})
	}
	p := f.put(f.segment(), false, "so far", q, a)
	f.fails("put summary", func() error { return f.PutSummary(f.ctx, p) })
	target := f.native()
	f.fails("edit", func() error { return f.edit(target, "changed", "three") })
	f.fails("regenerate", f.noted(effect.Regenerate{Message: t.Inputs[1], At: f.now}))
	f.fails("redact", f.noted(effect.Redact{Message: q, At: f.now}))
	f.now = r.DueAt
	f.fails("fire", func() error { return f.fire(r, r.DueAt.Add(24*time.Hour)) })
	f.step = 10
	f.fails("delete user", func() error { _, err := f.DeleteUser(f.ctx, v.user.ID); return err })
}

func testFailingWork(b *bench) {
	q, a := b.exchange("first", "1")
	k := b.task("tell the news", "0 * * * *", 0)
	first := b.stranger("may I?")
	one(b, b.Hold, store.Hold{Event: first, Keep: true, Now: b.now, Code: &effect.Code{Kind: effect.CodePair, Hash: "H1",
		Hint: "ABCD", Address: first.Address, Name: "Grace", Created: b.now, Expires: b.now.Add(2 * time.Hour)}})
	f := newFailing(b)
	day, err := f.Unwindowed(f.ctx, f.user.ID, 100)
	b.must(err)
	f.fails("put windows", func() error {
		return f.PutWindows(f.ctx, store.PutWindows{User: f.user.ID, Segment: day.Segment, Closed: day.Closed, Config: config,
			Windows: []store.TextWindow{{First: q, Last: a, Tokens: 9}}, Through: a, Read: day.Messages, Now: f.now})
	})
	e := f.pending()[0]
	f.fails("put vectors", func() error {
		return f.PutVectors(f.ctx, f.user.ID, config, []store.EmbeddingResult{{Kind: e.Kind, ID: e.ID, Revision: e.Revision,
			Vector: vector(7)}}, f.now)
	})
	pages := store.PutPages{User: f.user.ID, Thread: f.continuous(), Lease: f.compressing(), Edits: f.pageList().Edits,
		Pages: []store.Page{f.pageOf("page", q, a)}, Now: f.now, Done: true}
	f.fails("put pages", func() error { return f.PutPages(f.ctx, pages) })
	batch := store.ImportBatch{User: f.user.ID, Summaries: true, Now: f.now, Messages: []store.ImportMessage{
		f.line(50*time.Hour, core.RoleUser, "a"), f.line(49*time.Hour, core.RoleAssistant, "b")}}
	f.fails("import", func() error { _, err := f.Import(f.ctx, batch); return err })
	f.fails("approve", f.noted(effect.Approve{CodeHash: "H1", At: f.now}))
	f.now = f.now.Add(61 * time.Minute)
	fire := f.fires(k, k.DueAt.Add(time.Hour))
	f.fails("fire a task", func() error { return f.FirePlan(f.ctx, fire) })
	ref, c := f.only(turns), f.claim()
	var t *core.Turn
	f.fails("claim turn", func() (err error) { t, _, err = f.ClaimTurn(f.ctx, ref, c, store.Budget{}); return err })
	d := f.answer(t, "the news").Delivery
	f.finish(d, 0, sentAs("w1"))
	receipt, _ := f.inbound("")
	receipt.NativeID, receipt.Kind, receipt.Target = "", core.InReceipt, "w1"
	receipt.Status = &core.Status{State: core.DeliveryFailed, Error: "no such person"}
	f.fails("settle", func() error {
		_, err := f.Settle(f.ctx, f.user.ID, f.at.ID, receipt, f.now)
		return err
	})
	f.fails("redeliver", func() error { return f.Redeliver(f.ctx, f.user.ID, d.ID, f.now) })
}

func testFailingMerge(b *bench) {
	v, _ := b.second("Vera", "222").victim()
	b.exchange("first", "1")
	id := v.merge(b.user.ID)
	f := newFailing(b)
	f.step = fulltest.Size(25, 1)
	for phase := store.MergeAsked; phase == store.MergeAsked && !b.t.Failed(); {
		f.fails("carry", func() error {
			m, wait, err := f.Carry(f.ctx, id, f.now)
			if err == nil {
				phase = m.Phase
				f.now = f.now.Add(max(wait, 10*time.Second))
			}
			return err
		})
	}
	b.gone(v.user.ID)
	Check(b.t, b.DB())
}
