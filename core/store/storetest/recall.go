package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// words is a plain analyzer: lower case, split at spaces.
type words struct{ version string }

// Version names the analyzer.
func (w words) Version() string { return "words:" + w.version }

// Index counts words; version 2 cuts them after five letters.
func (w words) Index(text string) map[string]int {
	out := map[string]int{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if w.version == "2" && len(word) > 5 {
			word = word[:5]
		}
		out[word] = min(out[word]+1, 2)
	}
	return out
}

func recallCases() []testCase {
	return []testCase{
		{"a new message is found immediately", testFindTail},
		{"a message is found after it was indexed", testFindIndexed},
		{"messages that need no index count as indexed", testIndexRound},
		{"a frequent term does not crowd out a rare one", testFindRare},
		{"an edit and a redaction change what is found", testFindChanged},
		{"another version of the analyzer indexes everything again", testReindex},
		{"an edit while a message is indexed is not lost", testEditedMeanwhile},
		{"very active users do not delay the indexing of others", testIndexInTurn},
		{"a cut posting estimates its number of documents", testCutDocs},
		{"only conversation of the continuous thread is found", testFindOnly},
		{"nothing of another user is found", testFindForeign},
		{"summaries are found until they are hidden", testFindSummaries},
		{"the directory lists the searchable messages", testDirectory},
		{"a directory does not change while it is extended", testDirectories},
		{"odd terms are found and do no harm", testOddTerms},
	}
}

// find returns the ids of the documents that contain a term.
func (b *bench) find(kind core.DocKind, term string) []int64 {
	b.t.Helper()
	got := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: kind, Terms: []string{term}, Limit: 1000})
	if len(got) == 0 {
		return nil
	}
	return got[0].IDs
}

func (b *bench) wantFound(what string, kind core.DocKind, term string, want ...int64) {
	b.t.Helper()
	if got := b.find(kind, term); !slices.Equal(got, want) {
		b.t.Errorf("%s: %q is in %v, want %v", what, term, got, want)
	}
}

// indexAll indexes until nothing is left.
func (b *bench) indexAll() {
	b.t.Helper()
	for {
		n, err := b.Index(b.ctx, 100, store.Share{})
		b.must(err)
		if n == 0 {
			return
		}
	}
}

func testFindTail(b *bench) {
	q, a := b.exchange("the blue heron", "a heron on a heron")
	b.wantFound("tail", core.DocMessage, "heron", int64(q), int64(a))
	got := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: core.DocMessage, Terms: []string{"nothing", "heron"},
		Limit: 10})
	if len(got) != 1 || !slices.Equal(got[0].Often, []int64{int64(a)}) {
		b.t.Errorf("got %+v, want heron, often in #%d", got, a)
	}
	bounded := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: core.DocMessage, Terms: []string{"heron"},
		From: int64(a), To: int64(a), Limit: 10})
	if len(bounded) != 1 || !slices.Equal(bounded[0].IDs, []int64{int64(a)}) {
		b.t.Errorf("bounded: got %+v", bounded)
	}
}

// testIndexRound checks the count by which a round of a long backlog is followed by the next one immediately.
func testIndexRound(b *bench) {
	const exchanges = 30
	for range exchanges {
		b.exchange("the blue heron", "a heron on a heron")
	}
	b.exec(`UPDATE messages SET redacted = 1 WHERE user_id = $1 AND role = 'assistant'`, b.user.ID)
	n, err := b.Index(b.ctx, 100, store.Share{})
	b.must(err)
	if n < 2*exchanges {
		b.t.Errorf("%d of %d messages count", n, 2*exchanges)
	}
}

func testFindIndexed(b *bench) {
	q, a := b.exchange("the blue heron", "a heron on a heron")
	b.indexAll()
	n, err := b.Index(b.ctx, 100, store.Share{})
	b.must(err)
	equal(b, "left to index", n, 0)
	q2, _ := b.exchange("another heron", "yes")
	b.wantFound("index and tail", core.DocMessage, "heron", int64(q), int64(a), int64(q2))
	b.indexAll()
	b.wantFound("index", core.DocMessage, "heron", int64(q), int64(a), int64(q2))
	got := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: core.DocMessage, Terms: []string{"heron"}, Limit: 10})
	if len(got) != 1 || !slices.Equal(got[0].Often, []int64{int64(a)}) {
		b.t.Errorf("got %+v, want it often in #%d", got, a)
	}
}

