package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	ports "github.com/everthread/everthread/core/store"
)

func importCases() []testCase {
	return []testCase{
		{"imported messages have the position of their time and are not answered", testImport},
		{"a message is imported once, in whatever batches", testImportTwice},
		{"many messages of one moment keep their order", testImportMoment},
		{"no message is placed within a turn", testImportWithin},
		{"an import waits for a running turn in its range", testImportWaits},
		{"an import into the prompt begins a new epoch", testImportEpoch},
		{"imported days are summarized newest first, one at a time, behind no other", testImportSummaries},
		{"imported days without requested summaries get none", testImportWithout},
		{"an export finds its own messages", testImportOwn},
		{"an imported thread is made once", testImportThread},
		{"the summaries of an export come back", testImportOldSummary},
		{"what is imported is found", testImportFound},
		{"what was redacted does not come back", testImportRedacted},
		{"a merge copies imported messages", testImportMerge},
		{"plans of all states are imported once", testImportPlans},
		{"a prepared import finds messages that came meanwhile", testImportPrepared},
		{"nothing remains of a deleted account", testRemains},
	}
}

// line returns a message of an archive, sent the given time before now.
func (b *bench) line(before time.Duration, role core.Role, text string) ports.ImportMessage {
	at := b.now.Add(-before)
	return ports.ImportMessage{Key: text, Channel: "archive", NewMessage: core.NewMessage{Role: role, Kind: core.KindChat,
		Text: text, Tokens: 3, SentAt: at, Day: dayOf(at)}}
}

func (b *bench) bring(ms ...ports.ImportMessage) ports.Imported {
	b.t.Helper()
	return one(b, b.Import, ports.ImportBatch{User: b.user.ID, Messages: ms, Summaries: true, Now: b.now})
}

func testImportPlans(b *bench) {
	out := b.bring(b.line(50*time.Hour, core.RoleUser, "a"), b.line(49*time.Hour, core.RoleUser, "b"))
	p := ports.Plans{
		Loops: []core.Loop{{Text: "open", State: core.LoopOpen, Sources: out.Messages[:1], OpenedAt: b.now,
			Mentioned: b.now.Add(time.Hour)}, {Text: "closed", State: core.LoopClosed, OpenedAt: b.now},
			{Text: "forgotten", State: core.LoopOpen, Sources: out.Messages[1:], OpenedAt: b.now}},
		Plans: []core.Plan{{Kind: core.PlanReminder, Text: "done", DueAt: b.now, State: core.PlanDone, CreatedAt: b.now,
			Last: core.Run{Due: b.now, State: core.RunDone, Ended: b.now}, Zone: "UTC"},
			{Kind: core.PlanReminder, Text: "active", DueAt: b.now.Add(time.Hour), State: core.PlanActive,
				Last:      core.Run{Due: b.now, State: core.RunDone},
				Source:    out.Messages[0],
				CreatedAt: b.now, Cron: "0 9 * * *"},
			{Kind: core.PlanReminder, Text: "forgotten", DueAt: b.now.Add(time.Hour), State: core.PlanActive,
				Source: out.Messages[1], CreatedAt: b.now},
			{Kind: core.PlanTask, Text: "news", DueAt: b.now.Add(time.Hour), State: core.PlanPaused, CreatedAt: b.now,
				Source: out.Messages[0], Cron: "0 9 * * *", Zone: "UTC"},
			{Kind: core.PlanTask, Text: "forgotten", DueAt: b.now.Add(time.Hour), State: core.PlanPaused,
				Source:    out.Messages[1],
				CreatedAt: b.now}},
	}
	b.effects(effect.Redact{Message: out.Messages[1], At: b.now})
	for n := range 2 {
		in, err := b.ImportPlans(b.ctx, b.user.ID, p)
		b.must(err)
		equal(b, "in", in, ports.PlansIn{Loops: 2 - 2*n, Reminders: 2 - 2*n, Tasks: 1 - n})
	}
	got := one(b, b.Plans, b.user.ID)
	var texts []string
	for _, l := range got.Loops {
		texts = append(texts, l.Text+" "+string(l.State))
	}
	for _, k := range got.Plans {
		texts = append(texts, k.Text+" "+string(k.State))
	}
	equal(b, "plans", strings.Join(texts, ", "), "open open, closed closed, done done, active active, news paused")
	recurs := got.Plans[1]
	b.must(b.FirePlan(b.ctx, ports.FirePlan{User: b.user.ID, Due: recurs.DueAt, Next: recurs.DueAt.Add(time.Hour), Now: b.now,
		Run: core.Run{Plan: recurs.ID, Due: recurs.Last.Due, State: core.RunDone}})) // a run that it brought
	open, err := b.Loops(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "open", len(open), 1)
	equal(b, "mentioned", open[0].Mentioned.Equal(b.now.Add(time.Hour)), true)
}

