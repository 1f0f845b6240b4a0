// Package storetest is the contract of core.Store as a suite that every engine
// passes. Test runs it; each case is named as a sentence of the contract.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// Open opens an empty, migrated store for one test.
type Open func(t *testing.T) core.Store

// Test runs the whole suite.
func Test(t *testing.T, open Open) {
	t.Run("road", func(t *testing.T) { testRoad(t, open) })
}

// start is the moment at which every test begins.
func start() time.Time { return time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC) }

// bench is a store with a person in it.
type bench struct {
	core.Store
	t    *testing.T
	ctx  context.Context
	user core.User
	at   core.Identity
	now  time.Time
	n    int
}

func newBench(t *testing.T, open Open) *bench {
	b := &bench{Store: open(t), t: t, ctx: t.Context(), now: start()}
	b.user, b.at = b.person("Ada", core.RoleOwner, "111")
	return b
}

// person makes a user with one telegram identity.
func (b *bench) person(name string, role core.UserRole, external string) (core.User, core.Identity) {
	b.t.Helper()
	u, err := b.AddUser(b.ctx, core.User{Name: name, Role: role, CreatedAt: b.now})
	must(b.t, err)
	i, err := b.AddIdentity(b.ctx, core.Identity{User: u.ID, Name: name, LastUsed: b.now,
		Address: core.Address{Channel: "telegram", Account: "42", External: external}})
	must(b.t, err)
	return u, i
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inbound is a message of the bench's person with its event.
func (b *bench) inbound(text string) (core.Inbound, core.NewMessage) {
	b.n++
	id := "m" + string(rune('0'+b.n/100)) + string(rune('0'+b.n/10%10)) + string(rune('0'+b.n%10))
	return core.Inbound{Address: b.at.Address, EventID: id, Kind: core.InMessage, NativeID: id, Text: text, SentAt: b.now, Raw: []byte(`{"t":"` + text + `"}`)},
		core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: len(text) / 4, SentAt: b.now, Day: dayOf(b.now)}
}

func dayOf(t time.Time) core.Day {
	s := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	e := s.AddDate(0, 0, 1)
	return core.Day{Label: s.Format(time.DateOnly), Zone: "UTC", Start: s, End: e, Finalize: e.Add(3 * time.Hour), Post: e.Add(8 * time.Hour)}
}

func (b *bench) claim() core.Claim {
	return core.Claim{Worker: "w1", Now: b.now, Until: b.now.Add(time.Minute)}
}

// say appends messages; with claim their turn is claimed at once.
func (b *bench) say(claim bool, texts ...string) core.Appended {
	b.t.Helper()
	a := core.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now}
	for _, text := range texts {
		e, m := b.inbound(text)
		a.Events, a.Messages = append(a.Events, e), append(a.Messages, m)
	}
	if claim {
		c := b.claim()
		a.Claim = &c
	}
	out, err := b.Append(b.ctx, a)
	must(b.t, err)
	return out
}

// answer commits a reply to a turn with one delivery.
func (b *bench) answer(t *core.Turn, text string) core.Committed {
	b.t.Helper()
	c := b.claim()
	out, err := b.Commit(b.ctx, core.Reply{Turn: t, State: core.TurnDone, Now: b.now, Day: dayOf(b.now).Label, Snapshot: &core.Snapshot{Strategy: "continuous"},
		Messages:   []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: text, Tokens: 5, SentAt: b.now}},
		Deliveries: []core.NewDelivery{{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply, Parts: []core.Part{{Text: text}}}}}, &c)
	must(b.t, err)
	return out
}

func testRoad(t *testing.T, open Open) {
	b := newBench(t, open)
	out := b.say(true, "hello", "are you there?")
	if out.Turn == nil || len(out.Turn.Inputs) != 2 {
		t.Fatalf("got %+v, want a claimed turn with two inputs", out)
	}
	w, err := b.Window(b.ctx, out.Turn, core.WindowQuery{Tokens: 1000, Limit: 100})
	must(t, err)
	if len(w.Messages) != 2 || w.Today.ID == 0 {
		t.Fatalf("got %d messages, segment %d", len(w.Messages), w.Today.ID)
	}
	done := b.answer(out.Turn, "yes")
	if done.Delivery == nil || done.Delivery.Parts[0].State != core.DeliverySending {
		t.Fatalf("got %+v, want a claimed delivery", done)
	}
	more, err := b.FinishPart(b.ctx, done.Delivery, 0, core.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: "n1"}}, b.now)
	must(t, err)
	if more {
		t.Error("got more parts, want none")
	}
	refs, _, err := b.Due(b.ctx, []string{core.QueueTurn, core.QueueDeliver + "telegram"}, b.now, 10)
	must(t, err)
	if len(refs) != 0 {
		t.Errorf("got jobs %v, want none", refs)
	}
	h, err := b.History(b.ctx, b.user.ID, 0, 0, 10)
	must(t, err)
	if len(h) != 3 || h[2].Text != "yes" {
		t.Errorf("got history %v", h)
	}
}
