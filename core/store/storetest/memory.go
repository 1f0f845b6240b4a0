package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func embeddingCases() []testCase {
	return []testCase{
		{"windows get vectors and are found by them", testVectors},
		{"an edit makes a window wait for a new vector", testVectorEdited},
		{"passages come and go with their window", testPassages},
		{"a failed embedding keeps its reason until the fingerprint changes", testEmbeddingFaults},
		{"windows of messages that changed meanwhile are not stored", testWindowsChanged},
		{"vectors of another configuration are not found", testVectorConfig},
		{"an embedding that failed is not found", testVectorError},
		{"an open day is read again", testWindowsGoOn},
	}
}

func memoryCases() []testCase {
	return []testCase{
		{"an item is kept, found, archived and counted", testItem},
		{"the same statement is kept once", testSameItem},
		{"an archived item is restored, unless another states the same", testItemRestored},
		{"an item is corrected, and its earlier wordings are not found", testItemEdited},
		{"an item is deleted for good", testItemDeleted},
		{"an item is redacted with its source message", testItemRedacted},
		{"a memory item of another user is not found", testForeignItem},
		{"loops are opened, mentioned and closed", testLoopEffects},
	}
}

const config = "demo:1024"

// vector returns a vector that points mostly along one axis.
func vector(axis int) []float32 {
	v := make([]float32, core.VectorSize)
	v[axis], v[(axis+1)%core.VectorSize] = 1, 0.1
	return v
}

// intoWindow puts all messages of the first unwindowed day in one window.
func (b *bench) intoWindow() []core.Message {
	b.t.Helper()
	day, err := b.Unwindowed(b.ctx, b.user.ID, 100)
	b.must(err)
	segment, messages, closed := day.Segment, day.Messages, day.Closed
	first, last := messages[0].ID, messages[len(messages)-1].ID
	b.must(b.PutWindows(b.ctx, store.PutWindows{User: b.user.ID, Segment: segment,
		Windows: []store.TextWindow{{First: first, Last: last, Tokens: 9}}, Through: last, Read: messages, Closed: closed,
		Config: config, Now: b.now}))
	return messages
}

// pending reads the texts that have no vector yet.
func (b *bench) pending() []store.Embeddable {
	b.t.Helper()
	got, err := b.PendingEmbeddings(b.ctx, b.user.ID, config, 10)
	b.must(err)
	return got
}

func (b *bench) put1(e store.Embeddable, v []float32) {
	b.t.Helper()
	b.must(b.PutVectors(b.ctx, b.user.ID, config, []store.EmbeddingResult{{Kind: e.Kind, ID: e.ID, Revision: e.Revision,
		Vector: v}}, b.now))
}

func (b *bench) nearest(kind core.VectorKind, v []float32) []store.Neighbour {
	b.t.Helper()
	return one(b, b.Nearest, store.NearestQuery{User: b.user.ID, Kind: kind, Config: config, Vector: v, K: 5})
}

