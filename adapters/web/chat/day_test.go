package chat

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func TestDay_showsWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("On avance sur les segments journaliers.", "Ok, voici les options...")
	a := p.Get("/")
	a.Wants(t, 200, "Chat", "Threads", "Today", "Yesterday", "Pick date", "Go",
		"Summary · Today", "Timeline (Today)", "On avance", "voici les options", "14:40", "You", "Assistant", "Telegram",
		"Type a message", "Send", "Why did it say that?")
	if got := a.Shown(); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Errorf("got %v", got)
	}
}

func TestDay_emptySaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/").Wants(t, 200, "Nothing said yet today", "one conversation that never ends")
	p.At(29, 10, 0)
	p.Talks("hello", "hello")
	p.At(31, 10, 0)
	p.Get("/").Wants(t, 200, "Nothing said yet today", "/day/2026-01-29", "You last talked on Thursday 29 January")
	p.Get("/day/2026-01-30").Wants(t, 200, "Nothing was said on this day", "Pick another date")
}

func TestDay_holdsWhatTheStoreSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.At(29, 23, 58)
	p.Says("a question before midnight")
	p.At(30, 0, 2)
	p.Answers("an answer after midnight")
	p.At(30, 3, 0)
	p.SumsOf("2026-01-29", "## Summary\nLate talk.", true, 1, 2)
	p.At(30, 9, 0)
	p.Talks("morning", "good morning")
	p.At(31, 9, 0)
	night := p.Get("/day/2026-01-29")
	night.Wants(t, 200, "a question before midnight", "an answer after midnight", "Day summary finalized",
		"· read it")
	night.Lacks(t, "good morning")
	morning := p.Get("/day/2026-01-30")
	morning.Wants(t, 200, "good morning", `rel="prev" href="/day/2026-01-29"`)
	morning.Lacks(t, "after midnight", "Late talk")
	if got := morning.Shown(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestDay_zoneDecidesTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("hello", "hello")
	_, err := w.Gate.Act(w.Context, p.User.ID,
		effect.SetSettings{Settings: core.Settings{Zone: "Asia/Tokyo", Language: "fr"}})
	w.Must(err)
	p.Get("/day/2026-01-31").Wants(t, 200, `lang="fr"`, "22:40", "Résumé ·", "Aujourd’hui", "Écrire un message",
		"Pourquoi a-t-il dit cela\u00a0?")
}

func TestSummary_hidesNoMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	var ids []core.MessageID
	for n := range 4 {
		q, a := p.Talks(fmt.Sprintf("question %d", n), fmt.Sprintf("answer %d", n))
		ids = append(ids, q, a)
		w.Clock.Pass(time.Minute)
	}
	p.Sums("## Summary\nFour questions [#1].", false, ids[:6]...)
	w.Clock.Pass(time.Minute)
	p.Talks("after the summary", "yes")
	a := p.Get("/")
	a.Wants(t, 200, "Day summary updated", `href="/m/1"`, "2 messages since")
	got := a.Shown()
	if len(got) != 11 || got[0] != "m1" {
		t.Errorf("shown are %v", got)
	}
	if v := slices.Index(got, "v1"); v < 0 || got[v+1] != "m10" {
		t.Errorf("the entry of the summary is not in its place: %v", got)
	}
	w.Clock.Pass(24 * time.Hour)
	if got := p.Get("/day/2026-01-31").Shown(); len(got) != 11 {
		t.Errorf("of a day that is over are shown %v", got)
	}
}

func TestDay_longInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	for n := range 125 {
		p.Talks(fmt.Sprintf("question %d.", n), fmt.Sprintf("answer %d.", n))
	}
	numbers := func(a webtest.Answer) (first, last string, n int) {
		ids := a.Shown()
		return ids[0], ids[len(ids)-1], len(ids)
	}
	newest := p.Get("/")
	if first, last, n := numbers(newest); first != "m201" || last != "m250" || n != 50 {
		t.Errorf("newest: %s to %s, %d", first, last, n)
	}
	newest.Wants(t, 200, "/day/2026-01-31?before=201", "data-live")
	newest.Lacks(t, "?after=")
	middle := p.Get("/day/2026-01-31?before=201")
	if first, last, n := numbers(middle); first != "m151" || last != "m200" || n != 50 {
		t.Errorf("middle: %s to %s, %d", first, last, n)
	}
	middle.Wants(t, 200, "?before=151", "?after=200", "Newest messages")
	middle.Lacks(t, "data-live")
	oldest := p.Get("/day/2026-01-31?before=51")
	if first, _, n := numbers(oldest); first != "m1" || n != 50 {
		t.Errorf("oldest: %s, %d", first, n)
	}
	oldest.Lacks(t, `id="earlier"`)
	around := p.Get("/day/2026-01-31?at=100")
	if first, last, n := numbers(around); first != "m75" || last != "m124" || n != 50 {
		t.Errorf("around: %s to %s, %d", first, last, n)
	}
	around.Wants(t, 200, "?before=75", "?after=124")
	after := p.Get("/day/2026-01-31?after=149")
	if first, last, n := numbers(after); first != "m150" || last != "m199" || n != 50 {
		t.Errorf("after: %s to %s, %d", first, last, n)
	}
	a := p.Get("/m/100")
	a.Wants(t, http.StatusSeeOther)
	if got := a.Header.Get("Location"); got != "/day/2026-01-31?at=100#m100" {
		t.Errorf("a reference leads to %s", got)
	}
}