func testFindRare(b *bench) {
	var first core.MessageID
	for i := range 30 {
		q, _ := b.exchange(fmt.Sprintf("common n%d", i), "common")
		if i == 0 {
			first = q
		}
	}
	b.indexAll()
	got := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: core.DocMessage, Terms: []string{"common", "n0"},
		Limit: 10})
	if len(got) != 2 || !got[0].Cut || got[1].Cut {
		b.t.Fatalf("got %+v, want common cut and n0 whole", got)
	}
	if !slices.Contains(got[0].IDs, int64(first)) || len(got[0].IDs) > 10 {
		b.t.Errorf("common is in %v, want at most 10 with #%d", got[0].IDs, first)
	}
}

func testFindChanged(b *bench) {
	q, _ := b.exchange("the blue heron", "nice")
	target := b.native()
	b.indexAll()
	b.must(b.edit(target, "e1", "the grey heron"))
	b.wantFound("edited", core.DocMessage, "grey", int64(q))
	b.wantFound("before the edit", core.DocMessage, "blue")
	b.effects(effect.Redact{Message: q, At: b.now})
	b.wantFound("redacted", core.DocMessage, "grey")
	b.indexAll()
	b.wantFound("redacted and indexed", core.DocMessage, "grey")
}

func testReindex(b *bench) {
	var want []int64
	for range 3 {
		q, _ := b.exchange("watching herons", "nice")
		want = append(want, int64(q))
	}
	b.summary(b.segment(), false, "watched herons", core.MessageID(want[0]))
	b.indexAll()
	b.wantFound("first version", core.DocMessage, "watching", want...)
	other := b.as(b.user, b.at)
	newer := b.open()
	newer.Analyze(words{"2"})
	other.Store = newer
	other.indexAll()
	other.wantFound("second version", core.DocMessage, "watch", want...)
	other.wantFound("first version's terms", core.DocMessage, "watching")
	if got := other.find(core.DocSummary, "watch"); len(got) != 1 {
		b.t.Errorf("summaries: got %v, want one", got)
	}
}

// meanwhile is an analyzer that calls do when it first indexes a given text.
type meanwhile struct {
	words
	text string
	once *sync.Once
	do   func()
}

// Index counts words, after calling do if it is time.
func (m meanwhile) Index(text string) map[string]int {
	if text == m.text {
		m.once.Do(m.do)
	}
	return m.words.Index(text)
}

func testEditedMeanwhile(b *bench) {
	q, _ := b.exchange("the blue heron", "nice")
	target := b.native()
	other := b.as(b.user, b.at)
	other.Store = b.open()
	other.Analyze(meanwhile{words{"1"}, "the blue heron", new(sync.Once),
		func() { b.must(b.edit(target, "e1", "the grey heron")) }})
	other.indexAll()
	b.wantFound("edited meanwhile", core.DocMessage, "grey", int64(q))
	b.wantFound("before the edit", core.DocMessage, "blue")
}

func testIndexInTurn(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i)
	other.exchange("hello", "hi")
	b.indexAll()
	other.exchange("their heron", "theirs")
	for range 3 {
		b.exchange("my heron", "mine")
		_, err := b.Index(b.ctx, 1, store.Share{})
		b.must(err)
	}
	var behind int64
	b.must(b.DB().QueryRow(`SELECT last_message - indexed FROM users WHERE id = $1`, int64(u.ID)).Scan(&behind))
	equal(b, "messages of the other that are not indexed", behind, 0)
}

func testCutDocs(b *bench) {
	for range 20 {
		b.exchange("common", "common")
	}
	b.indexAll()
	b.exchange("common rare", "common")
	got := one(b, b.Match, store.MatchQuery{User: b.user.ID, Kind: core.DocMessage, Terms: []string{"common", "rare"},
		Limit: 10})
	if len(got) != 2 || got[0].Docs != 42 || got[1].Docs != 1 {
		b.t.Errorf("got %+v, want common in about 42 documents, rare in one", got)
	}
}

func testFindOnly(b *bench) {
	t := b.turn("heron one")
	r := b.reply(t, "heron two")
	r.Messages = append([]core.NewMessage{
		{Role: core.RoleAssistant, Kind: core.KindChat, SentAt: b.now,
			ToolCalls: []core.ToolCall{{ID: "1", Name: "conversation_search"}, {ID: "2", Name: "web_get"}}},
		{Role: core.RoleTool, Kind: core.KindChat, Text: "heron echo", ToolCallID: "1", ToolName: "conversation_search",
			SentAt: b.now},
		{Role: core.RoleTool, Kind: core.KindChat, Text: "heron outside", ToolCallID: "2", ToolName: "web_get",
			Outside: true, SentAt: b.now},
	}, r.Messages...)
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	b.must(second(b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID, Now: b.now,
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice,
			Text: "heron notice", SentAt: b.now}}})))
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "apart", At: b.now})
	b.exchange("heron apart", "heron apart too")
	want := []int64{int64(t.Inputs[0]), int64(out.Messages[2]), int64(out.Messages[3])}
	b.wantFound("tail", core.DocMessage, "heron", want...)
	b.indexAll()
	b.wantFound("index", core.DocMessage, "heron", want...)
	d := one(b, b.Directory, b.user.ID)
	equal(b, "messages in the directory", len(d.Messages), len(want))
}

