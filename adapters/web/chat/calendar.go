package chat

import (
	"fmt"
	"slices"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/when"
)

// calendar is a month of days.
type calendar struct {
	Month, Title   string
	Previous, Next string // months; Next is empty for the current month
	Year           int
	Weeks          [][7]cell
	Messages       int
}

// cell is a day of a calendar.
type cell struct {
	Label    string // empty: outside the month
	Day      int
	Name     string
	Messages int
	Count    string
	Here     bool
	Today    bool
	Level    int // 1 (few messages) to 3 (many); 0: none
}

// monthDays returns the days of a month with messages, newest first.
func (r *Room) monthDays(v *web.Visit, month string) ([]core.Segment, error) {
	const longest = 31
	all, err := r.Store.Days(v.Context(), v.User.ID, shiftMonth(month, 1)+"-01", longest)
	if err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return slices.DeleteFunc(all, func(g core.Segment) bool { return g.Day.Label < month }), nil
}

// shiftMonth returns a month shifted by a number of months.
func shiftMonth(month string, by int) string {
	t, err := time.Parse("2006-01", month)
	if err != nil {
		return month
	}
	return t.AddDate(0, by, 0).Format("2006-01")
}

// calendar returns a month with the day here marked.
func (r *Room) calendar(v *web.Visit, month, here string) (calendar, error) {
	first, err := time.Parse("2006-01", month)
	if err != nil || first.Year() < 1970 || first.Year() > 9000 {
		return calendar{}, core.ErrNotFound
	}
	c := calendar{Month: month, Title: fmt.Sprintf("%s %d", when.MonthName(first.Month(), v.Lang), first.Year()),
		Previous: shiftMonth(month, -1), Year: first.Year()}
	if month < v.Today.Label[:7] {
		c.Next = shiftMonth(month, 1)
	}
	days, err := r.monthDays(v, month)
	if err != nil {
		return c, err
	}
	counts := map[string]int{}
	for _, g := range days {
		counts[g.Day.Label] = g.Messages
		c.Messages += g.Messages
	}
	at := (int(first.Weekday()) + 6) % 7
	var week [7]cell
	for d := first; d.Month() == first.Month(); d = d.AddDate(0, 0, 1) {
		week[at] = r.cell(v, d, counts[d.Format(time.DateOnly)], here)
		if at++; at == 7 {
			c.Weeks, week, at = append(c.Weeks, week), [7]cell{}, 0
		}
	}
	if at > 0 {
		c.Weeks = append(c.Weeks, week)
	}
	return c, nil
}

func (r *Room) cell(v *web.Visit, d time.Time, messages int, here string) cell {
	label := d.Format(time.DateOnly)
	c := cell{Label: label, Day: d.Day(), Name: v.DayName(label), Messages: messages, Here: label == here,
		Today: label == v.Today.Label}
	if messages > 0 {
		c.Count = v.Words.Messages.Of(messages)
		c.Level = min(1+messages/20, 3)
	}
	return c
}

// calendarPage shows a month to pick a day from; with a date, it redirects to that day.
func (r *Room) calendarPage(v *web.Visit) error {
	q := v.R.URL.Query()
	if date := q.Get("date"); date != "" {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return core.ErrNotFound
		}
		return v.Back("/day/"+date, "")
	}
	month := q.Get("month")
	if month == "" {
		month = v.Today.Label[:7]
	}
	c, err := r.calendar(v, month, q.Get("here"))
	if err != nil {
		return err
	}
	return v.Page("days", say(v.Lang).Calendar, c)
}