func TestMessages_sayWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("one", "first answer")
	p.Get("/").Wants(t, 200, `<span class="state pending">waiting</span>`)
	p.Deliver(core.DeliverySent, "")
	p.Get("/").Wants(t, 200, ` · sent</p>`)
	p.Talks("two", "second answer")
	p.Deliver(core.DeliveryFailed, "the chat was deleted")
	p.Get("/").Wants(t, 200, "failed (the chat was deleted)")
}

func TestMessages_allKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Says("forwarded words", func(s *webtest.Said) { s.Forward = "Carla" })
	p.Says("a reply", func(s *webtest.Said) { s.Quote = &core.Quote{Text: "what I said", Mine: true} })
	p.Says("[document plan.pdf: look at this]", func(s *webtest.Said) {
		s.Files = []core.Attachment{{Kind: "document", Name: "plan.pdf", MIME: "application/pdf",
			Size: 2_500_000, Path: "1/x", Document: &core.Document{State: core.DocumentRead, Problem: core.DocumentScanned}}}
	})
	p.Says("[voice 0:12: hello from the train]", func(s *webtest.Said) {
		s.Files = []core.Attachment{{Kind: "voice", MIME: "audio/ogg", Path: "1/y"}}
	})
	p.Says("[photo]", func(s *webtest.Said) { s.Files = []core.Attachment{{Kind: "photo", Error: "it was too large"}} })
	p.Answers("found it", core.NewMessage{Role: core.RoleAssistant,
		ToolCalls: []core.ToolCall{{ID: "c", Name: "conversation_search", Arguments: `{"query":"tomatoes"}`},
			{ID: "d", Name: "wiki_read", Arguments: `{}`}}},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "c", ToolName: "conversation_search", Text: "tomatoes in May"},
		core.NewMessage{Role: core.RoleTool, ToolCallID: "d", ToolName: "wiki_read", Text: "a page"})
	a := p.Get("/")
	a.Wants(t, 200, "Forwarded from Carla", "In reply to the assistant", "what I said", `href="/media/3/0" download`,
		"plan.pdf", "2.4", "Not read: its pages are pictures", "look at this", `<audio controls preload="none" src="/media/4/0">`,
		"hello from the train", "it was too large", "Searched the conversation for “tomatoes”",
		"tomatoes in May", "Used wiki_read")
	a.Lacks(t, "[voice", "[document", "[photo]")
	note := store.Note{User: p.User.ID, Identity: p.Chat.ID, Now: w.Clock.Now(),
		Command: &core.NewMessage{Role: core.RoleUser, Kind: core.KindCommand, Text: "/today", SentAt: w.Clock.Now()},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "Nothing yet.",
			SentAt: w.Clock.Now()}}, Event: &core.Inbound{Address: p.Chat.Address, EventID: "n"}}
	_, err := w.Store.Note(w.Context, note)
	w.Must(err)
	p.Get("/").Wants(t, 200, `class="entry command user"`, "/today", `class="entry notice system"`, "Nothing yet.")
}

func TestMessages_editedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	id := "native"
	e := core.Inbound{Address: p.Chat.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: "first text",
		SentAt: w.Clock.Now()}
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: "first text", SentAt: w.Clock.Now(),
		Day: webtest.DayOf(p.User.Settings, w.Clock.Now())}
	_, err := w.Store.Append(w.Context, store.Append{User: p.User.ID, Identity: p.Chat.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: w.Clock.Now(), RunAt: w.Clock.Now()})
	w.Must(err)
	e.Kind, e.Target, e.EventID = core.InEdit, id, "edit"
	m.Text = "second text"
	w.Must(w.Store.Edit(w.Context, p.User.ID, p.Chat.ID, e, m, w.Clock.Now()))
	a := p.Get("/")
	a.Wants(t, 200, "second text", ">edited</a>", "/m/1/earlier")
	a.Lacks(t, "first text")
	p.Get("/m/1/earlier").Wants(t, 200, "first text", "until 31 January 2026, 14:40")
	p.Get("/m/1/forget").Wants(t, 200, "Forget this message?", "second text", "Forget it")
	a = p.Post("/m/1/forget", nil)
	a.Wants(t, http.StatusSeeOther)
	a = p.Get(a.Header.Get("Location"))
	a.Wants(t, 200, "This message was deleted.", "Forgotten.")
	a.Lacks(t, "second text", "first text", "/m/1/forget")
	p.Get("/m/1/forget").Wants(t, http.StatusNotFound)
	p.Get("/").Lacks(t, "Forgotten.")
}