func testVectors(b *bench) {
	q, a := b.exchange("the heron", "nice")
	due := valueOf(b.EmbeddingDue(b.ctx, 0, false, "", 10))
	if !slices.Contains(due, b.user.ID) {
		b.t.Errorf("due: got %v", due)
	}
	equal(b, "due with embeddings of their own", fmt.Sprint(valueOf(b.EmbeddingDue(b.ctx, 0, true, "", 10))), "[]")
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.SetSettings{
			Settings: core.Settings{Embeddings: core.OwnEmbeddings{Provider: "ollama"}}}}})
	b.must(err)
	equal(b, "due with embeddings of their own", fmt.Sprint(valueOf(b.EmbeddingDue(b.ctx, 0, true, "", 10))),
		fmt.Sprint([]core.UserID{b.user.ID}))
	b.intoWindow()
	p := b.pending()
	if len(p) != 1 || len(p[0].Messages) != 2 || p[0].Messages[0].ID != q || p[0].Messages[1].ID != a {
		b.t.Fatalf("got %+v", p)
	}
	b.put1(p[0], vector(3))
	equal(b, "pending", len(b.pending()), 0)
	got := b.nearest(core.VectorWindow, vector(3))
	if len(got) != 1 || got[0].ID != p[0].ID || got[0].Distance > 0.01 {
		b.t.Fatalf("got %+v", got)
	}
	ws, err := b.Windows(b.ctx, b.user.ID, []core.WindowID{core.WindowID(got[0].ID), 99999})
	b.must(err)
	if len(ws) != 1 || ws[0].First != q || ws[0].Last != a || len(ws[0].Passages) != 0 {
		b.t.Errorf("got %+v", ws)
	}
	u, i := b.person("Bob", core.RoleMember, "222")
	equal(b, "of another user", len(b.as(u, i).nearest(core.VectorWindow, vector(3))), 0)
	other := b.as(u, i)
	other.exchange("the stork", "nice")
	other.intoWindow()
	other.put1(other.pending()[0], vector(3))
	equal(b, "of the other", len(other.nearest(core.VectorWindow, vector(3))), 1)
	b.must(second(b.DeleteUser(b.ctx, u.ID)))
	equal(b, "of a deleted user", len(other.nearest(core.VectorWindow, vector(3))), 0)
	equal(b, "mine", len(b.nearest(core.VectorWindow, vector(3))), 1)
}

func testVectorEdited(b *bench) {
	q, _ := b.exchange("the heron", "nice")
	target := b.native()
	b.intoWindow()
	old := b.pending()[0]
	b.put1(old, vector(1))
	b.must(b.edit(target, "e1", "the stork"))
	equal(b, "found after the edit", len(b.nearest(core.VectorWindow, vector(1))), 0)
	fresh := b.pending()
	if len(fresh) != 1 || fresh[0].Messages[0].Text != "the stork" {
		b.t.Fatalf("got %+v", fresh)
	}
	b.put1(old, vector(1))
	equal(b, "an old text's vector is stored", len(b.nearest(core.VectorWindow, vector(1))), 0)
	b.put1(fresh[0], vector(2))
	equal(b, "found", len(b.nearest(core.VectorWindow, vector(2))), 1)
	b.effects(effect.Redact{Message: q, At: b.now})
	equal(b, "found after the redaction", len(b.nearest(core.VectorWindow, vector(2))), 0)
}

func testWindowsChanged(b *bench) {
	b.exchange("the heron", "nice")
	target := b.native()
	day, err := b.Unwindowed(b.ctx, b.user.ID, 100)
	b.must(err)
	segment, messages := day.Segment, day.Messages
	b.must(b.edit(target, "e1", "the stork"))
	err = b.PutWindows(b.ctx, store.PutWindows{User: b.user.ID, Segment: segment, Read: messages, Through: messages[1].ID,
		Config: config, Now: b.now, Windows: []store.TextWindow{{First: messages[0].ID, Last: messages[1].ID}}})
	if !errors.Is(err, core.ErrChanged) {
		b.t.Errorf("got %v, want ErrChanged", err)
	}
}

func testVectorConfig(b *bench) {
	b.exchange("the heron", "nice")
	b.intoWindow()
	b.put1(b.pending()[0], vector(1))
	equal(b, "of another configuration", len(one(b, b.Nearest, store.NearestQuery{User: b.user.ID, Kind: core.VectorWindow,
		Config: "other", Vector: vector(1), K: 5})), 0)
	counts := valueOf(b.EmbeddingCounts(b.ctx, b.user.ID, "other"))
	equal(b, "stale", counts["stale"], 1)
	n, err := b.Reembed(b.ctx, b.user.ID, "other", true, b.now)
	b.must(err)
	equal(b, "to rebuild", n, 1)
	equal(b, "pending after a count", len(b.pending()), 0)
	b.effects(effect.AddItem{Item: core.Item{Type: core.ItemFact, Content: "x"}, Digest: "x", At: b.now})
	n, err = b.Reembed(b.ctx, b.user.ID, "other", false, b.now)
	b.must(err)
	equal(b, "rebuilt", n, 2)
	equal(b, "pending", len(b.pending()), 2)
	equal(b, "found meanwhile", len(b.nearest(core.VectorWindow, vector(1))), 0)
}

