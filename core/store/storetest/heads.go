package storetest

import (
	"reflect"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

func headCases() []testCase {
	return []testCase{
		{"shared texts of heads are stored once", testHeadsShared},
		{"a head is whole while a process of an earlier version lives, and shared after", testHeadsWhole},
		{"a merge does not renumber shared texts of heads", testHeadsMerged},
	}
}

// ours is a shared part of the prompt.
const ours = "Numbers such as [#1] name messages."

// headed completes a turn whose epoch has shared and unshared parts.
func (b *bench) headed(word string) core.Epoch {
	b.t.Helper()
	t := b.turn("about " + word)
	e := core.Epoch{ID: t.ID, StartedAt: b.now, Start: b.message(t.Inputs[0]).Position, Budgets: "f"}
	e.Head = []core.HeadPart{
		{Name: core.PartInstructions, Text: "Be kind.", Tokens: 3},
		{Name: core.PartPolicy, Text: ours, Tokens: 9},
		{Name: core.PartStanding, Text: "Always: " + word, Tokens: 4},
		{Name: core.PartPolicy, Text: "Memory, " + word, Tokens: 5, Error: "cut from 9 to 5 tokens"},
		{Name: "last", Text: "[#1] was of " + word, Tokens: 6}}
	r := b.reply(t, "yes")
	r.Epoch = &e
	b.must(second(b.Commit(b.ctx, r, nil)))
	b.now = e.StartedAt
	return e
}

// headsAre checks that the store returns an epoch's head unchanged, also from a process without a
// cache.
func (b *bench) headsAre(want core.Epoch) {
	b.t.Helper()
	for _, s := range []Store{b.Store, b.open()} {
		got, err := s.Epoch(b.ctx, b.user.ID, want.ID)
		b.must(err)
		if !reflect.DeepEqual(got.Head, want.Head) {
			b.t.Errorf("got %+v, want %+v", got.Head, want.Head)
		}
	}
}

// holding counts the rows whose column contains a text.
func (b *bench) holding(table, column, text string) (n int) {
	b.t.Helper()
	b.must(b.DB().QueryRow(`SELECT COUNT(*) FROM `+table+` WHERE `+column+` LIKE $1`, "%"+text+"%").Scan(&n))
	return n
}

func testHeadsShared(b *bench) {
	v := b.second("Vera", "222")
	mine, hers := b.headed("heffalumps"), v.headed("woozles")
	b.headsAre(mine)
	v.headsAre(hers)
	equal(b, "texts", b.holding("heads", "body", ""), 2)
	equal(b, "epochs with a shared text", b.holding("epochs", "data", "Be kind."), 0)
	for _, word := range []string{"heffalumps", "woozles"} {
		equal(b, "shared words of a person", b.holding("heads", "body", word), 0)
	}
	v.must(second(v.DeleteUser(v.ctx, v.user.ID)))
	if left := Dump(b.t, b.DB()); strings.Contains(left, "woozles") {
		b.t.Errorf("words of a deleted user remain:\n%s", left)
	}
	b.headsAre(mine)
	turn := b.turn("and on")
	w, err := b.open().Window(b.ctx, turn, b.ongoing())
	b.must(err)
	if w.Epoch == nil || !reflect.DeepEqual(w.Epoch.Head, mine.Head) {
		b.t.Errorf("the window continues %+v", w.Epoch)
	}
}

// earlier starts or ends the lease of a process of an earlier version.
func (b *bench) earlier(there bool) {
	b.t.Helper()
	b.must(b.Leave(b.ctx, "old"))
	if there {
		_, err := b.DB().Exec(`INSERT INTO leases (name, worker, fence, until) VALUES ('process:old', 'old', 2, ` +
			itoa(int(b.now.Add(time.Hour).UnixMilli())) + `)`)
		b.must(err)
	}
	_, _, err := b.Join(b.ctx, core.Membership{Worker: b.claim().Worker, Now: b.now, Until: b.now.Add(time.Minute)})
	b.must(err)
}

func testHeadsWhole(b *bench) {
	b.earlier(true)
	v := b.second("Vera", "222")
	mine, hers := b.headed("heffalumps"), v.headed("woozles")
	equal(b, "texts beside it", b.holding("heads", "body", ""), 0)
	equal(b, "epochs that it can read", b.holding("epochs", "data", "Be kind."), 2)
	equal(b, "looked at beside it", one(b, b.ShareHeads, 100), 0)
	b.earlier(false)
	for _, want := range []int{1, 1, 0} {
		equal(b, "looked at", one(b, b.ShareHeads, 1), want)
	}
	equal(b, "texts", b.holding("heads", "body", ""), 2)
	equal(b, "epochs with a shared text", b.holding("epochs", "data", "Be kind."), 0)
	b.headsAre(mine)
	v.headsAre(hers)
}

func testHeadsMerged(b *bench) {
	v := b.second("Vera", "222")
	b.exchange("hello", "hi")
	v.headed("woozles")
	b.earlier(true)
	v.headed("heffalumps")
	b.now = v.now
	b.carryMove(v.merge(b.user.ID))
	merged := func(word string) {
		b.t.Helper()
		var id core.TurnID
		b.must(b.DB().QueryRow(`SELECT id FROM epochs WHERE user_id = $1 AND data LIKE '%`+word+`%'`, b.user.ID).Scan(&id))
		e, err := b.Epoch(b.ctx, b.user.ID, id)
		b.must(err)
		equal(b, "shared", e.Head[1].Text, ours)
		equal(b, "of the messages", e.Head[4].Text == "[#1] was of "+word, false)
	}
	merged("woozles")
	merged("heffalumps")
	b.earlier(false)
	equal(b, "looked at", one(b, b.ShareHeads, 100), 1)
	merged("heffalumps")
	equal(b, "texts", b.holding("heads", "body", ""), 2)
}
