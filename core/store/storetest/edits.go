package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func editCases() []testCase {
	return []testCase{
		{"an edit of a message never seen is ErrNotFound", func(b *bench) {
			err := b.edit("nothing", "x", "new")
			equal(b, "not found", errors.Is(err, core.ErrNotFound), true)
		}},
		{"an edit keeps the earlier text as a revision, once", testEdit},
		{"an edit of a running turn restarts it", testEditRunning},
		{"an edit of an unanswered message begins a turn", testEditUnanswered},
		{"an edit of a covered message makes its day stale", testEditCovered},
		{"an edit moves no other message of that id", testEditOther},
	}
}

// edit applies an edit event.
func (b *bench) edit(target, event, text string) error {
	return b.Edit(b.ctx, b.user.ID, b.at.ID, core.Inbound{Address: b.at.Address, EventID: event, Kind: core.InEdit,
		Target: target, Text: text, Raw: []byte(text)},
		core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 7}, b.now)
}

// native returns the native id of the bench's last message.
func (b *bench) native() string {
	e, _ := b.inbound("")
	b.n--
	return strings.TrimSuffix(e.NativeID, e.NativeID[strings.LastIndex(e.NativeID, "-"):]) + "-" + itoa(b.n)
}

func testEdit(b *bench) {
	id := b.say(false, "helo").Messages[0]
	target := b.native()
	for range 2 {
		b.must(b.edit(target, "e1", "hello"))
	}
	m := b.message(id)
	equal(b, "text", m.Text, "hello")
	equal(b, "revision", m.Revision, 1)
	equal(b, "tokens", m.Tokens, 7)
	b.must(b.edit(target, "e2", "hello"))
	equal(b, "revision after the same text", b.message(id).Revision, 1)
	if !strings.Contains(Dump(b.t, b.DB()), "revision=0 body=helo") {
		b.t.Error("the earlier text is not kept")
	}
	found, err := b.Referred(b.ctx, b.user.ID, b.at.ID, target)
	b.must(err)
	equal(b, "referred", found, id)
}

func testEditRunning(b *bench) {
	t := b.turn("helo")
	b.must(b.edit(b.native(), "e1", "hello"))
	f, err := b.Flags(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "flags", f, store.TurnFlags{Restart: 1})
	b.answer(t, "hi")
	b.must(b.edit(b.native(), "e2", "hello!"))
	f, err = b.Flags(b.ctx, b.user.ID, t.ID)
	b.must(err)
	equal(b, "flags afterwards", f, store.TurnFlags{Restart: 1})
}

func testEditUnanswered(b *bench) {
	t := b.turn("a word that is refused")
	target := b.native()
	_, err := b.Commit(b.ctx, store.Reply{Turn: t, State: core.TurnFailed, Now: b.now, Day: dayOf(b.now).Label,
		Error: "refused"}, nil)
	b.must(err)
	equal(b, "turns that are due", len(b.due(core.QueueTurn)), 0)
	b.must(b.edit(target, "e1", "another word"))
	equal(b, "turns that are due after the edit", len(b.due(core.QueueTurn)), 1)
	b.must(b.edit(target, "e2", "yet another"))
	equal(b, "inputs", len(b.take().Inputs), 1)
	equal(b, "turns that are due in the end", len(b.due(core.QueueTurn)), 0)
}

func testEditCovered(b *bench) {
	id, _ := b.exchange("helo", "hi")
	target := b.native()
	b.summary(b.segment(), false, "greeted", id)
	equal(b, "covered", b.message(id).Covered, true)
	b.must(b.edit(target, "e1", "hello"))
	equal(b, "stale", b.segment().Stale, true)
}

func testEditOther(b *bench) {
	id := b.say(false, "mine").Messages[0]
	target := b.native()
	other := b.as(b.user, b.identity(b.user.ID, "Ada", "112"))
	err := other.edit(target, "e1", "stolen")
	equal(b, "not found", errors.Is(err, core.ErrNotFound), true)
	equal(b, "text", b.message(id).Text, "mine")
}

// missing fails the test for every row that contains one of the words.
func (b *bench) missing(words ...string) {
	b.t.Helper()
	for line := range strings.Lines(Dump(b.t, b.DB())) {
		if n := slices.IndexFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(line), w) }); n >= 0 {
			b.t.Errorf("%q is still there: %s", words[n], line)
		}
	}
}