func testVectorError(b *bench) {
	b.exchange("the heron", "nice")
	b.intoWindow()
	e := b.pending()[0]
	b.must(b.PutVectors(b.ctx, b.user.ID, config, []store.EmbeddingResult{{Kind: e.Kind, ID: e.ID, Revision: e.Revision,
		Error: "too long"}}, b.now))
	equal(b, "pending", len(b.pending()), 0)
	equal(b, "errors", valueOf(b.EmbeddingCounts(b.ctx, b.user.ID, config))[string(core.EmbeddingError)], 1)
	equal(b, "found", len(b.nearest(core.VectorWindow, vector(1))), 0)
}

func testWindowsGoOn(b *bench) {
	b.exchange("one", "two")
	day, err := b.Unwindowed(b.ctx, b.user.ID, 100)
	b.must(err)
	segment, messages, closed := day.Segment, day.Messages, day.Closed
	equal(b, "closed", closed, false)
	b.must(b.PutWindows(b.ctx, store.PutWindows{User: b.user.ID, Segment: segment, Read: messages,
		Config: config, Now: b.now}))
	if _, err := b.Unwindowed(b.ctx, b.user.ID, 100); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v, want ErrNotFound: nothing is new", err)
	}
	q, a := b.exchange("three", "four")
	got := b.intoWindow()
	equal(b, "messages", len(got), 4)
	b.summary(b.segment(), true, "all", got[0].ID, got[1].ID, q, a)
	day, err = b.Unwindowed(b.ctx, b.user.ID, 100)
	b.must(err)
	equal(b, "closed in the end", day.Closed, true)
	equal(b, "messages that are in no window", len(day.Messages), 0)
	equal(b, "in a window already", day.Through, a)
	b.must(b.PutWindows(b.ctx, store.PutWindows{User: b.user.ID, Segment: segment, Config: config,
		Now: b.now})) // read before the day ended
	if day, err = b.Unwindowed(b.ctx, b.user.ID, 100); err != nil || !day.Closed {
		b.t.Errorf("got %+v, %v; the rest of a day that ended meanwhile has no window", day, err)
	}
	b.must(b.PutWindows(b.ctx, store.PutWindows{User: b.user.ID, Segment: segment, Closed: true,
		Config: config, Now: b.now}))
	if _, err := b.Unwindowed(b.ctx, b.user.ID, 100); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v, want ErrNotFound: the day is done", err)
	}
}

// item adds an item with a source message.
func (b *bench) item(content string, source core.MessageID) core.ItemID {
	b.t.Helper()
	id := core.ItemID(one(b, b.NewID, b.user.ID))
	b.effects(effect.AddItem{Item: core.Item{ID: id, Theme: "birds", Type: core.ItemFact, Content: content,
		Tags: []string{"x"}, SourceMessage: source},
		Digest: content, Theme: core.Theme{Name: "Birds"}, Embed: config, At: b.now})
	return id
}

func testItem(b *bench) {
	id := b.item("likes herons", 0)
	b.now = b.now.Add(time.Second)
	b.item("fears geese", 0)
	got, err := b.Item(b.ctx, b.user.ID, id)
	b.must(err)
	if got.Theme != "birds" || got.Status != core.ItemActive || got.Embedding != core.EmbeddingPending ||
		!slices.Equal(got.Tags, []string{"x"}) {
		b.t.Errorf("got %+v", got)
	}
	b.wantFound("item", core.DocItem, "herons", int64(id))
	themes := valueOf(b.Themes(b.ctx, b.user.ID, 10))
	if len(themes) != 1 || themes[0].Active != 2 || themes[0].Name != "Birds" {
		b.t.Errorf("got %+v", themes)
	}
	b.effects(effect.ArchiveItem{Item: id, At: b.now})
	b.effects(effect.ArchiveItem{Item: id, At: b.now})
	equal(b, "active", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 1)
	active := one(b, b.Items, store.ItemQuery{User: b.user.ID, Theme: "birds",
		Types: []core.ItemType{core.ItemFact, core.ItemOther}, Since: start(), Status: core.ItemActive, Limit: 10})
	equal(b, "active items", len(active), 1)
	all := one(b, b.Items, store.ItemQuery{User: b.user.ID, Limit: 10})
	if len(all) != 2 || all[0].Content != "fears geese" {
		b.t.Errorf("got %+v, want the newest first", all)
	}
	named := one(b, b.Items, store.ItemQuery{User: b.user.ID, IDs: []core.ItemID{id, 4711}, Limit: 10})
	equal(b, "by id", len(named), 1)
	b.put1(b.pending()[0], vector(1))
	equal(b, "near", len(b.nearest(core.VectorItem, vector(1))), 1)
}

