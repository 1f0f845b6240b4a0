package settings

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// month is a month whose usage is shown.
type month struct{ begin time.Time }

// monthLabel is the form of a month in addresses.
const monthLabel = "2006-01"

// monthOf returns the month of a visit's address; the current one if it names none, or one to come.
func monthOf(v *web.Visit) month {
	today, err := time.Parse(time.DateOnly, v.Today.Label)
	if err != nil {
		today = v.Now
	}
	now := month{time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)}
	asked, err := time.Parse(monthLabel, v.R.URL.Query().Get("month"))
	if err != nil || asked.After(now.begin) || asked.Year() < 2000 {
		return now
	}
	return month{asked}
}

func (m month) days() int { return m.begin.AddDate(0, 1, -1).Day() }

// label returns the label of a day of the month, from 0.
func (m month) label(day int) string { return m.begin.AddDate(0, 0, day).Format(time.DateOnly) }

func (m month) from() string    { return m.label(0) }
func (m month) through() string { return m.label(m.days() - 1) }

// monthNav leads from a month to those beside it.
type monthNav struct{ Name, Before, After, BeforeURL, AfterURL string }

// nav returns the links to the months beside one: to earlier ones as far as there can be usage since a time, to later
// ones up to the current one. page is an address without a query.
func (m month) nav(v *web.Visit, page string, since time.Time, used bool) monthNav {
	link := func(to time.Time) (name, address string) {
		return times.MonthYear(to, v.Lang), page + "?" + url.Values{"month": {to.Format(monthLabel)}}.Encode()
	}
	out := monthNav{Name: times.MonthYear(m.begin, v.Lang)}
	if used || m.begin.After(since) {
		out.Before, out.BeforeURL = link(m.begin.AddDate(0, -1, 0))
	}
	if next := m.begin.AddDate(0, 1, 0); next.Format(time.DateOnly) <= v.Today.Label {
		out.After, out.AfterURL = link(next)
	}
	return out
}

// usageView is what a person's calls took in a month.
type usageView struct {
	Month              monthNav
	Today, Sum         string
	Chart              chart
	Purposes, Models   []usageRow
	Answers            string // what answers and tasks cost
	Compared           []comparedModel
	Days               []usageDay
	Budget, None, Free bool // Free: no price is known
}

// usageRow is a sum of calls.
type usageRow struct {
	Class                                    int // of the colour of a purpose
	Name, Calls, Read, Cached, Written, Cost string
}

type comparedModel struct{ Name, Cost string }

// usageDay is a day in the table beside the chart, with a value for each series.
type usageDay struct {
	Name   string
	Values []string
	Sum    string
}

// colour returns the class of a purpose's colour. Class 5 is grey.
func colour(p core.Purpose) int {
	return map[core.Purpose]int{core.ForAnswer: 0, core.ForTask: 1, core.ForSummary: 2, core.ForEmbedding: 3,
		core.ForHeard: 4, core.ForSpoken: 6, core.ForProgram: 5}[p]
}

func (r *Room) fillUsage(v *web.Visit, page *settingsView) error {
	w := say(v.Lang).Usage
	u, err := r.usageOf(v, v.User, "/settings/usage")
	if err != nil {
		return err
	}
	today, err := r.Store.UsageDays(v.Context(), v.User.ID, v.Today.Label, v.Today.Label)
	if err != nil {
		return fmt.Errorf("read the day's usage: %w", err)
	}
	var d store.UsageDay
	if len(today) > 0 {
		d = today[0]
	}
	u.Today = fmt.Sprintf(w.Today, i18n.Number(v.Lang, d.Usage.Tokens()))
	if r.TokensPerDay > 0 {
		u.Today = fmt.Sprintf(w.Budget, i18n.Number(v.Lang, d.Usage.Tokens()), i18n.Number(v.Lang, r.TokensPerDay))
	}
	if d.Tasks > 0 {
		u.Today += " " + fmt.Sprintf(w.Tasks, i18n.Number(v.Lang, d.Tasks))
	}
	page.Usage = u
	return nil
}

