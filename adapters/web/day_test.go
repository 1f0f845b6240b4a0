package web

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// shown are the ids of the entries of a page, in order.
func (a answer) shown() []string {
	var out []string
	for _, m := range regexp.MustCompile(`<article class="[^"]*" id="([mv]\d+)"`).FindAllStringSubmatch(a.body, -1) {
		out = append(out, m[1])
	}
	return out
}

// folded is what of a page is folded.
func (a answer) folded() string {
	_, rest, ok := strings.Cut(a.body, `<details class="older"`)
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, `id="entries"`)
	return rest
}

func (p *person) at(day, hour, minute int) {
	p.clock.set(time.Date(2026, 1, day, hour, minute, 0, 0, paris()))
}

func TestTodayShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("On avance sur les segments journaliers.", "Ok, voici les options...")
	a := p.get("/")
	a.wants(t, 200, "Continuous", "Threads", "Today", "Yesterday", "Pick date", "Scope", "Go",
		"Day Summary (Today)", "Timeline (Today)", "On avance", "voici les options", "14:40", "You", "Agent", "Telegram",
		"Type message…", "Send", "Why did it say that?")
	if got := a.shown(); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Errorf("got %v", got)
	}
}

func TestAnEmptyDaySaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.get("/").wants(t, 200, "Nothing said yet today", "one conversation that never ends")
	p.at(29, 10, 0)
	p.talks("hello", "hello")
	p.at(31, 10, 0)
	p.get("/").wants(t, 200, "Nothing said yet today", "/day/2026-01-29", "You last talked on Thursday 29 January")
	p.get("/day/2026-01-30").wants(t, 200, "Nothing was said on this day", "Pick another date")
}

func TestADayHoldsWhatTheStoreSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.at(29, 23, 58)
	p.says("a question before midnight")
	p.at(30, 0, 2)
	p.answers("an answer after midnight")
	p.at(30, 3, 0)
	p.sumsOf("2026-01-29", "## Summary\nLate talk.", true, 1, 2)
	p.at(30, 9, 0)
	p.talks("morning", "good morning")
	p.at(31, 9, 0)
	night := p.get("/day/2026-01-29")
	night.wants(t, 200, "a question before midnight", "an answer after midnight", "Day summary finalized",
		"expand to read the summary")
	night.lacks(t, "good morning")
	morning := p.get("/day/2026-01-30")
	morning.wants(t, 200, "good morning", `rel="prev" href="/day/2026-01-29"`)
	morning.lacks(t, "after midnight", "Late talk")
	if got := morning.shown(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestTheZoneDecidesTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("hello", "hello")
	_, err := w.gate.Act(w.ctx, p.user.ID, core.SetSettings{Settings: core.Settings{Zone: "Asia/Tokyo", Language: "fr"}})
	w.must(err)
	p.get("/day/2026-01-31").wants(t, 200, `lang="fr"`, "22:40", "Résumé du jour", "Aujourd’hui", "Écrivez un message…",
		"Pourquoi a-t-il dit cela\u00a0?")
}

func TestWhatASummaryCoversIsFolded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	var ids []core.MessageID
	for n := range 4 {
		q, a := p.talks(fmt.Sprintf("question %d", n), fmt.Sprintf("answer %d", n))
		ids = append(ids, q, a)
		w.clock.pass(time.Minute)
	}
	p.sums("## Summary\nFour questions [#1].", false, ids[:6]...)
	w.clock.pass(time.Minute)
	p.talks("after the summary", "yes")
	a := p.get("/")
	a.wants(t, 200, "Older messages folded", "Day summary updated", "6 messages, in the summary",
		`href="/m/1"`, "2 messages since")
	fold := a.folded()
	if !strings.Contains(fold, "question 2") || strings.Contains(fold, "question 3") {
		t.Errorf("folded is %s", fold)
	}
	if strings.Contains(a.body, `id="older" open`) {
		t.Error("it is open")
	}
	p.get("/?at=2").wants(t, 200, `id="older" open`)
	got := a.shown()
	if v := slices.Index(got, "v1"); v < 0 || got[v+1] != "m10" {
		t.Errorf("the entry of the summary is not in its place: %v", got)
	}
}

func TestTheLastExchangeOfTodayIsNotFolded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("first", "1")
	p.talks("second", "2")
	p.sums("## Summary\nAll.", false, 1, 2, 3, 4)
	fold := p.get("/").folded()
	if !strings.Contains(fold, "first") || strings.Contains(fold, "second") {
		t.Errorf("folded is %s", fold)
	}
	w.clock.pass(24 * time.Hour)
	if fold := p.get("/day/2026-01-31").folded(); !strings.Contains(fold, "second") {
		t.Error("the day is over, and its last exchange is not folded")
	}
}

func TestPagesOfALongDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	for n := range 125 {
		p.talks(fmt.Sprintf("question %d.", n), fmt.Sprintf("answer %d.", n))
	}
	numbers := func(a answer) (first, last string, n int) {
		ids := a.shown()
		return ids[0], ids[len(ids)-1], len(ids)
	}
	newest := p.get("/")
	if first, last, n := numbers(newest); first != "m151" || last != "m250" || n != 100 {
		t.Errorf("newest: %s to %s, %d", first, last, n)
	}
	newest.wants(t, 200, "/day/2026-01-31?before=151", "data-live")
	newest.lacks(t, "?after=")
	middle := p.get("/day/2026-01-31?before=151")
	if first, last, n := numbers(middle); first != "m51" || last != "m150" || n != 100 {
		t.Errorf("middle: %s to %s, %d", first, last, n)
	}
	middle.wants(t, 200, "?before=51", "?after=150", "Newest messages")
	middle.lacks(t, "data-live")
	oldest := p.get("/day/2026-01-31?before=51")
	if first, _, n := numbers(oldest); first != "m1" || n != 50 {
		t.Errorf("oldest: %s, %d", first, n)
	}
	oldest.lacks(t, `id="earlier"`)
	around := p.get("/day/2026-01-31?at=100")
	if first, last, n := numbers(around); first != "m50" || last != "m149" || n != 100 {
		t.Errorf("around: %s to %s, %d", first, last, n)
	}
	around.wants(t, 200, "?before=50", "?after=149")
	after := p.get("/day/2026-01-31?after=149")
	if first, last, n := numbers(after); first != "m150" || last != "m249" || n != 100 {
		t.Errorf("after: %s to %s, %d", first, last, n)
	}
	a := p.get("/m/100")
	a.wants(t, http.StatusSeeOther)
	if got := a.header.Get("Location"); got != "/day/2026-01-31?at=100#m100" {
		t.Errorf("a reference leads to %s", got)
	}
}

func TestMessagesSayWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.talks("one", "first answer")
	p.get("/").wants(t, 200, `<span class="state pending">waiting</span>`)
	p.deliver(core.DeliverySent, "")
	p.get("/").wants(t, 200, `<span class="state sent">sent</span>`)
	p.talks("two", "second answer")
	p.deliver(core.DeliveryFailed, "the chat was deleted")
	p.get("/").wants(t, 200, "failed (the chat was deleted)")
}

func TestMessagesOfAllKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.says("forwarded words", func(s *said) { s.forward = "Carla" })
	p.says("a reply", func(s *said) { s.quote = &core.Quote{Text: "what I said", Mine: true} })
	p.says("[document plan.pdf: look at this]", func(s *said) {
		s.files = []core.Attachment{{Kind: "document", Name: "plan.pdf", MIME: "application/pdf",
			Size: 2_500_000, Path: "1/x"}}
	})
	p.says("[voice 0:12: hello from the train]", func(s *said) {
		s.files = []core.Attachment{{Kind: "voice", MIME: "audio/ogg", Path: "1/y"}}
	})
	p.says("[photo]", func(s *said) { s.files = []core.Attachment{{Kind: "photo", Error: "it was too large"}} })
	p.answers("found it", core.NewMessage{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "c", Name: "conversation_search", Arguments: `{"query":"tomatoes"}`},
			{ID: "d", Name: "wiki_read", Arguments: `{}`}}},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: "conversation_search", Text: "tomatoes in May"},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "d", ToolName: "wiki_read", Text: "a page"})
	a := p.get("/")
	a.wants(t, 200, "Forwarded from Carla", "In reply to the agent", "what I said", `href="/media/3/0" download`,
		"plan.pdf", "2.4", "look at this", `<audio controls preload="none" src="/media/4/0">`,
		"hello from the train", "it was too large", "Searched the conversation for “tomatoes”",
		"tomatoes in May", "Used wiki_read")
	a.lacks(t, "[voice", "[document", "[photo]")
	note := core.Note{User: p.user.ID, Identity: p.chat.ID, Now: w.clock.now(),
		Command: &core.NewMessage{Role: core.RoleUser, Kind: core.KindCommand, Text: "/today", SentAt: w.clock.now()},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "Nothing yet.",
			SentAt: w.clock.now()}}, Event: &core.Inbound{Address: p.chat.Address, EventID: "n"}}
	_, err := w.store.Note(w.ctx, note)
	w.must(err)
	p.get("/").wants(t, 200, `class="entry command user"`, "/today", `class="entry notice system"`, "Nothing yet.")
}

func TestEditedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	id := "native"
	e := core.Inbound{Address: p.chat.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: "first text",
		SentAt: w.clock.now()}
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: "first text", SentAt: w.clock.now(),
		Day: dayOf(p.user.Settings, w.clock.now())}
	_, err := w.store.Append(w.ctx, core.Append{User: p.user.ID, Identity: p.chat.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: w.clock.now(), RunAt: w.clock.now()})
	w.must(err)
	e.Kind, e.Target, e.EventID = core.InEdit, id, "edit"
	m.Text = "second text"
	w.must(w.store.Edit(w.ctx, p.user.ID, p.chat.ID, e, m, w.clock.now()))
	a := p.get("/")
	a.wants(t, 200, "second text", ">edited</a>", "/m/1/earlier")
	a.lacks(t, "first text")
	p.get("/m/1/earlier").wants(t, 200, "first text", "until 31 January 2026, 14:40")
	p.get("/m/1/forget").wants(t, 200, "Forget this message?", "second text", "Forget it")
	a = p.post("/m/1/forget", nil)
	a.wants(t, http.StatusSeeOther)
	a = p.get(a.header.Get("Location"))
	a.wants(t, 200, "This message was deleted.", "Forgotten.")
	a.lacks(t, "second text", "first text", "/m/1/forget")
	p.get("/m/1/forget").wants(t, http.StatusNotFound)
	p.get("/").lacks(t, "Forgotten.")
}

func TestTheSummaryAndItsStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.get("/").wants(t, 200, "A summary appears here")
	q, a := p.talks("hello", "hello")
	p.get("/").wants(t, 200, "There is no summary of this day yet", "Regenerate summary")
	p.sums("## Summary\nFirst version.\n\n## Decisions\n- Say hello [#1, #2]", false, q, a)
	w.clock.pass(time.Minute)
	p.sums("## Summary\nSecond version.", false, q, a)
	got := p.get("/")
	got.wants(t, 200, "Second version.", "Version 2", "by demo", "/day/2026-01-31/history")
	p.get("/day/2026-01-31/history").wants(t, 200, "First version.", "Second version.", "Version 1",
		"rests on 2 messages", `href="/m/2"`)
	done := p.post("/day/2026-01-31/summary", nil)
	done.wants(t, http.StatusSeeOther)
	p.get(done.header.Get("Location")).wants(t, 200, "A new summary is on its way.", "being rewritten")
	refs, _, err := w.store.Due(w.ctx, []string{core.QueueSummarize}, w.clock.now(), 10)
	w.must(err)
	if len(refs) != 1 {
		t.Fatalf("%d jobs are due", len(refs))
	}
	j, err := w.store.Claim(w.ctx, refs[0], core.Claim{Worker: "test", Now: w.clock.now(),
		Until: w.clock.now().Add(time.Minute)})
	w.must(err)
	w.must(w.store.FailSummary(w.ctx, p.user.ID, core.SegmentID(j.Ref), j.Lease, "no model", w.clock.now()))
	p.get("/").wants(t, 200, "The last try to write the summary failed", "Retry")
	p.post("/m/1/forget", nil)
	hidden := p.get("/")
	hidden.lacks(t, "Second version.", "First version.")
	p.get("/day/2026-01-31/history").lacks(t, "version.")
}

func TestTheCalendarOfAYear(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	w.clock.set(time.Date(2025, 2, 1, 10, 0, 0, 0, paris()))
	for range 60 {
		p.says("hello")
		w.clock.pass(6 * 24 * time.Hour)
	}
	p.at(31, 14, 40)
	a := p.get("/days?month=2025-03")
	a.wants(t, 200, "March 2025", `href="/day/2025-03-03"`, "1 message", "/days?month=2025-02", "/days?month=2025-04")
	if n := strings.Count(a.body, `<td><a href="/day/`); n != 5 {
		t.Errorf("%d days are marked", n)
	}
	if now := p.get("/days"); strings.Contains(now.body, "month=2026-02") {
		t.Error("it leads to what is to come")
	}
	p.get("/days?month=2019-07").wants(t, 200, "No messages in this month.")
	if got := p.get("/days?date=2025-03-03").header.Get("Location"); got != "/day/2025-03-03" {
		t.Errorf("picking leads to %q", got)
	}
	p.get("/day/2025-03-03").wants(t, 200, `id="next-day" rel="next" href="/day/2025-03-09"`,
		`rel="prev" href="/day/2025-02-25"`)
	p.get("/day/2025-03-27").wants(t, 200, `href="/day/2025-04-02"`)
}