func second[T any](_ T, err error) error { return err }

func testFindForeign(b *bench) {
	b.exchange("my heron", "mine")
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i)
	q, _ := other.exchange("their heron", "theirs")
	b.indexAll()
	other.wantFound("the other", core.DocMessage, "heron", int64(q))
	other.wantFound("not theirs", core.DocMessage, "mine")
	b.must(second(b.DeleteUser(b.ctx, u.ID)))
	b.wantFound("mine", core.DocMessage, "mine", 2)
	other.wantFound("gone", core.DocMessage, "heron")
}

func testFindSummaries(b *bench) {
	q, _ := b.exchange("the heron", "nice")
	g := b.segment()
	b.summary(g, false, "saw a bird", q)
	b.wantFound("summary", core.DocSummary, "bird", int64(g.ID))
	b.summary(b.segment(), false, "saw a heron", q)
	b.wantFound("older version", core.DocSummary, "bird")
	b.wantFound("newer version", core.DocSummary, "heron", int64(g.ID))
	got := valueOf(b.SummariesOf(b.ctx, b.user.ID, []core.SegmentID{g.ID, g.ID + 1}))
	if len(got) != 1 || got[0].Version != 2 {
		b.t.Errorf("got %+v, want version 2", got)
	}
	b.effects(effect.Redact{Message: q, At: b.now})
	b.wantFound("hidden", core.DocSummary, "heron")
	equal(b, "summaries to show", len(valueOf(b.SummariesOf(b.ctx, b.user.ID, []core.SegmentID{g.ID}))), 0)
}

func valueOf[T any](v T, _ error) T { return v }

func testDirectory(b *bench) {
	q, a := b.exchange("one", "two")
	d := one(b, b.Directory, b.user.ID)
	if len(d.Messages) != 2 || d.Messages[0].ID != q || d.Messages[1].ID != a || d.Messages[1].Role != 1 ||
		len(d.Segments) != 1 || d.Channels[d.Messages[0].Channel] != "telegram" {
		b.t.Fatalf("got %+v", d)
	}
	b.now = b.now.Add(24 * time.Hour)
	q2, _ := b.exchange("three", "four")
	later := one(b, b.Directory, b.user.ID)
	if len(later.Messages) != 4 || later.Segments[later.Messages[2].Segment].Label != dayOf(b.now).Label ||
		len(d.Messages) != 2 {
		b.t.Errorf("got %+v, then %+v", d, later)
	}
	b.effects(effect.Redact{Message: q2, At: b.now})
	equal(b, "after a redaction", len(one(b, b.Directory, b.user.ID).Messages), 3)
}

func testDirectories(b *bench) {
	kept := map[*store.Directory]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range 10 {
		b.exchange("one", "two")
		for range 4 {
			all.Go(func() {
				d, err := b.Directory(b.ctx, b.user.ID)
				if err != nil || len(d.Messages) < 2*n+2 || !complete(d) {
					b.t.Errorf("got %v, %v, want at least %d messages", d, err, 2*n+2)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				kept[d] = len(d.Messages)
			})
		}
	}
	all.Wait()
	for d, n := range kept {
		if len(d.Messages) != n || !complete(d) {
			b.t.Errorf("got %+v, of %d messages once", d, n)
		}
	}
}

// complete reports whether the messages are in order and their tokens add up to the total.
func complete(d *store.Directory) bool {
	left := d.Tokens
	for _, m := range d.Messages {
		left -= int64(m.Tokens)
	}
	return left == 0 && slices.IsSortedFunc(d.Messages,
		func(a, b store.DirectoryEntry) int { return cmp.Compare(a.ID, b.ID) })
}

func testOddTerms(b *bench) {
	odd := []string{"foo_bar", "v1.2.3", "日本", "err-42", "<x>", "😀", `back\slash`, "a&b", "(x|y)", "!not", "x:*",
		"naïve", "%", "--", ";drop"}
	for _, term := range odd {
		q, _ := b.exchange(term, "ok")
		b.indexAll()
		b.wantFound("odd", core.DocMessage, term, int64(q))
	}
}