func testSameItem(b *bench) {
	id := b.item("likes herons", 0)
	b.item("likes herons", 0)
	equal(b, "items", len(one(b, b.Items, store.ItemQuery{User: b.user.ID, Limit: 10})), 1)
	equal(b, "active", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 1)
	same, err := b.SameItem(b.ctx, b.user.ID, "likes herons")
	b.must(err)
	equal(b, "the same", same.ID, id)
	b.effects(effect.ArchiveItem{Item: id, At: b.now})
	if _, err := b.SameItem(b.ctx, b.user.ID, "likes herons"); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v, want ErrNotFound for an archived item", err)
	}
	b.item("likes herons", 0)
	equal(b, "items", len(one(b, b.Items, store.ItemQuery{User: b.user.ID, Limit: 10})), 2)
}

func testItemRedacted(b *bench) {
	q, _ := b.exchange("I like xylophones", "noted")
	id := b.item("likes xylophones", q)
	b.put1(b.pending()[0], vector(1))
	b.effects(effect.Redact{Message: q, At: b.now})
	b.missing("xylophone")
	b.wantFound("item", core.DocItem, "xylophones")
	equal(b, "near", len(b.nearest(core.VectorItem, vector(1))), 0)
	if _, err := b.Item(b.ctx, b.user.ID, id); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v, want ErrNotFound", err)
	}
	equal(b, "active", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 0)
}

func testItemEdited(b *bench) {
	q, _ := b.exchange("I like xylophones", "noted")
	id := b.item("likes xylophones", q)
	other := b.item("fears geese", 0)
	for _, e := range b.pending() {
		b.put1(e, vector(int(e.ID%7)))
	}
	edit := func(content string) error {
		return second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{
			effect.EditItem{Item: id, Content: content, Digest: content, Embed: config, At: b.now}}}))
	}
	b.must(edit("likes marimbas"))
	b.must(edit("likes marimbas")) // the same text: nothing changes
	b.wantFound("by the earlier wording", core.DocItem, "xylophones")
	b.wantFound("by the new one", core.DocItem, "marimbas", int64(id))
	equal(b, "near", len(b.nearest(core.VectorItem, vector(int(id%7)))), 1)
	got := restored(b, id)
	if got.Content != "likes marimbas" || len(got.History) != 1 || got.History[0].Content != "likes xylophones" ||
		got.History[0].Until.UnixMilli() != b.now.UnixMilli() || got.Embedding != core.EmbeddingPending {
		b.t.Errorf("got %+v", got)
	}
	equal(b, "the same", valueOf(b.SameItem(b.ctx, b.user.ID, "likes marimbas")).ID, id)
	if err := edit("fears geese"); !errors.Is(err, core.ErrExists) {
		b.t.Errorf("edited to equal another: got %v, want ErrExists", err)
	}
	for n := range core.MaxWordings + 5 {
		b.must(edit(fmt.Sprint("likes instrument ", n)))
	}
	if h := restored(b, id).History; len(h) != core.MaxWordings || h[len(h)-1].Content != "likes instrument 23" {
		b.t.Errorf("got %d wordings: %+v", len(h), h)
	}
	b.effects(effect.Redact{Message: q, At: b.now})
	b.missing("instrument")
	equal(b, "the other", restored(b, other).Content, "fears geese")
}

