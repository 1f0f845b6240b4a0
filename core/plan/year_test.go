package plan_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/text/day"
)

// The size of the simulation, which `make soak` enlarges.
var (
	soakPeople = flag.Int("soak.people", 6, "number of users with tasks and reminders")
	soakDays   = flag.Int("soak.days", 12, "number of simulated days")
	soakKills  = flag.Int("soak.kills", 20, "number of killed turns")
	soakSeed   = flag.Uint64("soak.seed", 1, "seed of the simulation")
)

// With more users than many, tasks and reminders are weekly instead of daily.
const many = 100

// manyZones returns thirty zones, which change their clocks at different times, by half an hour, at
// midnight, or never.
func manyZones() []string {
	return []string{"Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu",
		"Pacific/Apia", "Europe/London", "Africa/Cairo", "Asia/Kolkata", "America/St_Johns", "Asia/Tokyo",
		"Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham", "America/Los_Angeles", "America/Havana",
		"Asia/Jerusalem", "Asia/Beirut", "Europe/Chisinau", "America/Asuncion", "Atlantic/Azores", "Africa/Casablanca",
		"America/Nuuk", "America/Sao_Paulo", "Asia/Tehran", "Pacific/Kiritimati", "Pacific/Honolulu", "UTC",
		"Europe/Lisbon", "America/Halifax"}
}

// every is the schedule of a recurring task: minutes of the day, on some weekdays.
type every struct {
	cron    string
	minutes []int
	only    func(time.Weekday) bool
}

func always(time.Weekday) bool { return true }

func schedules() []every {
	night := func(w time.Weekday) bool { return w == time.Sunday }
	work := func(w time.Weekday) bool { return w != time.Saturday && w != time.Sunday }
	hourly := make([]int, 6)
	for n := range hourly {
		hourly[n] = n * 240
	}
	return []every{{"30 2 * * *", []int{150}, always}, {"30 7 * * 1-5", []int{450}, work},
		{"0 0 * * *", []int{0}, always}, {"0 */4 * * *", hourly, always}, {"15 1 * * 0", []int{75}, night},
		{"45 23 * * *", []int{1425}, always}}
}

// weekly returns the schedules for many users, such that an hour of a week has as many due times as
// an hour of a day with few users.
func weekly() []every {
	on := func(d time.Weekday) func(time.Weekday) bool { return func(w time.Weekday) bool { return w == d } }
	return []every{{"30 2 * * 0", []int{150}, on(time.Sunday)}, {"30 7 * * 1", []int{450}, on(time.Monday)},
		{"0 0 * * 0", []int{0}, on(time.Sunday)}, {"0 12 * * 3", []int{720}, on(time.Wednesday)},
		{"15 1 * * 0", []int{75}, on(time.Sunday)}, {"45 23 * * 6", []int{1425}, on(time.Saturday)}}
}

// fates simulates users with tasks. It works out what should have happened without the code under
// test.
type fates struct {
	*sqlite.Store
	t      *testing.T
	rnd    *rand.Rand
	now    time.Time
	begun  time.Time
	firers []*plan.Firer // of two processes
	plans  *plan.Plans
	people []*person
	kills  int
	limit  int
}

type person struct {
	core.User
	at    core.Identity
	tasks []wanted
}

// wanted is a task and its reminder, as they were set.
type wanted struct {
	id       core.PlanID
	reminder core.PlanID
	zone     *time.Location
	every    every
}

func (f *fates) User(ctx context.Context, id core.UserID) (core.User, error) {
	return f.Store.User(ctx, id)
}

// addresses plans a delivery to the only address of a user.
type addresses struct{ *fates }

func (f addresses) Plan(ctx context.Context, u core.User, _ bool) ([]core.Target, error) {
	ids, err := f.Identities(ctx, u.ID)
	return []core.Target{{Identity: ids[0], Why: "home", Held: ids[0].Blocked}}, err
}

func (f *fates) Capabilities(string) core.Capabilities {
	return core.Capabilities{Push: true, MaxText: 4000}
}

type counter struct{}

// Count returns a rough number of tokens.
func (counter) Count(s string) int { return len(s)/4 + 1 }