// usageOf returns what a person's calls took in the month of a visit.
func (r *Room) usageOf(v *web.Visit, u core.User, page string) (usageView, error) {
	m := monthOf(v)
	parts, err := r.Store.UsageParts(v.Context(), u.ID, m.from(), m.through())
	if err != nil {
		return usageView{}, fmt.Errorf("read usage: %w", err)
	}
	out := usageView{Month: m.nav(v, page, u.CreatedAt, len(parts) > 0), None: len(parts) == 0,
		Budget: r.TokensPerDay > 0, Free: !r.priced()}
	if out.None {
		return out, nil
	}
	var bill core.Bill
	days := map[string]core.Bill{}
	for _, p := range parts {
		bill = bill.And(core.Bill{p.Spent})
		days[p.Day] = append(days[p.Day], p.Spent)
	}
	out.Sum = r.sum(v, bill)
	var choices core.PriceList
	if r.Models != nil {
		choices = r.Models(u.ID)
	}
	for _, s := range bill.ByPurpose() {
		out.Purposes = append(out.Purposes, r.usageRow(v, i18n.Purpose(v.Lang, s), s, bill.Only(s.Purpose)))
	}
	for _, s := range bill.ByModel() {
		out.Models = append(out.Models, r.usageRow(v, i18n.ModelName(v.Lang, s.Model, choices), s, bill.Of(s.Model)))
	}
	if answers := bill.Only(core.ForAnswer, core.ForTask); len(choices) > 1 && len(answers) > 0 {
		out.Answers = i18n.Cost(v.Lang, r.Prices.Cost(answers))
		for _, c := range choices {
			out.Compared = append(out.Compared, comparedModel{i18n.ModelName(v.Lang, c.Model, choices),
				i18n.Cost(v.Lang, core.CostAt(c.Prices, answers))})
		}
	}
	r.picture(v, m, days, bill, &out)
	return out, nil
}

// picture fills in the chart of a month, and the table with the same numbers.
func (r *Room) picture(v *web.Visit, m month, days map[string]core.Bill, bill core.Bill, out *usageView) {
	var series []legend
	var purposes []core.Purpose
	for _, s := range bill.ByPurpose() {
		purposes = append(purposes, s.Purpose)
		s.Amount = 0
		series = append(series, legend{colour(s.Purpose), i18n.Purpose(v.Lang, s)})
	}
	values := map[string][]int{}
	for _, label := range slices.Sorted(maps.Keys(days)) {
		row := usageDay{Name: v.DayName(label), Sum: i18n.Number(v.Lang, days[label].Total().Tokens())}
		for _, p := range purposes {
			n := days[label].Only(p).Total().Tokens()
			values[label] = append(values[label], n)
			row.Values = append(row.Values, i18n.Number(v.Lang, n))
		}
		out.Days = append(out.Days, row)
	}
	out.Chart = r.chart(v, m, values, series, r.TokensPerDay, say(v.Lang).Settings.Usage)
}

// priced reports whether any price is known.
func (r *Room) priced() bool {
	return slices.ContainsFunc(r.Prices, func(m core.ModelChoice) bool { return m.Known() })
}

// sum describes a bill in one sentence.
func (r *Room) sum(v *web.Visit, b core.Bill) string {
	w, calls := say(v.Lang).Usage, 0
	for _, s := range b {
		calls += s.Calls
	}
	tokens, n := i18n.Number(v.Lang, b.Total().Tokens()), w.CallsOf.Of(calls)
	if !r.priced() {
		return fmt.Sprintf(w.Sum, tokens, n)
	}
	return fmt.Sprintf(w.SumCost, tokens, n, i18n.Cost(v.Lang, r.Prices.Cost(b)))
}

// cost returns what a bill cost; empty: no price is known, or nothing was used.
func (r *Room) cost(v *web.Visit, b core.Bill) string {
	if !r.priced() {
		return ""
	}
	return i18n.Cost(v.Lang, r.Prices.Cost(b))
}

// usageRow returns a row about a sum, which the bill of adds up to.
func (r *Room) usageRow(v *web.Visit, name string, s core.Spent, of core.Bill) usageRow {
	n := func(x int) string { return i18n.Number(v.Lang, x) }
	return usageRow{colour(s.Purpose), name, n(s.Calls), n(s.Prompt), n(s.Cached), n(s.Completion),
		i18n.Cost(v.Lang, r.Prices.Cost(of))}
}

