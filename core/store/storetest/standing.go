package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func standingCases() []testCase {
	return []testCase{
		{"standing instructions are added once, in order and within bounds", testStanding},
		{"a removed instruction is removed from stored prompts, too", testStandingRemoved},
		{"an instruction is redacted with its source message", testStandingForgotten},
		{"an instruction removed while its turn ran is not stored with the prompt", testStandingMeanwhile},
		{"a merge joins standing instructions without duplicates", testStandingMerged},
		{"every change of standing instructions is counted, for its user only", testStandingCounted},
	}
}

// always returns an effect that adds an instruction of 10 tokens.
func (b *bench) always(text string) effect.AddInstruction {
	return effect.AddInstruction{Instruction: core.Instruction{Text: text, Tokens: 10}, Digest: "digest of " + text,
		Max: 3, MaxTokens: 35, At: b.now}
}

// wants lists the texts of the standing instructions.
func (b *bench) wants() string {
	b.t.Helper()
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	var out []string
	for _, i := range list {
		out = append(out, i.Text)
	}
	return strings.Join(out, ", ")
}

// changed returns the user's count of changes to standing instructions.
func (b *bench) changed() int64 {
	b.t.Helper()
	u, err := b.User(b.ctx, b.user.ID)
	b.must(err)
	_, at, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	equal(b, "the count at an address", at.Standing, u.Standing)
	return u.Standing
}

func testStanding(b *bench) {
	b.effects(b.always("one"))
	b.effects(b.always("two"), b.always("one"))
	equal(b, "wants", b.wants(), "one, two")
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{b.always("three"),
		b.always("four")}})
	equal(b, "a fourth", errors.Is(err, core.ErrRefused), true)
	equal(b, "wants", b.wants(), "one, two")
	long := b.always("long")
	long.Instruction.Tokens = 16
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{long}})
	equal(b, "too long", errors.Is(err, core.ErrRefused), true)
	b.effects(b.always("three"))
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "the last one", fmt.Sprint(list[2].Text, " ", list[2].Tokens, list[2].Noted, list[2].CreatedAt.Equal(b.now)),
		"three 10 false true")
	unbounded := b.always("four")
	unbounded.Max, unbounded.MaxTokens = 0, 0
	b.effects(unbounded)
	equal(b, "wants", b.wants(), "one, two, three, four")
	for n := range core.MaxInstructions - 4 {
		unbounded.Digest = fmt.Sprint("digest ", n)
		b.effects(unbounded)
	}
	unbounded.Digest = "one more"
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{unbounded}})
	equal(b, "more than a store keeps", errors.Is(err, core.ErrRefused), true)
}

// standingHead runs a turn whose epoch shows instructions.
func (b *bench) standingHead(texts ...string) *core.Turn {
	b.t.Helper()
	t := b.turn("go on")
	r := b.reply(t, "sure")
	lines := []string{"Always:"}
	for _, text := range texts {
		lines = append(lines, core.InstructionLine(text))
	}
	r.Epoch = &store.Epoch{ID: t.ID, Start: 1, Head: []store.HeadPart{{Name: "policy", Text: "- \"be brief\""},
		{Name: core.PartStanding, Text: strings.Join(lines, "\n"), Tokens: 12}}}
	b.replyWithNews(r, core.News{})
	return t
}

// head returns the text of an epoch's standing part.
func (b *bench) head(t *core.Turn) string {
	b.t.Helper()
	e, err := b.Epoch(b.ctx, b.user.ID, t.ID)
	b.must(err)
	return e.Head[1].Text
}

func testStandingRemoved(b *bench) {
	b.effects(b.always(`say "xylophone"`), b.always("be brief"))
	t := b.standingHead(`say "xylophone"`, "be brief")
	equal(b, "shown", b.head(t), "Always:\n- \"say \\\"xylophone\\\"\"\n- \"be brief\"")
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	b.effects(effect.RemoveInstruction{Instruction: list[0].ID, At: b.now})
	equal(b, "wants", b.wants(), "be brief")
	equal(b, "kept", b.head(t), "Always:\n- [removed]\n- \"be brief\"")
	_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.RemoveInstruction{Instruction: list[0].ID, At: b.now}}})
	equal(b, "again", errors.Is(err, core.ErrNotFound), true)
}

func testStandingForgotten(b *bench) {
	const word = "xylophone"
	e, m := b.inbound("/always say " + word)
	m.Kind = core.KindCommand
	one(b, b.Note, store.Note{User: b.user.ID, Identity: b.at.ID, Event: &e, Command: &m, Now: b.now,
		Effects: []core.Effect{b.always("say " + word)}})
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "source", b.message(list[0].Source).Text, "/always say "+word)
	b.standingHead("say "+word, "be brief")
	before := b.changed()
	b.effects(effect.Redact{Message: list[0].Source, At: b.now})
	equal(b, "wants", b.wants(), "")
	equal(b, "counted", b.changed() > before, true)
	b.missing(word)
}

func testStandingMeanwhile(b *bench) {
	b.effects(b.always("gone"), b.always("stays"))
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	b.effects(effect.RemoveInstruction{Instruction: list[0].ID, At: b.now})
	t := b.standingHead("gone", "stays")
	equal(b, "kept", b.head(t), "Always:\n- [removed]\n- \"stays\"")
}

func testStandingMerged(b *bench) {
	v := b.second("Vera", "222")
	v.exchange("hers", "ok")
	b.exchange("mine", "ok")
	b.effects(b.always("mine"), b.always("both"))
	said := v.always("hers")
	said.Instruction.Source = 1
	v.effects(v.always("both"), said)
	shift, before := core.MessageID(2), b.changed()
	b.carryMerge(v.merge(b.user.ID))
	equal(b, "wants", b.wants(), "mine, both, hers")
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "source", list[2].Source, 1+shift)
	equal(b, "source", b.message(list[2].Source).Text, "hers")
	equal(b, "counted", b.changed() > before, true)
	b.gone(v.user.ID)
}

func testStandingCounted(b *bench) {
	other := b.second("Oscar", "333")
	equal(b, "before", b.changed(), 0)
	b.effects(b.always("one"))
	b.effects(b.always("one")) // it exists: no change
	equal(b, "after one", b.changed(), 1)
	list, err := b.Instructions(b.ctx, b.user.ID)
	b.must(err)
	_, err = other.Note(b.ctx, store.Note{User: other.user.ID, Now: b.now,
		Effects: []core.Effect{effect.RemoveInstruction{Instruction: list[0].ID, At: b.now}}})
	equal(b, "another user's", errors.Is(err, core.ErrNotFound), true)
	equal(b, "seen by another user", other.wants(), "")
	b.effects(effect.RemoveInstruction{Instruction: list[0].ID, At: b.now})
	equal(b, "after two", b.changed(), 2)
	equal(b, "of another user", other.changed(), 0)
}
