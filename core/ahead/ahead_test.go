package ahead

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ahead/calendar"
	"github.com/everthread/everthread/core/ahead/mail"
	"github.com/everthread/everthread/core/ahead/source"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
)

// shelf holds what a person has, and two users: Ada owns the gateway, Bo is a member.
type shelf struct {
	plans []core.Plan
	loops []core.Loop
}

func (s shelf) OpenPlans(_ context.Context, _ core.UserID, kind core.PlanKind, _ int) (out []core.Plan, err error) {
	for _, k := range s.plans {
		if k.Kind == kind {
			out = append(out, k)
		}
	}
	return out, nil
}

func (s shelf) Loops(context.Context, core.UserID, int) ([]core.Loop, error) { return s.loops, nil }

func (shelf) User(_ context.Context, id core.UserID) (core.User, error) {
	switch id {
	case ada.ID:
		return ada, nil
	case bo.ID:
		return bo, nil
	}
	return core.User{}, core.ErrNotFound
}

func (shelf) Owner(context.Context) (core.User, error) { return ada, nil }

var (
	ada  = core.User{ID: 1, Role: core.RoleOwner}
	bo   = core.User{ID: 2, Role: core.RoleMember}
	noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
)

func at(hour, minute int) time.Time { return time.Date(2026, 11, 24, hour, minute, 0, 0, time.UTC) }

func gives(events ...calendar.Event) func(context.Context, time.Time, time.Time, *time.Location) (calendar.Found, error) {
	return func(context.Context, time.Time, time.Time, *time.Location) (calendar.Found, error) {
		return calendar.Found{Events: events}, nil
	}
}

func fails(err error) func(context.Context, time.Time, time.Time, *time.Location) (calendar.Found, error) {
	return func(context.Context, time.Time, time.Time, *time.Location) (calendar.Found, error) {
		return calendar.Found{}, err
	}
}

// hangs does not even end when it should.
func hangs(context.Context, time.Time, time.Time, *time.Location) (calendar.Found, error) {
	time.Sleep(time.Hour)
	return calendar.Found{}, nil
}

func of(s shelf, calendars ...Calendar) *Ahead {
	return &Ahead{Calendars: calendars, Store: s, People: s, Days: day.Calendar{Zone: time.UTC}, Language: "en"}
}

func TestToday(t *testing.T) {
	t.Parallel()
	a := of(shelf{
		plans: []core.Plan{
			{Kind: core.PlanReminder, State: core.PlanActive, Text: "call *Karim*", DueAt: at(9, 30)},
			{Kind: core.PlanReminder, State: core.PlanActive, Text: "tomorrow", DueAt: at(33, 0)},
			{Kind: core.PlanTask, State: core.PlanActive, Text: "the weather", DueAt: at(7, 30), Tainted: true},
			{Kind: core.PlanTask, State: core.PlanPaused, Text: "paused", DueAt: at(7, 30)},
		},
		loops: []core.Loop{{Text: "Pay the rent", Due: at(24, 0)}, {Text: "later", Due: at(48, 0)}, {Text: "never"}},
	}, Calendar{Name: "Home", Events: gives(
		calendar.Event{Title: `Say “yes” [now](http://evil.example)`, Place: "Main St.", Start: at(10, 0), End: at(11, 0)},
		calendar.Event{Title: "Night shift", Start: at(-2, 0), End: at(6, 0)},
		calendar.Event{Title: "Party", Start: at(22, 0), End: at(26, 0)},
		calendar.Event{Title: "Holiday", Start: at(0, 0), End: at(24, 0), AllDay: true},
		calendar.Event{Start: at(10, 0), End: at(10, 0)},
	)}, Calendar{Name: "Work", Events: fails(source.NoCalendar)}, Calendar{Name: "Bo's", User: bo.ID, Events: fails(source.Slow)})
	a.Mail = []Mailbox{{Name: "Post", List: func(_ context.Context, q mail.Query) ([]mail.Header, error) {
		return []mail.Header{{Name: "Grace", Subject: "Lunch?"}, {Address: "a@b.c"}, {}, {}, {}, {}}[:q.Limit], nil
	}}}
	got, foreign, err := a.Today(t.Context(), ada, noon)
	want := strings.Join([]string{
		"## Today",
		"- **all day** “Holiday” · Home",
		"- **until 06:00** “Night shift” · Home",
		"- **07:30** Task: “the weather”",
		"- **09:30** ⏰ call \\*Karim\\*",
		"- **10:00–11:00** “Say 'yes' \\[now\\](http://evil.example)”, “Main St.” · Home",
		"- **10:00** (no title) · Home",
		"- **from 22:00** “Party” · Home",
		"- *Work could not be read: what it answered is no calendar*",
		"- Due today: Pay the rent",
		"- Unread mail from “Grace”: “Lunch?”",
		"- Unread mail from “a@b.c”: “”",
		"- Unread mail from “”: “”",
		"- Unread mail from “”: “”",
		"- Unread mail from “”: “”",
		"- More unread mail in Post",
	}, "\n")
	if err != nil || got != want || !foreign {
		t.Errorf("%v, foreign %v, got\n%s\nwant\n%s", err, foreign, got, want)
	}
	if summary, today, ok := i18n.CutToday("**Monday**\n\nTea.\n\n" + got); !ok || summary != "**Monday**\n\nTea." || "## Today\n"+today != got {
		t.Errorf("cut into %q and %q", summary, today)
	}
	if got, _, _ = of(shelf{}, Calendar{Events: gives()}).Show(t.Context(), ada, noon); got != "## Today\nNothing is planned." {
		t.Errorf("nothing: %q", got)
	}
	for _, a := range []*Ahead{of(shelf{}, Calendar{Events: gives(calendar.Event{})}), of(shelf{})} {
		if got, _, err = a.Show(t.Context(), bo, noon); got != "" || err != nil {
			t.Errorf("of a person without a source: %q, %v", got, err)
		}
	}
}