func testImportPrepared(b *bench) {
	batch := ports.ImportBatch{User: b.user.ID, Messages: []ports.ImportMessage{b.line(50*time.Hour, core.RoleUser,
		"a heron"), b.line(49*time.Hour, core.RoleUser, "an otter")}, Now: b.now}
	b.must(b.PrepareImport(b.ctx, &batch))
	b.bring(batch.Messages[0])
	equal(b, "fresh", one(b, b.Import, batch).Fresh, 1)
	again := batch
	again.Terms = nil
	b.must(b.PrepareImport(b.ctx, &again))
	equal(b, "fresh again", one(b, b.Import, again).Fresh, 0)
	equal(b, "order", b.ordered(), "a heron an otter")
}

func testRemains(b *bench) {
	store, ok := b.Store.(interface {
		Remains(ctx context.Context, user core.UserID) ([]string, error)
	})
	if !ok {
		b.t.Fatal("the store does not report what remains")
	}
	u, i := b.person("Platypus", core.RoleMember, "222")
	b.as(u, i).exchange("hello", "hi")
	batch := ports.ImportBatch{User: u.ID, Messages: []ports.ImportMessage{b.line(50*time.Hour, core.RoleUser, "a heron")},
		Now: b.now}
	one(b, b.Import, batch)
	before, err := store.Remains(b.ctx, u.ID)
	b.must(err)
	equal(b, "before", strings.Contains(strings.Join(before, " "), "messages: 3"), true)
	_, err = b.DeleteUser(b.ctx, u.ID)
	b.must(err)
	after, err := store.Remains(b.ctx, u.ID)
	b.must(err)
	equal(b, "after", strings.Join(after, " "), "")
}

// ordered returns the texts of the prompt's order.
func (b *bench) ordered() string {
	b.t.Helper()
	rows, err := b.DB().Query(`SELECT body FROM messages WHERE user_id = $1 AND position > 0 ORDER BY position`, b.user.ID)
	b.must(err)
	var out []string
	for _, l := range lines(b.t, rows) {
		out = append(out, strings.TrimPrefix(l, "body="))
	}
	return strings.Join(out, " ")
}

func testImport(b *bench) {
	b.exchange("hello", "hi")
	out := b.bring(b.line(49*time.Hour, core.RoleUser, "old"), b.line(48*time.Hour, core.RoleAssistant, "older reply"),
		b.line(2*time.Hour, core.RoleUser, "this morning"))
	equal(b, "fresh", out.Fresh, 3)
	equal(b, "days", out.Days, 1)
	equal(b, "order", b.ordered(), "old older reply this morning hello hi")
	equal(b, "turns", len(b.due(core.QueueTurn)), 0)
	backlog, err := b.Backlog(b.ctx, b.user.ID, 0)
	b.must(err)
	equal(b, "pending", backlog.Pending, 0)
	day, err := b.Day(b.ctx, b.user.ID, "2026-11-17")
	b.must(err)
	equal(b, "state", day.State, core.SegmentFinal)
	equal(b, "post", day.Post, core.PostSkipped)
	equal(b, "messages", day.Messages, 2)
	equal(b, "messages of today", b.segment().Messages, 3)
	b.exchange("go on", "yes")
	equal(b, "order", b.ordered(), "old older reply this morning hello hi go on yes")
}

// testImportMoment imports batches of messages that were all sent at the same moment, with and
// without the result of the previous batch; the last batches belong between earlier ones.
func testImportMoment(b *bench) {
	var want []string
	var taken ports.Taken
	batch := func(at time.Duration, texts ...string) {
		b.t.Helper()
		in := ports.ImportBatch{User: b.user.ID, Now: b.now, Taken: taken}
		for _, text := range texts {
			in.Messages = append(in.Messages, b.line(at, core.RoleUser, text))
		}
		taken = one(b, b.Import, in).Taken
	}
	moment := 48 * time.Hour
	for n := range 4 {
		texts := []string{fmt.Sprint("a", n), fmt.Sprint("b", n), fmt.Sprint("c", n)}
		want = append(want, texts...)
		batch(moment, texts...)
		if n == 1 {
			taken = ports.Taken{}
		}
	}
	first, last := taken.From, taken.To
	equal(b, "taken", last-first, int64(11))
	batch(moment-time.Microsecond*20, "later")
	batch(moment-time.Microsecond*5, "d")
	batch(moment-time.Microsecond*20, "later still")
	batch(moment+time.Hour, "before")
	want = append(append([]string{"before"}, want...), "d", "later", "later still")
	equal(b, "order", b.ordered(), strings.Join(want, " "))
}