func TestSummary_states(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/").Wants(t, 200, "A summary appears here")
	q, a := p.Talks("hello", "hello")
	p.Get("/").Wants(t, 200, "There is no summary of this day yet", "Write a summary now")
	p.Sums("## Summary\nFirst version.\n\n## Decisions\n- Say hello [#1, #2]", false, q, a)
	w.Clock.Pass(time.Minute)
	p.Sums("## Summary\nSecond version.", false, q, a)
	got := p.Get("/")
	got.Wants(t, 200, "Second version.", "Version 2", "by demo", "/day/2026-01-31/history")
	p.Get("/day/2026-01-31/history").Wants(t, 200, "First version.", "Second version.", "Version 1",
		"based on 2 messages", `href="/m/2"`)
	done := p.Post("/day/2026-01-31/summary", nil)
	done.Wants(t, http.StatusSeeOther)
	p.Get(done.Header.Get("Location")).Wants(t, 200, "A new summary is on its way.", "being rewritten")
	refs, _, err := w.Store.Due(w.Context, []string{core.QueueSummarize}, w.Clock.Now(), 10, store.Share{})
	w.Must(err)
	if len(refs) != 1 {
		t.Fatalf("%d jobs are due", len(refs))
	}
	j, err := w.Store.Claim(w.Context, refs[0], store.Claim{Worker: "test", Now: w.Clock.Now(),
		Until: w.Clock.Now().Add(time.Minute)})
	w.Must(err)
	w.Must(w.Store.FailSummary(w.Context, store.FailedSummary{User: p.User.ID, Segment: core.SegmentID(j.Ref),
		Lease: j.Lease, Cause: "no model", RetryAt: w.Clock.Now().Add(time.Minute), Now: w.Clock.Now()}))
	p.Get("/").Wants(t, 200, "The last attempt to write the summary failed: no model. It is tried again by itself (Today, 14:42)", "Retry")
	p.Post("/m/1/forget", nil)
	hidden := p.Get("/")
	hidden.Lacks(t, "Second version.", "First version.")
	p.Get("/day/2026-01-31/history").Lacks(t, "version.")
}

// TestSummary_settledLoopReopens checks that a loop that a summary closed is opened again on the page.
func TestSummary_settledLoopReopens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	q, a := p.Talks("We take the white tiles", "Noted.")
	id := leavesOpen(p, "Choose <tiles>", false, q)
	acts(p, effect.CloseLoop{Loop: id, At: w.Clock.Now(), Tainted: true})
	p.Sums(fmt.Sprintf("## Summary\nTiles.\n\n## Settled\n- (%d) white it is [#%d]", id, q), false, q, a)
	path := fmt.Sprintf("/loops/%d/reopen", id)
	p.Get("/").Wants(t, 200, "<h3>Settled</h3>", "white it is", `action="`+path+`"`, "Not settled: Choose &lt;tiles&gt;")
	p.Post(path, nil).Wants(t, http.StatusSeeOther)
	again := p.Get("/")
	again.Wants(t, 200, "Choose &lt;tiles&gt;", "1 open loop")
	again.Lacks(t, path)
	p.Post(path, nil).Wants(t, http.StatusNotFound)
	w.Bob.SignedIn().Post(path, nil).Wants(t, http.StatusNotFound)
}

func TestCalendar_year(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	w.Clock.Set(time.Date(2025, 2, 1, 10, 0, 0, 0, webtest.Paris()))
	for range 60 {
		p.Says("hello")
		w.Clock.Pass(6 * 24 * time.Hour)
	}
	p.At(31, 14, 40)
	a := p.Get("/days?month=2025-03")
	a.Wants(t, 200, "March 2025", `href="/day/2025-03-03"`, "1 message", "/days?month=2025-02", "/days?month=2025-04")
	if n := strings.Count(a.Body, `<td><a href="/day/`); n != 5 {
		t.Errorf("%d days are marked", n)
	}
	if now := p.Get("/days"); strings.Contains(now.Body, "month=2026-02") {
		t.Error("it leads to what is to come")
	}
	p.Get("/days?month=2019-07").Wants(t, 200, "No messages in this month.")
	if got := p.Get("/days?date=2025-03-03").Header.Get("Location"); got != "/day/2025-03-03" {
		t.Errorf("picking leads to %q", got)
	}
	p.Get("/day/2025-03-03").Wants(t, 200, `id="next-day" rel="next" href="/day/2025-03-09"`,
		`rel="prev" href="/day/2025-02-25"`)
	p.Get("/day/2025-03-27").Wants(t, 200, `href="/day/2025-04-02"`)
}