func testItemDeleted(b *bench) {
	id := b.item("likes xylophones", 0)
	b.put1(b.pending()[0], vector(1))
	b.effects(effect.EditItem{Item: id, Content: "plays the xylophone", Digest: "d", At: b.now})
	equal(b, "near", len(b.nearest(core.VectorItem, vector(1))), 0)
	b.effects(effect.DeleteItem{Item: id, At: b.now})
	b.missing("xylophone")
	b.wantFound("item", core.DocItem, "xylophone")
	equal(b, "active", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 0)
	err := second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.DeleteItem{Item: id, At: b.now}}}))
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("again: got %v, want ErrNotFound", err)
	}
}

func testItemRestored(b *bench) {
	id := b.item("likes herons", 0)
	b.now = b.now.Add(time.Second)
	b.item("fears geese", 0)
	rest := one(b, b.Items, store.ItemQuery{User: b.user.ID, Skip: 1, Limit: 10})
	if len(rest) != 1 || rest[0].ID != id {
		b.t.Errorf("got %+v, want all but the newest", rest)
	}
	b.effects(effect.ArchiveItem{Item: id, At: b.now})
	b.effects(effect.RestoreItem{Item: id, At: b.now})
	b.effects(effect.RestoreItem{Item: id, At: b.now})
	equal(b, "status", restored(b, id).Status, core.ItemActive)
	equal(b, "active", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 2)
	b.effects(effect.ArchiveItem{Item: id, At: b.now})
	b.item("likes herons", 0)
	err := second(b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID,
		Effects: []core.Effect{effect.RestoreItem{Item: id, At: b.now}}, Now: b.now}))
	if !errors.Is(err, core.ErrExists) {
		b.t.Errorf("got %v, want ErrExists", err)
	}
	equal(b, "active still", valueOf(b.Themes(b.ctx, b.user.ID, 10))[0].Active, 2)
}

func restored(b *bench, id core.ItemID) core.Item {
	b.t.Helper()
	i, err := b.Item(b.ctx, b.user.ID, id)
	b.must(err)
	return i
}

func testForeignItem(b *bench) {
	id := b.item("likes herons", 0)
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i)
	if _, err := b.Item(b.ctx, u.ID, id); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v, want ErrNotFound", err)
	}
	err := second(b.Note(b.ctx, store.Note{User: u.ID, Identity: i.ID,
		Effects: []core.Effect{effect.ArchiveItem{Item: id, At: b.now}}, Now: b.now}))
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("archive: got %v, want ErrNotFound", err)
	}
	err = second(b.Note(b.ctx, store.Note{User: u.ID, Identity: i.ID,
		Effects: []core.Effect{effect.RestoreItem{Item: id, At: b.now}}, Now: b.now}))
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("restore: got %v, want ErrNotFound", err)
	}
	equal(b, "items of the other", len(one(other, b.Items, store.ItemQuery{User: u.ID, Limit: 10})), 0)
	equal(b, "by id", len(one(other, b.Items, store.ItemQuery{User: u.ID, IDs: []core.ItemID{id}, Limit: 10})), 0)
}

func testLoopEffects(b *bench) {
	q, _ := b.exchange("call Léa", "ok")
	id := core.LoopID(one(b, b.NewID, b.user.ID))
	b.effects(effect.OpenLoop{Loop: core.Loop{ID: id, Text: "call Léa", Sources: []core.MessageID{q}}, At: b.now})
	b.effects(effect.OpenLoop{Loop: core.Loop{ID: id, Text: "call Léa"}, At: b.now})
	b.now = b.now.Add(time.Hour)
	b.effects(effect.MentionLoop{Loop: id, At: b.now})
	loops := valueOf(b.Loops(b.ctx, b.user.ID, 10))
	if len(loops) != 1 || !loops[0].Mentioned.Equal(b.now) || !loops[0].OpenedAt.Equal(b.message(q).SentAt) {
		b.t.Errorf("got %+v", loops)
	}
	b.effects(effect.CloseLoop{Loop: id, At: b.now})
	equal(b, "open", len(valueOf(b.Loops(b.ctx, b.user.ID, 10))), 0)
}