func testImportTwice(b *bench) {
	all := []ports.ImportMessage{}
	for n := range 120 {
		all = append(all, b.line(time.Duration(300-n)*time.Hour, core.RoleUser, fmt.Sprint("m", n)))
	}
	first := b.bring(all[:70]...)
	again := b.bring(all...)
	equal(b, "fresh", again.Fresh, 50)
	equal(b, "the same", again.Messages[3], first.Messages[3])
	before := Dump(b.t, b.DB())
	equal(b, "third", b.bring(all...).Fresh, 0)
	b.unchanged(before)
	twice := b.line(time.Hour, core.RoleUser, "twice")
	equal(b, "within a batch", b.bring(twice, twice).Fresh, 1)
}

func testImportWithin(b *bench) {
	t := b.turn("question")
	b.now = b.now.Add(20 * time.Second)
	b.sent(b.answer(t, "answer").Delivery)
	b.now = b.now.Add(time.Hour)
	at := time.Hour + 10*time.Second
	b.bring(b.line(at, core.RoleUser, "between"), b.line(at, core.RoleUser, "too"),
		b.line(at+time.Hour, core.RoleUser, "before"))
	equal(b, "order", b.ordered(), "before question answer between too")
}

func testImportWaits(b *bench) {
	t := b.turn("question")
	b.now = b.now.Add(20 * time.Second)
	late := ports.ImportBatch{User: b.user.ID, Messages: []ports.ImportMessage{b.line(10*time.Second, core.RoleUser,
		"late")}, Now: b.now}
	_, err := b.Import(b.ctx, late)
	equal(b, "waits", errors.Is(err, core.ErrChanged), true)
	b.bring(b.line(time.Hour, core.RoleUser, "early"))
	b.sent(b.answer(t, "answer").Delivery)
	_, err = b.Import(b.ctx, late)
	b.must(err)
	equal(b, "order", b.ordered(), "early question answer late")
}

func testImportEpoch(b *bench) {
	t := b.turn("question")
	r := b.reply(t, "answer")
	r.Epoch = &ports.Epoch{ID: t.ID, StartedAt: b.now, Start: b.now.UnixMicro()}
	out, err := b.Commit(b.ctx, r, nil)
	b.must(err)
	equal(b, "stored", len(out.Messages), 1)
	b.now = b.now.Add(time.Hour)
	edits := b.segment().Edits
	b.bring(b.line(5*time.Hour, core.RoleUser, "before it"))
	equal(b, "before the prompt", b.segment().Edits, edits)
	b.bring(b.line(time.Minute, core.RoleUser, "within it"))
	equal(b, "within the prompt", b.segment().Edits, edits+1)
	for _, ref := range b.due(core.QueueDeliver + "telegram") {
		d, err := b.ClaimDelivery(b.ctx, ref, b.claim())
		b.must(err)
		b.sent(d)
	}
}

func testImportSummaries(b *bench) {
	b.bring(b.line(100*time.Hour, core.RoleUser, "a"), b.line(75*time.Hour, core.RoleUser, "b"),
		b.line(50*time.Hour, core.RoleUser, "c"))
	due, err := b.DueSegments(b.ctx, b.now, "", 10)
	b.must(err)
	equal(b, "due in the night", len(due), 0)
	for range 2 {
		_, err := b.SummarizeImported(b.ctx, b.now, 10)
		b.must(err)
	}
	for _, label := range []string{"2026-11-17", "2026-11-16", "2026-11-15"} {
		g, err := b.Day(b.ctx, b.user.ID, label)
		b.must(err)
		equal(b, "jobs", len(b.due(core.QueueSummarize)), 1)
		ref := b.only(core.QueueSummarize)
		equal(b, "key", ref.Key, core.ImportKey)
		equal(b, "day "+label, ref.Ref, int64(g.ID))
		j, err := b.Claim(b.ctx, ref, b.claim())
		b.must(err)
		if label == "2026-11-16" {
			b.must(b.FailSummary(b.ctx, ports.FailedSummary{User: b.user.ID, Segment: g.ID, Lease: j.Lease,
				Cause: "no model", Now: b.now}))
			continue
		}
		b.must(b.PutSummary(b.ctx, ports.PutSummary{Summary: core.Summary{User: b.user.ID, Segment: g.ID, Label: label,
			Markdown: "## Summary\n" + label, Covers: core.NewIDSet(g.StartsAt)},
			ReadTo: g.EndsAt, Edits: b.edits(g.ID), Lease: j.Lease, Final: true, Post: core.PostDue, Day: label, Now: b.now,
			Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, SentAt: b.now}}))
	}
	equal(b, "left", len(b.due(core.QueueSummarize)), 0)
	posts, err := b.DuePosts(b.ctx, b.now.Add(1000*time.Hour), time.Time{}, 10)
	b.must(err)
	equal(b, "posts", len(posts), 0)
	b.bring(b.line(49*time.Hour, core.RoleUser, "late"))
	g, err := b.Day(b.ctx, b.user.ID, "2026-11-17")
	b.must(err)
	equal(b, "stale", g.Stale, true)
	n, err := b.SummarizeImported(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "users", n, 1)
	equal(b, "again", b.only(core.QueueSummarize).Ref, int64(g.ID))
}