func TestToday_waitsTenSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := of(shelf{}, Calendar{Name: "a", Events: hangs}, Calendar{Name: "b", Events: gives(calendar.Event{Title: "x", Start: at(9, 0), End: at(9, 0)})},
			Calendar{Name: "c", Events: hangs})
		a.Mail = []Mailbox{{Name: "d", List: func(ctx context.Context, _ mail.Query) ([]mail.Header, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		begun := time.Now()
		got, _, err := a.Today(t.Context(), ada, noon)
		if took := time.Since(begun); err != nil || took != within || strings.Count(got, "it didn't answer in time") != 3 || !strings.Contains(got, "“x”") {
			t.Errorf("after %v: %v\n%s", took, err, got)
		}
		time.Sleep(2 * time.Hour) // until they end
	})
}

func TestUsers(t *testing.T) {
	t.Parallel()
	a := of(shelf{}, Calendar{}, Calendar{User: ada.ID}, Calendar{User: 99}, Calendar{User: bo.ID})
	got, err := a.Users(t.Context())
	if err != nil || len(got) != 2 || got[0].ID != ada.ID || got[1].ID != bo.ID {
		t.Errorf("%v, %v", got, err)
	}
}

// use calls a tool, and returns its result as JSON.
func use(t *testing.T, a *Ahead, u core.User, name, arguments string) (map[string]any, bool, error) {
	t.Helper()
	for _, tool := range a.Tools() {
		if tool.Spec().Name != name {
			continue
		}
		got, err := tool.Use(t.Context(), core.ToolUse{User: u.ID, Now: noon, Arguments: json.RawMessage(arguments)})
		var out map[string]any
		if err == nil && json.Unmarshal([]byte(got.Text), &out) != nil {
			t.Fatalf("no JSON: %s", got.Text)
		}
		return out, got.Tainted, err
	}
	t.Fatalf("there is no %s", name)
	return nil, false, nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	var from, to time.Time
	a := of(shelf{}, Calendar{Name: "Home", Events: func(_ context.Context, f, t time.Time, _ *time.Location) (calendar.Found, error) {
		from, to = f, t
		return calendar.Found{Events: []calendar.Event{{Title: "Holiday", Start: at(0, 0), End: at(48, 0), AllDay: true}, {Title: "x", Start: at(9, 0), End: at(9, 0)}}}, nil
	}}, Calendar{Name: "Work", Events: fails(errors.New("secret"))})
	var asked mail.Query
	a.Mail = []Mailbox{{Name: "Post", User: bo.ID, List: func(_ context.Context, q mail.Query) ([]mail.Header, error) {
		asked = q
		return nil, nil
	}}}
	got, foreign, err := use(t, a, ada, "calendar_list", `{}`)
	text, _ := json.Marshal(got)
	want := `{"events":[{"calendar":"Home","end":"2026-11-25","start":"2026-11-24","title":"Holiday"},{"calendar":"Home","start":"2026-11-24T09:00:00Z","title":"x"}],"failed":[{"source":"Work","why":"it cannot be reached"}],"foreign":true,"zone":"UTC"}`
	if err != nil || !foreign || string(text) != want || !from.Equal(at(0, 0)) || !to.Equal(at(24, 0)) {
		t.Errorf("%v, foreign %v, from %v to %v: %s", err, foreign, from, to, text)
	}
	if _, _, err = use(t, a, ada, "calendar_list", `{"from":"2026-12-01","to":"2026-12-31"}`); err != nil || !to.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("31 days: %v, to %v", err, to)
	}
	for _, wrong := range []string{`{"from":"tomorrow"}`, `{"from":"2026-12-01","to":"2027-01-01"}`, `{"from":"2026-12-02","to":"2026-12-01"}`} {
		if _, _, err = use(t, a, ada, "calendar_list", wrong); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
	if _, foreign, err = use(t, a, bo, "mail_list", `{"unseen":false,"from":"grace","limit":"3"}`); err != nil || foreign || asked.From != "grace" || !asked.Seen || asked.Limit != 3 ||
		!asked.Since.Equal(noon.Add(-seenWithin)) {
		t.Errorf("%v, foreign %v, asked %+v", err, foreign, asked)
	}
	for _, tool := range a.Tools() {
		g, ok := tool.(core.GuardedTool)
		mine := tool.Spec().Name == "calendar_list"
		if !ok || g.May(ada) != mine || g.May(bo) == mine {
			t.Errorf("%s is offered to the wrong people", tool.Spec().Name)
		}
	}
}