// usageOfPerson is the owner's page about what the calls of one person took.
func (r *Room) usageOfPerson(v *web.Visit) error {
	u, err := r.knownUser(v, v.R.PathValue("id"))
	if err != nil {
		return err
	}
	usage, err := r.usageOf(v, u, "/admin/users/"+strconv.FormatInt(int64(u.ID), 10)+"/usage")
	if err != nil {
		return err
	}
	return v.Page("spent", say(v.Lang).Settings.Usage, struct {
		Title string
		Usage usageView
	}{fmt.Sprintf(say(v.Lang).Usage.Of, called(u)), usage})
}

// adminUsage is what everybody's calls took in a month, by person.
type adminUsage struct {
	Month      monthNav
	Sum        string
	Chart      chart
	People     []usedBy
	Days       []usageDay
	None, Free bool
}

type usedBy struct {
	User                             core.UserID
	Name, Calls, Tokens, Turns, Cost string
}

// chartUsers is how many people have a colour of their own.
const chartUsers = 5

func (r *Room) adminUsage(v *web.Visit, called func(core.UserID) string) (adminUsage, map[core.UserID]core.Bill, error) {
	m := monthOf(v)
	used, err := r.Store.UsageDays(v.Context(), 0, m.from(), m.through())
	if err != nil {
		return adminUsage{}, nil, fmt.Errorf("read usage: %w", err)
	}
	bills, err := r.Store.UsageSums(v.Context(), m.from(), m.through())
	if err != nil {
		return adminUsage{}, nil, fmt.Errorf("add up usage: %w", err)
	}
	page := adminUsage{Month: m.nav(v, "/admin/usage", v.User.CreatedAt, len(bills) > 0), None: len(bills) == 0, Free: !r.priced()}
	turns := map[core.UserID]int{}
	for _, d := range used {
		turns[d.User] += d.Turns
	}
	var everybody core.Bill
	place := map[core.UserID]int{}
	var series []legend
	for i, u := range heaviest(bills) {
		everybody = everybody.And(bills[u])
		if place[u] = min(i, chartUsers); i < chartUsers {
			series = append(series, legend{i, called(u)})
		} else if i == chartUsers {
			series = append(series, legend{i, say(v.Lang).Admin.Others})
		}
		if i < peopleShown {
			page.People = append(page.People, r.usedBy(v, u, called(u), turns[u], bills[u]))
		}
	}
	page.Sum = r.sum(v, everybody)
	values := map[string][]int{}
	for _, d := range used {
		if at, ok := place[d.User]; ok {
			if values[d.Day] == nil {
				values[d.Day] = make([]int, len(series))
			}
			values[d.Day][at] += d.Usage.Tokens()
		}
	}
	for _, label := range slices.Sorted(maps.Keys(values)) {
		sum := 0
		row := usageDay{Name: v.DayName(label)}
		for _, n := range values[label] {
			row.Values, sum = append(row.Values, i18n.Number(v.Lang, n)), sum+n
		}
		row.Sum = i18n.Number(v.Lang, sum)
		page.Days = append(page.Days, row)
	}
	page.Chart = r.chart(v, m, values, series, 0, say(v.Lang).Admin.Usage)
	return page, bills, nil
}

func (r *Room) usedBy(v *web.Visit, user core.UserID, name string, turns int, b core.Bill) usedBy {
	calls := 0
	for _, s := range b {
		calls += s.Calls
	}
	return usedBy{user, name, i18n.Number(v.Lang, calls), i18n.Number(v.Lang, b.Total().Tokens()),
		i18n.Number(v.Lang, turns), i18n.Cost(v.Lang, r.Prices.Cost(b))}
}

func heaviest(bills map[core.UserID]core.Bill) []core.UserID {
	return slices.SortedFunc(maps.Keys(bills), func(a, b core.UserID) int {
		return cmp.Or(cmp.Compare(bills[b].Total().Tokens(), bills[a].Total().Tokens()), cmp.Compare(a, b))
	})
}