func newFates(t *testing.T) *fates {
	f := &fates{Store: sqlitetest.Open(t, t.TempDir()), t: t, rnd: rand.New(rand.NewPCG(*soakSeed, 7)), limit: 2000,
		now: time.Date(2026, 3, 3, 11, 7, 0, 0, time.UTC)}
	if *soakDays < 30 { // the clocks of Europe change on the 29th
		f.now = time.Date(2026, 3, 24, 11, 7, 0, 0, time.UTC)
	}
	f.begun = f.now
	f.plans = &plan.Plans{Store: f.Store, Settings: plan.Settings{Language: "en"}}
	cal := day.Calendar{Zone: time.UTC, Finalize: 3 * time.Hour, Post: 8 * time.Hour}
	for range 2 {
		f.firers = append(f.firers, &plan.Firer{Plans: f.plans, Due: f.Store, Users: f, Planner: addresses{f}, Calendar: cal,
			Tokens: counter{}, Channels: f, Log: zap.NewNop(), Budgets: f, Meter: uncounted{}})
	}
	return f
}

// TaskBudget limits what tasks may use of a day.
func (f *fates) TaskBudget(u core.User, now time.Time) store.Budget {
	s := u.Settings
	cal := day.Calendar{Zone: time.UTC, Finalize: 3 * time.Hour, Post: 8 * time.Hour}
	return store.Budget{Reserve: 300, Least: 150, TaskTokensPerDay: f.limit, Day: cal.Day(s, now).Label}
}

// add adds a user with two recurring tasks, each with a reminder at the same times.
func (f *fates) add(n int) {
	ctx, zone := f.t.Context(), manyZones()[n%len(manyZones())]
	u, err := f.AddUserAt(ctx, core.User{Name: fmt.Sprint("p", n), Role: core.RoleMember, CreatedAt: f.now,
		Settings: core.Settings{Zone: zone}}, core.Identity{LastUsed: f.now,
		Address: core.Address{Channel: "telegram", Account: "42", External: fmt.Sprint(n + 1)}})
	f.must(err)
	ids, err := f.Identities(ctx, u.ID)
	f.must(err)
	p := &person{User: u, at: ids[0]}
	f.people = append(f.people, p)
	often := schedules()
	if *soakPeople > many {
		often = weekly()
	}
	for k := range 2 {
		f.set(p, often[(n+3*k)%len(often)])
	}
}

// set sets a task and a reminder in the user's current zone.
func (f *fates) set(p *person, e every) {
	ctx := f.t.Context()
	u, err := f.Store.User(ctx, p.ID)
	f.must(err)
	w := wanted{zone: u.Settings.Location(time.UTC), every: e}
	set, err := f.plans.New(ctx, core.ToolUse{User: p.ID, Now: f.now, Location: w.zone, Language: "en"}, core.PlanTask,
		e.cron+" tell the news")
	f.must(err)
	rid, err := f.NewID(ctx, p.ID)
	f.must(err)
	w.id, w.reminder = set.Plan.ID, core.PlanID(rid)
	f.effect(p.ID, set, effect.SetPlan{At: f.now, Plan: core.Plan{Kind: core.PlanReminder, ID: w.reminder,
		Text: fmt.Sprint("call ", rid), DueAt: set.Plan.DueAt, Cron: e.cron, Zone: set.Plan.Zone}})
	p.tasks = append(p.tasks, w)
}

func (f *fates) effect(user core.UserID, effects ...core.Effect) {
	_, err := f.Note(f.t.Context(), store.Note{User: user, Now: f.now, Effects: effects})
	f.must(err)
}

func (f *fates) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// look runs the periodic work of both processes concurrently.
func (f *fates) look() {
	ctx, done := f.t.Context(), make(chan error, len(f.firers))
	for _, x := range f.firers {
		go func() { done <- x.Run(ctx, f.now) }()
	}
	for range f.firers {
		f.must(<-done)
	}
	f.answer()
}

// answer runs due turns as a gateway does. Some are killed before their reply is stored, some fail,
// and late ones are skipped.
func (f *fates) answer() {
	ctx := f.t.Context()
	for range 1000 {
		refs, _, err := f.Due(ctx, []string{core.QueueTurn}, f.now, 100, store.Share{})
		f.must(err)
		if len(refs) == 0 {
			return
		}
		for _, ref := range refs {
			t, _, err := f.ClaimTurn(ctx, ref, store.Claim{Worker: "w", Now: f.now, Until: f.now.Add(time.Minute)}, store.Budget{})
			f.must(err)
			if t == nil {
				continue
			}
			f.within(t.User, t.StartedAt)
			if f.kills < f.deadBy() && f.rnd.IntN(4) == 0 {
				f.kills++
				continue // its lease expires
			}
			f.commit(t)
		}
	}
	f.t.Fatal("turns are due without end")
}

