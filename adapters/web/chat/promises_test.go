package chat

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// reminds sets a reminder.
func reminds(p *webtest.Person, text, cron string, due time.Time, source core.MessageID) core.PlanID {
	p.T.Helper()
	id, err := p.Store.NewID(p.Context, p.User.ID)
	p.Must(err)
	acts(p, effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, ID: core.PlanID(id), Text: text, Cron: cron, DueAt: due,
		Zone: "Europe/Paris", Source: source}, At: p.Clock.Now()})
	return core.PlanID(id)
}

// leavesOpen opens a loop.
func leavesOpen(p *webtest.Person, text string, tainted bool, sources ...core.MessageID) core.LoopID {
	p.T.Helper()
	id, err := p.Store.NewID(p.Context, p.User.ID)
	p.Must(err)
	acts(p, effect.OpenLoop{Loop: core.Loop{ID: core.LoopID(id), Text: text, Sources: sources, OpenedAt: p.Clock.Now(),
		Mentioned: p.Clock.Now(), Tainted: tainted}, At: p.Clock.Now()})
	return core.LoopID(id)
}

func acts(p *webtest.Person, effects ...core.Effect) {
	p.T.Helper()
	_, err := p.Gate.Act(p.Context, p.User.ID, effects...)
	p.Must(err)
}

func TestPromises_besideTheDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Get("/").Wants(t, 200, "Nothing is open and no reminder is set")
	old := w.Clock.Now()
	w.Clock.Set(old.AddDate(0, 0, -40))
	leavesOpen(p, "Mend the <gate>", false)
	w.Clock.Set(old)
	q := p.Says("Which flight?")
	flight := leavesOpen(p, "Book the flight", true, 3, q)
	plants := reminds(p, "Water the plants", "", old.Add(2*time.Hour), q)
	stand := reminds(p, "Stand up", "0 9 * * 1-5", old.AddDate(0, 0, 2), 0)
	page := p.Get("/")
	page.Wants(t, 200, "2 open loops · next reminder: Today, 16:40", "Book the flight", fmt.Sprintf(`href="/m/%d"`, q),
		"from text you didn&#39;t write", "1 more", "Mend the &lt;gate&gt;", "every weekday at 09:00", "In an hour",
		"This evening, 20:00", "Tomorrow, 09:00")
	if strings.Index(page.Body, "Mend the") < strings.Index(page.Body, "1 more") {
		t.Error("a loop that was not mentioned for long is not folded")
	}
	f := w.Bob.SignedIn()
	f.Get("/").Lacks(t, "flight", "plants", "gate")
	for _, path := range []string{fmt.Sprintf("/loops/%d/done", flight), fmt.Sprintf("/reminders/%d/cancel", plants),
		fmt.Sprintf("/reminders/%d/snooze", plants), "/loops/x/done"} {
		f.Post(path, url.Values{"until": {"hour"}}).Wants(t, 404, "That was already settled.")
	}

	form := url.Values{"until": {"evening"}, "day": {"2026-01-30"}}
	p.Post(fmt.Sprintf("/reminders/%d/snooze", plants), form).Elsewhere(t, "/day/2026-01-30")
	p.Get("/").Wants(t, 200, "You will be reminded: Today, 20:00.", "next reminder: Today, 20:00")
	p.Post(fmt.Sprintf("/reminders/%d/snooze", plants), url.Values{"until": {"never"}}).Wants(t, 422, "Choose another one")
	p.Post(fmt.Sprintf("/reminders/%d/cancel", stand), url.Values{"day": {"//evil.example"}}).Elsewhere(t, "/")
	p.Post(fmt.Sprintf("/loops/%d/done", flight), nil).Elsewhere(t, "/")
	page = p.Get("/")
	page.Wants(t, 200, "1 open loop · next reminder")
	page.Lacks(t, "Book the flight", "Stand up")
	p.Post(fmt.Sprintf("/loops/%d/done", flight), nil).Wants(t, 404, "That was already settled.")
	w.Clock.Set(time.Date(2026, 1, 31, 19, 30, 0, 0, webtest.Paris()))
	p.Get("/").Lacks(t, "This evening")
}

func TestPromises_openPageFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.Talks("before", "before")
	page := p.Get("/")
	s := p.Watch("/live?day=2026-01-31&last="+url.QueryEscape(webtest.LastIn(t, page.Body)), "")
	if e := s.Next("promises"); !strings.Contains(e.Data, "Nothing is open") {
		t.Errorf("got %s", e.Data)
	}
	id := leavesOpen(p, "Book the flight", false)
	if e := s.Next("promises"); !strings.Contains(e.Data, "Book the flight") {
		t.Errorf("got %s", e.Data)
	}
	acts(p, effect.CloseLoop{Loop: id, At: w.Clock.Now()})
	if e := s.Next("promises"); strings.Contains(e.Data, "Book the flight") {
		t.Errorf("got %s", e.Data)
	}
}

// TestTasks_besideTheDay checks that tasks are listed with their next time and the results of
// their last runs, and can be cancelled and resumed there.
func TestTasks_besideTheDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	now := w.Clock.Now()
	set := func(text, cron string, due time.Time) core.PlanID {
		id, err := p.Store.NewID(p.Context, p.User.ID)
		p.Must(err)
		acts(p, effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, ID: core.PlanID(id), Text: text, Cron: cron, DueAt: due,
			Zone: "Europe/Paris"}, At: now})
		return core.PlanID(id)
	}
	news := set("Tell the <news>", "0 9 * * 1-5", now)
	set("Only once", "", now.Add(2*time.Hour))
	home, err := p.Store.Identities(p.Context, p.User.ID)
	p.Must(err)
	p.Must(p.Store.FirePlan(p.Context, store.FirePlan{User: p.User.ID, Due: now, Next: now.AddDate(0, 0, 2), Now: now,
		Identity: home[0].ID, Run: core.Run{Plan: news, Due: now, State: core.RunSkipped, Cause: core.CauseLate}}))
	p.Get("/").Wants(t, 200, "Tell the &lt;news&gt;", "every weekday at 09:00", "Only once", "skipped (too late)",
		"2 tasks")
	form := url.Values{"day": {"2026-01-30"}}
	p.Post(fmt.Sprintf("/tasks/%d/resume", news), form).Wants(t, 422, "no paused task")
	acts(p, effect.PausePlan{Plan: news, At: now})
	p.Get("/").Wants(t, 200, "Paused: it failed", "Resume")
	f := w.Bob.SignedIn()
	for _, path := range []string{fmt.Sprintf("/tasks/%d/cancel", news), fmt.Sprintf("/tasks/%d/resume", news),
		"/tasks/x/cancel"} {
		f.Post(path, form).Wants(t, 404)
	}
	p.Post(fmt.Sprintf("/tasks/%d/resume", news), form).Elsewhere(t, "/day/2026-01-30")
	p.Get("/").Wants(t, 200, "every weekday at 09:00")
	p.Post(fmt.Sprintf("/tasks/%d/cancel", news), form).Elsewhere(t, "/day/2026-01-30")
	if page := p.Get("/"); strings.Contains(page.Body, "news&gt;") {
		t.Error("a cancelled task is listed")
	}
}
