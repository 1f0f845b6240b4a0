package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/plan"
)

// TestTools runs a sequence of calls and compares their results.
func TestReminderTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.all = []core.Plan{{Kind: core.PlanReminder, User: 2, ID: 1, Text: "Bo's", DueAt: w.now.Add(time.Hour),
		State: core.PlanActive, Zone: "UTC"}}
	var b strings.Builder
	for _, c := range []struct{ name, arguments string }{
		{"reminder_list", `{}`},
		{"reminder_set", `{"text":"Call Ana <again> & again","when":"tomorrow at 9"}`},
		{"reminder_set", `{"text":"call  ANA <again> & again","when":"2026-11-20 09:00"}`},
		{"reminder_set", `{"text":"Water the plants","when":"every Monday and Thursday at 8"}`},
		{"reminder_set", `{"text":"Rent","cron":" 0 9  1 * * "}`},
		{"reminder_set", `{"text":"💊","when":"ce soir à 8h"}`},
		{"reminder_list", `{}`},
		{"reminder_cancel", `{"id":"6"}`},
		{"reminder_cancel", `{"id":6}`},
		{"reminder_list", `{}`},
		// Wrong arguments.
		{"reminder_cancel", `{"id":1}`},
		{"reminder_cancel", `{"id":99}`},
		{"reminder_cancel", `{}`},
		{"reminder_set", `{"text":"x","when":"yesterday at 9"}`},
		{"reminder_set", `{"text":"x","when":"today at 9"}`},
		{"reminder_set", `{"text":"x","when":"every second"}`},
		{"reminder_set", `{"text":"x","cron":"* * * * *"}`},
		{"reminder_set", `{"text":"x","cron":"@every 1s"}`},
		{"reminder_set", `{"text":"x","cron":"0 8 * *"}`},
		{"reminder_set", `{"text":"x","when":"when the moon is full"}`},
		{"reminder_set", `{"text":"x","when":"tomorrow at 9 Tokyo time"}`},
		{"reminder_set", `{"text":"x","when":"🎂"}`},
		{"reminder_set", `{"text":"x"}`},
		{"reminder_set", `{"text":"x","when":"tomorrow","cron":"0 8 * * *"}`},
		{"reminder_set", `{"text":"  ","when":"tomorrow"}`},
		{"reminder_set", `{"text":"` + strings.Repeat("é", 1001) + `","when":"tomorrow"}`},
		{"reminder_set", `{"text":7,"when":"tomorrow"}`},
	} {
		if len(c.arguments) > 300 {
			fmt.Fprintf(&b, "==== %s %.40s…\n%s\n", c.name, c.arguments, w.use(c.name, c.arguments))
			continue
		}
		fmt.Fprintf(&b, "==== %s %s\n%s\n", c.name, c.arguments, w.use(c.name, c.arguments))
	}
	golden(t, "story.txt", b.String())
	if r := w.all[1]; r.Source != 42 || r.Zone != "Europe/Paris" || r.State != core.PlanActive || r.User != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestTools_faultsInTheLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.language = "fr-CA"
	if got := w.use("reminder_set",
		`{"text":"x","when":"today at 9"}`); got != "Error: c’est passé\u00a0; vouliez-vous dire demain\u00a0?" {
		t.Error(got)
	}
	if got := w.use("reminder_set", `{"text":"x","when":"demain à 9h"}`); !strings.Contains(got,
		"vendredi 20 novembre 2026 à 09:00") {
		t.Error(got)
	}
}