// deadBy returns the maximum number of kills until now. They are spread over three quarters of the
// simulation.
func (f *fates) deadBy() int {
	gone := f.now.Sub(f.begun).Hours() / 24 / float64(*soakDays)
	return min(*soakKills, 1+int(gone*4/3*float64(*soakKills)))
}

// commit stores the result of a task's turn.
func (f *fates) commit(t *core.Turn) {
	ctx, text := f.t.Context(), "the news"
	r := store.Reply{Turn: t, State: core.TurnDone, Now: f.now, Day: f.now.Format(time.DateOnly),
		Spent: core.SpentOn(core.ForTask, "m", core.Usage{Prompt: f.rnd.IntN(t.Reserved), Completion: 1})}
	late := f.plans.Late(t, f.now)
	if late || f.rnd.IntN(12) == 0 {
		r.State, r.Cause, r.Spent = core.TurnFailed, core.CauseModel, nil
		if late {
			r.Cause = core.CauseLate
		}
		u, err := f.Store.User(ctx, t.User)
		f.must(err)
		told, err := f.plans.Failed(ctx, u, t, r.Cause, "", f.now)
		f.must(err)
		text, r.Effects = told.Text, told.Effects
		if len(told.Buttons) > 0 { // a question whether to resume
			defer f.goOn(t)
		}
	}
	r.Messages = []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: text, Tokens: 3, SentAt: f.now}}
	_, err := f.Commit(ctx, r, nil)
	f.must(err)
}

// goOn resumes a paused task.
func (f *fates) goOn(t *core.Turn) {
	k, err := f.Plan(f.t.Context(), t.User, t.Task)
	f.must(err)
	_, resume, err := f.plans.Resume(f.t.Context(), core.ToolUse{User: t.User, Now: f.now}, k.ID)
	f.must(err)
	f.effect(t.User, resume)
}

// within checks that tasks never used or reserved more than a day's limit.
func (f *fates) within(user core.UserID, at time.Time) {
	f.t.Helper()
	var most int
	f.must(f.DB().QueryRow(`SELECT COALESCE(MAX(task_tokens + task_reserved), 0) FROM usage WHERE user_id = $1`,
		user).Scan(&most))
	if most > f.limit {
		f.t.Fatalf("user %d has used %d tokens for tasks at %s, want at most %d", user, most, at, f.limit)
	}
}

// live lets the days pass: mostly in steps of minutes, sometimes with hours in which nothing runs,
// and with users who travel.
func (f *fates) live() {
	end := f.begun.AddDate(0, 0, *soakDays)
	for f.now.Before(end) {
		step := 5 * time.Minute
		switch f.rnd.IntN(200) {
		case 0:
			step = time.Duration(1+f.rnd.IntN(9)) * time.Hour // nothing runs
		case 1:
			p := f.people[f.rnd.IntN(len(f.people))]
			f.effect(p.ID, effect.SetSettings{Settings: core.Settings{Zone: manyZones()[f.rnd.IntN(len(manyZones()))]}})
		}
		f.now = f.now.Add(step)
		f.look()
	}
	f.now = f.now.Add(2 * time.Minute)
	f.answer() // retries killed turns
}