func (b *bench) edits(id core.SegmentID) int64 {
	b.t.Helper()
	g, err := b.Segment(b.ctx, b.user.ID, id)
	b.must(err)
	return g.Edits
}

func testImportWithout(b *bench) {
	_, err := b.Import(b.ctx, ports.ImportBatch{User: b.user.ID,
		Messages: []ports.ImportMessage{b.line(50*time.Hour, core.RoleUser, "a")}, Now: b.now})
	b.must(err)
	n, err := b.SummarizeImported(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "users", n, 0)
}

func testImportOwn(b *bench) {
	q, a := b.exchange("question", "answer")
	ms, err := b.Messages(b.ctx, b.user.ID, []core.MessageID{q, a})
	b.must(err)
	var batch []ports.ImportMessage
	for _, m := range ms {
		batch = append(batch, ports.ImportMessage{Key: fmt.Sprint("x", m.ID), Was: m.ID,
			NewMessage: core.NewMessage{Role: m.Role, Kind: m.Kind, Text: m.Text, SentAt: m.SentAt, Day: dayOf(m.SentAt)}})
	}
	equal(b, "here already", b.bring(batch...).Fresh, 0)
	batch[0].SentAt = batch[0].SentAt.Add(-time.Hour)
	equal(b, "another's", b.bring(batch...).Fresh, 1)
}

func testImportThread(b *bench) {
	m := b.line(time.Hour, core.RoleUser, "plain")
	for range 2 {
		_, err := b.Import(b.ctx, ports.ImportBatch{User: b.user.ID, Thread: &ports.ImportThread{Name: "import:1",
			Title: "A trip"}, Messages: []ports.ImportMessage{m}, Now: b.now})
		b.must(err)
		m = b.line(time.Minute, core.RoleAssistant, "more")
	}
	threads, err := b.Threads(b.ctx, b.user.ID, 10)
	b.must(err)
	equal(b, "threads", len(threads), 1)
	equal(b, "title", threads[0].Title, "A trip")
	equal(b, "order", b.ordered(), "plain more")
}

func testImportOldSummary(b *bench) {
	out := b.bring(b.line(50*time.Hour, core.RoleUser, "a"))
	versions := []core.Summary{{Markdown: "first", CreatedAt: b.now},
		{Markdown: "second", Covers: core.NewIDSet(out.Messages...), CreatedAt: b.now}}
	for n := range 2 {
		stored, err := b.ImportSummary(b.ctx, b.user.ID, "2026-11-17", versions)
		b.must(err)
		equal(b, "stored", stored, n == 0)
	}
	n, err := b.SummarizeImported(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "waits for a summary", n, 0)
	g, err := b.Day(b.ctx, b.user.ID, "2026-11-17")
	b.must(err)
	equal(b, "version", g.SummaryVersion, 2)
}

func testImportFound(b *bench) {
	b.bring(b.line(50*time.Hour, core.RoleUser, "the umbrella is red"))
	postings, err := b.Match(b.ctx, ports.MatchQuery{User: b.user.ID, Kind: core.DocMessage,
		Terms: []string{"umbrella"}, Limit: 10})
	b.must(err)
	equal(b, "found", len(postings), 1)
	b.exchange("is it green", "no")
	b.bring(b.line(49*time.Hour, core.RoleUser, "an umbrella is lost"))
	for n := 1; n > 0; {
		n, err = b.Index(b.ctx, 10, ports.Share{})
		b.must(err)
	}
	postings, err = b.Match(b.ctx, ports.MatchQuery{User: b.user.ID, Kind: core.DocMessage,
		Terms: []string{"umbrella"}, Limit: 10})
	b.must(err)
	equal(b, "both", len(postings[0].IDs), 2)
	dir, err := b.Directory(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "directory", len(dir.Messages), 4)
}

func testImportRedacted(b *bench) {
	m := b.line(50*time.Hour, core.RoleUser, "secret")
	out := b.bring(m)
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now})
	equal(b, "fresh", b.bring(m).Fresh, 0)
}

func testImportMerge(b *bench) {
	b.exchange("hello", "hi")
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i)
	m := b.line(50*time.Hour, core.RoleUser, "Bob's")
	other.bring(m)
	b.carryMerge(other.merge(b.user.ID))
	equal(b, "order", b.ordered(), "Bob's hello hi")
	equal(b, "again", b.bring(m).Fresh, 0)
	n, err := b.SummarizeImported(b.ctx, b.now, 10)
	b.must(err)
	equal(b, "days wait on", n, 1)
}