func TestSettings_limitPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.Settings = plan.Settings{MaxReminders: 3, DefaultHour: 7 * time.Hour, MinEvery: 2 * time.Hour}
	for n := range 3 {
		if got := w.use("reminder_set", fmt.Sprintf(`{"text":"no. %d","when":"tomorrow"}`, n)); !strings.Contains(got,
			"T07:00:00") {
			t.Fatal(got)
		}
	}
	if got := w.use("reminder_set",
		`{"text":"one more","when":"tomorrow"}`); got != "Error: there are already 3 reminders; cancel one first" {
		t.Error(got)
	}
	w.use("reminder_cancel", `{"id":5}`)
	if got := w.use("reminder_set",
		`{"text":"one more","when":"every hour"}`); got != "Error: that's too often; the shortest interval is 120 minutes" {
		t.Error(got)
	}
	if got := w.use("reminder_set", `{"text":"one more","when":"tomorrow"}`); !strings.Contains(got, `"status":"set"`) {
		t.Error(got)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	use := core.ToolUse{User: 1, Now: w.now, Location: zone(t, "Europe/Paris"), Language: "en"}
	set, err := w.plans.New(t.Context(), use, core.PlanReminder, "tomorrow 9 call Ana")
	r := set.Plan
	if err != nil || r.Text != "call Ana" || r.ID != 5 || r.Source != 0 ||
		!r.DueAt.Equal(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, words := range []string{"", "🎂", "tomorrow 9", "call Ana", "today at 8 call Ana", "every second jump"} {
		if r, err := w.plans.New(t.Context(), use, core.PlanReminder, words); !errors.Is(err, core.ErrRefused) {
			t.Errorf("%q: %+v, %v", words, r, err)
		}
	}
	w.err = errors.New("the disk is full")
	if _, err := w.plans.New(t.Context(), use, core.PlanReminder, "tomorrow 9 call Ana"); !errors.Is(err, w.err) ||
		errors.Is(err, core.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestStoreFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.err = errors.New("the disk is full")
	for tool, arguments := range map[string]string{"reminder_set": `{"text":"x","when":"tomorrow"}`,
		"reminder_list":   `{}`,
		"reminder_cancel": `{"id":1}`} {
		if got := w.use(tool, arguments); !strings.Contains(got, "disk is full") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	r, err := agent.NewRegistry((&plan.Plans{}).Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Tokens(tokens.New()); n > 350 {
		t.Errorf("the schemas take %d tokens, want at most 350", n)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string][2]string{
		"0 8 * * 1":      {"every Monday at 08:00", "chaque lundi à 08:00"},
		"0 8 * * 1,4":    {"every Monday and Thursday at 08:00", "chaque lundi et jeudi à 08:00"},
		"30 7 * * 1-5":   {"every weekday at 07:30", "du lundi au vendredi à 07:30"},
		"0 10 * * 0,6":   {"every Saturday and Sunday at 10:00", "tous les samedis et dimanches à 10:00"},
		"0 8,20 * * *":   {"every day at 08:00 and 20:00", "tous les jours à 08:00 et 20:00"},
		"0 9 1 * *":      {"on the 1st of every month at 09:00", "le 1er de chaque mois à 09:00"},
		"0 9 12 * *":     {"on the 12th of every month at 09:00", "le 12 de chaque mois à 09:00"},
		"0 9 3 6 *":      {"every year on 3 June at 09:00", "chaque année le 3 juin à 09:00"},
		"0 * * * *":      {"every hour", "toutes les heures"},
		"*/30 * * * *":   {"every 30 minutes", "toutes les 30 minutes"},
		"0 */2 * * *":    {"every 2 hours", "toutes les 2 heures"},
		"0 9 19 2,5,8 *": {"on the schedule `0 9 19 2,5,8 *`", "selon `0 9 19 2,5,8 *`"},
		"0 9 1 * 1":      {"on the schedule `0 9 1 * 1`", "selon `0 9 1 * 1`"},
		"0 9 * * MON":    {"on the schedule `0 9 * * MON`", "selon `0 9 * * MON`"},
		"5,10 1-9 * * *": {"on the schedule `5,10 1-9 * * *`", "selon `5,10 1-9 * * *`"},
		"0 8 0 * *":      {"on the schedule `0 8 0 * *`", "selon `0 8 0 * *`"},
		"soon":           {"on the schedule `soon`", "selon `soon`"},
		"0 8 * * 7":      {"every Sunday at 08:00", "chaque dimanche à 08:00"},
		"0 18 22 * *":    {"on the 22nd of every month at 18:00", "le 22 de chaque mois à 18:00"},
		"0 0 11 11 *":    {"every year on 11 November at 00:00", "chaque année le 11 novembre à 00:00"},
		"15 6 * * 1,2,3,5": {"every Monday, Tuesday, Wednesday and Friday at 06:15",
			"chaque lundi, mardi, mercredi et vendredi à 06:15"},
	} {
		if got := [2]string{times.Describe(expression, "en"), plan.Settings{}.Describe(expression, "fr")}; got != want {
			t.Errorf("%s: got %q", expression, got)
		}
	}
}