// times returns the moments of a task between two times, found minute by minute: on each date the
// first instant at which a clock in the zone shows the scheduled time or later.
func (w wanted) times(after, until time.Time) (out []time.Time) {
	first := after.In(w.zone).AddDate(0, 0, -1)
	for d := range int(until.Sub(after).Hours()/24) + 3 {
		date := time.Date(first.Year(), first.Month(), first.Day()+d, 12, 0, 0, 0, time.UTC)
		if !w.every.only(date.Weekday()) {
			continue
		}
		for _, minute := range w.every.minutes {
			wall := time.Date(date.Year(), date.Month(), date.Day(), 0, minute, 0, 0, time.UTC)
			at, shows := wall.Add(-16*time.Hour), time.Time{}
			for ; shows.Before(wall); at = at.Add(5 * time.Minute) {
				l := at.In(w.zone)
				shows = time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
			}
			if at = at.Add(-5 * time.Minute); at.After(after) && !at.After(until) {
				out = append(out, at)
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// check compares all runs with the expected ones.
func (f *fates) check() {
	ctx, runs, passed := f.t.Context(), 0, 0
	states := map[core.RunState]int{}
	for _, p := range f.people {
		notices := 0
		for _, w := range p.tasks {
			all, err := f.Runs(ctx, p.ID, w.id, 100_000)
			f.must(err)
			slices.Reverse(all)
			n, r := f.compare(p, w, all)
			runs, passed = runs+n, passed+r
			for _, x := range all {
				states[x.State]++
				if x.Turn == 0 || x.Passed > 0 {
					notices++
				}
			}
		}
		var told int
		f.must(f.DB().QueryRow(`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND kind = 'notice'`, p.ID).Scan(&told))
		if told != notices {
			f.t.Errorf("user %d has %d notices of runs that did not take place, want %d", p.ID, told, notices)
		}
		var left int
		f.must(f.DB().QueryRow(`SELECT COALESCE(SUM(task_reserved), 0) FROM usage WHERE user_id = $1`, p.ID).Scan(&left))
		if left != 0 {
			f.t.Errorf("user %d has %d tokens still reserved", p.ID, left)
		}
		f.within(p.ID, f.now)
	}
	f.t.Logf("%d people, %d days, %d kills: %d times, %d passed over, %v", len(f.people), *soakDays, f.kills, runs, passed,
		states)
	if f.kills < *soakKills || states[core.RunFailed] == 0 || states[core.RunSkipped] == 0 {
		f.t.Errorf("the simulation covers too little: %d kills, %v", f.kills, states)
	}
}

// compare matches the runs of a task with its expected times. Each time has a run or is counted as
// passed over, each turn has one instruction, and each that ended one answer.
func (f *fates) compare(p *person, w wanted, all []core.Run) (times, passed int) {
	f.t.Helper()
	want := w.times(f.begun, f.now.Add(-5*time.Minute))
	for _, r := range all {
		n := slices.IndexFunc(want, r.Due.Equal)
		if n < 0 {
			f.t.Errorf("user %d, task %d: ran for %s, which is not an expected time, or twice", p.ID, w.id, r.Due)
			continue
		}
		if n != r.Passed {
			f.t.Errorf("user %d, task %d: %d times before %s were missed, %d counted", p.ID, w.id, n, r.Due, r.Passed)
		}
		times, passed, want = times+1, passed+r.Passed, want[n+1:]
		if r.State == core.RunStarted {
			f.t.Errorf("user %d, task %d: the run for %s never ended", p.ID, w.id, r.Due)
		}
		var said int
		f.must(f.DB().QueryRow(`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND turn_id = $2 AND turn_id > 0`, p.ID,
			r.Turn).Scan(&said))
		if want := map[bool]int{true: 2}[r.Turn != 0]; said != want {
			f.t.Errorf("user %d, task %d: the run for %s has %d messages, want %d", p.ID, w.id, r.Due, said, want)
		}
	}
	if len(want) > 0 {
		f.t.Errorf("user %d, task %d in %s: %d times had no run, the first %s", p.ID, w.id, w.zone, len(want), want[0])
	}
	f.reminded(p, w)
	return times, passed
}

// reminded checks that a reminder was sent at most once for each of its times, and at least once.
func (f *fates) reminded(p *person, w wanted) {
	f.t.Helper()
	var told int
	f.must(f.DB().QueryRow(`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND kind = 'reminder' AND (body = $2 OR body LIKE $3)`,
		p.ID, fmt.Sprint("⏰ call ", w.reminder), fmt.Sprint("⏰ call ", w.reminder, "\n%")).Scan(&told))
	r, err := f.Plan(f.t.Context(), p.ID, w.reminder)
	f.must(err)
	want := w.times(f.begun, f.now)
	if told > len(want) || told == 0 && len(want) > 0 || !r.DueAt.After(f.now.Add(-5*time.Minute)) {
		f.t.Errorf("user %d, reminder %d: sent %d times of %d, next %s", p.ID, w.reminder, told, len(want), r.DueAt)
	}
}

// TestFirer_timesGoBy simulates days with changes of the clocks, travel, hours in which no process runs,
// and crashes. No time is missed or repeated, each failure is reported once, and no task exceeds
// its budget. `make soak` simulates a year.
func TestFirer_timesGoBy(t *testing.T) {
	t.Parallel()
	f := newFates(t)
	for n := range *soakPeople {
		f.add(n)
	}
	f.live()
	f.check()
}
