package storetest

import (
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// testPassages checks that passages of a window are stored and removed with its vector.
func testPassages(b *bench) {
	q, a := b.exchange("the heron", "nice")
	target := b.native()
	b.intoWindow()
	list := []store.PassageVector{{Message: q, From: 4, To: 9, Values: []int8{127, -3, 0}},
		{Message: a, To: 4, Values: []int8{-128, 1, 1}}}
	put := func(e store.Embeddable, v []float32, cause string) {
		b.must(b.PutVectors(b.ctx, b.user.ID, config, []store.EmbeddingResult{{Kind: e.Kind, ID: e.ID, Revision: e.Revision,
			Vector: v, Error: cause, Passages: list}}, b.now))
	}
	passages := func() string {
		ws, err := b.Windows(b.ctx, b.user.ID, []core.WindowID{core.WindowID(list[0].Message), 1, 2, 3, 4, 5, 6, 7, 8, 9})
		b.must(err)
		return fmt.Sprint(ws[0].Passages)
	}
	first := b.pending()[0]
	put(first, vector(3), "")
	equal(b, "passages", passages(), fmt.Sprint(list))
	b.must(b.edit(target, "e1", "the stork"))
	equal(b, "after an edit", passages(), "[]")
	put(first, vector(3), "")
	equal(b, "of an old text", passages(), "[]")
	put(b.pending()[0], vector(2), "")
	equal(b, "of the new text", passages(), fmt.Sprint(list))
	b.effects(effect.Redact{Message: q, At: b.now})
	equal(b, "after a redaction", passages(), "[]")
}

// testEmbeddingFaults checks failures of all embeddings and of a single text, and what is retried.
func testEmbeddingFaults(b *bench) {
	b.exchange("the heron", "nice")
	b.intoWindow()
	due := func(tried string) bool {
		return slices.Contains(valueOf(b.EmbeddingDue(b.ctx, 0, false, tried, 1000)), b.user.ID)
	}
	faults := func() string { return fmt.Sprint(valueOf(b.EmbeddingFaults(b.ctx, b.user.ID))) }
	b.must(b.FailEmbeddings(b.ctx, b.user.ID, "key 1", "the key is refused", b.now))
	equal(b, "pending", len(b.pending()), 0)
	equal(b, "counts", fmt.Sprint(valueOf(b.EmbeddingCounts(b.ctx, b.user.ID, config))), "map[error:1]")
	equal(b, "faults", faults(), "[{the key is refused 1}]")
	all := valueOf(b.EmbeddingFaults(b.ctx, 0))
	equal(b, "faults of all", slices.Contains(all, store.EmbeddingFault{Reason: "the key is refused", Count: 1}), true)
	b.exec(`UPDATE segments SET unwindowed = 0`)
	equal(b, "due with the same key", due("key 1"), false)
	equal(b, "due with another key", due("key 2"), true)
	b.must(b.Enqueue(b.ctx, store.NewJob{User: b.user.ID, Queue: core.QueueEmbed, Key: core.EmbedKey,
		RunAt: b.now, Unique: true}))
	equal(b, "due with another key, while a job waits", due("key 2"), true)
	b.must(b.RetryEmbeddings(b.ctx, b.user.ID, "key 1", b.now))
	p := b.pending()
	equal(b, "pending again", len(p), 1)
	b.must(b.PutVectors(b.ctx, b.user.ID, config, []store.EmbeddingResult{{Kind: p[0].Kind, ID: p[0].ID,
		Revision: p[0].Revision, Error: "there is no text", Tried: "key 1"}}, b.now))
	b.must(b.RetryEmbeddings(b.ctx, b.user.ID, "key 1", b.now))
	equal(b, "faults of one text", faults(), "[{there is no text 1}]")
	equal(b, "pending after the same was tried", len(b.pending()), 0)
	b.must(b.RetryEmbeddings(b.ctx, b.user.ID, "key 2", b.now))
	equal(b, "pending after something else was tried", len(b.pending()), 1)
	equal(b, "faults", faults(), "[]")
}
